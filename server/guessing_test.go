package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// guesses are the two requests that bring a key.
var guesses = map[string]func(t *testing.T, s *Server, key string) answer{
	"login": func(t *testing.T, s *Server, key string) answer {
		return ask(t, s, "POST", "/console/login", `{"key":"`+key+`"}`)
	},
	"bearer": func(t *testing.T, s *Server, key string) answer {
		return ask(t, s, "GET", here, "", "Authorization", "Bearer "+key)
	},
}

// TestWrongKeysAreSlowedDown: after ten from one address, each further one waits, of
// whatever kind. A right key from there is never refused, and never waits.
func TestWrongKeysAreSlowedDown(t *testing.T) {
	for name, guess := range guesses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
				began := time.Now()
				for range 10 {
					guess(t, s, "wrong").wantProblem(t, kindUnauthorized, "")
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("the first ten took %v", took)
				}
				for range 3 {
					guess(t, s, "wrong").wantProblem(t, kindUnauthorized, "")
				}
				if took := time.Since(began); took != 3*time.Second {
					t.Errorf("three more took %v, want a second each", took)
				}
				began = time.Now()
				for name, ask := range guesses {
					if got := ask(t, s, "alpha"); got.status >= 300 {
						t.Errorf("a right key, %s: status %d", name, got.status)
					}
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("the right keys took %v", took)
				}
				time.Sleep(6 * time.Second)
				began = time.Now()
				if guess(t, s, "wrong"); time.Since(began) != 0 {
					t.Error("the first one after a pause waits")
				}
			})
		})
	}
}

// TestManyWrongKeysAtOnce: a right key passes all that wait.
func TestManyWrongKeysAtOnce(t *testing.T) {
	for name, guess := range guesses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
				var all sync.WaitGroup
				var mu sync.Mutex
				statuses := map[int]int{}
				for range 200 {
					all.Go(func() {
						got := guess(t, s, "wrong")
						mu.Lock()
						defer mu.Unlock()
						statuses[got.status]++
					})
				}
				synctest.Wait()
				began := time.Now()
				if got := guess(t, s, "alpha"); got.status >= 300 || time.Since(began) != 0 {
					t.Errorf("a right key meanwhile: status %d after %v", got.status, time.Since(began))
				}
				all.Wait()
				if statuses[http.StatusUnauthorized] != 200 || time.Since(began) != time.Second {
					t.Errorf("answered %v in %v", statuses, time.Since(began))
				}
			})
		})
	}
}

// TestWrongKeysAreToldOf: in the log, in few lines, with the address and without the key;
// and in the metrics.
func TestWrongKeysAreToldOf(t *testing.T) {
	for name, guess := range guesses {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := New(newFakeApp(), Options{Keys: plainKeys("alpha"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 5 {
				guess(t, s, "hunter2hunter2")
			}
			if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "the key is wrong") || !strings.Contains(text, "from=192.0.2.1") || strings.Contains(text, "hunter2") {
				t.Errorf("logged %s", text)
			}
			if got := ask(t, s, "GET", "/metrics", "", "Authorization", "Bearer alpha"); !strings.Contains(got.body, "\nonereply_wrong_keys_total 5\n") {
				t.Error("they are not counted")
			}
		})
	}
}

// TestSignOutEndsTheSession: a copy of the cookie opens nothing afterwards, and no other
// session ends.
func TestSignOutEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
		left, stays := login(t, s, "alpha"), login(t, s, "alpha")
		if got := ask(t, s, "POST", "/console/logout", "", "Cookie", left.cookie, csrfHeader, left.csrf); got.status != http.StatusNoContent {
			t.Fatalf("status %d", got.status)
		}
		left.flush(t, s).wantProblem(t, kindUnauthorized, "")
		ask(t, s, "GET", here, "", "Cookie", left.cookie).wantProblem(t, kindUnauthorized, "")
		if got := ask(t, s, "GET", "/console/session", "", "Cookie", left.cookie).json(t); got["signed_in"] != false {
			t.Errorf("the page is told %v", got)
		}
		if got := ask(t, s, "POST", "/console/logout", "", "Cookie", left.cookie); got.status != http.StatusNoContent {
			t.Errorf("once more: status %d", got.status)
		}
		left.cookie += "; " + stays.cookie
		for _, b := range []signedIn{stays, {left.cookie, stays.csrf}} {
			if got := b.flush(t, s); got.status != http.StatusAccepted {
				t.Errorf("the other session: status %d", got.status)
			}
		}
		time.Sleep(11 * time.Hour)
		ask(t, s, "GET", here, "", "Cookie", left.cookie[:strings.Index(left.cookie, ";")]).wantProblem(t, kindUnauthorized, "")
	})
}

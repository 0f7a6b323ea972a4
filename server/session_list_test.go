package server

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// sessionsOf are the sessions that a node lists.
func sessionsOf(t *testing.T, s *Server, header ...string) (all []map[string]any) {
	t.Helper()
	for _, one := range ask(t, s, "GET", "/v1/sessions", "", header...).json(t)["sessions"].([]any) {
		all = append(all, one.(map[string]any))
	}
	return all
}

// TestSessionsAreListedAndEnded: an admin sees who is signed in, and ends a session on every
// node, with the event stream that it has open.
func TestSessionsAreListedAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		keys := NewKeys(Key{Name: "boss", Key: "alpha"}, Key{Name: "desk", Key: "beta", Can: []Right{Read}}, Key{Name: "part", Key: "gamma", Bots: []string{"support"}})
		s, other := newWatched(app, Options{Keys: keys}), New(app, Options{Keys: keys})
		boss, desk := login(t, s, "alpha"), login(t, s, "beta")
		login(t, s, "beta") // never used
		time.Sleep(time.Minute)
		ask(t, s, "GET", here, "", "Cookie", desk.cookie, "from", "192.0.2.9:1")
		time.Sleep(time.Second)
		all := sessionsOf(t, s, "Cookie", boss.cookie)
		if len(all) != 2 || all[0]["name"] != "boss" || all[0]["current"] != true || all[1]["name"] != "desk" || all[1]["current"] != false || all[1]["from"] != "192.0.2.9" {
			t.Fatalf("the sessions are %v", all)
		}
		if opened, seen := all[1]["opened_at"].(string), all[1]["seen_at"].(string); seen[14:16] == opened[14:16] {
			t.Errorf("opened %s, seen %s", opened, seen)
		}
		id := all[1]["id"].(string)
		for _, key := range []string{"beta", "gamma"} {
			for _, call := range [][2]string{{"GET", "/v1/sessions"}, {"DELETE", "/v1/sessions/" + id}} {
				if got := ask(t, s, call[0], call[1], "", bearer(key)...); got.status != http.StatusForbidden {
					t.Errorf("%s with %s: status %d", call[0], key, got.status)
				}
			}
		}
		watcher := serveInMemory(t, s).dial(t)
		watcher.send(t, "GET "+here+"/events", "Cookie: "+desk.cookie+"\r\n", "")
		stream, ended := watcher.receive(t), make(chan time.Duration, 1)
		began := time.Now()
		go func() {
			readToEnd(t, stream.Body)
			ended <- time.Since(began)
		}()
		time.Sleep(time.Second)
		if got := ask(t, other, "DELETE", "/v1/sessions/"+id, "", bearer("alpha")...); got.status != http.StatusNoContent {
			t.Fatalf("status %d\n%s", got.status, got.body)
		}
		for _, node := range []*Server{s, other} {
			ask(t, node, "GET", here, "", "Cookie", desk.cookie).wantProblem(t, kindUnauthorized, "")
		}
		if lasted := <-ended; lasted > 15*time.Second {
			t.Errorf("its stream lasted %v", lasted)
		}
		if all := sessionsOf(t, s, bearer("alpha")...); len(all) != 1 || all[0]["name"] != "boss" || all[0]["current"] != false {
			t.Errorf("the sessions are %v", all)
		}
		if got := boss.flush(t, s); got.status != http.StatusAccepted {
			t.Errorf("another session: status %d", got.status)
		}
		keys.Replace(Key{Name: "new", Key: "delta"})
		if all := sessionsOf(t, s, bearer("delta")...); len(all) != 0 {
			t.Errorf("sessions of keys that are gone: %v", all)
		}
		for _, bad := range []string{"x", id[1:], id + "00"} {
			ask(t, s, "DELETE", "/v1/sessions/"+bad, "", bearer("delta")...).wantProblem(t, kindInvalid, "id")
		}
	})
}

// TestAnEndedSessionStaysSo for as long as its cookie would be good.
func TestAnEndedSessionStaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		s := New(app, Options{Keys: plainKeys("alpha")})
		b := login(t, s, "alpha")
		b.flush(t, s)
		id := sessionsOf(t, s, bearer("alpha")...)[0]["id"].(string)
		ask(t, s, "DELETE", "/v1/sessions/"+id, "", bearer("alpha")...)
		if until := app.gone[id]; until.Before(time.Now().Add(sessionTime)) {
			t.Errorf("it is revoked until %v only", until)
		}
		out := login(t, s, "alpha")
		ask(t, s, "POST", "/console/logout", "", "Cookie", out.cookie, csrfHeader, out.csrf)
		if len(app.gone) != 2 {
			t.Errorf("a sign-out is told to nobody: %v", app.gone)
		}
	})
}

// TestASessionIsForItsHost: another name of the node, or another port, takes no cookie of it,
// and over TLS none that another host of the domain has set.
func TestASessionIsForItsHost(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	b := login(t, s, "alpha")
	for _, host := range []string{"example.com:8080", "other.example", "example.com."} {
		ask(t, s, "GET", here, "", "Cookie", b.cookie, "Host", host).wantProblem(t, kindUnauthorized, "")
	}
	ask(t, s, "GET", here, "", "Cookie", b.cookie, "X-Forwarded-Proto", "https").wantProblem(t, kindUnauthorized, "")
	if got := ask(t, s, "GET", here, "", "Cookie", securePrefix+b.cookie, "X-Forwarded-Proto", "https"); got.status != http.StatusOK {
		t.Errorf("over TLS: status %d", got.status)
	}
}

// TestMemoryOfSeenSessionsIsBounded: the one that was not used for longest makes room.
func TestMemoryOfSeenSessionsIsBounded(t *testing.T) {
	var seen seenSessions
	now := time.Unix(1_800_000_000, 0)
	for i := range maxSeen + 10 {
		seen.note(session{content: [contentBytes]byte{byte(i), byte(i >> 8)}, key: &heldKey{Key: Key{Name: fmt.Sprint(i)}}, expires: now.Add(time.Hour)}, "here", now.Add(time.Duration(i)*time.Millisecond))
	}
	all := seen.list(now, func(seenSession) bool { return false })
	if len(all) != maxSeen || all[0].Name != fmt.Sprint(maxSeen+9) || all[maxSeen-1].Name != "10" {
		t.Errorf("%d are kept, from %s to %s", len(all), all[0].Name, all[len(all)-1].Name)
	}
	if left := seen.list(now.Add(time.Hour), func(seenSession) bool { return false }); len(left) != 0 {
		t.Errorf("%d have ended and are listed", len(left))
	}
}

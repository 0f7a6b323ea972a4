package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

// bearer is the header that presents a key.
func bearer(key string) []string { return []string{"Authorization", "Bearer " + key} }

// TestEachRouteNamesItsRight: a route that is opened by key and names no right is closed to
// every key, so that nobody adds one without a thought.
func TestEachRouteNamesItsRight(t *testing.T) {
	known := append(Rights(), anyRight)
	for _, r := range New(newFakeApp(), Options{}).router.routes {
		switch {
		case r.access != byKey && (r.needs != "" || r.allBots):
			t.Errorf("%s %s is open to all, and names the right %q", r.method, r.pattern, r.needs)
		case r.access == byKey && !slices.Contains(known, r.needs):
			t.Errorf("%s %s needs a right: it names %q", r.method, r.pattern, r.needs)
		}
	}
	if (&heldKey{}).may("") {
		t.Error("a route without a right is open to a key that may do everything")
	}
}

// TestRightsOpenTheirCalls takes a key with one right, for each right, through the API.
func TestRightsOpenTheirCalls(t *testing.T) {
	rights := map[string]Right{
		"GET ": Read, "GET /transcript": Read, "GET /timeline": Read, "GET /audit": Admin, "DELETE ": Admin,
		"POST /messages": Write, "PATCH /messages/m1": Write, "DELETE /messages/m1": Write, "POST /typing": Write, "POST /replies/1/status": Write,
		"POST /flush": Operate, "POST /pause": Operate, "POST /resume": Operate, "POST /replies": Operate, "POST /requeue": Operate, "POST /reset": Operate,
		"POST /move": Operate, "POST /turns/1/resend": Operate, "POST /turns/1/mark-sent": Operate, "POST /turns/1/seal": Seal,
		"PUT /../../aliases/a": Operate, "GET /../../aliases/a": Read, "DELETE /../../aliases/a": Operate,
	}
	all := map[string]Right{
		"GET /v1/conversations": Read, "GET /v1/bots/support/conversations": Read, "GET /v1/attention": Read, "GET /v1/bots/support/channels": Read, "GET /v1/overview": Read, "GET /metrics": Read,
		"GET /v1/audit": Admin, "GET /v1/whoami": anyRight,
	}
	for name, needed := range rights {
		method, path, _ := strings.Cut(name, " ")
		all[method+" "+aliasPath(here+path)] = needed
	}
	var keys []Key
	for _, right := range Rights() {
		keys = append(keys, Key{Name: string(right), Key: "key of " + string(right), Can: []Right{right}})
	}
	app := newFakeApp()
	s := New(app, Options{Keys: NewKeys(keys...)})
	for call, needed := range all {
		method, path, _ := strings.Cut(call, " ")
		for _, key := range keys {
			before := app.calls()
			got := ask(t, s, method, path, "", "Authorization", "Bearer "+key.Key)
			if needed == anyRight || key.Can[0] == needed {
				if got.status == http.StatusForbidden || got.status == http.StatusUnauthorized {
					t.Errorf("%s with the right %s: status %d", call, key.Name, got.status)
				}
				continue
			}
			got.wantProblem(t, kindForbidden, "")
			if got.json(t)["right"] != string(needed) || !strings.Contains(got.body, "the right "+string(needed)) {
				t.Errorf("%s: the answer does not say that %s is missing: %s", call, needed, got.body)
			}
			if app.calls() != before {
				t.Errorf("%s with the right %s: the App was asked: %+v", call, key.Name, app.lastCall())
			}
		}
	}
}

// TestAKeyOfSomeBots: it sees these, and learns nothing of others, not even whether they
// are there.
func TestAKeyOfSomeBots(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{Keys: NewKeys(
		Key{Name: "one", Key: "alpha", Bots: []string{"support"}},
		Key{Name: "two", Key: "beta", Bots: []string{"größe/1", "support"}},
		Key{Name: "other", Key: "gamma", Bots: []string{"größe/1"}})})
	for _, path := range []string{here, "/v1/bots/nobody/conversations/c1", "/v1/bots/support/conversations", "/v1/bots/support/aliases/a", "/v1/events?bot=support", "/v1/attention?bot=support"} {
		ask(t, s, "GET", path, "", bearer("gamma")...).wantProblem(t, kindForbidden, "bot")
	}
	ask(t, s, "POST", here+"/messages", `{"text":"x"}`, bearer("gamma")...).wantProblem(t, kindForbidden, "bot")
	for _, path := range []string{"/v1/overview", "/metrics"} {
		ask(t, s, "GET", path, "", bearer("alpha")...).wantProblem(t, kindForbidden, "bot")
	}
	if app.calls() != 0 {
		t.Fatalf("the App was asked: %+v", app.lastCall())
	}
	for _, test := range []struct {
		key, path string
		bot       string
		bots      []string
	}{
		{"alpha", "/v1/conversations", "support", nil},
		{"alpha", "/v1/bots/support/conversations", "support", nil},
		{"alpha", "/v1/attention", "support", nil},
		{"alpha", "/v1/audit", "support", nil},
		{"beta", "/v1/conversations", "", []string{"größe/1", "support"}},
		{"beta", "/v1/attention", "", []string{"größe/1", "support"}},
		{"beta", "/v1/attention?bot=support", "support", nil},
		{"beta", "/v1/audit", "", []string{"größe/1", "support"}},
	} {
		if got := ask(t, s, "GET", test.path, "", bearer(test.key)...); got.status != http.StatusOK {
			t.Errorf("%s: status %d", test.path, got.status)
		}
		bot, bots := app.asked()
		if bot != test.bot || !slices.Equal(bots, test.bots) {
			t.Errorf("%s with %s: asked for %q and %q, want %q and %q", test.path, test.key, bot, bots, test.bot, test.bots)
		}
	}
}

// TestEventsOfSomeBots: events of other bots do not come, and those before them do not wait.
func TestEventsOfSomeBots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		s := newWatched(app, Options{Keys: NewKeys(Key{Key: "alpha", Bots: []string{"support", "x"}})})
		for _, e := range []onereply.Event{{ID: "1", Bot: "support", Text: "mine"}, {ID: "2", Bot: "größe/1", Text: "theirs"}} {
			app.events <- e
		}
		watcher := serveInMemory(t, s).dial(t)
		watcher.send(t, "GET /v1/events", "Authorization: Bearer alpha\r\n", "")
		stream := watcher.receive(t)
		began := time.Now()
		if got := readUntil(t, stream.Body, "mine"); strings.Contains(got, "theirs") {
			t.Errorf("got %s", got)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it came after %v", waited)
		}
		app.events <- onereply.Event{ID: "3", Type: "events.lost"}
		if got := readUntil(t, stream.Body, "events.lost"); strings.Contains(got, "theirs") {
			t.Errorf("got %s", got)
		}
		_ = watcher.Close()
	})
}

// TestKeysExpire: from then on neither the key opens anything, nor a session of it, nor a
// stream that was opened before.
func TestKeysExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		s := newWatched(app, Options{Keys: NewKeys(Key{Name: "guest", Key: "alpha", Expires: time.Now().Add(time.Hour + 7*time.Second)}, Key{Key: "beta"})})
		b := login(t, s, "alpha")
		watcher := serveInMemory(t, s).dial(t)
		watcher.send(t, "GET /v1/events", "Authorization: Bearer alpha\r\n", "")
		stream, began, ended := watcher.receive(t), time.Now(), make(chan time.Duration, 1)
		go func() {
			readToEnd(t, stream.Body)
			ended <- time.Since(began)
		}()
		time.Sleep(time.Hour + 6*time.Second)
		if got := b.flush(t, s); got.status != http.StatusAccepted {
			t.Errorf("a second before: status %d", got.status)
		}
		time.Sleep(time.Second)
		if lasted := <-ended; lasted != time.Hour+7*time.Second {
			t.Errorf("a stream lasted %v", lasted)
		}
		b.flush(t, s).wantProblem(t, kindUnauthorized, "")
		ask(t, s, "POST", "/console/login", `{"key":"alpha"}`).wantProblem(t, kindUnauthorized, "")
		got := ask(t, s, "GET", here, "", bearer("alpha")...)
		got.wantProblem(t, kindUnauthorized, "")
		if !strings.Contains(got.body, "guest has expired") {
			t.Errorf("it does not say why: %s", got.body)
		}
		if s.guard.wrong.count.Load() != 0 {
			t.Error("it counts as a guess")
		}
	})
}

// TestKeysAreReplaced: one that is gone, or opens less, ends all that it has opened, at
// once; one that stays is not disturbed.
func TestKeysAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		keys := NewKeys(Key{Key: "alpha"}, Key{Name: "b", Key: "beta", Bots: []string{"support"}})
		s := newWatched(app, Options{Keys: keys})
		gone, stays := login(t, s, "alpha"), login(t, s, "beta")
		watch := func(key string) *http.Response {
			c := serveInMemory(t, s).dial(t)
			c.send(t, "GET "+here+"/events", "Authorization: Bearer "+key+"\r\n", "")
			return c.receive(t)
		}
		ends, goesOn := watch("alpha"), watch("beta")
		keys.Replace(Key{Name: "b", Key: "beta", Bots: []string{"support"}}, Key{Key: "gamma"})
		readToEnd(t, ends.Body)
		gone.flush(t, s).wantProblem(t, kindUnauthorized, "")
		ask(t, s, "GET", here, "", bearer("alpha")...).wantProblem(t, kindUnauthorized, "")
		for _, key := range []string{"beta", "gamma"} {
			if got := ask(t, s, "GET", here, "", bearer(key)...); got.status != http.StatusOK {
				t.Errorf("%s: status %d", key, got.status)
			}
		}
		if got := stays.flush(t, s); got.status != http.StatusAccepted {
			t.Errorf("the session of a key that stays: status %d", got.status)
		}
		app.events <- onereply.Event{ID: "1", Bot: "support", Text: "still here"}
		readUntil(t, goesOn.Body, "still here")

		keys.Replace(Key{Name: "b", Key: "beta", Bots: []string{"support"}, Can: []Right{Read}})
		readToEnd(t, goesOn.Body)
		stays.flush(t, s).wantProblem(t, kindForbidden, "")
		if got := ask(t, s, "GET", here, "", "Cookie", stays.cookie); got.status != http.StatusOK {
			t.Errorf("its session, with the rights that are left: status %d", got.status)
		}
	})
}

// TestWithoutKeysAnyHostIsRefused also after the keys were taken away.
func TestKeysAreTakenAway(t *testing.T) {
	keys := plainKeys("alpha")
	s := New(newFakeApp(), Options{Keys: keys, LoopbackOnly: true})
	ask(t, s, "GET", here, "", "Host", "evil.example").wantProblem(t, kindUnauthorized, "")
	keys.Replace()
	ask(t, s, "GET", here, "", "Host", "evil.example").wantProblem(t, kindWrongHost, "")
	if got := ask(t, s, "GET", here, "", "Host", "localhost"); got.status != http.StatusOK {
		t.Errorf("status %d", got.status)
	}
}

func TestWhoAmI(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: NewKeys(
		Key{Key: "alpha"},
		Key{Name: "reader", Key: "beta", Bots: []string{"support"}, Can: []Right{Read}, Expires: time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)})})
	const full = `"bots":["support","größe/1"],"all_bots":true,"can":["read","write","operate","seal","admin"],"expires_at":null}`
	wantJSON(t, ask(t, s, "GET", "/v1/whoami", "", bearer("alpha")...).body, `{"name":"8ed3f6",`+full)
	want := `{"name":"reader","bots":["support"],"all_bots":false,"can":["read"],"expires_at":"2100-01-02T03:04:05.000Z"}`
	wantJSON(t, ask(t, s, "GET", "/v1/whoami", "", bearer("beta")...).body, want)
	wantJSON(t, ask(t, s, "GET", "/v1/whoami", "", "Cookie", login(t, s, "beta").cookie).body, want)
	wantJSON(t, ask(t, New(newFakeApp(), Options{}), "GET", "/v1/whoami", "").body, `{"name":"anonymous",`+full)
}

// TestRefusedCallsAreAudited: the key is named, the call too, and what is alike is counted.
func TestRefusedCallsAreAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		app.audit = []onereply.AuditEntry{{At: onereply.Time{Time: time.Now().Add(time.Second)}, Action: "pause", Bot: "support"}}
		s := New(app, Options{Keys: NewKeys(Key{Name: "boss", Key: "alpha"}, Key{Name: "reader", Key: "beta", Can: []Right{Read}},
			Key{Name: "clerk", Key: "gamma", Bots: []string{"größe/1"}})})
		for range 3 {
			ask(t, s, "POST", here+"/pause", "", bearer("beta")...).wantProblem(t, kindForbidden, "")
		}
		time.Sleep(2 * time.Second)
		ask(t, s, "DELETE", here, "", "Authorization", "Bearer a wrong one").wantProblem(t, kindUnauthorized, "")
		entries := func(key, query string) (out []string) {
			got := ask(t, s, "GET", "/v1/audit"+query, "", bearer(key)...)
			for _, e := range got.json(t)["entries"].([]any) {
				e := e.(map[string]any)
				out = append(out, strings.TrimSpace(strings.Join([]string{e["action"].(string), e["bot"].(string), e["by"].(string), e["from"].(string), e["reason"].(string)}, " ")))
			}
			return out
		}
		const one = "/v1/bots/{bot}/conversations/{conversation}"
		wrong := "refused support unknown 192.0.2.1 unauthorized: DELETE " + one
		if got, want := entries("alpha", ""), []string{wrong, "pause support", "refused support reader 192.0.2.1 forbidden, needs operate: POST " + one + "/pause (3 times)"}; !slices.Equal(got, want) {
			t.Errorf("the audit has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := entries("alpha", "?limit=1"); !slices.Equal(got, []string{wrong}) {
			t.Errorf("the last one is %s", got)
		}
		app.audit = nil
		if got := entries("gamma", ""); len(got) != 0 {
			t.Errorf("a key of another bot sees %s", got)
		}
	})
}

// TestMemoryOfRefusalsIsBounded: who causes many pushes out other refusals, nothing else.
func TestMemoryOfRefusalsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
		for i := range 3 * refusalsKept {
			ask(t, s, "GET", here, "", "from", "10.0."+string(rune('0'+i%10))+".1:1", "Host", strings.Repeat("x", i%100))
			time.Sleep(refusalsJoin)
		}
		if n := len(s.refused.last); n != refusalsKept {
			t.Errorf("%d are kept, want %d", n, refusalsKept)
		}
	})
}

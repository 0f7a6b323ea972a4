package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"reflect"
	"testing"

	"github.com/onereply/onereply"
)

func TestAudit(t *testing.T) {
	app := newFakeApp()
	app.audit = []onereply.AuditEntry{{
		At: at(t, "2026-01-02T03:04:05+01:00"), Action: "pause", Bot: "support", Conversation: "c1", By: "4f2a10", From: "192.0.2.1", Reason: "lunch",
	}}
	s := New(app, Options{})
	for target, want := range map[string]call{
		here + "/audit":        {"audit", "support", "c1", 100},
		"/v1/audit?limit=1000": {"audit", "", "", 1000},
	} {
		wantJSON(t, ask(t, s, "GET", target, "").body, `{"entries":[{"at":"2026-01-02T02:04:05.000Z","action":"pause","bot":"support",
			"conversation":"c1","by":"4f2a10","from":"192.0.2.1","reason":"lunch"}]}`)
		if asked := app.lastCall(); !reflect.DeepEqual(asked, want) {
			t.Errorf("%s: asked %+v, want %+v", target, asked, want)
		}
	}
	ask(t, s, "GET", "/v1/audit?limit=0", "").wantProblem(t, kindInvalid, "limit")
	app.audit = nil
	wantJSON(t, ask(t, s, "GET", "/v1/audit", "").body, `{"entries":[]}`)
}

// TestActionsAreNoted: each call by which a person or a program acts on a
// conversation says who it was, and no other call does.
func TestActionsAreNoted(t *testing.T) {
	sum := sha256.Sum256([]byte("beta"))
	label := hex.EncodeToString(sum[:])[:6]
	app := newFakeApp()
	keyed, open := New(app, Options{Keys: plainKeys("alpha", "beta")}), New(app, Options{})
	b := login(t, keyed, "beta")
	for _, action := range [][3]string{
		{"POST", "/flush"}, {"POST", "/pause"}, {"POST", "/reset"}, {"POST", "/move", `{"to":"x"}`}, {"POST", "/resume"}, {"POST", "/requeue"}, {"POST", "/replies", `{"text":"x"}`}, {"DELETE", ""},
		{"POST", "/turns/1/resend"}, {"POST", "/turns/1/mark-sent"},
	} {
		for who, asking := range map[string]struct {
			s      *Server
			header []string
			by     string
		}{
			"a key":     {keyed, []string{"Authorization", "Bearer beta"}, label},
			"a session": {keyed, []string{"Cookie", b.cookie, csrfHeader, b.csrf}, label},
			"nobody":    {open, nil, "anonymous"},
		} {
			app.actor = onereply.Actor{}
			got := ask(t, asking.s, action[0], here+action[1], action[2], append(asking.header, "from", "[2001:db8::7]:5000", "X-Forwarded-For", "10.1.1.1")...)
			if want := (onereply.Actor{By: asking.by, From: "2001:db8::7"}); app.actor != want || got.status >= http.StatusBadRequest {
				t.Errorf("%s %s by %s: status %d, %+v, want %+v", action[0], action[1], who, got.status, app.actor, want)
			}
		}
	}
	noted := 0
	for _, r := range open.router.routes {
		if r.audited {
			noted++
		}
	}
	if noted != 12 {
		t.Errorf("%d routes are noted, of which this test knows 12", noted)
	}
}

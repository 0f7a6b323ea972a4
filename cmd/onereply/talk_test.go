package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// api answers as a node would, from a table of "METHOD path" and JSON. What
// was posted last is kept.
type api struct {
	answers map[string]string
	posted  string
	key     string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.posted, a.key = string(body), r.Header.Get("Authorization")
	answer, ok := a.answers[r.Method+" "+r.URL.RequestURI()]
	if !ok {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"title":"Not found","detail":%q}`, r.Method+" "+r.URL.RequestURI())
		return
	}
	_, _ = io.WriteString(w, answer)
}

const (
	base       = "/v1/bots/support/conversations/c1"
	oneReceipt = `{"message_id":"m1","version":3,"duplicate":false,"due_at":"2026-01-02T03:04:05.600Z","outcome":"queued"}`
	oneState   = `{"bot":"support","conversation":"c1","version":3,"answered":2,"phase":"generating","pending":1,"turn":2,` +
		`"due_at":"2026-01-02T03:04:05.600Z","lease":{"holder":"n1","token":4,"expires_at":"2026-01-02T03:04:35.600Z"},` +
		`"discards":1,"attempts":2,"last_error":"no answer","last_activity_at":"2026-01-02T03:04:05.000Z"}`
	oneTimeline = `{"bot":"support","conversation":"c1","now":"2026-01-02T03:04:20.000Z","turns":[{"turn":1,"open":false,"lost":2,"steps":[` +
		`{"type":"message.accepted","at":"2026-01-02T03:04:05.000Z","turn":1,"version":1,"seq":1,"message_id":"m\u001b1"},` +
		`{"type":"turn.started","at":"2026-01-02T03:04:06.500Z","node":"n1","turn":1,"token":7,"attempt":1,"version":1,"through":1},` +
		`{"type":"part.failed","at":"2026-01-02T03:04:08.000Z","turn":1,"token":7,"attempt":1,"version":1,"through":1,"due_at":"2026-01-02T03:04:09.000Z",` +
		`"reply_id":"c1/1","part":2,"parts":3,"reason":"busy"}]},{"turn":2,"open":true,"lost":0,"steps":[]}]}`
	oneTranscript = `{"entries":[
	 {"seq":1,"kind":"message","id":"m1","text":"one\ntwo","sender":{"name":"Ann"},"at":"2026-01-02T03:04:05.000Z","status":"answered"},
	 {"seq":2,"kind":"message","id":"m2","text":"\u001b[31mred","at":"2026-01-02T03:04:06.000Z","status":"answered"},
	 {"seq":3,"kind":"reply","id":"c1/1","text":"both","at":"2026-01-02T03:04:09.000Z","status":"sent","covers":["m1","m2"],"late_input":true},
	 {"seq":4,"kind":"reset","id":"","text":"","at":"2026-01-02T03:04:10.000Z","status":"","reason":"a new\norder"},
	 {"seq":5,"kind":"name","id":"","text":"+49","at":"2026-01-02T03:04:11.000Z","status":"","reason":"alias"}
	]}`
)

func newAPIForTest(t *testing.T) (*api, map[string]string) {
	t.Helper()
	a := &api{answers: map[string]string{
		"POST " + base + "/messages":                        oneReceipt,
		"POST " + base + "/replies":                         oneReceipt,
		"POST " + base + "/flush":                           oneState,
		"POST " + base + "/pause":                           oneState,
		"POST " + base + "/resume":                          oneState,
		"POST " + base + "/requeue":                         oneState,
		"POST " + base + "/reset":                           oneState,
		"POST " + base + "/move":                            oneState,
		"PUT /v1/bots/support/aliases/p":                    `{"alias":"p","conversation":"c1"}`,
		"GET /v1/bots/support/aliases/p":                    `{"alias":"p","conversation":"c1"}`,
		"DELETE /v1/bots/support/aliases/p":                 "",
		"POST " + base + "/turns/2/resend":                  oneState,
		"POST " + base + "/turns/2/mark-sent":               oneState,
		"GET " + base + "/timeline?turns=10":                oneTimeline,
		"DELETE " + base:                                    "",
		"GET " + base:                                       oneState,
		"GET " + base + "/transcript?after=0&limit=500":     oneTranscript,
		"GET /v1/conversations?limit=100":                   `{"conversations":[` + oneState + `],"next_cursor":null}`,
		"GET /v1/conversations?limit=2":                     `{"conversations":[` + oneState + `],"next_cursor":"x"}`,
		"GET /v1/conversations?cursor=x&limit=1":            `{"conversations":[` + oneState + `],"next_cursor":"y"}`,
		"GET /v1/bots/b/conversations?limit=100&phase=idle": `{"conversations":[],"next_cursor":null}`,
	}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, map[string]string{"ONEREPLY_SERVER": server.URL, "ONEREPLY_API_KEY": "secret"}
}

func TestSend(t *testing.T) {
	a, env := newAPIForTest(t)
	do(t, env, "", "send", "support", "c1", "hello", "there").expect(t, success, "queued  m1  version 3  due 03:04:05.600Z\n", "")
	if a.posted != `{"text":"hello there"}` || a.key != "Bearer secret" {
		t.Errorf("posted %s with key %q", a.posted, a.key)
	}
	got := do(t, env, "from\nstdin\n", "send", "support", "c1", "-", "--id", "m1", "--name", "Ann", "--json", "--api-key", "other")
	got.expect(t, success, oneReceipt+"\n", "")
	if a.posted != `{"id":"m1","text":"from\nstdin","sender":{"name":"Ann"}}` || a.key != "Bearer other" {
		t.Errorf("posted %s with key %q", a.posted, a.key)
	}
	do(t, env, "", "reply", "support", "c1", "hello").expect(t, success, "queued  m1", "")
	do(t, env, "", "send", "support", "c2", "hello").expect(t, failure, "", "onereply: Not found: POST")
	do(t, env, "", "send", "support", "c1", "--", "--json").expect(t, success, "queued", "")
}

func TestControl(t *testing.T) {
	a, env := newAPIForTest(t)
	const notPaused = "onereply: support/c1: it is not paused; nothing was changed\n"
	tests := []struct{ args, posted, stderr string }{
		{"flush support c1", "", ""},
		{"requeue support c1", "", "onereply: support/c1: no turn has failed, and no message is set aside; nothing was changed\n"},
		{"resend support c1 2", "", ""},
		{"mark-sent support c1 2", "", ""},
		{"move support c1 c2", `{"to":"c2"}`, ""},
		{"reset support c1 --reason order", `{"reason":"order"}`, ""},
		{"pause support c1 --reason lunch", `{"reason":"lunch"}`, ""},
		{"resume support c1", `{"answer_pending":true}`, notPaused},
		{"resume support c1 --close", `{"answer_pending":false}`, notPaused},
	}
	for _, test := range tests {
		do(t, env, "", strings.Fields(test.args)...).expect(t, success, "support/c1  generating  version 3  answered 2  pending 1\n", test.stderr)
		if a.posted != test.posted {
			t.Errorf("%s posted %s, want %s", test.args, a.posted, test.posted)
		}
		do(t, env, "", strings.Fields(test.args+" --json")...).expect(t, success, oneState+"\n", test.stderr)
	}
	for _, command := range []string{"flush", "requeue", "resume", "reset"} {
		a.posted = "nothing"
		do(t, env, "", command, "support", "nobody").expect(t, failure, "", "onereply: Not found: GET")
		if a.posted != "" {
			t.Errorf("%s of an unknown conversation posted %s", command, a.posted)
		}
	}
	a.answers["GET "+base] = strings.Replace(oneState, "generating", "paused", 1)
	do(t, env, "", "resume", "support", "c1").expect(t, success, "support/c1", "")
	a.answers["GET "+base] = strings.Replace(oneState, "generating", "idle", 1)
	do(t, env, "", "flush", "support", "c1").expect(t, success, "support/c1", "nothing waits; nothing was changed")
	do(t, env, "", "delete", "support", "c1", "--yes").expect(t, success, "deleted support/c1\n", "")
}

func TestAlias(t *testing.T) {
	a, env := newAPIForTest(t)
	do(t, env, "", "alias", "support", "p", "c1").expect(t, success, "support/p leads to support/c1\n", "")
	if a.posted != `{"conversation":"c1"}` {
		t.Errorf("posted %s", a.posted)
	}
	do(t, env, "", "alias", "support", "p").expect(t, success, "support/p leads to support/c1\n", "")
	do(t, env, "", "alias", "support", "p", "--json").expect(t, success, `{"alias":"p","conversation":"c1"}`+"\n", "")
	do(t, env, "", "alias", "support", "p", "--remove").expect(t, success, "support/p leads nowhere\n", "")
	do(t, env, "", "alias", "support", "p", "c1", "--remove").expect(t, misuse, "", "not both")
}

const shown = `support/c1  generating  version 3  answered 2  pending 1
  due 03:04:05.600Z
  lease 4 of n1 until 03:04:35.600Z
  turn 2: 2 attempts, 1 discard
  last error: no answer

2026-01-02 03:04:05  Ann  m1 (answered)
    one
    two

2026-01-02 03:04:06  someone  m2 (answered)
    \u001b[31mred

2026-01-02 03:04:09  REPLY c1/1 (sent, late input) to m1, m2
    both

2026-01-02 03:04:10  RESET (a new order): later turns know nothing from before it

2026-01-02 03:04:11  NAME (alias): from here on this name leads here too
    +49
`

func TestShow(t *testing.T) {
	_, env := newAPIForTest(t)
	got := do(t, env, "", "show", "support", "c1")
	got.expect(t, success, "", "")
	if got.stdout != shown {
		t.Errorf("got:\n%s\nwant:\n%s", got.stdout, shown)
	}
	var document struct {
		State      json.RawMessage
		Transcript []json.RawMessage
	}
	got = do(t, env, "", "show", "support", "c1", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil || string(document.State) != oneState || len(document.Transcript) != 5 {
		t.Errorf("got %s, %v", got.stdout, err)
	}
	do(t, env, "", "show", "support", "nobody").expect(t, failure, "", "Not found")
}

func TestTimeline(t *testing.T) {
	_, env := newAPIForTest(t)
	got := do(t, env, "", "show", "support", "c1", "--timeline")
	got.expect(t, success, "", "")
	const want = `turn 1 (2 steps before these are not kept)
  03:04:05.000Z  +0s    message.accepted  message m\u001b1, version 1
  03:04:06.500Z  +1.5s  turn.started      version 1, saw 1, attempt 1, lease 7 of n1
  03:04:08.000Z  +3s    part.failed       reply c1/1, part 2 of 3, version 1, saw 1, attempt 1, due 03:04:09.000Z, (busy)

turn 2, open
`
	if got.stdout != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.stdout, want)
	}
	do(t, env, "", "show", "support", "c1", "--timeline", "--json").expect(t, success, oneTimeline+"\n", "")
	do(t, env, "", "show", "support", "c1", "--timeline", "--turns", "101").expect(t, misuse, "", "--turns must be 1 to 100")
}

func TestList(t *testing.T) {
	_, env := newAPIForTest(t)
	const table = "" +
		"BOT      CONVERSATION  PHASE       VERSION  ANSWERED  PENDING  ACTIVE                LAST ERROR\n" +
		"support  c1            generating  3        2         1        2026-01-02T03:04:05Z  no answer\n"
	if got := do(t, env, "", "list"); got.stdout != table {
		t.Errorf("got:\n%s\nwant:\n%s", got.stdout, table)
	}
	do(t, env, "", "list", "--limit", "2", "--json").expect(t, success, `{"conversations":[`+oneState+`,`+oneState+`]}`, "")
	do(t, env, "", "list", "b", "--phase", "idle", "--json").expect(t, success, `{"conversations":[]}`, "")
}

func TestTail(t *testing.T) {
	const event = `{"id":"1","type":"reply.sent","at":"2026-01-02T03:04:09.000Z","bot":"support","conversation":"c1",` +
		`"turn":1,"version":2,"reply_id":"c1/1","covers":["m1","m2"],"text":"both\u001b"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") != "" {
			http.Error(w, "", http.StatusGone)
			return
		}
		fmt.Fprintf(w, "id: 1\nevent: reply.sent\ndata: %s\n\n", event)
	}))
	defer server.Close()
	env := map[string]string{"ONEREPLY_SERVER": server.URL}
	const want = `03:04:09.000Z  support/c1  reply.sent            version 2  turn 1  reply c1/1  covers m1, m2  "both\x1b"` + "\n"
	do(t, env, "", "tail").expect(t, failure, want, "410")
	do(t, env, "", "tail", "support", "c1", "--json").expect(t, failure, event+"\n", "410")
}

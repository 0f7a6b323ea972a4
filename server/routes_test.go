package server

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

const here = "/v1/bots/support/conversations/c1"

func at(t *testing.T, text string) onereply.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return onereply.Time{Time: out}
}

// fullState has every field set.
func fullState(t *testing.T) onereply.State {
	due, first := at(t, "2026-01-02T03:04:05+01:00"), at(t, "2026-01-02T03:04:05.6789Z")
	return onereply.State{
		Bot: "support", Conversation: "c1", Version: 4, Answered: 2, Phase: onereply.PhaseGenerating, Pending: 2, Turn: 3,
		DueAt: due, FirstPendingAt: first, Lease: &onereply.Lease{Holder: "n1", Token: 9, ExpiresAt: first},
		Discards: 1, Attempts: 1, LastError: "timeout", PauseReason: "x", LastActivityAt: first,
	}
}

// TestCalls goes through the whole API: what the App is asked, and what is
// answered.
func TestCalls(t *testing.T) {
	const receiptJSON = `{"message_id":"m1","version":7,"duplicate":false,"outcome":"queued","due_at":"2026-01-02T02:04:05.500Z"}`
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		want                     call
		answer                   string // "": not compared
	}{
		{"message", "POST", "/messages", `{"id":"m1","text":"hi"}`, 202, call{"receive", "support", "c1", onereply.Message{ID: "m1", Text: "hi"}}, receiptJSON},
		{"edit", "PATCH", "/messages/m%2F1", `{"text":"new"}`, 202, call{"edit", "support", "c1", "m/1=new"}, receiptJSON},
		{"edit of attachments", "PATCH", "/messages/m1", `{"text":null,"attachments":[]}`, 202, call{"edit", "support", "c1", "m1=unchanged"}, receiptJSON},
		{"deletion", "DELETE", "/messages/m1", "", 202, call{"retract", "support", "c1", "m1"}, receiptJSON},
		{"typing", "POST", "/typing", `{"for":"1.5s"}`, 204, call{"typing", "support", "c1", 1500 * time.Millisecond}, ""},
		{"typing for one debounce", "POST", "/typing", "", 204, call{"typing", "support", "c1", time.Duration(0)}, ""},
		{"flush", "POST", "/flush", "", 202, call{"flush", "support", "c1", nil}, ""},
		{"pause", "POST", "/pause", `{"reason":"lunch","for":"30m"}`, 200, call{"pause", "support", "c1", onereply.Pause{Reason: "lunch", For: 30 * time.Minute}}, ""},
		{"reset", "POST", "/reset", `{"reason":"new order"}`, 202, call{"reset", "support", "c1", "new order"}, ""},
		{"reset without a reason", "POST", "/reset", "", 202, call{"reset", "support", "c1", ""}, ""},
		{"move", "POST", "/move", `{"to":"c2"}`, 202, call{"move", "support", "c1", "c2"}, ""},
		{"alias", "PUT", "/../../aliases/p%2F1", `{"conversation":"c1"}`, 200, call{"set alias", "support", "p/1", "c1"}, `{"alias":"p/1","conversation":"c1"}`},
		{"where an alias leads", "GET", "/../../aliases/p", "", 200, call{"alias", "support", "p", nil}, `{"alias":"p","conversation":"c1"}`},
		{"an alias is freed", "DELETE", "/../../aliases/p", "", 204, call{"remove alias", "support", "p", nil}, ""},
		{"pause without a reason", "POST", "/pause", "", 200, call{"pause", "support", "c1", onereply.Pause{}}, ""},
		{"resume", "POST", "/resume", "", 200, call{"resume", "support", "c1", true}, ""},
		{"resume with an empty object", "POST", "/resume", "{}", 200, call{"resume", "support", "c1", true}, ""},
		{"resume without an answer", "POST", "/resume", `{"answer_pending":false}`, 200, call{"resume", "support", "c1", false}, ""},
		{"human reply", "POST", "/replies", `{"text":"me"}`, 202, call{"answer", "support", "c1", onereply.HumanReply{Text: "me"}}, receiptJSON},
		{"reply with all fields", "POST", "/replies", `{"id":"r1","text":"me","closes":false,"sent":true,"pause_for":"30m"}`, 202,
			call{"answer", "support", "c1", onereply.HumanReply{ID: "r1", Text: "me", Beside: true, Sent: true, PauseFor: 30 * time.Minute}}, receiptJSON},
		{"reply that closes", "POST", "/replies", `{"text":"me","closes":true}`, 202, call{"answer", "support", "c1", onereply.HumanReply{Text: "me"}}, receiptJSON},
		{"requeue", "POST", "/requeue", "", 202, call{"requeue", "support", "c1", nil}, ""},
		{"report", "POST", "/replies/3/status", `{"status":"failed","reason":"gone","part":2}`, 202, call{"report", "support", "c1", "3 {Status:failed Part:2 Reason:gone SentID:}"}, ""},
		{"resend", "POST", "/turns/3/resend", "", 202, call{"resend", "support", "c1", int64(3)}, ""},
		{"mark as sent", "POST", "/turns/3/mark-sent", "{}", 202, call{"mark sent", "support", "c1", int64(3)}, ""},
		{"timeline", "GET", "/timeline", "", 200, call{"timeline", "support", "c1", onereply.TimelineQuery{}}, ""},
		{"timeline of a turn", "GET", "/timeline?turns=100&turn=7", "", 200, call{"timeline", "support", "c1", onereply.TimelineQuery{Turns: 100, Turn: 7}}, ""},
		{"seal", "POST", "/turns/12/seal", "", 200, call{"seal", "support", "c1", int64(12)}, `{"sealed":true}`},
		{"state", "GET", "", "", 200, call{"state", "support", "c1", nil}, ""},
		{"delete", "DELETE", "", "", 204, call{"forget", "support", "c1", nil}, ""},
		{"transcript", "GET", "/transcript", "", 200, call{"transcript", "support", "c1", [2]int64{0, 100}}, `{"entries":[],"next":null}`},
		{"transcript's end", "GET", "/transcript?before=end", "", 200, call{"transcript before", "support", "c1", [2]int64{0, 100}}, `{"entries":[],"next":null}`},
		{"transcript before", "GET", "/transcript?before=5&limit=7", "", 200, call{"transcript before", "support", "c1", [2]int64{5, 7}}, ""},
		{"transcript page", "GET", "/transcript?after=5&limit=1000", "", 200, call{"transcript", "support", "c1", [2]int64{5, 1000}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := newFakeApp()
			app.receipt = onereply.Receipt{MessageID: "m1", Version: 7, Outcome: onereply.OutcomeQueued, DueAt: at(t, "2026-01-02T03:04:05.5+01:00")}
			app.state = fullState(t)
			got := ask(t, New(app, Options{}), test.method, aliasPath(here+test.path), test.body)
			if got.status != test.status {
				t.Fatalf("status = %d, want %d\n%s", got.status, test.status, got.body)
			}
			if asked := app.lastCall(); !reflect.DeepEqual(asked, test.want) {
				t.Errorf("asked %+v, want %+v", asked, test.want)
			}
			if test.answer != "" {
				wantJSON(t, got.body, test.answer)
			}
			if test.status == http.StatusNoContent && got.body != "" {
				t.Errorf("204 with a body: %q", got.body)
			}
		})
	}
}

// wantJSON compares two JSON texts as values.
func wantJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("answer = %s\nwant     %s", got, want)
	}
}

func TestStateIsAsInTheContract(t *testing.T) {
	app := newFakeApp()
	app.state = fullState(t)
	wantJSON(t, ask(t, New(app, Options{}), "GET", here, "").body, `{"bot":"support","conversation":"c1","version":4,"answered":2,
		"phase":"generating","pending":2,"turn":3,"due_at":"2026-01-02T02:04:05.000Z","first_pending_at":"2026-01-02T03:04:05.678Z",
		"lease":{"holder":"n1","token":9,"expires_at":"2026-01-02T03:04:05.678Z"},"discards":1,"attempts":1,"last_error":"timeout",
		"pause_reason":"x","last_activity_at":"2026-01-02T03:04:05.678Z"}`)

	app.state = onereply.State{Bot: "support", Conversation: "c1", Version: 1, Phase: onereply.PhaseIdle}
	wantJSON(t, ask(t, New(app, Options{}), "GET", here, "").body, `{"bot":"support","conversation":"c1","version":1,"answered":0,
		"phase":"idle","pending":0,"turn":0,"due_at":null,"first_pending_at":null,"lease":null,"discards":0,"attempts":0,"last_error":""}`)
}

func TestTranscriptIsAsInTheContract(t *testing.T) {
	app := newFakeApp()
	sent := at(t, "2026-01-02T03:04:04Z")
	app.entries = onereply.TranscriptPage{More: true, Entries: []onereply.Entry{
		{Seq: 1, Kind: onereply.EntryMessage, ID: "m1", Text: "hi", Sender: &onereply.Person{ID: "u1", Name: "Ann"}, At: sent, SentAt: sent, EditedAt: sent, Status: onereply.StatusAnswered, Covers: []string{}, Version: 1,
			Attachments: []onereply.Attachment{{Kind: "image", URL: "https://example.com/i.png", MIMEType: "image/png", Pending: true}}, Metadata: json.RawMessage(`{"any":[1]}`)},
		{Seq: 2, Kind: onereply.EntryReply, ID: "c1/1", Text: "ab", At: sent, Status: onereply.StatusSent, Covers: []string{"m1"}, Version: 1, Turn: 1, Parts: []string{"a", "b"}, LateInput: true, Author: "human", Reason: "r"},
	}}
	s := New(app, Options{})
	wantJSON(t, ask(t, s, "GET", here+"/transcript?limit=2", "").body, `{"next":2,"entries":[
		{"seq":1,"kind":"message","id":"m1","text":"hi","sender":{"id":"u1","name":"Ann"},"at":"2026-01-02T03:04:04.000Z","sent_at":"2026-01-02T03:04:04.000Z",
		 "edited_at":"2026-01-02T03:04:04.000Z","status":"answered","covers":[],"version":1,
		 "attachments":[{"kind":"image","url":"https://example.com/i.png","mime_type":"image/png","pending":true}],"metadata":{"any":[1]}},
		{"seq":2,"kind":"reply","id":"c1/1","text":"ab","at":"2026-01-02T03:04:04.000Z","status":"sent","reason":"r","covers":["m1"],"version":1,"turn":1,
		 "parts":["a","b"],"late_input":true,"author":"human"}]}`)
	if next := ask(t, s, "GET", here+"/transcript?before=end&limit=9", "").json(t)["next"]; next != 1.0 {
		t.Errorf("next = %v, want the first of a page that its bytes have ended", next)
	}
	app.entries.More = false
	for _, query := range []string{"limit=2", "before=3&limit=2"} {
		if next := ask(t, s, "GET", here+"/transcript?"+query, "").json(t)["next"]; next != nil {
			t.Errorf("%s: next = %v, and no more is there", query, next)
		}
	}
}

func TestTimelineIsAsInTheContract(t *testing.T) {
	app := newFakeApp()
	when := at(t, "2026-01-02T03:04:04Z")
	full := onereply.Event{
		Type: "reply.committed", At: when, Node: "n1", Turn: 3, Token: 9, Attempt: 2, Version: 5, Through: 4, DueAt: when, FirstByteAt: when,
		Seq: 7, MessageID: "m1", ReplyID: "c1/3", Part: 1, Parts: 2, Reason: "r", LateInput: true,
	}
	app.line = onereply.Timeline{Bot: "support", Conversation: "c1", Now: when, Turns: []onereply.TimelineTurn{
		{Turn: 3, Open: true, Lost: 1, Steps: []onereply.Event{full, {Type: "message.accepted", At: when}}}, {Turn: 4, Steps: []onereply.Event{}},
	}}
	wantJSON(t, ask(t, New(app, Options{}), "GET", here+"/timeline", "").body, `{"bot":"support","conversation":"c1","now":"2026-01-02T03:04:04.000Z","turns":[
		{"turn":3,"open":true,"lost":1,"steps":[
		 {"type":"reply.committed","at":"2026-01-02T03:04:04.000Z","node":"n1","turn":3,"token":9,"attempt":2,"version":5,"through":4,
		  "due_at":"2026-01-02T03:04:04.000Z","first_byte_at":"2026-01-02T03:04:04.000Z","seq":7,"message_id":"m1","reply_id":"c1/3",
		  "part":1,"parts":2,"reason":"r","late_input":true},
		 {"type":"message.accepted","at":"2026-01-02T03:04:04.000Z","version":0}]},
		{"turn":4,"open":false,"lost":0,"steps":[]}]}`)
}

func TestListPages(t *testing.T) {
	app := newFakeApp()
	app.list = onereply.ConversationPage{Conversations: []onereply.State{fullState(t)}, Next: "n2"}
	s := New(app, Options{})
	got := ask(t, s, "GET", "/v1/bots/support/conversations?phase=failed&limit=1&cursor=n1", "").json(t)
	want := call{"conversations", "support", "", onereply.ConversationQuery{Bot: "support", Phase: onereply.PhaseFailed, Cursor: "n1", Limit: 1}}
	if asked := app.lastCall(); !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %+v, want %+v", asked, want)
	}
	if got["next_cursor"] != "n2" || len(got["conversations"].([]any)) != 1 {
		t.Errorf("answer = %v", got)
	}
	one := fullState(t)
	one.LastInput = &onereply.LastInput{Text: "hi", At: at(t, "2026-01-02T03:04:05Z"), Sender: &onereply.Person{ID: "u1", Name: "Ann"}}
	app.list = onereply.ConversationPage{Conversations: []onereply.State{one}}
	got = ask(t, s, "GET", "/v1/conversations?q=Gr%C3%B6%C3%9Fe&preview=true", "").json(t)
	if asked := app.lastCall().argument; !reflect.DeepEqual(asked, onereply.ConversationQuery{Search: "Größe", Preview: true, Limit: 100}) {
		t.Errorf("asked %+v", asked)
	}
	row, err := json.Marshal(got["conversations"].([]any)[0].(map[string]any)["last_input"])
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, string(row), `{"text":"hi","at":"2026-01-02T03:04:05.000Z","sender":{"id":"u1","name":"Ann"}}`)
	app.list = onereply.ConversationPage{}
	wantJSON(t, ask(t, s, "GET", "/v1/bots/support/conversations", "").body, `{"conversations":[],"next_cursor":null}`)
}

func TestQueriesAreChecked(t *testing.T) {
	const list = "/v1/bots/support/conversations"
	for _, test := range []struct {
		target string
		kind   kind
		field  string
	}{
		{here + "/transcript?after=-1", kindInvalid, "after"},
		{here + "/transcript?after=x", kindInvalid, "after"},
		{here + "/transcript?after=9223372036854775808", kindInvalid, "after"},
		{here + "/transcript?before=0", kindInvalid, "before"},
		{here + "/transcript?before=last", kindInvalid, "before"},
		{here + "/transcript?before=5&after=2", kindInvalid, "before"},
		{here + "/transcript?limit=0", kindInvalid, "limit"},
		{here + "/transcript?limit=1001", kindInvalid, "limit"},
		{here + "/transcript?limit=1.5", kindInvalid, "limit"},
		{here + "/transcript?limit=%zz", kindMalformedQuery, ""},
		{here + "/timeline?turns=0", kindInvalid, "turns"},
		{here + "/timeline?turns=101", kindInvalid, "turns"},
		{here + "/timeline?turn=-1", kindInvalid, "turn"},
		{here + "/timeline?turn=%zz", kindMalformedQuery, ""},
		{list + "?phase=asleep", kindInvalid, "phase"},
		{list + "?limit=1001", kindInvalid, "limit"},
		{list + "?preview=yes", kindInvalid, "preview"},
		{list + "?a;b", kindMalformedQuery, ""},
		{"/v1/events?bot=nobody", kindUnknownBot, "bot"},
		{"/v1/events?conversation=%ff", kindInvalid, "conversation"},
		{"/v1/events?after=" + strings.Repeat("x", 257), kindInvalid, "Last-Event-ID"},
		{here + "/events?after=a%0Ab", kindInvalid, "Last-Event-ID"},
		{here + "/events?after=%ff", kindInvalid, "Last-Event-ID"},
	} {
		t.Run(test.target, func(t *testing.T) {
			app := newFakeApp()
			ask(t, New(app, Options{}), "GET", test.target, "").wantProblem(t, test.kind, test.field)
			if app.calls() != 0 {
				t.Errorf("the App was asked: %+v", app.lastCall())
			}
		})
	}
}

// aliasPath is the path of an alias, where a test names one beside its conversation.
func aliasPath(path string) string {
	if head, tail, found := strings.Cut(path, "/conversations/c1/../../aliases/"); found {
		return head + "/aliases/" + tail
	}
	return path
}

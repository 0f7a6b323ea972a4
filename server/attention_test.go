package server

import (
	"reflect"
	"testing"

	"github.com/onereply/onereply"
)

func TestAttention(t *testing.T) {
	app := newFakeApp()
	when := at(t, "2026-01-02T03:04:05+01:00")
	app.attention = onereply.AttentionPage{Next: "-n2", Items: []onereply.AttentionItem{
		{Kind: onereply.AttentionPartial, Bot: "support", Conversation: "c1", Turn: 3, Seq: 7, At: when, Since: when, Reason: "1 of 2 parts arrived", Actions: []string{"resend", "mark_sent"}},
		{Kind: onereply.AttentionOverdue, Bot: "gone", Conversation: "c2", Turn: 1, At: when, Since: when, Actions: []string{}},
	}}
	s := New(app, Options{})
	wantJSON(t, ask(t, s, "GET", "/v1/attention?bot=support&limit=7&cursor=-n1", "").body, `{"next_cursor":"-n2","items":[
		{"kind":"partial","bot":"support","conversation":"c1","turn":3,"seq":7,"at":"2026-01-02T02:04:05.000Z","since":"2026-01-02T02:04:05.000Z","reason":"1 of 2 parts arrived","actions":["resend","mark_sent"]},
		{"kind":"overdue","bot":"gone","conversation":"c2","turn":1,"at":"2026-01-02T02:04:05.000Z","since":"2026-01-02T02:04:05.000Z","reason":"","actions":[]}]}`)
	if want := (call{"attention", "support", "", onereply.AttentionQuery{Bot: "support", Limit: 7, Cursor: "-n1"}}); !reflect.DeepEqual(app.lastCall(), want) {
		t.Errorf("asked %+v, want %+v", app.lastCall(), want)
	}
	app.attention = onereply.AttentionPage{}
	wantJSON(t, ask(t, s, "GET", "/v1/attention", "").body, `{"items":[],"next_cursor":null}`)
	ask(t, s, "GET", "/v1/attention?bot=nobody", "").wantProblem(t, kindUnknownBot, "bot")
	ask(t, s, "GET", "/v1/attention?limit=0", "").wantProblem(t, kindInvalid, "limit")
}

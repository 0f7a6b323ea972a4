package engine_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Context is stored, and its id claimed, and no turn opens. Its author's words stop and
// leave are context too.
func TestContextIsKeptAndNotAnswered(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Policy.Observe, b.Policy.MaxAge, b.Observe = true, time.Hour, 5
		o.Bots["bot"] = b
	})
	old := h.now.Add(-2 * time.Hour)
	tests := []struct {
		name    string
		request engine.Request
		reason  string
	}{
		{"context", engine.Request{Context: true, Body: store.Body{Text: "one"}}, ""},
		{"unaddressed", engine.Request{Unaddressed: true, Body: store.Body{Text: "two"}}, turn.NotAddressed},
		{"old", engine.Request{Body: store.Body{Text: "three", SentAt: old}}, turn.TooOld},
	}
	for _, test := range tests {
		for _, want := range []turn.Outcome{turn.AsContext, engine.Duplicate} {
			r := test.request
			r.Op, r.ID = engine.Receive, test.name
			h.submit(test.name, r)
			h.settle()
			got := h.answers[test.name]
			if got.Outcome != want || got.Version != 0 || want == turn.AsContext && got.Reason != test.reason {
				t.Errorf("%s: %+v, want %s", test.name, got, want)
			}
		}
	}
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Status != turn.InputContext || e.Version != 0 {
			t.Errorf("%s is stored as %s, of the version %d", e.ID, e.Status, e.Version)
		}
	}
	h.pass(time.Minute)
	if n := count[engine.Start](h); n != 0 {
		t.Errorf("%d attempts began", n)
	}
	h.say("m")
	h.pass(2 * time.Second)
	if p := asked[engine.Start](h).Prompt; texts(p.Messages) != "m" || texts(p.History) != "one two three" {
		t.Errorf("the prompt is %q after %q", texts(p.Messages), texts(p.History))
	}
}

// A message of another bot leaves nothing behind, not even its id.
func TestOtherBotsAreIgnored(t *testing.T) {
	h := newHarness(t)
	for range 2 {
		h.submit("b", engine.Request{Op: engine.Receive, ID: "b", Body: store.Body{Text: "beep", Sender: store.Sender{ID: "7", Bot: true}}})
		h.settle()
		if got := h.answers["b"]; got.Outcome != turn.Ignored || got.Reason != turn.FromBot || got.Duplicate {
			t.Errorf("%+v", got)
		}
	}
	if all := h.entries(keyOf("c"), store.EntryQuery{}); len(all) != 0 {
		t.Errorf("the transcript is %v", all)
	}
}

package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// human has a person reply in the conversation "c".
func (h *harness) human(text string) {
	h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: text}})
}

// covers is what the reply with a text covers.
func (h *harness) covers(text string) []string {
	h.t.Helper()
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Kind == store.Reply && e.Text == text {
			return e.Covers
		}
	}
	h.t.Fatalf("there is no reply %q", text)
	return nil
}

// A person's reply covers what waits when it is written, and not what a reply that is
// on its way answers.
func TestWhatAHumansReplyCovers(t *testing.T) {
	edit := func(h *harness, id, text string) {
		h.submit("edit "+id+text, engine.Request{Op: engine.Edit, ID: id, Text: &text})
	}
	retract := func(h *harness, id string) { h.submit("retract "+id, engine.Request{Op: engine.Retract, ID: id}) }
	tests := map[string]struct {
		events func(h *harness)
		want   []string
	}{
		"nothing waits":            {func(h *harness) { h.human("x") }, nil},
		"what waits":               {func(h *harness) { h.say("m", "n"); h.settle(); h.human("x") }, []string{"m", "n"}},
		"an attempt runs":          {func(h *harness) { h.started("m"); h.say("n"); h.human("x") }, []string{"m", "n"}},
		"a reply is on its way":    {func(h *harness) { h.respond(h.started("m"), engine.Response{Text: "hello"}); h.human("x") }, nil},
		"and more came":            {func(h *harness) { h.respond(h.started("m"), engine.Response{Text: "hello"}); h.say("n"); h.human("x") }, []string{"n"}},
		"what came after":          {func(h *harness) { h.say("m"); h.settle(); h.human("x"); h.say("n") }, []string{"m"}},
		"two of them":              {func(h *harness) { h.say("m"); h.settle(); h.human("first"); h.human("x") }, nil},
		"an answered one":          {func(h *harness) { h.answered("hello", "m"); h.say("n"); h.settle(); h.human("x") }, []string{"n"}},
		"edited in the same write": {func(h *harness) { h.say("m", "n"); h.settle(); edit(h, "m", "1"); edit(h, "n", "2"); h.human("x") }, []string{"m", "n"}},
		"edited twice": {func(h *harness) {
			h.say("m")
			h.settle()
			edit(h, "m", "1")
			edit(h, "m", "2")
			edit(h, "m", "3")
			h.human("x")
		}, []string{"m"}},
		"deleted in the same write": {func(h *harness) { h.say("m", "n"); h.settle(); edit(h, "m", "1"); retract(h, "m"); h.human("x") }, []string{"n"}},
		"edited and then deleted": {func(h *harness) {
			h.say("m", "n")
			h.settle()
			edit(h, "n", "1")
			edit(h, "m", "1")
			retract(h, "m")
			h.human("x")
		}, []string{"n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			test.events(h)
			h.settle()
			got := h.covers("x")
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("covers %q, want %q", got, test.want)
			}
		})
	}
}

// A batch that changes a message twice writes it once, as it is in the end.
func TestAMessageIsWrittenOnce(t *testing.T) {
	h := newHarness(t)
	h.say("m", "n")
	h.settle()
	h.submit("typing", engine.Request{Op: engine.Typing}) // its write lets the next three wait for each other
	for _, text := range []string{"one", "two"} {
		h.submit(text, engine.Request{Op: engine.Edit, ID: "m", Text: &text})
	}
	var last store.Write
	h.fault = func(w store.Write) (store.Result, error) {
		last = w
		return h.store.Commit(context.Background(), w)
	}
	h.settle()
	if got := texts(last.Change); got != "two" {
		t.Errorf("the write changes %q, want the last text alone", got)
	}
	if got := texts(h.entries(keyOf("c"), store.EntryQuery{Status: turn.InputPending})); got != "two n" {
		t.Errorf("stored: %q", got)
	}
}

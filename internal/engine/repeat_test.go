package engine_test

import (
	"context"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// repeats are the ids of messages that the log of the conversation "c" notes as
// delivered again.
func (h *harness) repeats() (ids []string) {
	h.t.Helper()
	snapshot, err := h.store.Load(context.Background(), keyOf("c"))
	if err != nil {
		h.t.Fatal(err)
	}
	all := snapshot.Log.Trace.Steps
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		all = append(all, e.Trace.Steps...)
	}
	for _, notice := range all {
		if notice.Kind == turn.KindMessageRepeated {
			ids = append(ids, notice.MessageID)
		}
	}
	return ids
}

// A repeat is noted with the next write. Those of a conversation that was deleted are not
// noted in the one that takes its name.
func TestRepeatsAreNotedWithTheNextWrite(t *testing.T) {
	h := newHarness(t)
	h.started("m") // the conversation stays in memory while its attempt runs
	h.say("m")
	h.settle()
	if got := h.repeats(); len(got) != 0 {
		t.Errorf("noted before the next write: %q", got)
	}
	h.say("n")
	h.settle()
	h.say("o")
	h.settle()
	if got := h.repeats(); len(got) != 1 || got[0] != "m" {
		t.Errorf("noted: %q, want one repeat of m", got)
	}
	h.say("n")
	h.settle()
	h.forget()
	h.say("new")
	h.settle()
	h.say("newer")
	h.settle()
	if got := h.repeats(); len(got) != 0 {
		t.Errorf("noted in the new conversation: %q", got)
	}
}

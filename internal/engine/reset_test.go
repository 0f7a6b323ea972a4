package engine_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A reset leaves its mark in the transcript, tells of it, and the next attempt reads no
// history from before it.
func TestAResetIsMarked(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "m")
	h.say("waits")
	h.submit("reset", engine.Request{Op: engine.Reset, Reason: "new order"})
	h.settle()
	if got := h.answers["reset"]; got.Outcome != turn.Done || got.Record == nil || got.Record.Phase != turn.Idle {
		t.Fatalf("the reset: %+v", got)
	}
	marks := h.entries(keyOf("c"), store.EntryQuery{After: 3})
	if len(marks) != 1 || marks[0].Kind != store.Reset || marks[0].Reason != "new order" || marks[0].At != h.now || marks[0].Seq != h.record().FreshAfter {
		t.Errorf("the transcript goes on with %+v, want the mark", marks)
	}
	told := h.events[len(h.events)-1]
	if told.Kind != turn.KindConversationReset || told.Reason != "new order" || told.Seq != marks[0].Seq || told.ReplyID != "" {
		t.Errorf("told %+v", told)
	}
	h.say("next")
	h.pass(time.Second)
	if started := asked[engine.Start](h); len(started.Prompt.History) != 0 || len(started.Prompt.Messages) != 1 {
		t.Errorf("the attempt reads %q after %q", texts(started.Prompt.Messages), texts(started.Prompt.History))
	}
}

func TestResetWords(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.ResetWords = words.NewList([]string{"/new"})
		o.Bots["bot"] = b
	})
	h.say("m", "/NEW", "later")
	h.settle()
	entries := h.entries(keyOf("c"), store.EntryQuery{})
	want := []turn.Status{turn.InputClosed, turn.InputClosed, "", turn.InputPending}
	for i, e := range entries {
		if i >= len(want) || e.Status != want[i] {
			t.Errorf("entry %d is %+v", i, e)
		}
	}
	if len(entries) != 4 || entries[2].Kind != store.Reset || entries[2].Reason != engine.ResetWord {
		t.Errorf("the transcript is %+v", entries)
	}
}

// A message after a long silence and the mark before it are one write.
func TestAMessageAfterALongSilence(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Policy.SessionIdle = time.Hour
		o.Bots["bot"] = b
	})
	h.answered("hello", "m")
	h.now = h.now.Add(2 * time.Hour)
	h.say("again")
	h.settle()
	entries := h.entries(keyOf("c"), store.EntryQuery{After: 2})
	if len(entries) != 2 || entries[0].Kind != store.Reset || entries[0].Reason != turn.SessionIdle || entries[1].ID != "again" {
		t.Errorf("the transcript goes on with %+v", entries)
	}
	if got := h.record(); got.FreshAfter != 3 || got.Seq != 4 {
		t.Errorf("the record is %+v", got)
	}
}

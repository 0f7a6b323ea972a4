package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Where one write settles, or marks, the same entry twice, the last one holds.
func TestTheLastOfAWriteHolds(t *testing.T) {
	t.Run("failed, and tried again", func(t *testing.T) {
		h := newHarness(t)
		s := h.started("m")
		h.together(func() {
			h.node.Responded(h.now, engine.Response{Key: s.Key, Nonce: s.Lease.Nonce, Fault: turn.Rejected, Reason: "no"})
			h.submit("requeue", engine.Request{Op: engine.Requeue})
		})
		if got := h.waits("c"); got != "m" || h.record().Pending != 1 {
			t.Errorf("%d wait, and of them the transcript knows %q", h.record().Pending, got)
		}
	})
	t.Run("unknown, and marked as sent", func(t *testing.T) {
		h := newHarness(t)
		h.respond(h.started("m"), engine.Response{Text: "hello"})
		send := asked[engine.Send](h)
		h.together(func() {
			h.node.SendEnded(h.now, engine.SendResult{Key: send.Key, Nonce: send.Lease.Nonce, Entry: send.Entry, Err: "cut off"})
			h.submit("mark", engine.Request{Op: engine.MarkSent, Turn: 1})
		})
		if got := h.replied(turn.ReplySent); got != "hello" || h.answers["mark"].Outcome != turn.Done {
			t.Errorf("sent: %q; the mark was answered %+v", got, h.answers["mark"])
		}
	})
}

// A message that is ignored leaves nothing in the transcript, even where the same write
// appends other entries.
func TestWhatIsIgnoredLeavesNothingBehind(t *testing.T) {
	h := newHarness(t)
	h.together(func() {
		h.say("m")
		h.submit("b", engine.Request{Op: engine.Receive, ID: "b", Body: store.Body{Text: "beep", Sender: store.Sender{Bot: true}}})
		h.say("n")
	})
	if got := texts(h.entries(keyOf("c"), store.EntryQuery{})); got != "m n" {
		t.Errorf("the transcript is %q", got)
	}
}

// A reset word is answered as what it is first of all: a message that closes what waits.
func TestWhatAResetWordIsAnswered(t *testing.T) {
	for _, words := range []func(b *engine.Bot, list words.List){
		func(b *engine.Bot, list words.List) { b.ResetWords = list },
		func(b *engine.Bot, list words.List) { b.StopWords = list },
	} {
		h := newHarness(t, func(o *engine.Options) { b := o.Bots["bot"]; words(&b, list("/new")); o.Bots["bot"] = b })
		h.say("m", "/new")
		h.settle()
		if got := h.answers["/new"]; got.Outcome != turn.Closed || got.Reason != "" || got.Version != 2 {
			t.Errorf("answered %+v", got)
		}
	}
}

func list(all ...string) words.List { return words.NewList(all) }

// The trace of what happened is told once, with the entry that comes next.
func TestTheTraceGoesWithTheNextEntry(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "m")
	kinds := func(trace store.Trace) (all []turn.Kind) {
		for _, step := range trace.Steps {
			all = append(all, step.Kind)
		}
		return all
	}
	entries := h.entries(keyOf("c"), store.EntryQuery{})
	snapshot, _ := h.store.Load(context.Background(), keyOf("c"))
	for name, test := range map[string]struct {
		trace store.Trace
		want  []turn.Kind
	}{
		"the message": {entries[0].Trace, []turn.Kind{turn.KindMessageAccepted, turn.KindTurnScheduled}},
		"the reply":   {entries[1].Trace, []turn.Kind{turn.KindTurnStarted, turn.KindReplyCommitted}},
		"the record":  {snapshot.Log.Trace, []turn.Kind{turn.KindReplySent, turn.KindTurnEnded}},
	} {
		if got := kinds(test.trace); !slices.Equal(got, test.want) {
			t.Errorf("%s tells %q, want %q", name, got, test.want)
		}
	}
}

// Who did what is noted with the write, if it changes anything, and when.
func TestTheAuditIsWritten(t *testing.T) {
	h := newHarness(t)
	audit := &store.AuditEntry{Action: "pause", By: "somebody"}
	h.now = h.now.Add(time.Second)
	for range 2 { // the second one changes nothing
		h.submit("pause", engine.Request{Op: engine.Pause, Reason: "why", Audit: audit})
		h.settle()
	}
	snapshot, _ := h.store.Load(context.Background(), keyOf("c"))
	want := store.AuditEntry{At: h.now, Action: "pause", By: "somebody"}
	if got := snapshot.Log.Audit; len(got) != 1 || got[0] != want || audit.At != 0 {
		t.Errorf("noted %+v, the caller's is %+v", got, audit)
	}
}

// When the next turn starts is told while its window is open, and not while an attempt
// runs, or under a pause.
func TestWhenTheDueTimeIsTold(t *testing.T) {
	h := newHarness(t)
	h.started("m")
	h.say("n")
	h.settle()
	if due := h.answers["n"].Due; due != 0 {
		t.Errorf("while an attempt runs: %d", due)
	}
	h = newHarness(t)
	h.submit("pause", engine.Request{Op: engine.Pause})
	h.say("m")
	h.settle()
	if due := h.answers["m"].Due; due != 0 {
		t.Errorf("under a pause: %d", due)
	}
}

package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// newAside is a node in whose conversation "c" the message "m" was set aside.
func newAside(t *testing.T) *hand {
	t.Helper()
	lost := newHand(t, fragile)
	lost.started("m")
	h := newHandOn(t, lost.store, lost.now.Add(lease), fragile)
	h.pass(time.Minute)
	if r := h.record(); r.Aside == nil || r.Phase != turn.Failed {
		t.Fatalf("nothing was set aside: %+v", r)
	}
	return h
}

// fragile sets inputs aside with the first worker that is lost.
func fragile(o *engine.Options) {
	bot := o.Bots["bot"]
	bot.Policy.MaxAttempts = 1
	o.Bots["bot"] = bot
}

// conflict has the next write meet one of another node.
func (h *hand) conflict() {
	h.fault = func(store.Write) (store.Result, error) {
		h.fault = nil
		return store.Result{Status: store.Conflict}, nil
	}
}

// What is asked for behind a requeue meets the messages that it brought back, also
// where both were read anew together.
func TestARequeueComesBeforeWhatFollowsIt(t *testing.T) {
	t.Run("a human replies", func(t *testing.T) {
		h := newAside(t)
		h.conflict()
		h.submit("requeue", engine.Request{Op: engine.Requeue})
		h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}})
		h.settle()
		m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]
		replies := h.entries(keyOf("c"), store.EntryQuery{After: m.ReplySeq - 1, Limit: 1})
		if m.Status != turn.InputAnswered || !slices.Equal(replies[0].Covers, []string{"m"}) {
			t.Errorf("m is %s by a reply that covers %q", m.Status, replies[0].Covers)
		}
	})
	t.Run("the author edits", func(t *testing.T) {
		h := newAside(t)
		h.conflict()
		text := "new"
		h.submit("requeue", engine.Request{Op: engine.Requeue})
		h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: &text})
		h.settle()
		if got := h.answers["edit"]; got.Outcome != turn.Queued {
			t.Errorf("the edit is %s (%s)", got.Outcome, got.Reason)
		}
	})
}

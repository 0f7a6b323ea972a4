package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// newSetAside is a node in whose conversation "c" the message "m" was set aside.
func newSetAside(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, fragile)
	h.started("m")
	for range 3 { // the first two workers prove nothing; the third one ran nothing else
		h = newHarnessOn(t, h.store, h.now.Add(2*lease), fragile)
		h.pass(time.Minute)
	}
	if r := h.record(); r.SetAside == nil || r.Phase != turn.Failed {
		t.Fatalf("nothing was set aside: %+v", r)
	}
	return h
}

// fragile sets inputs aside with the first worker that is lost while it ran nothing else.
func fragile(o *engine.Options) {
	bot := o.Bots["bot"]
	bot.Policy.MaxAttempts = 1
	o.Bots["bot"] = bot
}

// conflict has the next write meet one of another node.
func (h *harness) conflict() {
	h.fault = func(store.Write) (store.Result, error) {
		h.fault = nil
		return store.Result{Status: store.Conflict}, nil
	}
}

// What is asked for behind a requeue meets the messages that it brought back, also
// where both were read anew together.
func TestARequeueComesBeforeWhatFollowsIt(t *testing.T) {
	t.Run("a human replies", func(t *testing.T) {
		h := newSetAside(t)
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
		h := newSetAside(t)
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

// Its author may think better of what was set aside: that is what a requeue brings back.
func TestWhatItsAuthorChangedIsRequeuedSo(t *testing.T) {
	t.Run("deleted", func(t *testing.T) {
		h := newSetAside(t)
		h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
		h.submit("requeue", engine.Request{Op: engine.Requeue})
		h.pass(time.Second)
		got := h.answers["retract"]
		m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]
		if got.Outcome != turn.Emptied || m.Status != turn.InputDeleted || m.Text != "" || count[engine.Start](h) > 0 {
			t.Errorf("the deletion was %s (%s), the message is %s: %q", got.Outcome, got.Reason, m.Status, m.Text)
		}
		if r := h.record(); r.Phase != turn.Idle || r.SetAside != nil || r.Tries.LastError != "" {
			t.Errorf("record %+v", r)
		}
	})
	t.Run("edited", func(t *testing.T) {
		h := newSetAside(t)
		text := "better"
		h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: &text})
		h.settle()
		h.submit("requeue", engine.Request{Op: engine.Requeue})
		h.pass(time.Second)
		if got := texts(asked[engine.Start](h).Prompt.Messages); got != text || h.answers["edit"].Outcome != turn.Queued {
			t.Errorf("the edit was %s, and the model is asked %q", h.answers["edit"].Outcome, got)
		}
	})
}

// Retention leaves what a requeue may still bring back.
func TestWhatWasSetAsideOutlivesRetention(t *testing.T) {
	h := newSetAside(t)
	h.answered("yes", "n")
	for range 5 {
		if _, err := h.store.Expire(t.Context(), h.now.Add(time.Hour), h.now.Add(time.Hour), 100); err != nil {
			t.Fatal(err)
		}
	}
	h.submit("requeue", engine.Request{Op: engine.Requeue})
	h.pass(time.Second)
	prompt := asked[engine.Start](h).Prompt
	if got := prompt.IDs(); !slices.Equal(got, []string{"m"}) || len(prompt.History) > 0 {
		t.Errorf("the model is asked %q, after %q", got, texts(prompt.History))
	}
}

// A message whose turn is given up in the same write in which its author deletes it is
// set aside by then.
func TestADeletionMeetsWhatIsSetAsideJustNow(t *testing.T) {
	lost := newHarness(t, fragile)
	lost.started("m")
	h := newHarnessOn(t, lost.store, lost.now.Add(lease), fragile)
	h.fault = func(store.Write) (store.Result, error) {
		h.fault = nil
		h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
		return store.Result{Status: store.Conflict}, nil
	}
	h.pass(time.Minute)
	m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]
	if got := h.answers["retract"]; got.Outcome != turn.Emptied || m.Status != turn.InputDeleted {
		t.Errorf("the deletion was %s (%s), and the message is %s", got.Outcome, got.Reason, m.Status)
	}
	if r := h.record(); r.Pending != 0 || r.SetAside != nil {
		t.Errorf("record %+v", r)
	}
}

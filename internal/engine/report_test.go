package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// paced is a bot that pauses between bubbles.
func paced(o *engine.Options) {
	o.Bots = map[string]engine.Bot{"bot": {Policy: policy(), History: 10, Pace: engine.Pace{PerCharacter: time.Second, Least: 2 * time.Second, Most: 5 * time.Second}}}
}

// firstPart has the first of several parts delivered.
func (h *harness) firstPart(parts ...string) {
	h.t.Helper()
	h.respond(h.started("m"), engine.Response{Text: "all", Parts: parts})
	h.sent(asked[engine.Send](h), engine.SendResult{})
}

// theReply is the reply's entry.
func (h *harness) theReply() store.Entry {
	h.t.Helper()
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Kind == store.Reply {
			return e
		}
	}
	h.t.Fatal("there is no reply")
	return store.Entry{}
}

// The pause is as long as a person writes at the next part, within bounds.
func TestThePauseBeforeAPart(t *testing.T) {
	for text, want := range map[string]time.Duration{"x": 2 * time.Second, "xyz": 3 * time.Second, "äöü!": 4 * time.Second, "0123456789": 5 * time.Second} {
		h := newHarness(t, paced)
		h.firstPart("a", text)
		r := h.record()
		if r.Lease != (turn.Lease{}) || r.Reply.RetryAt.Sub(h.now) != want {
			t.Errorf("%q: %v under lease %q, want %v", text, r.Reply.RetryAt.Sub(h.now), r.Lease.Nonce, want)
		}
		h.pass(want)
		if send := asked[engine.Send](h); send.Reply.Done != 1 {
			t.Errorf("%q: after the pause part %d is sent", text, send.Reply.Done+1)
		}
	}
}

// Another node ends a reply in a pause between its parts: what was delivered is recorded,
// although that node never knew the reply's text.
func TestAPauseByAnotherNodeBetweenTwoParts(t *testing.T) {
	h := newHarness(t, paced)
	h.firstPart("a", "b")
	other := newHarnessOn(t, h.store, h.now, paced)
	other.submit("pause", engine.Request{Op: engine.Pause})
	other.settle()
	if e := h.theReply(); e.Status != turn.ReplyPartial || e.Delivered != 1 || !slices.Equal(e.Parts, []string{"a", "b"}) {
		t.Errorf("the reply is %s, %d of %q delivered", e.Status, e.Delivered, e.Parts)
	}
}

func (h *harness) report(name string, part int, receipt turn.Receipt) engine.Result {
	h.t.Helper()
	h.submit(name, engine.Request{Op: engine.Report, Turn: 1, Part: part, Receipt: receipt, Reason: "gone"})
	h.settle()
	return h.answers[name]
}

// A report reaches the reply's entry, whoever sent it, and whether it is still on its way.
func TestReportsReachTheTranscript(t *testing.T) {
	h := newHarness(t, paced)
	h.firstPart("a", "b")
	other := newHarnessOn(t, h.store, h.now, paced)
	if got := other.report("under way", 1, turn.ReceiptDelivered); got.Err != nil || got.Outcome != turn.Done || got.MessageID != "c/1" {
		t.Errorf("a report of a reply on its way: %+v", got)
	}
	if got := other.report("too early", 2, turn.ReceiptDelivered); got.Reason != turn.NotSent {
		t.Errorf("a report of a part that was not sent: %+v", got)
	}
	h.pass(2 * time.Second)
	h.sent(asked[engine.Send](h), engine.SendResult{})
	if e := h.theReply(); e.Status != turn.ReplySent || !slices.Equal(e.Receipts, turn.Receipts{turn.ReceiptDelivered}) {
		t.Errorf("the reply is %s with %q", e.Status, e.Receipts)
	}
	if got := other.report("all", 0, turn.ReceiptRead); got.Outcome != turn.Done || h.theReply().Receipts.Whole(2) != turn.ReceiptRead {
		t.Errorf("%+v, and the reply has %q", got, h.theReply().Receipts)
	}
	if got := other.report("again", 0, turn.ReceiptRead); got.Reason != turn.NothingNew {
		t.Errorf("a repeated report: %+v", got)
	}
}

// A reply that failed is undelivered, and sent again it starts without the failure.
func TestAReplyThatFailedAfterwards(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "m")
	h.report("failed", 0, turn.ReceiptFailed)
	if e := h.theReply(); e.Status != turn.ReplyFailed || e.Reason != "gone" || len(h.record().Unconfirmed) != 1 {
		t.Fatalf("the reply is %s (%s), unconfirmed %v", e.Status, e.Reason, h.record().Unconfirmed)
	}
	h.submit("resend", engine.Request{Op: engine.Resend, Turn: 1})
	h.settle()
	h.tick(h.now)
	send := asked[engine.Send](h)
	if !send.Reply.Fresh {
		t.Error("its channel would take it for a repeat")
	}
	h.sent(send, engine.SendResult{})
	if e := h.theReply(); e.Status != turn.ReplySent || slices.Contains(e.Receipts, turn.ReceiptFailed) {
		t.Errorf("the reply is %s with %q", e.Status, e.Receipts)
	}
	if got := h.report("failed again", 0, turn.ReceiptFailed); got.Outcome != turn.Done || h.theReply().Status != turn.ReplyFailed {
		t.Errorf("a second failure: %+v, the reply is %s", got, h.theReply().Status)
	}
	if got := h.report("no part", 2, turn.ReceiptRead); got.Err == nil {
		t.Error("a report of a part that there is not was taken")
	}
	h.submit("no turn", engine.Request{Op: engine.Report, Turn: 9, Receipt: turn.ReceiptRead})
	h.settle()
	if h.answers["no turn"].Err == nil {
		t.Error("a report of a turn without a reply was taken")
	}
}

package turn_test

import (
	"fmt"
	"testing"

	"github.com/onereply/onereply/turn"
)

// onItsWayWith is a record whose reply is on its way, and the nonce of its lease.
func onItsWayWith(t *testing.T, p turn.Policy, parts int) (turn.Record, string) {
	t.Helper()
	r, _ := turn.Step(turn.Record{}, turn.Message{}, 1_000, p)
	r, _ = turn.Step(r, turn.Wake{Nonce: "n", Holder: "h"}, 60_000, p)
	r, effects := turn.Step(r, turn.Generated{Nonce: "n", Parts: parts}, 61_000, p)
	if effects.Outcome != turn.Committed {
		t.Fatalf("not committed: %+v", effects)
	}
	return r, "n"
}

func TestSentIDsAreKeptAndBounded(t *testing.T) {
	r, nonce := onItsWayWith(t, policyForIDs, 40)
	for part := range 39 {
		r, _ = turn.Step(r, turn.Sent{Nonce: nonce, Part: part, ID: fmt.Sprint("id", part)}, 62_000, policyForIDs)
	}
	if got, ok := r.SentAs("id38"); !ok || got.Turn != 1 || got.Part != 39 {
		t.Errorf("the last part is %+v", got)
	}
	if _, ok := r.SentAs("id3"); ok || len(r.SentParts) != turn.MaxSentParts {
		t.Errorf("%d ids are kept", len(r.SentParts))
	}
	long := make([]byte, turn.MaxSentID+1)
	if is, _ := turn.Step(r, turn.Sent{Nonce: nonce, Part: 39, ID: string(long)}, 62_000, policyForIDs); len(is.SentParts) != turn.MaxSentParts || is.SentParts[0] != r.SentParts[0] {
		t.Error("an id that is too long is kept")
	}
}

var policyForIDs = turn.Policy{Lease: 1 << 40, MaxAttempts: 3, ResendUnknown: true, RetryFor: 1 << 40}

// A part in doubt that is to be sent again, and of which the channel says that it arrived, is
// not sent again: the next one is.
func TestReportEndsDoubt(t *testing.T) {
	r, nonce := onItsWayWith(t, policyForIDs, 2)
	r, _ = turn.Step(r, turn.SendUnknown{Nonce: nonce, Part: 0}, 62_000, policyForIDs)
	if doubt := r.InDoubt(); len(doubt) != 1 || doubt[0] != (turn.SentPart{Turn: 1, Part: 1}) {
		t.Fatalf("in doubt is %+v", doubt)
	}
	report := turn.Report{Turn: 1, Seq: r.Reply.Seq, Texts: 2, Sends: 2, Status: turn.ReplyCommitted, ID: "x", Part: 1, Receipt: turn.ReceiptDelivered}
	r, _ = turn.Step(r, report, 62_100, policyForIDs)
	if r.Reply == nil || r.Reply.Done != 1 || r.Reply.Unsure || len(r.InDoubt()) > 0 {
		t.Errorf("the reply is %+v", r.Reply)
	}
	if got, _ := r.SentAs("x"); got.Part != 1 {
		t.Errorf("the id is kept for %+v", got)
	}
	r, effects := turn.Step(r, turn.Wake{Nonce: "m"}, 62_200, policyForIDs)
	if send, ok := effects.Actions[0].(turn.Send); !ok || send.Reply.Done != 1 || r.Lease.Nonce != "m" {
		t.Errorf("then %+v", effects.Actions)
	}
}

// The channel's word may come before the answer to the send, which is lost.
func TestReportBeforeUnknownOutcome(t *testing.T) {
	for _, resend := range []bool{true, false} {
		p := policyForIDs
		p.ResendUnknown = resend
		r, nonce := onItsWayWith(t, p, 1)
		r, _ = turn.Step(r, turn.Report{Turn: 1, Seq: r.Reply.Seq, Texts: 1, Sends: 1, Status: turn.ReplyCommitted, ID: "x", Receipt: turn.ReceiptDelivered}, 62_000, p)
		r, _ = turn.Step(r, turn.SendUnknown{Nonce: nonce, Part: 0}, 62_100, p)
		if r.Phase != turn.Idle || len(r.Unconfirmed) > 0 {
			t.Errorf("resend %v: %s, unconfirmed %+v", resend, r.Phase, r.Unconfirmed)
		}
	}
}

package turn_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// What an operator was told would be sent again is, also where another reply ends
// in trouble before its turn comes, and there is room for no more of them.
func TestNoRoomForTroublesForgetsNoResend(t *testing.T) {
	var record turn.Record
	at := time.Duration(0)
	next := func(event turn.Event) {
		at += time.Second
		record, _ = turn.Step(record, event, after(at), basic)
	}
	human := func() {
		next(turn.HumanReply{Parts: 1})
		next(turn.Wake{Holder: "a", Nonce: "a"})
	}
	for range mostUnconfirmed {
		human()
		next(turn.SendUnknown{Nonce: "a"})
	}
	if len(record.Unconfirmed) != mostUnconfirmed {
		t.Fatalf("%d unconfirmed replies, want %d", len(record.Unconfirmed), mostUnconfirmed)
	}
	oldest := record.Unconfirmed[0]
	human()
	next(turn.Resend{Turn: oldest.Turn})
	next(turn.SendUnknown{Nonce: "a"})
	if record.Reply == nil || record.Reply.Seq != oldest.Seq {
		t.Errorf("on its way is %+v, want reply %d", record.Reply, oldest.Seq)
	}
}

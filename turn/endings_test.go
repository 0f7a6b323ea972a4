package turn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// kinds are the kinds of notices, in order.
func kinds(notices []turn.Notice) (all []turn.Kind) {
	for _, n := range notices {
		all = append(all, n.Kind)
	}
	return all
}

// Each reason for which somebody should look is enough by itself.
func TestNeedsAttention(t *testing.T) {
	for name, test := range map[string]struct {
		record turn.Record
		want   bool
	}{
		"nothing":                                {turn.Record{}, false},
		"at work":                                {turn.Record{Phase: turn.Generating}, false},
		"a reply on its way":                     {turn.Record{Phase: turn.Sending, Reply: &turn.Reply{}}, false},
		"a failed turn":                          {turn.Record{Phase: turn.Failed}, true},
		"messages that were set aside":           {turn.Record{SetAside: &turn.SetAside{}}, true},
		"an unconfirmed reply":                   {turn.Record{Unconfirmed: []turn.Unconfirmed{{}}}, true},
		"a worker that was lost":                 {turn.Record{Phase: turn.Generating, Tries: turn.Tries{Lost: turn.Lost{Count: 1}}}, true},
		"a worker that was lost while it sent":   {turn.Record{Phase: turn.Sending, Reply: &turn.Reply{Lost: turn.Lost{Count: 1}}}, true},
		"the last one, and a reply on its way":   {turn.Record{Phase: turn.Sending, Reply: &turn.Reply{}, Tries: turn.Tries{Lost: turn.Lost{Count: 1}}}, true},
		"a failed turn and an unconfirmed reply": {turn.Record{Phase: turn.Failed, Unconfirmed: []turn.Unconfirmed{{}}}, true},
	} {
		if got := test.record.NeedsAttention(); got != test.want {
			t.Errorf("%s: needs attention is %v", name, got)
		}
	}
}

// The first token of a conversation is that of its wake-up, and the next ones follow it.
func TestTokensGrowByOne(t *testing.T) {
	record := given(t, basic, written,
		happened{2 * time.Second, turn.Wake{Holder: "a", Nonce: "a", First: 700}})
	if record.Token != 700 || record.Lease.Token != 700 {
		t.Errorf("the first token is %d, the lease has %d", record.Token, record.Lease.Token)
	}
	record, _ = turn.Step(record, turn.HandBack{Nonce: "a"}, after(3*time.Second), basic)
	record, _ = turn.Step(record, turn.Wake{Holder: "b", Nonce: "b", First: 900}, after(3*time.Second), basic)
	if record.Token != 701 || record.Lease.Token != 701 {
		t.Errorf("the second token is %d, the lease has %d", record.Token, record.Lease.Token)
	}
}

// A turn whose attempts are used up by failures of the model and by lost workers fails.
// Its messages are not set aside: the workers alone did not use it up.
func TestFailuresAndLostWorkersUseATurnUp(t *testing.T) {
	var record turn.Record
	var effects turn.Effects
	at := time.Duration(0)
	next := func(wait time.Duration, event turn.Event) {
		at += wait
		record, effects = turn.Step(record, event, after(at), basic)
	}
	next(0, turn.Message{})
	for range 2 {
		next(time.Minute, turn.Wake{Holder: "a", Nonce: "a"})
		next(time.Second, turn.GenerateFailed{Nonce: "a", Fault: turn.Failure})
	}
	next(time.Minute, turn.Wake{Holder: "a", Nonce: "a"})
	next(time.Minute, turn.Wake{Holder: "b", Nonce: "b"}) // the lease ran out
	if record.Phase != turn.Failed || record.SetAside != nil || record.Pending != 1 || record.Lease.Nonce != "" {
		t.Errorf("the turn: %+v", record)
	}
	if !slices.Contains(kinds(effects.Notices), turn.KindTurnFailed) || record.Tries.LastError != "the workers of 1 of 3 attempts were lost" {
		t.Errorf("noted %v, the error is %q", kinds(effects.Notices), record.Tries.LastError)
	}
}

// A reply that is refused for good after a human answered its messages fails no turn:
// nothing waits any more.
func TestARefusedReplyThatAHumanOvertook(t *testing.T) {
	record := given(t, basic, written, attempt, committed, happened{4 * time.Second, turn.HumanReply{Parts: 1}})
	record, effects := turn.Step(record, turn.SendFailed{Nonce: "a", ForGood: true}, after(5*time.Second), basic)
	if slices.Contains(kinds(effects.Notices), turn.KindTurnFailed) || record.Phase != turn.Sending || record.Reply.Kind != turn.ReplyHuman {
		t.Errorf("the conversation is %s, with the reply %+v, and %v", record.Phase, record.Reply, kinds(effects.Notices))
	}
}

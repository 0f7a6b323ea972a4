package turn_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

// dutyWorld is a duty, and what two nodes were told of it.
type dutyWorld struct {
	record turn.Record
	now    turn.Time
	until  [2]turn.Time // when the duty ends of which each node knows; 0: it has none
}

// Every order of up to seven steps of two nodes: each takes the duty, keeps it or gives it
// back, and time passes. Never do both have it, and it can be taken as soon as nobody has.
func TestDutyIsHadByOne(t *testing.T) {
	const lasts = 2 * time.Second
	nonces := [2]string{"a", "b"}
	states := 0
	var explore func(w dutyWorld, left int)
	explore = func(w dutyWorld, left int) {
		states++
		if err := turn.Check(w.record); err != nil {
			t.Fatal(err)
		}
		if left == 0 || t.Failed() {
			return
		}
		for node, nonce := range nonces {
			other := w.until[1-node]
			next := w
			record, effects := turn.Step(w.record, turn.TakeDuty{Holder: "n", Nonce: nonce, For: lasts}, w.now, turn.Policy{})
			taken := effects.Outcome == turn.Done
			if taken && w.now < other {
				t.Fatalf("at %d node %d takes what the other has until %d", w.now, node, other)
			}
			if !taken && w.now >= other {
				t.Fatalf("at %d nobody has it, and node %d can't take it", w.now, node)
			}
			next.record = record
			if taken {
				next.until[node] = w.now.Add(lasts)
			}
			explore(next, left-1)

			back := w
			back.record, _ = turn.Step(w.record, turn.TakeDuty{Holder: "n", Nonce: nonce}, w.now, turn.Policy{})
			back.until[node] = 0
			explore(back, left-1)

			if _, alone := turn.Step(w.record, turn.TakeDuty{Nonce: nonce, For: lasts, Alone: true}, w.now, turn.Policy{}); alone.Outcome != turn.Done {
				t.Fatalf("the only process can't take the duty of one that is gone: %+v", alone)
			}
		}
		w.now = w.now.Add(time.Second)
		explore(w, left-1)
	}
	explore(dutyWorld{now: 1_000}, 7)
	if states < 50_000 {
		t.Errorf("only %d states", states)
	}
}

// A record with a duty is no conversation, and wakes nobody.
func TestDutyIsNoConversation(t *testing.T) {
	record, effects := turn.Step(turn.Record{}, turn.TakeDuty{Holder: "n", Nonce: "a", For: time.Second}, 1_000, turn.Policy{})
	if _, wakes := record.Wake(); wakes || !record.Empty() || !effects.Changed || len(effects.Notices) > 0 {
		t.Errorf("%+v, %+v", record, effects)
	}
}

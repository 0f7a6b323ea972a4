package turn

import "testing"

// TestTheBudget: an input with which more would wait than may changes nothing; what ends
// the waiting makes room.
func TestTheBudget(t *testing.T) {
	policy := Policy{Debounce: 1, MaxWait: 1, Lease: 1, MaxAttempts: 1, WaitingBytes: 10}
	var r Record
	step := func(e Event, outcome Outcome, waiting int) {
		t.Helper()
		next, effects := Step(r, e, 1000, policy)
		if effects.Outcome != outcome || next.PendingBytes != waiting {
			t.Errorf("%#v: %s, %d bytes wait; want %s, %d", e, effects.Outcome, next.PendingBytes, outcome, waiting)
		}
		if outcome == TooMuch && (effects.Changed || next.Version != r.Version) {
			t.Errorf("%#v was refused and changed something", e)
		}
		r = next
	}
	step(Message{Bytes: 6}, Queued, 6)
	step(Message{Bytes: 5}, TooMuch, 6)
	step(Message{Bytes: 4}, Queued, 10)
	step(Edit{Target: 2, Had: 4, Bytes: 5}, TooMuch, 10)
	step(Edit{Target: 2, Had: 4, Bytes: 4}, Queued, 10)
	step(Edit{Target: 3, Had: 4, Bytes: 1}, Queued, 7)
	step(Delete{Target: 1, Had: 6}, Queued, 1)
	step(Message{Bytes: 9}, Queued, 10)
	step(Message{Context: true, Bytes: 9}, AsContext, 10)
	step(Message{Closes: EndedReset, Bytes: 9}, Closed, 0)
	step(Message{Bytes: 11}, TooMuch, 0)
	policy.WaitingBytes = 0
	step(Message{Bytes: 11}, Queued, 11)
}

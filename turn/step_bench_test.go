package turn_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/turn"
)

var benchPolicy = turn.Policy{
	Debounce: 1500 * time.Millisecond, MaxWait: 10 * time.Second, OnNewInput: turn.Interrupt, MaxDiscards: 2,
	Lease: 30 * time.Second, MaxAttempts: 3,
}

const benchStart turn.Time = 1_750_000_000_000

// wholeTurn takes a record from a message to the sent reply: four steps.
func wholeTurn(r turn.Record, now turn.Time) turn.Record {
	for _, event := range []turn.Event{
		turn.Message{}, turn.Wake{Holder: "a", Nonce: "n"}, turn.Generated{Nonce: "n", Parts: 1}, turn.Sent{Nonce: "n"},
	} {
		r, _ = turn.Step(r, event, now, benchPolicy)
		now += 5_000
	}
	return r
}

func BenchmarkMessage(b *testing.B) {
	record, _ := turn.Step(turn.Record{}, turn.Message{}, benchStart, benchPolicy)
	b.ReportAllocs()
	for b.Loop() {
		turn.Step(record, turn.Message{}, benchStart+100, benchPolicy)
	}
}

func BenchmarkWholeTurn(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		wholeTurn(turn.Record{}, benchStart)
	}
}

// TestAllocationsOfStep guards a count that does not depend on the machine.
func TestAllocationsOfStep(t *testing.T) {
	if r := wholeTurn(turn.Record{}, benchStart); r.Phase != turn.Idle || r.Answered != 1 {
		t.Fatalf("the turn did not end: %+v", r)
	}
	record, _ := turn.Step(turn.Record{}, turn.Message{}, benchStart, benchPolicy)
	message := testing.AllocsPerRun(100, func() { turn.Step(record, turn.Message{}, benchStart+100, benchPolicy) })
	if message > 2 {
		t.Errorf("a message takes %v allocations, want at most 2", message)
	}
	whole := testing.AllocsPerRun(100, func() { wholeTurn(turn.Record{}, benchStart) })
	if whole > 18 {
		t.Errorf("a whole turn takes %v allocations, want at most 18", whole)
	}
	t.Logf("allocations: %v for a message, %v for a turn", message, whole)
}

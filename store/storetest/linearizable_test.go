package storetest_test

import (
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/store/storetest"
)

// A history of few clients holds every kind of answer; without that a checker
// would agree with anything.
func TestHistoryHoldsEveryOutcome(t *testing.T) {
	s := storetest.NewLossy(memory.New(), 1, 10)
	history, err := storetest.Record(t.Context(), storetest.Contention{}, s)
	s.Settle()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, o := range history {
		switch {
		case o.Write == nil:
			found["load"]++
		case o.Lost:
			found["lost"]++
		default:
			found[o.Result.Status.String()]++
		}
	}
	for _, want := range []string{"load", "lost", store.OK.String(), store.Conflict.String(), store.Duplicate.String()} {
		if found[want] == 0 {
			t.Errorf("no %s in %v", want, found)
		}
	}
}

// One client after another needs no search: each answer must be the right one
// for what came before.
func TestStepAgreesWithAStore(t *testing.T) {
	history, err := storetest.Record(t.Context(), storetest.Contention{Clients: 1, Calls: 500}, memory.New())
	if err != nil {
		t.Fatal(err)
	}
	states := map[store.Key]storetest.State{}
	for _, o := range history {
		right, after := states[o.Key].Step(o)
		if !right {
			t.Fatalf("%+v (write %+v) is wrong after %+v", o, o.Write, states[o.Key])
		}
		states[o.Key] = after
	}
}

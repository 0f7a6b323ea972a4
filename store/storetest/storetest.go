// Package storetest is the suite that every store must pass: the contract of
// package store as tests.
//
// [Run] checks the promises one by one. [Differential] runs the same random
// operations through a store and through store/memory, which is plain enough to
// be believed, and compares every answer. A change of what the contract means
// lands here, in the same commit, and not in the tests of one store; where the
// comments in package store leave a case open, the suite closes it:
//
//   - an id that occurs twice in one write is a Duplicate, like one that was
//     claimed by an earlier write;
//   - a conflict holds the ids that are claimed or occur twice, as a duplicate does;
//   - Claim returns timers with the time that they had before they were moved;
//   - conversations of the same time are listed by [store.Key.Compare];
//   - Settle changes messages only, Mark changes replies only;
//   - Reopen sets failed messages to pending, whatever else the Settle says;
//   - Commit stores the schema that it is given; Load refuses a record that is too
//     new, List and Sweep give it with an Err among the others, and Expire leaves
//     it; a record that is not what was written is told from it, and given likewise;
//   - a context that ended before the call leaves nothing behind;
//   - an id stays claimed as long as its message is in the transcript, however
//     old both are;
//   - all but pending messages and committed replies is settled for Expire, and
//     a paused conversation is not idle.
//
// A store's own test is short:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, storetest.Options{Open: open, Reopen: reopen})
//	}
//
//	func TestDifferential(t *testing.T) {
//		storetest.Differential(t, open, storetest.Effort{})
//	}
//
// The package is for tests only. It must never import the engine, a responder
// or a channel, nor any store but store/memory.
package storetest

import (
	"testing"

	"github.com/onereply/onereply/store"
)

// Options say how to get at the store under test.
type Options struct {
	// Open returns an empty store that nobody else uses. It registers with
	// t.Cleanup whatever has to be released; the suite may close the store itself
	// before that, and closing twice is allowed. It is called once for each test.
	Open func(t *testing.T) store.Store

	// Reopen closes s, which came from Open, as a restart would, and returns a
	// store on the same data. It must be set if and only if the store says that it
	// is durable.
	Reopen func(t *testing.T, s store.Store) store.Store

	// Corrupt makes the record of a conversation one that can't be read. Nil leaves
	// those tests out: for a store that keeps records as they are.
	Corrupt func(t *testing.T, s store.Store, key store.Key)

	// Second opens the data of s while s is open, as another process would. Nil
	// leaves those tests out.
	Second func(t *testing.T, s store.Store) (store.Store, error)
}

// test is one promise.
type test struct {
	name string
	run  func(*subject)
}

// Run checks every promise of package store, each as a subtest with a store of
// its own. It fails where one of the outcomes of a write (ok, conflict,
// duplicate, unknown) was never met.
func Run(t *testing.T, options Options) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"Commit", commitTests},
		{"Conflict", conflictTests},
		{"Unknown", unknownTests},
		{"IDs", idTests},
		{"Values", valueTests},
		{"Timers", timerTests},
		{"Entries", entryTests},
		{"Settle", settleTests},
		{"List", listTests},
		{"Sweep", sweepTests},
		{"Delete", deleteTests},
		{"Expire", expireTests},
		{"Names", nameTests},
		{"Schema", schemaTests},
		{"Concurrency", concurrencyTests},
		{"Ending", endingTests},
		{"Guarantees", guaranteeTests},
		{"Broadcasts", broadcastTests},
	}
	met, left := &outcomes{}, 0
	for _, group := range groups {
		left += len(group.tests)
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					left--
					test.run(newSubject(t, options, met))
				})
			}
		})
	}
	if missed := met.missed(); left == 0 && len(missed) > 0 {
		t.Errorf("outcomes of writes: %v; never met: %v", met, missed)
	}
}

package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
)

var endingTests = []test{
	{"calls with a context that ended do nothing and say so", func(s *subject) {
		s.ok(waking(s.write(key, none, message(1, "a")), start+10))
		before := s.contents()
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		for name, err := range s.everyCall(ctx) {
			if !errors.Is(err, context.Canceled) {
				s.Errorf("%s: got error %v, want context.Canceled", name, err)
			}
			if name == "Commit" && !errors.Is(err, store.ErrNotApplied) {
				s.Errorf("Commit: got error %v, want ErrNotApplied", err)
			}
		}
		equal(s, "the contents", s.contents(), before)
	}},
	{"a closed store says so", func(s *subject) {
		s.ok(s.write(key, none))
		for range 2 {
			if err := s.store.Close(); err != nil {
				s.Fatalf("Close: %v", err)
			}
		}
		for name, err := range s.everyCall(s.Context()) {
			if !errors.Is(err, store.ErrClosed) {
				s.Errorf("%s: got error %v, want ErrClosed", name, err)
			}
			if name == "Commit" && !errors.Is(err, store.ErrNotApplied) {
				s.Errorf("Commit: got error %v, want ErrNotApplied", err)
			}
		}
	}},
	{"closing while others write loses nothing that was answered", func(s *subject) {
		reopen := s.reopener()
		ops := make([]store.Op, writers)
		first := make(chan struct{}, 2*writers)
		s.race(writers+1, func(number int) {
			if number == writers {
				<-first
				if err := s.store.Close(); err != nil {
					s.Errorf("Close: %v", err)
				}
				return
			}
			ops[number] = s.writeUntilClosed(numbered(number), first)
		})
		s.store = reopen(s.T, s.store)
		for i, op := range ops {
			equal(s, "Op", s.load(numbered(i)).Op, op)
		}
	}},
	{"everything is there after a restart", func(s *subject) {
		reopen := s.reopener()
		op := s.ok(waking(s.write(key, none, message(1, "a"), reply(2, "r")), start+10))
		s.ok(waking(s.write(keyOf("claimed"), none, filledEntry()), start+5))
		s.claim(start+5, 1, time.Minute, store.Timer{Key: keyOf("claimed"), At: start + 5})
		gone := s.ok(s.write(keyOf("deleted"), none, message(1, "a")))
		s.remove(keyOf("deleted"))
		before := s.contents()
		s.store = reopen(s.T, s.store)
		equal(s, "the contents", s.contents(), before)
		s.due(forever, 10,
			store.Timer{Key: key, At: start + 10},
			store.Timer{Key: keyOf("claimed"), At: start + 5 + 60_000})
		equalLists(s, "Entries", s.entries(keyOf("claimed"), store.EntryQuery{}), []store.Entry{filledEntry()})
		s.duplicate(s.write(key, op, message(3, "a")), "a")
		s.conflict(s.write(keyOf("deleted"), gone))
		s.ok(s.write(key, op, message(3, "b")))
	}},
	{"a second opening is refused, or shares everything", func(s *subject) {
		if s.options.Second == nil {
			s.Skip("the store can't be opened a second time")
		}
		first := s.ok(waking(s.write(key, none, message(1, "a")), start+10))
		other, err := s.options.Second(s.T, s.store)
		if s.store.Guarantees().Exclusive {
			if !errors.Is(err, store.ErrInUse) {
				s.Fatalf("opened a second time: got error %v, want ErrInUse", err)
			}
			s.ok(s.write(key, first)) // and the first goes on
			return
		}
		if err != nil {
			s.Fatalf("opened a second time: %v", err)
		}
		second := &subject{T: s.T, options: s.options, store: other, outcomes: s.outcomes}
		second.ops.Store(1 << 32) // Ops are unique among all nodes
		second.duplicate(second.write(key, first, message(2, "a")), "a")
		second.claim(start+10, 10, time.Minute, store.Timer{Key: key, At: start + 10})
		s.claim(start+10, 10, time.Minute)
		second.ok(second.write(key, first))
		s.conflict(s.write(key, first))
	}},
}

// reopener returns Options.Reopen, or leaves the test out for a store that
// does not claim to be durable.
func (s *subject) reopener() func(*testing.T, store.Store) store.Store {
	s.Helper()
	durable := s.store.Guarantees().Durable
	if durable != (s.options.Reopen != nil) {
		s.Fatalf("Durable is %v, and Options.Reopen goes with it", durable)
	}
	if !durable {
		s.Skip("the store is not durable")
	}
	return s.options.Reopen
}

// writeUntilClosed writes one conversation again and again, tells of its first
// success, and returns the last Op that was answered.
func (s *subject) writeUntilClosed(key store.Key, first chan<- struct{}) store.Op {
	defer func() { first <- struct{}{} }() // a writer that fails must not keep the test waiting
	op := none
	for {
		write := s.write(key, op)
		result, err := s.store.Commit(s.Context(), write)
		switch {
		case errors.Is(err, store.ErrClosed):
			if !errors.Is(err, store.ErrNotApplied) {
				s.Errorf("Commit while closing: %v does not say whether it was applied", err)
			}
			return op
		case err != nil || result.Status != store.OK:
			s.Errorf("Commit while closing: %s, %v", show(result), err)
			return op
		}
		if op.IsZero() {
			first <- struct{}{}
		}
		op = write.Op
	}
}

// everyCall makes each call of the contract once and returns its error.
func (s *subject) everyCall(ctx context.Context) map[string]error {
	outcomes := make(map[string]error)
	_, outcomes["Load"] = s.store.Load(ctx, key)
	_, outcomes["Commit"] = s.store.Commit(ctx, s.write(keyOf("c2"), none))
	_, outcomes["Claim"] = s.store.Claim(ctx, forever, 10, time.Minute)
	_, outcomes["Due"] = s.store.Due(ctx, forever, 10)
	_, _, outcomes["Entries"] = s.store.Entries(ctx, key, store.EntryQuery{})
	_, outcomes["List"] = s.store.List(ctx, store.ListQuery{})
	outcomes["Delete"] = s.store.Delete(ctx, key)
	_, outcomes["Now"] = s.store.Now(ctx)
	_, _, outcomes["Sweep"] = s.store.Sweep(ctx, "", 10)
	_, outcomes["Expire"] = s.store.Expire(ctx, forever, forever, 10)
	return outcomes
}

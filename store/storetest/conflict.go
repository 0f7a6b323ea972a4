package storetest

import (
	"errors"
	"reflect"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// conflictTests are about the answer to a write that lost: it must be good enough
// to go on from without a Load.
var conflictTests = []test{
	{"a conflict holds every field of the record", func(s *subject) {
		write := s.write(key, none)
		write.Record, write.Log = filledRecord(), filledLog()
		s.ok(write)
		result := s.commit(s.write(key, none))
		equal(s, "Op", result.Current.Op, write.Op)
		s.expectFilledRecord("Commit", result.Current)
	}},
	{"a conflict holds the last record and none before", func(s *subject) {
		first := s.ok(s.write(key, none, message(1, "m1")))
		s.conflict(s.write(key, none))
		last := first
		for seq := int64(2); seq < 5; seq++ {
			last = s.ok(s.write(key, last, reply(seq, "r")))
			s.conflict(s.write(key, first))
			s.conflict(s.write(key, none))
		}
		equal(s, "Op", s.commit(s.write(key, first)).Current.Op, last)
	}},
	{"a conflict where there is no record holds none", func(s *subject) {
		equal(s, "Commit", s.commit(s.write(key, s.nextOp())), store.Result{Status: store.Conflict})
		before := s.ok(s.write(key, none, message(1, "m1")))
		s.remove(key)
		equal(s, "Commit", s.commit(s.write(key, before, message(2, "m1"))), store.Result{Status: store.Conflict})
	}},
	{"a conflict of one conversation holds nothing of another", func(s *subject) {
		s.ok(s.write(key, none, message(1, "m1")))
		equal(s, "Commit", s.commit(s.write(keyOf("c2"), s.nextOp(), message(1, "m1"))), store.Result{Status: store.Conflict})
		s.ok(s.write(keyOf("c2"), none, message(1, "m2")))
		s.conflict(s.write(keyOf("c2"), none, message(2, "m1")))
		s.conflict(s.write(keyOf("c2"), none, message(2, "m2")), "m2")
	}},
	{"a write that expects what a conflict met is applied", func(s *subject) {
		s.ok(s.write(key, none, message(1, "m1")))
		met := s.commit(s.write(key, none, message(1, "m2"))).Current
		write := s.write(key, met.Op, message(met.Record.Seq+1, "m2"))
		s.ok(write)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "m1 m2")
	}},
	{"a conflict holds the ids that are claimed, in the order of the write", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "b"), message(2, "a"), reply(3, "r")))
		twice := []store.Entry{message(4, "a"), message(5, "new"), reply(6, "b"), message(7, "b"), message(8, "r")}
		s.conflict(s.write(key, none, twice...), "a", "b")
		s.duplicate(s.write(key, op, twice...), "a", "b")
		s.conflict(s.write(key, none, message(4, "x"), message(5, "x")), "x")
		s.conflict(s.write(keyOf("c2"), op, message(4, "x"), message(5, "x")), "x")
		s.ok(s.write(key, op, message(4, "x"))) // no conflict claimed it
	}},
	{"what a conflict returned is the caller's", func(s *subject) {
		write := s.write(key, none, filledEntry())
		write.Record, write.Log = filledRecord(), filledLog()
		s.ok(write)
		result := s.commit(s.write(key, none))
		scribble(reflect.ValueOf(&result.Current).Elem())
		s.expectFilled()
		s.expectFilledRecord("Commit", s.commit(s.write(key, none)).Current)
	}},
	{"a record of a newer schema in the way is reported as such", func(s *subject) {
		older := s.plantNewer()
		for _, expect := range []store.Op{none, older} {
			s.notWritten(s.write(key, expect, message(1, "m1")), store.ErrNewerSchema)
		}
	}},
	{"a record in the way that can't be read is reported as such", func(s *subject) {
		if s.options.Corrupt == nil {
			s.Skip("this store keeps records as they are")
		}
		s.ok(s.write(key, none))
		s.options.Corrupt(s.T, s.store, key)
		s.notWritten(s.write(key, none, message(1, "m1")), store.ErrCorrupt)
	}},
}

// notWritten writes, and expects an error that says why nothing was written.
func (s *subject) notWritten(write store.Write, want error) {
	s.Helper()
	result, err := s.store.Commit(s.Context(), write)
	if !errors.Is(err, want) || !errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown) {
		s.Errorf("Commit: got error %v, want ErrNotApplied with %v", err, want)
	}
	equal(s, "Commit", result, store.Result{})
	equalLists(s, "Entries", s.entries(write.Key, store.EntryQuery{Status: turn.InputPending}), nil)
}

package storetest

import (
	"errors"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var schemaTests = []test{
	{"a record of a newer schema is refused", func(s *subject) {
		s.plantNewer()
		snapshot, err := s.store.Load(s.Context(), key)
		s.refused("Load", err)
		equal(s, "Load", snapshot, store.Snapshot{})
	}},
	{"a record of a newer schema hides no other from lists and sweeps", func(s *subject) {
		s.plantNewer()
		s.among(store.ErrNewerSchema)
	}},
	{"a failed one of a newer schema is in the list of what needs attention", func(s *subject) {
		write := s.write(key, none)
		write.Record.Schema, write.Record.Phase = turn.Schema+1, turn.Failed
		s.ok(write)
		s.inPhase("failed", turn.Failed, false)
		s.listed(store.ListQuery{Attention: true, Limit: 1}, "c1 failed")
		s.listed(store.ListQuery{Phase: turn.Failed}, "c1 failed")
	}},
	{"a record that is not what was written hides no other", func(s *subject) {
		if s.options.Corrupt == nil {
			s.Skip("this store keeps records as they are")
		}
		s.ok(s.write(key, none))
		s.options.Corrupt(s.T, s.store, key)
		snapshot, err := s.store.Load(s.Context(), key)
		s.refusedAs("Load", store.ErrCorrupt, err)
		equal(s, "Load", snapshot, store.Snapshot{})
		s.among(store.ErrCorrupt)
		s.remove(key)
		s.ok(s.write(key, none))
	}},
	{"a record of a newer schema is not rewritten", func(s *subject) {
		older := s.plantNewer()
		s.notWritten(s.write(key, none), store.ErrNewerSchema)
		s.notWritten(s.write(key, older), store.ErrNewerSchema)
		s.expireAll(forever, forever, 10)
		_, err := s.store.Load(s.Context(), key)
		s.refused("Load", err)
	}},
	{"other conversations are not in its way", func(s *subject) {
		s.plantNewer()
		op := s.ok(waking(s.write(keyOf("c2"), none), start+10))
		equal(s, "Op", s.load(keyOf("c2")).Op, op)
		s.due(start+10, 10, store.Timer{Key: keyOf("c2"), At: start + 10})
	}},
	{"its timer is left to newer programs, and hides no other", func(s *subject) {
		for i := range 7 {
			write := waking(s.write(numbered(i), none), start+1)
			write.Record.Schema = turn.Schema + 1
			s.ok(write)
		}
		s.ok(waking(s.write(key, none), start+10))
		s.claim(start+10, 2, time.Minute, store.Timer{Key: key, At: start + 10})
		s.claimOf([]string{key.Bot}, start+10, 2, time.Minute)
		if due, err := s.store.Due(s.Context(), start+10, 10); err != nil || len(due) != 7 {
			s.Errorf("Due: got %s, %v; want the seven that are left alone", showAll(due), err)
		}
	}},
	{"a record of a newer schema can be deleted", func(s *subject) {
		s.plantNewer()
		s.remove(key)
		s.ok(s.write(key, none))
	}},
}

// plantNewer lets a newer program rewrite a record, and returns the Op from
// before.
func (s *subject) plantNewer() store.Op {
	s.Helper()
	older := s.ok(s.write(key, none))
	write := s.write(key, older)
	write.Record.Schema = turn.Schema + 1
	s.ok(write)
	return older
}

func (s *subject) refused(call string, err error) {
	s.Helper()
	s.refusedAs(call, store.ErrNewerSchema, err)
}

func (s *subject) refusedAs(call string, want, err error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: got error %v, want %v", call, err, want)
	}
}

// among expects that lists and sweeps give the conversation key with an error, and
// two others, one before and one behind it, as ever.
func (s *subject) among(want error) {
	s.Helper()
	s.active("before", start+1)
	s.active("behind", start-1)
	for _, limit := range []int{1, 2, 10} {
		s.listed(store.ListQuery{Limit: limit}, "before c1 behind")
		for _, item := range s.listAll(store.ListQuery{Limit: limit}) {
			s.readable("List", item.Key, item.Snapshot, item.Err, want)
		}
		found := s.sweepAll(limit)
		equal(s, "conversations of a sweep", len(found), 3)
		for _, f := range found {
			s.readable("Sweep", f.Key, f.Snapshot, f.Err, want)
		}
	}
}

// readable expects a record, but of the conversation key the error.
func (s *subject) readable(call string, of store.Key, snapshot store.Snapshot, err, want error) {
	s.Helper()
	if of == key {
		s.refusedAs(call, want, err)
		equal(s, call, snapshot, store.Snapshot{})
		return
	}
	if err != nil || snapshot.Op.IsZero() {
		s.Errorf("%s: of %v got %s and %v, want its record", call, of, show(snapshot), err)
	}
}

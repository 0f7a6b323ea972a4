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
		_, err = listAll(s.Context(), s.store, store.ListQuery{})
		s.refused("List", err)
		_, err = sweepFrom(s.Context(), s.store, "", 10)
		s.refused("Sweep", err)
	}},
	{"a record of a newer schema is not rewritten", func(s *subject) {
		older := s.plantNewer()
		s.conflict(s.write(key, none))
		s.conflict(s.write(key, older))
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
	if !errors.Is(err, store.ErrNewerSchema) {
		s.Errorf("%s: got error %v, want ErrNewerSchema", call, err)
	}
}

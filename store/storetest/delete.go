package storetest

import "github.com/onereply/onereply/store"

var deleteTests = []test{
	{"delete removes all of a conversation", func(s *subject) {
		s.ok(waking(s.write(key, none, message(1, "a"), reply(2, "r")), start+10))
		s.remove(key)
		equal(s, "Load", s.load(key), store.Snapshot{})
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), nil)
		equalLists(s, "Entries by id", s.entries(key, store.EntryQuery{ID: "a"}), nil)
		equalLists(s, "List", s.listAll(store.ListQuery{}), nil)
		equalLists(s, "Sweep", s.sweepAll(10), nil)
		s.due(forever, 10)
		s.claim(forever, 10, 0)
	}},
	{"a conversation that was deleted begins anew", func(s *subject) {
		s.ok(waking(s.write(key, none, message(1, "a"), reply(2, "r")), start+10))
		s.remove(key)
		s.ok(s.write(key, none, message(1, "a"))) // the id and the sequence are free
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{message(1, "a")})
		s.due(forever, 10)
	}},
	{"delete leaves other conversations", func(s *subject) {
		s.ok(s.write(key, none, message(1, "a")))
		other := s.ok(waking(s.write(keyOf("c2"), none, message(1, "a")), start+10))
		s.remove(key)
		equal(s, "Op", s.load(keyOf("c2")).Op, other)
		equal(s, "Entries", idsOf(s.entries(keyOf("c2"), store.EntryQuery{})), "a")
		s.due(forever, 10, store.Timer{Key: keyOf("c2"), At: start + 10})
		s.duplicate(s.write(keyOf("c2"), other, message(2, "a")), "a")
	}},
	{"deleting what does not exist is no error", func(s *subject) {
		s.remove(key)
		s.ok(s.write(key, none))
		s.remove(key)
		s.remove(key)
	}},
}

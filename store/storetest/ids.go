package storetest

import (
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var idTests = []test{
	{"duplicates are reported in the order of the write", func(s *subject) {
		first := s.ok(s.write(key, none, message(1, "a"), message(2, "b"), message(3, "c")))
		s.duplicate(s.write(key, first, message(4, "c"), message(5, "new"), message(6, "a")), "c", "a")
	}},
	{"a conflict is reported before a duplicate", func(s *subject) {
		s.ok(s.write(key, none, message(1, "a")))
		s.conflict(s.write(key, none, message(2, "a")), "a")
	}},
	{"an id twice in one write is a duplicate", func(s *subject) {
		s.duplicate(s.write(key, none, message(1, "a"), message(2, "b"), message(3, "a")), "a")
		equal(s, "Load", s.load(key), store.Snapshot{})
	}},
	{"ids are claimed for each conversation alone", func(s *subject) {
		s.ok(s.write(key, none, message(1, "a")))
		s.ok(s.write(keyOf("c2"), none, message(1, "a")))
		s.ok(s.write(store.Key{Bot: "sales", Conversation: key.Conversation}, none, message(1, "a")))
	}},
	{"the id of a message that its author deleted stays claimed", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a")))
		write := s.write(key, op)
		write.Change = []store.Entry{withStatus(message(1, "a"), turn.InputDeleted)}
		op = s.ok(write)
		s.duplicate(s.write(key, op, message(2, "a")), "a")
	}},
	{"the id of an answered message stays claimed", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a")))
		write := s.write(key, op)
		write.Settle = []turn.Settle{{Through: 1, Status: turn.InputAnswered}}
		op = s.ok(write)
		s.duplicate(s.write(key, op, message(2, "a")), "a")
	}},
	{"ids of replies are not claimed", func(s *subject) {
		op := s.ok(s.write(key, none, reply(1, "r1")))
		op = s.ok(s.write(key, op, message(2, "r1"), reply(3, "m1")))
		op = s.ok(s.write(key, op, message(4, "m1")))
		s.ok(s.write(key, op, reply(5, "m1")))
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "r1 r1 m1 m1 m1")
	}},
}

package storetest

import (
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var commitTests = []test{
	{"a conversation that does not exist is the zero snapshot", func(s *subject) {
		equal(s, "Load", s.load(key), store.Snapshot{})
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), nil)
	}},
	{"a first write creates the record", func(s *subject) {
		write := s.write(key, none)
		s.ok(write)
		equal(s, "Load", s.load(key), store.Snapshot{Record: write.Record, Op: write.Op})
	}},
	{"a first write conflicts where there is a record", func(s *subject) {
		first := s.ok(s.write(key, none))
		s.conflict(s.write(key, none))
		equal(s, "Op", s.load(key).Op, first)
	}},
	{"a write that expects a record conflicts where there is none", func(s *subject) {
		s.conflict(s.write(key, s.nextOp()))
		equal(s, "Load", s.load(key), store.Snapshot{})
	}},
	{"a write replaces the record that it expects", func(s *subject) {
		first := s.ok(s.write(key, none))
		write := s.write(key, first)
		write.Record.Version = 7
		s.ok(write)
		equal(s, "Load", s.load(key), store.Snapshot{Record: write.Record, Op: write.Op})
	}},
	{"a write that expects an older record conflicts", func(s *subject) {
		first := s.ok(s.write(key, none))
		second := s.ok(s.write(key, first))
		s.conflict(s.write(key, first))
		equal(s, "Op", s.load(key).Op, second)
	}},
	{"a write that is sent twice is applied once", func(s *subject) {
		write := s.write(key, none, message(1, "m1"))
		s.ok(write)
		s.conflict(write, "m1")
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "m1")
	}},
	{"an op from before a deletion never matches again", func(s *subject) {
		before := s.ok(s.write(key, none))
		s.remove(key)
		s.conflict(s.write(key, before))
		after := s.ok(s.write(key, none)) // the same content, another record
		s.conflict(s.write(key, before))
		equal(s, "Op", s.load(key).Op, after)
	}},
	{"conversations do not see each other", func(s *subject) {
		first := s.ok(s.write(key, none, message(1, "m1")))
		s.conflict(s.write(keyOf("c2"), first))
		s.ok(s.write(keyOf("c2"), none, message(1, "m2")))
		equal(s, "Op", s.load(key).Op, first)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "m1")
	}},
	{"a conflict leaves nothing behind", func(s *subject) {
		first := s.ok(waking(s.write(key, none, message(1, "m1"), reply(2, "r1")), start+10))
		before := s.contents()
		s.conflict(s.everything(s.nextOp()))
		equal(s, "the contents", s.contents(), before)
		s.ok(s.write(key, first, message(3, "m2"))) // its id was not claimed
	}},
	{"a duplicate leaves nothing behind", func(s *subject) {
		first := s.ok(waking(s.write(key, none, message(1, "m1"), reply(2, "r1")), start+10))
		before := s.contents()
		write := s.everything(first)
		write.Append = append(write.Append, message(4, "m1"))
		s.duplicate(write, "m1")
		equal(s, "the contents", s.contents(), before)
		s.ok(s.write(key, first, message(3, "m2"))) // its id was not claimed
	}},
	{"append, change, settle and mark are applied in this order", func(s *subject) {
		write := s.write(key, none, message(1, "m1"), reply(2, "r1"))
		changed := message(1, "m1")
		changed.Version, changed.Text = 3, "edited"
		write.Change = []store.Entry{changed, withStatus(reply(2, "r1"), turn.ReplyUnknown)}
		write.Settle = []turn.Settle{
			{From: 2, Through: 3, Status: turn.InputFailed},
			{From: 2, Through: 3, Status: turn.InputPending, Reopen: true},
			{From: 2, Through: 3, Status: turn.InputAnswered, ReplySeq: 2},
		}
		write.Mark = []turn.Mark{
			{Seq: 2, Status: turn.ReplyPartial, Reason: "a part is missing"},
			{Seq: 2, Status: turn.ReplySent},
		}
		s.ok(write)
		changed.Status, changed.ReplySeq = turn.InputAnswered, 2
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}),
			[]store.Entry{changed, withStatus(reply(2, "r1"), turn.ReplySent)})
	}},
}

// everything is a write that would change all that can be changed.
func (s *subject) everything(expect store.Op) store.Write {
	write := waking(s.write(key, expect, message(3, "m2")), start+99)
	write.Record.Version = 99
	write.Change = []store.Entry{withStatus(message(1, "m1"), turn.InputDeleted)}
	write.Settle = []turn.Settle{{Through: 99, Status: turn.InputClosed}}
	write.Mark = []turn.Mark{{Seq: 2, Status: turn.ReplySent}}
	write.At = start + 50
	return write
}

// contents is all that can be read of the one conversation.
func (s *subject) contents() string {
	s.Helper()
	return show(s.load(key)) +
		"\nentries: " + showAll(s.entries(key, store.EntryQuery{})) +
		"\nlist: " + showAll(s.listAll(store.ListQuery{})) +
		"\nsweep: " + showAll(s.sweepAll(10))
}

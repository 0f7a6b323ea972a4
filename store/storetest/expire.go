package storetest

import (
	"context"
	"fmt"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// later is a time after every write of these tests.
const later = start + 1000

var expireTests = []test{
	{"old settled messages and replies go", func(s *subject) {
		s.ok(s.write(key, none,
			withStatus(message(1, "a"), turn.InputAnswered),
			withStatus(message(2, "b"), turn.InputClosed),
			withStatus(message(3, "c"), turn.InputDeleted),
			withStatus(reply(4, "r1"), turn.ReplySent),
			withStatus(reply(5, "r2"), turn.ReplyWithdrawn),
			withStatus(reply(6, "r3"), turn.ReplyUnknown),
			withStatus(reply(7, "r4"), turn.ReplyNone),
		))
		s.expireAll(later, start, 100)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "")
	}},
	{"pending messages and replies on their way stay", func(s *subject) {
		write := waking(s.write(key, none, message(1, "a"), reply(2, "r")), start+10)
		op := s.ok(write)
		s.expireAll(later, later, 100)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}),
			[]store.Entry{message(1, "a"), reply(2, "r")})
		equal(s, "Load", s.load(key), store.Snapshot{Record: write.Record, Op: op})
		s.due(forever, 10, store.Timer{Key: key, At: start + 10})
	}},
	{"a name that leads to a conversation keeps it, and none of its texts", func(s *subject) {
		name := store.Entry{Seq: 2, Kind: store.Name, Status: turn.ReplyCommitted, Reason: "alias", At: start, Version: 1, Body: store.Body{Text: "+49"}}
		write := s.write(key, none, withStatus(message(1, "a"), turn.InputAnswered), name, withStatus(reply(3, "r"), turn.ReplySent))
		op := s.ok(write)
		s.expireAll(later, later, 100)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{name})
		equal(s, "Load", s.load(key), store.Snapshot{Record: write.Record, Op: op})
		s.ok(s.write(key, op, message(4, "a"))) // its id is forgotten likewise
	}},
	{"messages that were set aside stay, until they are closed", func(s *subject) {
		op := s.ok(s.write(key, none, withStatus(message(1, "a"), turn.InputFailed), withStatus(message(2, "b"), turn.InputFailed)))
		s.expireAll(later, later, 100)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "a b")
		write := s.write(key, op)
		write.Settle = []turn.Settle{{Through: 1, Status: turn.InputPending, Reopen: true}}
		op = s.ok(write)
		s.expireAll(later, later, 100)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "a b")
		write = s.write(key, op)
		write.Settle = []turn.Settle{{From: 1, Through: 2, Status: turn.InputPending, Reopen: true}, {Through: 2, Status: turn.InputClosed}}
		s.ok(write)
		s.expireAll(later, start, 100)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "")
	}},
	{"what is not older stays", func(s *subject) {
		young := withStatus(message(2, "young"), turn.InputAnswered)
		young.At = start + 1
		s.ok(s.write(key, none, withStatus(message(1, "old"), turn.InputAnswered), young))
		s.expireAll(start, start, 100)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "old young")
		s.expireAll(start+1, start, 100)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "young")
	}},
	{"ids outlive their entries until they are old too", func(s *subject) {
		op := s.ok(s.write(key, none, withStatus(message(1, "a"), turn.InputAnswered)))
		write := s.write(key, op) // keeps the conversation young
		write.At = later
		op = s.ok(write)
		s.expireAll(start+1, start, 100)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "")
		s.duplicate(s.write(key, op, message(2, "a")), "a")
		s.expireAll(start+1, start+1, 100)
		s.ok(s.write(key, op, message(2, "a")))
	}},
	{"the id of a message that stays is not forgotten", func(s *subject) {
		op := s.ok(waking(s.write(key, none, message(1, "a")), start+10))
		s.expireAll(later, later, 100)
		s.duplicate(s.write(key, op, message(2, "a")), "a")
	}},
	{"at most limit are removed at once", func(s *subject) {
		const count = 7
		var entries []store.Entry
		for i := range int64(count) {
			entries = append(entries, withStatus(message(i+1, fmt.Sprintf("m%d", i)), turn.InputAnswered))
		}
		s.ok(s.write(key, none, entries...))
		removed, err := s.store.Expire(s.Context(), later, start, 3)
		left := len(s.entries(key, store.EntryQuery{}))
		if err != nil || removed < 1 || removed > 3 || left != count-removed {
			s.Fatalf("Expire: got %d, %v; of %d entries %d are left", removed, err, count, left)
		}
		s.expireAll(later, later, 3)
		equal(s, "Load", s.load(key), store.Snapshot{})
	}},
	{"idle conversations without entries go", func(s *subject) {
		s.ok(s.write(key, none, withStatus(message(1, "a"), turn.InputAnswered)))
		s.ok(s.write(keyOf("empty"), none))
		s.expireAll(start+1, start+1, 100)
		equalLists(s, "Sweep", s.sweepAll(10), nil)
		equalLists(s, "List", s.listAll(store.ListQuery{}), nil)
		s.ok(s.write(key, none, message(1, "a"))) // it begins anew
	}},
	{"conversations that are young, busy or paused stay", func(s *subject) {
		s.active("young", start+1)
		s.inPhase("failed", turn.Failed, false)
		s.inPhase("paused", turn.Idle, true)
		s.inPhase("sending", turn.Sending, false)
		s.ok(s.write(keyOf("waiting"), none, message(1, "a")))
		s.expireAll(start+1, start+1, 100)
		s.listed(store.ListQuery{}, "young failed paused sending waiting")
	}},
	{"the conversation goes on after its entries expired", func(s *subject) {
		op := s.ok(s.write(key, none, withStatus(message(1, "a"), turn.InputAnswered)))
		s.expireAll(start+1, start, 100)
		s.ok(s.write(key, op, message(2, "b")))
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "b")
	}},
}

// expireAll calls Expire until nothing is left to remove.
func (s *subject) expireAll(entriesBefore, idsBefore turn.Time, limit int) {
	s.Helper()
	if err := expireAll(s.Context(), s.store, entriesBefore, idsBefore, limit); err != nil {
		s.Fatalf("Expire: %v", err)
	}
}

func expireAll(ctx context.Context, of store.Store, entriesBefore, idsBefore turn.Time, limit int) error {
	for range maxPages {
		removed, err := of.Expire(ctx, entriesBefore, idsBefore, limit)
		switch {
		case err != nil:
			return err
		case removed > limit:
			return fmt.Errorf("removed %d, the limit is %d", removed, limit)
		case removed == 0:
			return nil
		}
	}
	return fmt.Errorf("not at its end after %d calls", maxPages)
}

package storetest

import (
	"strings"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// hardNames are names that a careless store mixes up, or can't keep.
var hardNames = []string{
	"a", "A", "a ", " a", "a:b", "b:c", "a/b", `a\b`, "a,b", "a|b", "a\tb", "a\nb", "a\x01b", "a\x7f",
	"%", "_", "a%", "a_", "*", "?", "[a]", "{a}", "$1", "{tag}x",
	`"`, "'", "''", "`", ";--", "null", "0", "1", "1.0", "1e0",
	"é", "e\u0301", "ß", "ss", "İ", "ı", "👩‍👩‍👧", "\u200b", "\ufeffa", "\u202e", "\U0010FFFF",
	strings.Repeat("x", 511), strings.Repeat("x", 512), strings.Repeat("漢", 170) + "ab",
}

var nameTests = []test{
	{"names that share a separator are two conversations", func(s *subject) {
		for _, separator := range []string{":", "/", "|", ",", " ", "\t", "\n", `\`, "\x1f", `"`, "\"/\"", "."} {
			left := store.Key{Bot: "a" + separator + "b", Conversation: "c"}
			right := store.Key{Bot: "a", Conversation: "b" + separator + "c"}
			first := s.ok(waking(s.write(left, none, message(1, "left")), start+10))
			s.ok(s.write(right, none, message(1, "right")))
			equal(s, "Op", s.load(left).Op, first)
			equal(s, "Entries", idsOf(s.entries(left, store.EntryQuery{})), "left")
			s.due(forever, 10, store.Timer{Key: left, At: start + 10})
			s.remove(right)
			equal(s, "Op", s.load(left).Op, first)
			s.remove(left)
		}
	}},
	{"every name is kept apart from every other", func(s *subject) {
		ops := make(map[store.Key]store.Op)
		for i, name := range hardNames {
			for _, k := range []store.Key{
				{Bot: name, Conversation: "long"}, {Bot: "long", Conversation: name}, {Bot: name, Conversation: name},
			} {
				ops[k] = s.ok(waking(s.write(k, none, message(1, name)), start+turn.Time(i)))
			}
		}
		for k, op := range ops {
			equal(s, k.String(), s.load(k).Op, op)
		}
		for _, found := range s.sweepAll(7) {
			equal(s, "Sweep", found.Snapshot.Op, ops[found.Key])
		}
		timers, err := s.store.Due(s.Context(), forever, 1000)
		if err != nil || len(timers) != len(ops) {
			s.Fatalf("Due: got %d timers, %v; want %d", len(timers), err, len(ops))
		}
		for _, timer := range timers {
			if _, known := ops[timer.Key]; !known {
				s.Errorf("Due: nobody has the key %v", timer.Key)
			}
		}
		if items := s.listAll(store.ListQuery{Limit: 7}); len(items) != len(ops) {
			s.Errorf("List: got %d conversations, want %d", len(items), len(ops))
		}
	}},
	{"every id is kept apart from every other", func(s *subject) {
		var entries []store.Entry
		for i, id := range hardNames {
			entries = append(entries, message(int64(i+1), id))
		}
		op := s.ok(s.write(key, none, entries...))
		for i, id := range hardNames {
			equalLists(s, "Entries by id", s.entries(key, store.EntryQuery{ID: id}), entries[i:i+1])
		}
		for i := range entries {
			entries[i].Seq += int64(len(entries))
		}
		s.duplicate(s.write(key, op, entries...), hardNames...)
	}},
}

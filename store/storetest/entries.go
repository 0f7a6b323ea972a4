package storetest

import (
	"fmt"
	"strings"

	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var entryTests = []test{
	{"a query selects by sequence, id and status", func(s *subject) {
		s.ok(s.write(key, none,
			message(1, "a"),
			withStatus(message(2, "b"), turn.InputAnswered),
			withStatus(reply(4, "r"), turn.ReplySent), // sequences may have gaps
			message(5, "c"),
			reply(6, "c"), // the same id as a message
			message(9, "d"),
		))
		for _, c := range []struct {
			query store.EntryQuery
			want  string
		}{
			{store.EntryQuery{}, "a b r c c d"},
			{store.EntryQuery{After: 2}, "r c c d"},
			{store.EntryQuery{After: 3}, "r c c d"},
			{store.EntryQuery{After: 9}, ""},
			{store.EntryQuery{Before: 4}, "a b"},
			{store.EntryQuery{Before: 5}, "a b r"},
			{store.EntryQuery{Before: 1}, ""},
			{store.EntryQuery{After: 1, Before: 6}, "b r c"},
			{store.EntryQuery{Limit: 2}, "a b"},
			{store.EntryQuery{After: 1, Limit: 2}, "b r"},
			{store.EntryQuery{Backward: true}, "d c c r b a"},
			{store.EntryQuery{Backward: true, Limit: 2}, "d c"},
			{store.EntryQuery{Backward: true, Before: 6, Limit: 2}, "c r"},
			{store.EntryQuery{Backward: true, After: 2, Before: 9}, "c c r"},
			{store.EntryQuery{Status: turn.InputPending}, "a c d"},
			{store.EntryQuery{Status: turn.InputPending, After: 1, Limit: 1}, "c"},
			{store.EntryQuery{Status: turn.ReplyCommitted}, "c"},
			{store.EntryQuery{Status: turn.InputClosed}, ""},
			{store.EntryQuery{ID: "b"}, "b"},
			{store.EntryQuery{ID: "c"}, "c"},
			{store.EntryQuery{ID: "r"}, ""},
			{store.EntryQuery{ID: "nobody"}, ""},
			{store.EntryQuery{ID: "b", Status: turn.InputPending}, ""},
			{store.EntryQuery{ID: "b", After: 2}, ""},
		} {
			equal(s, fmt.Sprintf("Entries %+v", c.query), idsOf(s.entries(key, c.query)), c.want)
		}
		equalLists(s, "Entries by id", s.entries(key, store.EntryQuery{ID: "c"}), []store.Entry{message(5, "c")})
	}},
	{"the limit is bounded", func(s *subject) {
		var entries []store.Entry
		for i := range int64(store.MaxEntries + 5) {
			entries = append(entries, message(i+1, fmt.Sprintf("m%d", i+1)))
		}
		s.ok(s.write(key, none, entries...))
		for _, limit := range []int{0, store.MaxEntries, store.MaxEntries + 1} {
			if got := len(s.entries(key, store.EntryQuery{Limit: limit})); got != store.MaxEntries {
				s.Errorf("Limit %d: got %d entries, want %d", limit, got, store.MaxEntries)
			}
		}
		last := s.entries(key, store.EntryQuery{Backward: true, Limit: 1})
		equal(s, "the last entry", idsOf(last), "m1005")
	}},
	{"a page ends before its bytes are exceeded, and says whether more follows", func(s *subject) {
		s.ok(s.write(key, none, sized(1, "a", 100), sized(2, "b", 100), sized(3, "c", 300), sized(4, "d", 100), sized(5, "e", 100)))
		settled := withStatus(sized(5, "e", 100), turn.InputAnswered)
		write := s.write(key, s.load(key).Op)
		write.Change = []store.Entry{settled}
		s.ok(write)
		for _, c := range []struct {
			query store.EntryQuery
			want  string
			more  bool
		}{
			{store.EntryQuery{}, "a b c d e", false},
			{store.EntryQuery{Bytes: 700}, "a b c d e", false},
			{store.EntryQuery{Bytes: 699}, "a b c d", true},
			{store.EntryQuery{Bytes: 499}, "a b", true},
			{store.EntryQuery{Bytes: 200}, "a b", true},
			{store.EntryQuery{Bytes: 199}, "a", true},
			{store.EntryQuery{Bytes: 1}, "a", true}, // one at least
			{store.EntryQuery{Bytes: 1, After: 2}, "c", true},
			{store.EntryQuery{Bytes: 299, After: 2, Limit: 2}, "c", true},
			{store.EntryQuery{Bytes: 399, After: 2}, "c", true},
			{store.EntryQuery{Bytes: 1, After: 4}, "e", false},
			{store.EntryQuery{Bytes: 1, After: 5}, "", false},
			{store.EntryQuery{Bytes: 1, Before: 2}, "a", false},
			{store.EntryQuery{Bytes: 400, Backward: true}, "e d", true},
			{store.EntryQuery{Bytes: 500, Backward: true}, "e d c", true},
			{store.EntryQuery{Bytes: 1, Backward: true, Before: 2}, "a", false},
			{store.EntryQuery{Bytes: 500, Limit: 3}, "a b c", true},
			{store.EntryQuery{Limit: 4}, "a b c d", true},
			{store.EntryQuery{Limit: 5}, "a b c d e", false},
			{store.EntryQuery{Status: turn.InputPending, Bytes: 200}, "a b", true},
			{store.EntryQuery{Status: turn.InputPending, Bytes: 600}, "a b c d", false},
			{store.EntryQuery{Status: turn.InputPending, Limit: 4}, "a b c d", false},
			{store.EntryQuery{Status: turn.InputPending, Limit: 3}, "a b c", true},
			{store.EntryQuery{Status: turn.InputAnswered, Bytes: 1}, "e", false},
			{store.EntryQuery{ID: "c", Bytes: 1}, "c", false},
		} {
			got, more := s.page(key, c.query)
			equal(s, fmt.Sprintf("Entries %+v", c.query), idsOf(got), c.want)
			equal(s, fmt.Sprintf("whether more follows %+v", c.query), more, c.more)
		}
	}},
	{"an entry counts with the bytes of its body in JSON", func(s *subject) {
		e := message(1, "a")
		e.Text = "\x01é<&>"
		body, err := storejson.Encode(&e.Body)
		if err != nil {
			s.Fatal(err)
		}
		other := e
		other.Seq, other.ID, other.Version = 2, "b", 2
		s.ok(s.write(key, none, e, other))
		for bytes, want := range map[int]bool{2 * len(body): false, 2*len(body) - 1: true} {
			_, more := s.page(key, store.EntryQuery{Bytes: bytes})
			equal(s, fmt.Sprintf("whether more follows %d bytes of 2 times %d", bytes, len(body)), more, want)
		}
	}},
	{"no page is larger than it may be, and all are found page by page", func(s *subject) {
		var entries []store.Entry
		for i := range int64(40) {
			entries = append(entries, sized(i+1, fmt.Sprintf("m%d", i+1), 60_000))
		}
		s.ok(s.write(key, none, entries...))
		for _, query := range []store.EntryQuery{{}, {Backward: true}, {Status: turn.InputPending}, {Bytes: 10 * store.MaxPageBytes}, {Limit: 7}} {
			found, pages := 0, 0
			for page, err := range store.Pages(s.Context(), s.store, key, query) {
				if err != nil {
					s.Fatal(err)
				}
				found, pages = found+len(page), pages+1
				if len(page)*60_000 > store.MaxPageBytes {
					s.Errorf("%+v: a page has %d entries", query, len(page))
				}
			}
			if want := 3; found != len(entries) || query.Limit == 0 && pages != want {
				s.Errorf("%+v: %d of %d entries on %d pages, want %d", query, found, len(entries), pages, want)
			}
		}
	}},
	{"a deleted message is still found by its id", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a")))
		deleted := withStatus(message(1, "a"), turn.InputDeleted)
		deleted.Body = store.Body{}
		write := s.write(key, op)
		write.Change = []store.Entry{deleted}
		s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{ID: "a"}), []store.Entry{deleted})
	}},
	{"of an erased message its place is left", func(s *subject) {
		const secret = "secret"
		answered := withStatus(message(1, "a"), turn.InputAnswered)
		answered.Body = store.Body{
			Text: secret, Sender: store.Sender{Name: secret}, ForwardedFrom: store.Sender{Name: secret}, Attachments: []store.Attachment{{URL: secret}},
			Metadata: []byte(`"secret"`), Was: &store.Was{Text: secret}, ReplyTo: &store.Quote{Text: secret},
		}
		quoting := message(2, "b")
		quoting.ReplyTo = &store.Quote{ID: "a", Text: secret}
		op := s.ok(s.write(key, none, answered, quoting))
		erased := store.Entry{Seq: 1, Kind: store.Message, ID: "a", Status: turn.InputDeleted, Reason: "erased", At: answered.At, Version: answered.Version, ReplySeq: 7}
		quoting.ReplyTo = &store.Quote{ID: "a"}
		write := s.write(key, op)
		write.Change = []store.Entry{quoting, erased}
		op = s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{erased, quoting})
		if strings.Contains(s.contents(), secret) {
			s.Errorf("it is there still: %s", s.contents())
		}
		equal(s, "its id", s.commit(s.write(key, op, message(3, "a"))).Status, store.Duplicate)
	}},
	{"a change replaces the entry of its sequence only", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a"), message(2, "b"), reply(3, "r")))
		changed := message(2, "b")
		changed.Text, changed.Version, changed.EditedAt = "edited", 4, start+5
		write := s.write(key, op)
		write.Change = []store.Entry{changed}
		s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}),
			[]store.Entry{message(1, "a"), changed, reply(3, "r")})
	}},
	{"a change of an entry that does not exist is ignored", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a")))
		write := s.write(key, op)
		write.Change = []store.Entry{message(2, "b")}
		op = s.ok(write)
		equal(s, "Entries", idsOf(s.entries(key, store.EntryQuery{})), "a")
		s.ok(s.write(key, op, message(2, "b"))) // neither its id nor its sequence was taken
	}},
	{"a change in one conversation leaves the others", func(s *subject) {
		s.ok(s.write(keyOf("c2"), none, message(1, "a"), reply(2, "r")))
		op := s.ok(s.write(key, none, message(1, "a"), reply(2, "r")))
		write := s.write(key, op)
		write.Change = []store.Entry{withStatus(message(1, "a"), turn.InputDeleted)}
		write.Settle = []turn.Settle{{Through: 9, Status: turn.InputClosed}}
		write.Mark = []turn.Mark{{Seq: 2, Status: turn.ReplySent}}
		s.ok(write)
		equalLists(s, "Entries", s.entries(keyOf("c2"), store.EntryQuery{}),
			[]store.Entry{message(1, "a"), reply(2, "r")})
	}},
}

package storetest

import (
	"fmt"
	"strings"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var settleTests = []test{
	{"settle takes pending messages in its range", func(s *subject) {
		// The sequence is the digit, the version follows it.
		transcript := []store.Entry{
			versioned(1, 1), versioned(2, 9), versioned(3, 3), versioned(4, 4),
			versioned(5, 2), versioned(6, 6),
		}
		for i, c := range []struct {
			settle turn.Settle
			want   string // sequences that it settles
		}{
			{turn.Settle{Through: 9}, "1 2 3 4 5 6"},
			{turn.Settle{Through: 4}, "1 3 4 5"},
			{turn.Settle{From: 2, Through: 4}, "3 4"},
			{turn.Settle{From: 1, Through: 4}, "3 4 5"},
			{turn.Settle{From: 4, Through: 4}, ""},
			{turn.Settle{AfterSeq: 3, Through: 9}, "4 5 6"},
			{turn.Settle{AfterSeq: 1, From: 2, Through: 6}, "3 4 6"},
			{turn.Settle{AfterSeq: 6, Through: 9}, ""},
		} {
			write := s.write(numbered(i), none, transcript...)
			c.settle.Status, c.settle.ReplySeq = turn.InputAnswered, 77
			write.Settle = []turn.Settle{c.settle}
			s.ok(write)
			settled := s.entries(numbered(i), store.EntryQuery{Status: turn.InputAnswered})
			equal(s, fmt.Sprintf("%+v", c.settle), sequences(settled), c.want)
			for _, e := range settled {
				equal(s, "ReplySeq", e.ReplySeq, 77)
			}
		}
	}},
	{"settle leaves all but pending messages", func(s *subject) {
		settled := []store.Entry{
			withStatus(message(1, "a"), turn.InputAnswered),
			withStatus(message(2, "b"), turn.InputClosed),
			withStatus(message(3, "c"), turn.InputFailed),
			withStatus(message(4, "d"), turn.InputDeleted),
			reply(5, "r1"),
			withStatus(reply(6, "r2"), turn.ReplySent),
		}
		write := s.write(key, none, settled...)
		write.Settle = []turn.Settle{{Through: 9, Status: turn.InputAnswered, ReplySeq: 5}}
		s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), settled)
	}},
	{"settle in a later write finds what is there", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a"), message(2, "b")))
		write := s.write(key, op, message(3, "c"), reply(4, "r"))
		write.Settle = []turn.Settle{{Through: 2, Status: turn.InputAnswered, ReplySeq: 4}}
		s.ok(write)
		equal(s, "answered", idsOf(s.entries(key, store.EntryQuery{Status: turn.InputAnswered})), "a b")
		equal(s, "pending", idsOf(s.entries(key, store.EntryQuery{Status: turn.InputPending})), "c")
	}},
	{"several settles are applied one after the other", func(s *subject) {
		write := s.write(key, none, message(1, "a"), message(2, "b"), message(3, "c"))
		write.Settle = []turn.Settle{
			{Through: 1, Status: turn.InputAnswered, ReplySeq: 9},
			{Through: 2, Status: turn.InputClosed},
			{Through: 3, Status: turn.InputFailed},
		}
		s.ok(write)
		a, b, c := message(1, "a"), message(2, "b"), message(3, "c")
		a.Status, a.ReplySeq = turn.InputAnswered, 9
		b.Status, c.Status = turn.InputClosed, turn.InputFailed
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{a, b, c})
	}},
	{"settle leaves long texts as they are", func(s *subject) {
		const count = 150
		var op store.Op
		texts := []string{strings.Repeat("x", 64<<10), strings.Repeat("\x01", 64<<10), strings.Repeat("é", 32<<10), ""}
		for first := int64(1); first <= count; first += 25 {
			write := s.write(key, op)
			for seq := first; seq < first+25; seq++ {
				e := message(seq, fmt.Sprint(seq))
				e.Text = texts[seq%int64(len(texts))]
				write.Append = append(write.Append, e)
			}
			op = s.ok(write)
		}
		write := s.write(key, op)
		write.Settle = []turn.Settle{{Through: count, Status: turn.InputAnswered, ReplySeq: 7}}
		s.ok(write)
		equal(s, "pending", idsOf(s.entries(key, store.EntryQuery{Status: turn.InputPending})), "")
		for _, e := range s.entries(key, store.EntryQuery{}) {
			equal(s, "Status", e.Status, turn.InputAnswered)
			equal(s, "the text is the same", e.Text == texts[e.Seq%int64(len(texts))], true)
		}
	}},
	{"reopen turns failed messages in its range back into pending ones", func(s *subject) {
		var transcript []store.Entry
		for seq := range int64(6) {
			transcript = append(transcript, withStatus(message(seq+1, fmt.Sprint(seq+1)), turn.InputFailed))
		}
		transcript[3].Status = turn.InputClosed
		op := s.ok(s.write(key, none, transcript...))
		write := s.write(key, op)
		write.Settle = []turn.Settle{{AfterSeq: 1, From: 2, Through: 5, Status: turn.InputPending, Reopen: true}}
		s.ok(write)
		equal(s, "pending", idsOf(s.entries(key, store.EntryQuery{Status: turn.InputPending})), "3 5")
		equal(s, "failed", idsOf(s.entries(key, store.EntryQuery{Status: turn.InputFailed})), "1 2 6")
	}},
	{"reopen leaves pending messages pending", func(s *subject) {
		write := s.write(key, none, message(1, "a"))
		write.Settle = []turn.Settle{{Through: 1, Status: turn.InputPending, Reopen: true}}
		s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{message(1, "a")})
	}},
	{"mark sets the status and the reason of a reply", func(s *subject) {
		op := s.ok(s.write(key, none, message(1, "a"), reply(2, "r"), reply(3, "r2")))
		write := s.write(key, op)
		write.Mark = []turn.Mark{{Seq: 2, Status: turn.ReplyFailed, Reason: "refused: 410"}}
		op = s.ok(write)
		marked := withStatus(reply(2, "r"), turn.ReplyFailed)
		marked.Reason = "refused: 410"
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}),
			[]store.Entry{message(1, "a"), marked, reply(3, "r2")})
		write = s.write(key, op)
		write.Mark = []turn.Mark{{Seq: 2, Status: turn.ReplySent}}
		s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{After: 1, Limit: 1}),
			[]store.Entry{withStatus(reply(2, "r"), turn.ReplySent)}) // the reason is gone too
	}},
	{"mark leaves messages, and what does not exist", func(s *subject) {
		write := s.write(key, none, message(1, "a"))
		write.Mark = []turn.Mark{{Seq: 1, Status: turn.ReplySent}, {Seq: 9, Status: turn.ReplySent}}
		s.ok(write)
		equalLists(s, "Entries", s.entries(key, store.EntryQuery{}), []store.Entry{message(1, "a")})
	}},
}

// versioned is a pending message with a version of its own.
func versioned(seq, version int64) store.Entry {
	e := message(seq, fmt.Sprintf("m%d", seq))
	e.Version = version
	return e
}

// sequences lists the sequences of entries.
func sequences(entries []store.Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, fmt.Sprint(e.Seq))
	}
	return strings.Join(list, " ")
}

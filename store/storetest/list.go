package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

var listTests = []test{
	{"an empty store has an empty list", func(s *subject) {
		equalLists(s, "List", s.listAll(store.ListQuery{}), nil)
	}},
	{"the newest activity comes first, then the key", func(s *subject) {
		s.active("b", start+10)
		s.active("a", start+10)
		s.active("oldest", start)
		op := s.active("moved", start+5)
		s.active("newest", start+20)
		s.listed(store.ListQuery{}, "newest a b moved oldest")
		write := s.write(keyOf("moved"), op)
		write.At = start + 30
		s.ok(write)
		s.listed(store.ListQuery{}, "moved newest a b oldest")
	}},
	{"a cursor that no page gave is told from a store out of reach", func(s *subject) {
		for _, cursor := range []string{"?", "zzz", "bnVsbCBudWxs"} {
			if _, err := s.store.List(s.Context(), store.ListQuery{Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
				s.Errorf("List: the cursor %q gives %v, want ErrCursor", cursor, err)
			}
			if _, _, err := s.store.Sweep(s.Context(), cursor, 10); !errors.Is(err, store.ErrCursor) {
				s.Errorf("Sweep: the cursor %q gives %v, want ErrCursor", cursor, err)
			}
		}
	}},
	{"an item has the record and the time of the last write", func(s *subject) {
		write := waking(s.write(key, none), start+10)
		write.At = start + 7
		s.ok(write)
		snapshot := store.Snapshot{Record: write.Record, Op: write.Op}
		equalLists(s, "List", s.listAll(store.ListQuery{}),
			[]store.Item{{Key: key, Snapshot: snapshot, Active: start + 7}})
	}},
	{"a list is of one bot, or of all", func(s *subject) {
		s.ok(s.write(store.Key{Bot: "a", Conversation: "1"}, none))
		s.ok(s.write(store.Key{Bot: "b", Conversation: "2"}, none))
		s.ok(s.write(store.Key{Bot: "a%", Conversation: "3"}, none))
		s.ok(s.write(store.Key{Bot: "A", Conversation: "4"}, none))
		s.listed(store.ListQuery{Bot: "a"}, "1")
		s.listed(store.ListQuery{Bot: "a%"}, "3")
		s.listed(store.ListQuery{Bot: "nobody"}, "")
		s.listed(store.ListQuery{}, "4 1 3 2")
	}},
	{"the phase is the one that is shown", func(s *subject) {
		s.inPhase("unset", "", false)
		s.inPhase("idle", turn.Idle, false)
		s.inPhase("collecting", turn.Collecting, false)
		s.inPhase("generating", turn.Generating, false)
		s.inPhase("sending", turn.Sending, false)
		s.inPhase("failed", turn.Failed, false)
		s.inPhase("held", turn.Collecting, true)
		op := s.inPhase("resumed", turn.Idle, true)
		s.listed(store.ListQuery{Phase: turn.Paused}, "held resumed")
		s.ok(s.write(keyOf("resumed"), op))
		s.listed(store.ListQuery{Phase: turn.Idle}, "idle resumed unset")
		for _, phase := range []turn.Phase{turn.Collecting, turn.Generating, turn.Sending, turn.Failed} {
			s.listed(store.ListQuery{Phase: phase}, string(phase))
		}
		s.listed(store.ListQuery{Phase: turn.Paused}, "held")
		s.listed(store.ListQuery{Phase: turn.Paused, Bot: "nobody"}, "")
	}},
	{"what needs attention is listed in any phase", func(s *subject) {
		s.inPhase("idle", turn.Idle, false)
		s.inPhase("held", turn.Idle, true)
		failed := s.inPhase("failed", turn.Failed, false)
		s.inPhase("failed and held", turn.Failed, true)
		attention := store.ListQuery{Attention: true}
		s.listed(attention, "failed failed and held")
		s.listed(store.ListQuery{Attention: true, Bot: key.Bot}, "failed failed and held")
		s.listed(store.ListQuery{Attention: true, Bot: "nobody"}, "")
		s.listed(store.ListQuery{Attention: true, Phase: turn.Paused}, "failed and held")
		s.listed(store.ListQuery{Attention: true, Phase: turn.Idle}, "")
		s.ok(s.write(keyOf("failed"), failed))
		s.listed(attention, "failed and held")
		s.remove(keyOf("failed and held"))
		s.listed(attention, "")
	}},
	{"a turn that lost a worker needs attention until it is over", func(s *subject) {
		plant := func(conversation string, expect store.Op, change func(*turn.Record)) store.Op {
			write := s.write(keyOf(conversation), expect)
			change(&write.Record)
			return s.ok(write)
		}
		attempt := plant("attempt", none, func(r *turn.Record) { r.Phase, r.Tries.Lost.Count = turn.Generating, 1 })
		reply := plant("reply", none, func(r *turn.Record) {
			r.Phase, r.Reply = turn.Sending, &turn.Reply{Turn: 1, Seq: 1, Parts: 1, Lost: turn.Lost{Count: 2}}
		})
		plant("whole", none, func(r *turn.Record) { r.Phase, r.Reply = turn.Sending, &turn.Reply{Turn: 1, Seq: 1, Parts: 1} })
		s.listed(store.ListQuery{Attention: true}, "attempt reply")
		s.ok(s.write(keyOf("attempt"), attempt))
		s.listed(store.ListQuery{Attention: true}, "reply")
		s.ok(s.write(keyOf("reply"), reply))
		s.listed(store.ListQuery{Attention: true}, "")
	}},
	{"what was set aside needs attention in any phase", func(s *subject) {
		aside := none
		for _, phase := range []turn.Phase{turn.Idle, turn.Collecting, turn.Sending, turn.Failed, turn.Paused} {
			write := s.write(keyOf("aside"), aside)
			write.Record.Phase, write.Record.SetAside = phase, &turn.SetAside{Through: 1, Pending: 1, Turn: 1}
			if phase == turn.Paused {
				write.Record.Phase, write.Record.OnHold = turn.Idle, true
			}
			aside = s.ok(write)
			s.listed(store.ListQuery{Attention: true}, "aside")
			s.listed(store.ListQuery{Attention: true, Phase: phase}, "aside")
		}
		s.inPhase("idle", turn.Idle, false)
		s.listed(store.ListQuery{Attention: true}, "aside")
		s.ok(s.write(keyOf("aside"), aside))
		s.listed(store.ListQuery{Attention: true}, "")
	}},
	{"a text that reads like a failure is none", func(s *subject) {
		write := s.write(keyOf("quoted"), none)
		write.Record.PauseReason, write.Record.Tries.LastError = `"phase":"failed"`, `{"phase":"failed","troubles":[{"seq":1}],"crashes":1,"aside":{"pending":1}}`
		s.ok(write)
		s.listed(store.ListQuery{Attention: true}, "")
	}},
	{"pages of what needs attention give each conversation once", func(s *subject) {
		for i := range 15 {
			s.inPhase(numbered(i).Conversation, []turn.Phase{turn.Idle, turn.Failed, turn.Failed}[i%3], i%2 == 0)
		}
		for _, limit := range []int{1, 3, 10, 11} {
			s.listed(store.ListQuery{Attention: true, Limit: limit}, "c001 c002 c004 c005 c007 c008 c010 c011 c013 c014")
		}
	}},
	{"pages give each conversation once, in order", func(s *subject) {
		var want []string
		for i := range 23 {
			s.active(numbered(i).Conversation, start+turn.Time(100-i/4)) // every four are of the same time
			want = append(want, numbered(i).Conversation)
		}
		for _, limit := range []int{1, 2, 5, 22, 23, 24, 1000, 5000} {
			s.listed(store.ListQuery{Limit: limit}, strings.Join(want, " "))
		}
	}},
	{"pages of a phase give each conversation once", func(s *subject) {
		for i := range 12 {
			s.inPhase(numbered(i).Conversation, []turn.Phase{turn.Idle, turn.Failed}[i%2], false)
		}
		s.listed(store.ListQuery{Phase: turn.Failed, Limit: 4}, "c001 c003 c005 c007 c009 c011")
	}},
	{"a write between two pages disturbs only itself", func(s *subject) {
		ops := make(map[int]store.Op)
		for i := range 6 {
			ops[i] = s.active(numbered(i).Conversation, start+turn.Time(100-i))
		}
		page, err := s.store.List(s.Context(), store.ListQuery{Limit: 2})
		if err != nil {
			s.Fatalf("List: %v", err)
		}
		for _, i := range []int{1, 4} { // one from this page, one from those to come
			write := s.write(numbered(i), ops[i])
			write.At = start + 200
			s.ok(write)
		}
		s.remove(numbered(0))
		s.listed(store.ListQuery{Limit: 2, Cursor: page.Next}, "c002 c003 c005")
	}},
	{"without a limit a page has a hundred", func(s *subject) {
		for i := range 101 {
			s.active(numbered(i).Conversation, start)
		}
		page, err := s.store.List(s.Context(), store.ListQuery{})
		if err != nil || len(page.Items) != 100 || page.Next == "" {
			s.Fatalf("List: got %d items, cursor %q, %v; want 100 and a cursor", len(page.Items), page.Next, err)
		}
	}},
}

var sweepTests = []test{
	{"an empty store has nothing to sweep", func(s *subject) {
		equalLists(s, "Sweep", s.sweepAll(10), nil)
	}},
	{"a sweep gives each conversation once with its timer", func(s *subject) {
		var want []store.Found
		for i := range 11 {
			write := s.write(numbered(i), none)
			if i%3 > 0 {
				write = waking(write, start+turn.Time(i))
			}
			s.ok(write)
			snapshot := store.Snapshot{Record: write.Record, Op: write.Op}
			want = append(want, store.Found{Key: numbered(i), Snapshot: snapshot, Timer: write.Timer})
		}
		for _, limit := range []int{1, 3, 10, 11, 12, 1000} {
			equalLists(s, fmt.Sprintf("Sweep by %d", limit), sortedByKey(s.sweepAll(limit)), want)
		}
	}},
	{"a sweep shows timers as claims left them", func(s *subject) {
		s.ok(waking(s.write(key, none), start+10))
		s.claim(start+10, 1, 5*time.Second, store.Timer{Key: key, At: start + 10})
		for _, found := range s.sweepAll(10) {
			equal(s, "the timer", found.Timer, start+10+5000)
		}
	}},
	{"a deletion between two pages disturbs only itself", func(s *subject) {
		for i := range 6 {
			s.ok(s.write(numbered(i), none))
		}
		first, cursor, err := s.store.Sweep(s.Context(), "", 3)
		if err != nil || len(first) != 3 {
			s.Fatalf("Sweep: got %s, %v; want three", showAll(first), err)
		}
		s.remove(first[2].Key) // where the cursor stands
		rest, err := sweepFrom(s.Context(), s.store, cursor, 2)
		if err != nil {
			s.Fatalf("Sweep: %v", err)
		}
		seen := make(map[store.Key]bool)
		for _, found := range append(first, rest...) {
			seen[found.Key] = true
		}
		if len(rest) != 3 || len(seen) != 6 {
			s.Fatalf("Sweep: got %s then %s, want all six", showAll(first), showAll(rest))
		}
	}},
}

// numbered is the i-th of many conversations, in the order of keys.
func numbered(i int) store.Key { return keyOf(fmt.Sprintf("c%03d", i)) }

// active creates a conversation whose last write was at a time.
func (s *subject) active(conversation string, at turn.Time) store.Op {
	s.Helper()
	write := s.write(keyOf(conversation), none)
	write.At = at
	return s.ok(write)
}

// inPhase creates a conversation in a phase, paused or not.
func (s *subject) inPhase(conversation string, phase turn.Phase, paused bool) store.Op {
	s.Helper()
	write := s.write(keyOf(conversation), none)
	write.Record.Phase, write.Record.OnHold = phase, paused
	return s.ok(write)
}

// listed expects these conversations, in this order, and pages that respect the
// limit.
func (s *subject) listed(query store.ListQuery, want string) {
	s.Helper()
	var got []string
	for _, item := range s.listAll(query) {
		got = append(got, item.Key.Conversation)
	}
	equal(s, fmt.Sprintf("List %+v", query), strings.Join(got, " "), want)
}

package storetest

import (
	"math"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// forever is later than any timer of the tests.
const forever = turn.Time(math.MaxInt64 / 4)

var timerTests = []test{
	{"a write sets the timer", func(s *subject) {
		s.ok(waking(s.write(key, none), start+10))
		s.due(start+9, 10)
		s.due(start+10, 10, store.Timer{Key: key, At: start + 10})
	}},
	{"a write without a timer has none", func(s *subject) {
		s.ok(s.write(key, none))
		s.due(forever, 10)
	}},
	{"a write moves, keeps and clears the timer", func(s *subject) {
		op := s.ok(waking(s.write(key, none), start+10))
		op = s.ok(waking(s.write(key, op), start+20))
		s.due(forever, 10, store.Timer{Key: key, At: start + 20})
		op = s.ok(waking(s.write(key, op), start+5))
		op = s.ok(waking(s.write(key, op), start+5))
		s.due(forever, 10, store.Timer{Key: key, At: start + 5})
		op = s.ok(s.write(key, op))
		s.due(forever, 10)
		s.ok(waking(s.write(key, op), start+30))
		s.due(forever, 10, store.Timer{Key: key, At: start + 30})
	}},
	{"a write does not touch the timer of another conversation", func(s *subject) {
		s.ok(waking(s.write(keyOf("c2"), none), start+10))
		op := s.ok(waking(s.write(key, none), start+20))
		s.ok(s.write(key, op))
		s.due(forever, 10, store.Timer{Key: keyOf("c2"), At: start + 10})
	}},
	{"due timers come by time, at most limit, and stay", func(s *subject) {
		s.ok(waking(s.write(keyOf("third"), none), start+30))
		s.ok(waking(s.write(keyOf("first"), none), start+10))
		s.ok(waking(s.write(keyOf("second"), none), start+20))
		first := store.Timer{Key: keyOf("first"), At: start + 10}
		second := store.Timer{Key: keyOf("second"), At: start + 20}
		for range 2 {
			s.due(forever, 1, first)
			s.due(forever, 2, first, second)
			s.due(start+20, 10, first, second)
		}
	}},
	{"a claim returns what is due by time, at most limit", func(s *subject) {
		s.ok(waking(s.write(keyOf("third"), none), start+30))
		s.ok(waking(s.write(keyOf("first"), none), start+10))
		s.ok(waking(s.write(keyOf("second"), none), start+20))
		s.claim(start+9, 10, time.Minute)
		s.claim(start+25, 1, time.Minute, store.Timer{Key: keyOf("first"), At: start + 10})
		s.claim(start+25, 10, time.Minute, store.Timer{Key: keyOf("second"), At: start + 20})
		s.claim(start+25, 10, time.Minute)
	}},
	{"a claim pushes the timer by hold and comes back", func(s *subject) {
		s.ok(waking(s.write(key, none), start+10))
		s.claim(start+15, 10, 7*time.Second, store.Timer{Key: key, At: start + 10})
		again := store.Timer{Key: key, At: start + 15 + 7000}
		s.due(forever, 10, again)
		s.claim(start+15+6999, 10, 7*time.Second)
		s.claim(start+15+7000, 10, 7*time.Second, again)
	}},
	{"a claim leaves the record alone", func(s *subject) {
		write := waking(s.write(key, none), start+10)
		s.ok(write)
		s.claim(start+10, 10, time.Minute, store.Timer{Key: key, At: start + 10})
		equal(s, "Load", s.load(key), store.Snapshot{Record: write.Record, Op: write.Op})
		s.ok(s.write(key, write.Op)) // a claim is no write, so it causes no conflict
	}},
	{"a write after a claim sets the timer", func(s *subject) {
		op := s.ok(waking(s.write(key, none), start+10))
		s.claim(start+10, 10, time.Minute, store.Timer{Key: key, At: start + 10})
		op = s.ok(waking(s.write(key, op), start+10)) // the time that it had before
		s.due(forever, 10, store.Timer{Key: key, At: start + 10})
		s.claim(start+10, 10, time.Minute, store.Timer{Key: key, At: start + 10})
		s.ok(s.write(key, op))
		s.due(forever, 10)
	}},
	{"a refused write after a claim does not", func(s *subject) {
		op := s.ok(waking(s.write(key, none, message(1, "a")), start+10))
		s.claim(start+10, 10, time.Minute, store.Timer{Key: key, At: start + 10})
		s.conflict(waking(s.write(key, none), start+10))
		s.duplicate(waking(s.write(key, op, message(2, "a")), start+10), "a")
		s.due(forever, 10, store.Timer{Key: key, At: (start + 10).Add(time.Minute)})
	}},
	{"a claim leaves the timers of other bots alone", func(s *subject) {
		for i, bot := range []string{"a", "b", "a%", "A"} {
			s.ok(waking(s.write(store.Key{Bot: bot, Conversation: "c"}, none), start+turn.Time(i)))
		}
		at := func(i int, bot string) store.Timer {
			return store.Timer{Key: store.Key{Bot: bot, Conversation: "c"}, At: start + turn.Time(i)}
		}
		s.claimOf([]string{"nobody"}, start+10, 10, time.Minute)
		s.claimOf([]string{"b", "a%", "nobody"}, start+10, 10, time.Minute, at(1, "b"), at(2, "a%"))
		s.claimOf([]string{"b", "a%"}, start+10, 10, time.Minute)
		s.due(start+10, 10, at(0, "a"), at(3, "A"))
		s.claim(start+10, 10, time.Minute, at(0, "a"), at(3, "A"))
	}},
	{"timers of other bots hide nothing from a claim", func(s *subject) {
		for i := range 25 {
			s.ok(waking(s.write(store.Key{Bot: "gone", Conversation: numbered(i).Conversation}, none), start+turn.Time(i)))
		}
		s.ok(waking(s.write(key, none), start+30))
		s.ok(waking(s.write(keyOf("later"), none), start+31))
		s.claimOf([]string{key.Bot}, start+40, 1, time.Minute, store.Timer{Key: key, At: start + 30})
		s.claimOf([]string{key.Bot}, start+40, 5, time.Minute, store.Timer{Key: keyOf("later"), At: start + 31})
	}},
	{"timers of other bots hide nothing from who asks what is due", func(s *subject) {
		for i := range 25 {
			s.ok(waking(s.write(store.Key{Bot: "gone", Conversation: numbered(i).Conversation}, none), start+turn.Time(i)))
		}
		s.ok(waking(s.write(key, none), start+30))
		s.ok(waking(s.write(keyOf("later"), none), start+31))
		first, later := store.Timer{Key: key, At: start + 30}, store.Timer{Key: keyOf("later"), At: start + 31}
		for range 2 {
			s.dueOf([]string{key.Bot}, start+40, 1, first)
			s.dueOf([]string{"nobody", key.Bot}, start+40, 5, first, later)
			s.dueOf([]string{key.Bot}, start+30, 5, first)
			s.dueOf([]string{"nobody"}, start+40, 5)
		}
	}},
	{"equal times are all claimed, each once", func(s *subject) {
		const count = 25
		for i := range count {
			s.ok(waking(s.write(numbered(i), none), start+10))
		}
		seen := make(map[store.Key]bool)
		for len(seen) < count {
			timers, err := s.store.Claim(s.Context(), start+10, 4, time.Minute)
			if err != nil || len(timers) == 0 || len(timers) > 4 {
				s.Fatalf("Claim: got %s, %v after %d of %d", showAll(timers), err, len(seen), count)
			}
			for _, timer := range timers {
				if seen[timer.Key] {
					s.Fatalf("Claim: %v came twice", timer.Key)
				}
				seen[timer.Key] = true
			}
		}
		s.claim(start+10, 4, time.Minute)
	}},
}

// due expects these timers, in this order.
func (s *subject) due(until turn.Time, limit int, want ...store.Timer) {
	s.Helper()
	s.dueOf(nil, until, limit, want...)
}

// dueOf is due for some bots only.
func (s *subject) dueOf(bots []string, until turn.Time, limit int, want ...store.Timer) {
	s.Helper()
	got, err := s.store.Due(s.Context(), until, limit, bots...)
	if err != nil {
		s.Fatalf("Due: %v", err)
	}
	equalLists(s, "Due", got, want)
}

// claim expects to get these timers, in this order.
func (s *subject) claim(now turn.Time, limit int, hold time.Duration, want ...store.Timer) {
	s.Helper()
	s.claimOf(nil, now, limit, hold, want...)
}

// claimOf is claim for some bots only.
func (s *subject) claimOf(bots []string, now turn.Time, limit int, hold time.Duration, want ...store.Timer) {
	s.Helper()
	got, err := s.store.Claim(s.Context(), now, limit, hold, bots...)
	if err != nil {
		s.Fatalf("Claim: %v", err)
	}
	equalLists(s, "Claim", got, want)
}

package storetest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Enough to collide often, few enough for a store that syncs every write.
const (
	writers = 8
	rounds  = 12
)

var concurrencyTests = []test{
	{"of two writes that expect the same record one is applied", func(s *subject) {
		var applied atomic.Int64
		s.race(writers, func(int) {
			for range rounds {
				before := s.load(key)
				version := before.Record.Version + 1
				write := s.write(key, before.Op, reply(version, "r"))
				if result := s.commit(write); result.Status == store.OK {
					applied.Add(1)
				}
			}
		})
		if got := s.load(key).Record.Version; got != applied.Load() || got == 0 {
			s.Errorf("%d writes were applied and the version is %d", applied.Load(), got)
		}
		if got := len(s.entries(key, store.EntryQuery{})); got != int(applied.Load()) {
			s.Errorf("%d writes were applied and there are %d entries", applied.Load(), got)
		}
	}},
	{"writers that go on from what a conflict met need no Load", func(s *subject) {
		s.race(writers, func(int) {
			known := store.Snapshot{}
			for applied := 0; applied < rounds; {
				write := s.write(key, known.Op, reply(known.Record.Seq+1, "r"))
				result := s.commit(write)
				if result.Status == store.OK {
					known = store.Snapshot{Record: write.Record, Op: write.Op}
					applied++
					continue
				}
				if seq := result.Current.Record.Seq; seq <= known.Record.Seq {
					s.Fatalf("a conflict met sequence %d, and %d was there before", seq, known.Record.Seq)
				}
				known = result.Current
			}
		})
		if got := s.load(key).Record.Seq; got != writers*rounds {
			s.Errorf("%d writes were applied and the sequence is %d", writers*rounds, got)
		}
	}},
	{"of many writers that create a conversation one does", func(s *subject) {
		for i := range rounds {
			var created atomic.Int64
			s.race(writers, func(int) {
				if s.commit(s.write(numbered(i), none)).Status == store.OK {
					created.Add(1)
				}
			})
			if created.Load() != 1 {
				s.Fatalf("%d writers created %v", created.Load(), numbered(i))
			}
		}
	}},
	{"an id that many bring at once is claimed once", func(s *subject) {
		var claimed, repeated atomic.Int64
		s.race(writers, func(int) {
			for {
				before := s.load(key)
				write := s.write(key, before.Op, message(before.Record.Seq+1, "a"))
				switch s.commit(write).Status {
				case store.OK:
					claimed.Add(1)
					return
				case store.Duplicate:
					repeated.Add(1)
					return
				}
			}
		})
		if claimed.Load() != 1 || repeated.Load() != writers-1 {
			s.Errorf("claimed by %d, refused to %d of %d", claimed.Load(), repeated.Load(), writers)
		}
	}},
	{"a timer that many claim at once is claimed once", func(s *subject) {
		const count = 60
		for i := range count {
			s.ok(waking(s.write(numbered(i), none), start+turn.Time(i%7)))
		}
		var mu sync.Mutex
		times := make(map[store.Key]int)
		s.race(writers, func(int) {
			for {
				timers, err := s.store.Claim(s.Context(), start+10, 5, time.Hour)
				if err != nil {
					s.Errorf("Claim: %v", err)
				}
				if len(timers) == 0 {
					return
				}
				mu.Lock()
				for _, timer := range timers {
					times[timer.Key]++
				}
				mu.Unlock()
			}
		})
		for i := range count {
			if times[numbered(i)] != 1 {
				s.Errorf("%v was claimed %d times", numbered(i), times[numbered(i)])
			}
		}
	}},
	{"writers of different conversations do not conflict", func(s *subject) {
		s.race(writers, func(writer int) {
			op := none
			for range rounds {
				op = s.ok(s.write(numbered(writer), op))
			}
		})
	}},
	{"readers see whole writes only", func(s *subject) {
		done := make(chan struct{})
		s.race(2, func(role int) {
			if role == 0 {
				defer close(done)
				op := none
				for i := range int64(5 * rounds) {
					op = s.ok(s.write(key, op, message(2*i+1, string(rune('a'+i))+"1"), reply(2*i+2, "r")))
				}
				return
			}
			for {
				if entries := s.entries(key, store.EntryQuery{}); len(entries)%2 != 0 {
					s.Errorf("half a write is visible: %d entries", len(entries))
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}},
}

// race runs count goroutines at once and waits for them. A Fatalf in one of
// them fails the test and ends that one.
func (s *subject) race(count int, run func(number int)) {
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() { run(i) })
	}
	group.Wait()
}

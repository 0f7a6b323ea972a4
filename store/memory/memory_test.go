package memory_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/store/storetest"
	"github.com/onereply/onereply/turn"
)

func open(*testing.T) store.Store { return memory.New() }

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Options{
		Open:   open,
		Second: func(_ *testing.T, s store.Store) (store.Store, error) { return s, nil },
	})
}

// The oracle against itself: what differs here is a mistake of the test.
func TestDifferential(t *testing.T) {
	storetest.Differential(t, open, storetest.Effort{})
}

func TestTheClockIsTheBubbles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		before, err := s.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		after, err := s.Now(t.Context())
		if err != nil || after.Sub(before) != time.Hour {
			t.Errorf("an hour later the clock says %v later, %v", after.Sub(before), err)
		}
	})
}

func TestWritesThatNoCorrectCallerMakesAreRefused(t *testing.T) {
	key := store.Key{Bot: "b", Conversation: "c"}
	entry := func(seq int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Message, ID: fmt.Sprint(seq)}
	}
	for name, write := range map[string]store.Write{
		"no op":              {Key: key},
		"a sequence of zero": {Key: key, Op: store.Op{1}, Append: []store.Entry{entry(0)}},
		"a sequence twice":   {Key: key, Op: store.Op{1}, Append: []store.Entry{entry(1), {Seq: 1, Kind: store.Reply}}},
		"falling sequences":  {Key: key, Op: store.Op{1}, Append: []store.Entry{entry(2), entry(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			if _, err := s.Commit(t.Context(), write); !errors.Is(err, store.ErrNotApplied) {
				t.Errorf("Commit: got error %v, want ErrNotApplied", err)
			}
			if there, err := s.Load(t.Context(), key); err != nil || !there.Op.IsZero() {
				t.Errorf("Load: got op %v, %v; want nothing", there.Op, err)
			}
		})
	}
}

func TestCursorsThatNoPageGaveAreRefused(t *testing.T) {
	s := memory.New()
	for _, cursor := range []string{"?", "e30x", "bnVsbCBudWxs"} {
		if _, err := s.List(t.Context(), store.ListQuery{Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("List: the cursor %q was taken", cursor)
		}
		if _, _, err := s.Sweep(t.Context(), cursor, 10); !errors.Is(err, store.ErrCursor) {
			t.Errorf("Sweep: the cursor %q was taken", cursor)
		}
	}
}

// A hundred thousand timers are claimed in small steps. Anything that looks at
// all of them in every step takes minutes here.
func TestManyTimersAreClaimedQuickly(t *testing.T) {
	const count, step = 100_000, 50
	s := memory.New()
	for i := range count {
		write := store.Write{
			Key: store.Key{Bot: "b", Conversation: fmt.Sprint(i * 7919 % count)},
			Op:  store.Op{1}, Timer: turn.Time(1 + i),
		}
		if _, err := s.Commit(t.Context(), write); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	last := turn.Time(0)
	for range count / step {
		timers, err := s.Claim(t.Context(), count, step, time.Hour)
		if err != nil || len(timers) != step || timers[0].At <= last {
			t.Fatalf("Claim after %d: got %d timers, %v", last, len(timers), err)
		}
		last = timers[step-1].At
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("claiming %d timers took %v", count, took)
	}
}

package node

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/turn"
)

// skewedStore is a store whose clock is ahead of this machine's by so much, and whose answer
// takes one time to arrive there and another to come back.
type skewedStore struct {
	ahead       time.Duration
	there, back time.Duration
	fails       error
	calls       int
}

func (s *skewedStore) store() *faultStore {
	return &faultStore{now: func(ctx context.Context) (turn.Time, error) {
		s.calls++
		for _, wait := range []time.Duration{s.there, s.back} {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			if wait == s.there && s.fails != nil {
				return 0, s.fails
			}
		}
		return turn.At(time.Now().Add(s.ahead - s.back)), nil
	}}
}

// wrong is how far a clock is ahead of the store's.
func (s *skewedStore) wrong(c *Clock) time.Duration {
	return c.Now().Sub(turn.At(time.Now().Add(s.ahead)))
}

// The clock shows the store's time, wrong by no more than half of the way there and
// back, and goes on by itself.
func TestTheClockIsTheStores(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &skewedStore{ahead: ahead}
			c, err := NewClock(t.Context(), s.store())
			if err != nil || s.calls != 1 || s.wrong(c) != 0 {
				t.Fatalf("wrong by %v after %d calls, %v", s.wrong(c), s.calls, err)
			}
			time.Sleep(time.Minute)
			if s.wrong(c) != 0 || s.calls != 1 {
				t.Errorf("a minute later it is wrong by %v after %d calls", s.wrong(c), s.calls)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := &skewedStore{ahead: time.Hour, there: 4 * time.Millisecond, back: 8 * time.Millisecond}
		c, err := NewClock(t.Context(), s.store())
		if err != nil || s.wrong(c) != -2*time.Millisecond {
			t.Errorf("wrong by %v, %v", s.wrong(c), err)
		}
	})
}

// A node that starts asks up to three times for an answer that was quick.
func TestTheFirstReadings(t *testing.T) {
	for each, calls := range map[time.Duration]int{10 * time.Millisecond: 1, 11 * time.Millisecond: 3, 200 * time.Millisecond: 3} {
		synctest.Test(t, func(t *testing.T) {
			s := &skewedStore{there: each, back: each}
			if _, err := NewClock(t.Context(), s.store()); err != nil || s.calls != calls {
				t.Errorf("with %v each way: %d calls, %v", each, s.calls, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := &skewedStore{fails: errAway}
		if _, err := NewClock(t.Context(), s.store()); err != errAway || s.calls != 3 {
			t.Errorf("a store that is away: %v after %d calls", err, s.calls)
		}
		began := time.Now()
		s = &skewedStore{there: time.Hour}
		if _, err := NewClock(t.Context(), s.store()); err == nil || time.Since(began) != 3*time.Second {
			t.Errorf("a store that hangs: %v after %v", err, time.Since(began))
		}
	})
}

// A reading that may be more wrong than the last one is by now changes nothing, unless
// both can't be true: then the store's clock was set.
func TestWhichReadingsCount(t *testing.T) {
	tests := map[string]struct {
		later       time.Duration // after the first reading, which was exact
		moved       time.Duration // of the store's clock since
		there, back time.Duration
		wrong       time.Duration
	}{
		"a quick answer":                          {10 * time.Second, 3 * time.Millisecond, time.Millisecond, time.Millisecond, 0},
		"a slow one that agrees":                  {10 * time.Second, 0, 0, 400 * time.Millisecond, 0},
		"a slow one of a clock that drifted":      {10 * time.Second, 5 * time.Millisecond, 0, 400 * time.Millisecond, -5 * time.Millisecond},
		"a slow one after a long time":            {400 * time.Second, 150 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 0},
		"a slow one when the last is as wrong":    {397600 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 0},
		"a slow one of a clock that was set":      {10 * time.Second, time.Hour, 200 * time.Millisecond, 200 * time.Millisecond, 0},
		"a slow one of a clock that was set back": {10 * time.Second, -time.Hour, 200 * time.Millisecond, 200 * time.Millisecond, 0},
		"one that can just be true":               {10 * time.Second, 206 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, -206 * time.Millisecond},
		"one that just can't":                     {10 * time.Second, 208 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &skewedStore{}
				c, err := NewClock(t.Context(), s.store())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(test.later)
				s.ahead, s.there, s.back = test.moved, test.there, test.back
				if err := c.ask(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := s.wrong(c); got != test.wrong {
					t.Errorf("it is wrong by %v, want %v", got, test.wrong)
				}
			})
		})
	}
}

// A node asks every ten seconds, and goes by what it knows while there is no answer.
func TestTheClockIsFollowed(t *testing.T) {
	inLab(t, nil, func(l *lab) {
		var asked []time.Duration
		set(l.store, &l.store.now, func(context.Context) (turn.Time, error) {
			asked = append(asked, time.Since(l.began))
			if len(asked) == 1 {
				return 0, errAway
			}
			return turn.At(time.Now().Add(time.Hour)), nil
		})
		l.until(15 * time.Second)
		if len(asked) != 1 || asked[0] != 10*time.Second || l.node.clock.Now() != turn.At(time.Now()) {
			l.t.Errorf("asked at %v, it is %v", asked, l.node.clock.Now().Go())
		}
		l.wantLogged(1, "level=WARN", "the store's clock could not be read", errAway.Error())
		l.until(25 * time.Second)
		if len(asked) != 2 || l.node.clock.Now() != turn.At(time.Now().Add(time.Hour)) {
			l.t.Errorf("asked at %v, it is %v", asked, l.node.clock.Now().Go())
		}
	})
	inLab(t, func(l *lab, _ *Options) { l.store.promise.Exclusive = true }, func(l *lab) {
		set(l.store, &l.store.now, func(context.Context) (turn.Time, error) {
			l.t.Error("a store on this machine was asked")
			return 0, nil
		})
		l.until(time.Minute)
	})
}

// Following ends with its context, without a word about it.
func TestFollowingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &skewedStore{}
		c, _ := NewClock(t.Context(), s.store())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+500*time.Millisecond)
		defer cancel()
		s.there = time.Hour
		var l lab
		c.follow(ctx, slog.New(slog.NewTextHandler(&l, nil)))
		if len(l.logged("")) != 0 {
			t.Errorf("it logs %q", l.logged(""))
		}
	})
}

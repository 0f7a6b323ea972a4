package node

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Clock is the store's clock as this node knows it: the time that the store last
// gave, plus what has passed since by this machine's monotonic clock. A wall clock
// that is wrong or jumps changes nothing.
type Clock struct {
	store store.Store
	last  atomic.Pointer[reading]
}

// reading is one answer of the store, with its greatest possible error when it came, maxError.
type reading struct {
	time     turn.Time // of the store
	at       time.Time // of this machine, with its monotonic reading
	maxError time.Duration
}

const (
	askEvery = 10 * time.Second
	askLimit = time.Second // half of what an answer took is how wrong it may be

	firstReadings = 3                     // at most, before the node starts
	goodReading   = 10 * time.Millisecond // a first reading that is less wrong needs no other
	driftPart     = 2000                  // clocks drift apart by less than this part of the time
	resolution    = time.Millisecond      // in which the store counts
)

// NewClock asks the store for its time. It fails where no answer comes.
func NewClock(ctx context.Context, s store.Store) (*Clock, error) {
	c := &Clock{store: s}
	var err error
	for range firstReadings {
		if err = c.ask(ctx); err == nil && c.last.Load().maxError <= goodReading {
			break
		}
	}
	if c.last.Load() == nil {
		return nil, err
	}
	return c, nil
}

// Now is the store's time.
func (c *Clock) Now() turn.Time { return c.last.Load().timeAt(time.Now()) }

// timeAt is the store's time at a moment of this machine.
func (r *reading) timeAt(at time.Time) turn.Time { return r.time.Add(at.Sub(r.at)) }

// errorAt is the greatest possible error of the reading at a moment.
func (r *reading) errorAt(at time.Time) time.Duration {
	return r.maxError + at.Sub(r.at)/driftPart + resolution
}

// ask takes a reading. The middle of the round trip counts as the moment of the
// answer.
func (c *Clock) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	before := time.Now()
	answer, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	after := time.Now()
	half := after.Sub(before) / 2
	read := &reading{time: answer, at: before.Add(half), maxError: half}
	if last := c.last.Load(); last == nil || read.betterThan(last, after) {
		c.last.Store(read)
	}
	return nil
}

// betterThan reports whether a new reading replaces the last one. It does not where it
// may be more wrong than the last one is by now: an answer that was held up on its way
// would set the clock back, and this node would take a lease for its own when others
// take it over. But where both can't be true, the store's clock was set meanwhile.
func (r *reading) betterThan(last *reading, now time.Time) bool {
	lastError := last.errorAt(now)
	apart := last.timeAt(r.at).Sub(r.time).Abs()
	return r.maxError <= lastError || apart > lastError+r.maxError
}

// follow takes a reading now and then, against drift, until ctx ends.
func (c *Clock) follow(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.ask(ctx); err != nil && ctx.Err() == nil {
				log.Warn("the store's clock could not be read", "err", err)
			}
		}
	}
}

package node

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Clock is the store's clock as this node knows it: the time that the store
// told, plus what has passed since by the monotonic clock. A wall clock that
// is wrong or jumps changes nothing.
type Clock struct {
	store store.Store
	base  atomic.Pointer[reading]
}

// reading is what the store once told, and how wrong it was at most when it did.
type reading struct {
	told turn.Time
	at   time.Time // with its monotonic reading
	off  time.Duration
}

func NewClock(ctx context.Context, s store.Store) (*Clock, error) {
	c := &Clock{store: s}
	var err error
	for range firstReadings {
		if err = c.again(ctx); err == nil && c.base.Load().off <= goodReading {
			break
		}
	}
	if c.base.Load() == nil {
		return nil, err
	}
	return c, nil
}

func (c *Clock) Now() turn.Time { return c.base.Load().now(time.Now()) }

func (r *reading) now(at time.Time) turn.Time { return r.told.Add(at.Sub(r.at)) }

// wrongBy is how wrong a reading may be after a while.
func (r *reading) wrongBy(at time.Time) time.Duration {
	return r.off + at.Sub(r.at)/driftPart + time.Millisecond // in which the store counts
}

// measure asks the store, and takes the middle of the round trip for the
// moment of its answer. A reading that may be more wrong than the last one is by
// now is left: an answer that was held up on its way would set the clock back, and
// this node would take a lease for its own when others take it over. But one that
// can't be true together with the last one tells that the store's clock was set.
func (c *Clock) measure(ctx context.Context) error {
	before := time.Now()
	told, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	after := time.Now()
	half := after.Sub(before) / 2
	read := &reading{told: told, at: before.Add(half), off: half}
	if last := c.base.Load(); last != nil {
		mayBe := last.wrongBy(after)
		apart := last.now(read.at).Sub(told).Abs()
		if read.off > mayBe && apart <= mayBe+read.off {
			return nil
		}
	}
	c.base.Store(read)
	return nil
}

const (
	measureEvery = 10 * time.Second
	measureLimit = time.Second // half of what an answer took is how wrong it may be

	firstReadings = 3                     // at most, before the node starts
	goodReading   = 10 * time.Millisecond // after which no other one is asked for
	driftPart     = 2000                  // clocks drift apart by less than this part of the time
)

func (c *Clock) again(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	return c.measure(ctx)
}

// follow measures again and again, against drift.
func (c *Clock) follow(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(measureEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.again(ctx); err != nil && ctx.Err() == nil {
				log.Warn("the store's clock could not be read", "err", err)
			}
		}
	}
}

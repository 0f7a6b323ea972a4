package onereply

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// clock is the store's clock as this node knows it: the time that the store
// told, plus what has passed since by the monotonic clock. A wall clock that
// is wrong or jumps changes nothing.
type clock struct {
	store store.Store
	base  atomic.Pointer[reading]
}

type reading struct {
	told turn.Time
	at   time.Time // with its monotonic reading
}

func newClock(ctx context.Context, s store.Store) (*clock, error) {
	c := &clock{store: s}
	return c, c.measure(ctx)
}

func (c *clock) now() turn.Time {
	r := c.base.Load()
	return r.told.Add(time.Since(r.at))
}

// measure asks the store, and takes the middle of the round trip for the
// moment of its answer.
func (c *clock) measure(ctx context.Context) error {
	before := time.Now()
	told, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	c.base.Store(&reading{told: told, at: before.Add(time.Since(before) / 2)})
	return nil
}

const (
	measureEvery = 10 * time.Second
	measureLimit = time.Second // half of what an answer took is how wrong it may be
)

func (c *clock) again(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	return c.measure(ctx)
}

// follow measures again and again, against drift.
func (c *clock) follow(ctx context.Context, log *slog.Logger) {
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

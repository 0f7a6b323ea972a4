package node

import (
	"context"
	"errors"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

const (
	expireEvery = 10 * time.Minute
	expireBatch = 500             // entries and ids that one call removes at most
	minIDs      = 192 * time.Hour // providers deliver again for up to a week
)

var errNoRetention = errors.New("the retention is not set")

// maintain removes transcripts and ids that are older than the retention, at the start
// and every ten minutes.
func (n *Node) maintain() {
	ticker := time.NewTicker(expireEvery)
	defer ticker.Stop()
	for {
		if err := Expire(n.ctx, n.store, n.clock.Now, n.options.Retention); err != nil && n.ctx.Err() == nil {
			n.log.Error("old transcripts and message ids could not be removed", "err", err)
		}
		select {
		case <-n.ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Expire removes transcripts older than the retention, and ids of messages older than
// both the retention and minIDs, in small batches until nothing is left. A batch holds
// up other writes of the store for a moment only. Without a retention it would remove every
// transcript, so it refuses that.
func Expire(ctx context.Context, s store.Store, now func() turn.Time, retention time.Duration) error {
	if retention <= 0 {
		return errNoRetention
	}
	for ctx.Err() == nil {
		at := now()
		removed, err := expireOnce(ctx, s, at.Add(-retention), at.Add(-max(retention, minIDs)))
		if err != nil {
			return err
		}
		if removed < expireBatch {
			return nil
		}
	}
	return nil
}

// expireOnce is one call of the store.
func expireOnce(ctx context.Context, s store.Store, entriesBefore, idsBefore turn.Time) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.Expire(ctx, entriesBefore, idsBefore, expireBatch)
}

package fleet

import (
	"context"
	"time"

	"github.com/onereply/onereply/store"
)

// listenPause is how long to wait before listening again, after what was listened to
// broke off.
const listenPause = time.Second

// Hint tells the other nodes that a conversation changed. It does not block: a goroutine
// of its own, bounded by 10 s, asks the store, which may be slow. Nothing rests on it: a
// node that misses a hint learns of newer input when it renews its lease. So a failure
// is only a line for debugging.
func (f *Fleet) Hint(key store.Key) {
	hinter, ok := f.store.(store.Hinter)
	if !ok {
		return
	}
	f.goroutines.Go(func() {
		ctx, cancel := context.WithTimeout(f.ctx, tellTimeout)
		defer cancel()
		if err := hinter.Hint(ctx, []store.Key{key}); err != nil && f.ctx.Err() == nil {
			f.log.Debug("a hint was not sent", "bot", key.Bot, "conversation", key.Conversation, "err", err)
		}
	})
}

// listen calls a function of the store that returns only when the connection to the
// other nodes breaks off, again and again until the fleet ends. The pause keeps a store
// that fails at once from being called in a tight loop.
func (f *Fleet) listen(failure string, hear func() error) {
	for f.ctx.Err() == nil {
		if err := hear(); err != nil && f.ctx.Err() == nil {
			f.log.Debug(failure, "err", err)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

package onereply

import (
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// hint tells the other nodes that a conversation changed, where the store has
// that power. Nothing rests on it: a holder that is not told learns of newer
// input when it renews its lease.
func (a *App) hint(key store.Key) {
	hinter, ok := a.store.(store.Hinter)
	if !ok {
		return
	}
	a.work.Go(func() {
		ctx, cancel := a.storeContext()
		defer cancel()
		if err := hinter.Hint(ctx, []store.Key{key}); err != nil && a.ctx.Err() == nil {
			a.logOf(key).Debug("a hint was not sent", "err", err)
		}
	})
}

// hintPause is how long to wait before listening again.
const hintPause = time.Second

// listen takes the hints of other nodes in.
func (a *App) listen() {
	hinter, ok := a.store.(store.Hinter)
	if !ok {
		return
	}
	for a.ctx.Err() == nil {
		err := hinter.Hints(a.ctx, func(key store.Key) {
			a.do(func(now turn.Time) { a.node.Hinted(now, key) })
		})
		if err != nil && a.ctx.Err() == nil {
			a.log.Debug("hints of other nodes do not arrive", "err", err)
		}
		select {
		case <-a.ctx.Done():
		case <-time.After(hintPause):
		}
	}
}

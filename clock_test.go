package onereply_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// held is a store whose clock can be set, and whose answers to the question for
// it are held up on their way.
type held struct {
	store.Store
	up  atomic.Int64
	set atomic.Int64

	committed atomic.Bool // a reply; from then on the store takes no more writes
	claims    atomic.Int64
}

func (h *held) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	h.claims.Add(1)
	return h.Store.Claim(ctx, now, limit, hold, bots...)
}

func (h *held) Now(ctx context.Context) (turn.Time, error) {
	now, err := h.Store.Now(ctx)
	select {
	case <-time.After(time.Duration(h.up.Load())):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return now.Add(time.Duration(h.set.Load())), err
}

// Commit takes long where it commits a reply.
func (h *held) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	if h.committed.Load() {
		return store.Result{}, fmt.Errorf("%w: %w", store.ErrNotApplied, errAway)
	}
	result, err := h.Store.Commit(ctx, w)
	if w.Record.Phase == turn.Sending {
		h.committed.Store(true)
		<-time.After(1500 * time.Millisecond)
	}
	return result, err
}

// A send ends before others may take over, also where the store's clock was told
// late: an answer that was held up for 0.9 s would set this node's clock back by
// half of that.
func TestASendEndsBeforeItsLeaseWhateverTheClockSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 2 * time.Second
		h := &held{Store: memory.New()}
		var expires, ended time.Time
		var w *world
		bot := onereply.Bot{Lease: lease, Sender: onereply.SenderFunc(func(ctx context.Context, _ *onereply.Delivery) error {
			expires = w.state(0).Lease.ExpiresAt.Time
			<-ctx.Done()
			ended = time.Now()
			return nil
		})}
		w = newWorld(t, settings{store: h, bot: bot})
		defer w.close()
		w.until(9 * time.Second)
		h.up.Store(int64(900 * time.Millisecond))
		w.until(12 * time.Second)
		w.say(0, "m")
		rest(10 * time.Second)
		if ended.IsZero() || !ended.Before(expires) {
			t.Errorf("the send ended %v after its lease", ended.Sub(expires))
		}
	})
}

// A node that starts takes no answer for the store's time that was on its way for
// longer than any later one may be.
func TestANodeStartsOnASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{Store: memory.New()}
		defer h.Close()
		open := func() (*onereply.App, error) {
			return onereply.Open(t.Context(), h, onereply.Options{}, onereply.Bot{Name: "bot", Responder: saying("m")})
		}
		h.up.Store(int64(3 * time.Second))
		if app, err := open(); err == nil {
			t.Error("it starts, and may be wrong by 1.5 s")
			app.Close()
		}
		time.AfterFunc(500*time.Millisecond, func() { h.up.Store(0) }) // the first connection takes long
		app, err := open()
		if err != nil {
			t.Fatal(err)
		}
		app.Close()
	})
}

// Where the store's clock was set, a node follows, however slow the store is, and goes
// on to claim what is due.
func TestTheStoresClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := &held{Store: memory.New()}
			w := newWorld(t, settings{store: h})
			defer w.close()
			w.until(9 * time.Second)
			h.up.Store(int64(500 * time.Millisecond))
			h.set.Store(int64(by))
			w.until(12 * time.Second)
			before := h.claims.Load()
			w.until(22 * time.Second)
			if claims := h.claims.Load() - before; claims < 15 || claims > 40 {
				t.Errorf("set by %v: %d claims in 10 s", by, claims)
			}
			w.say(0, "m")
			page, err := w.nodes[0].Transcript(t.Context(), "bot", "c", 0, 0)
			if err != nil || page.Entries[0].At.Sub(w.start.Add(22*time.Second+by)).Abs() > 300*time.Millisecond {
				t.Errorf("accepted at %v, want by the store's clock: %v", page.Entries[0].At, err)
			}
		})
	}
}

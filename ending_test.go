package onereply_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// A draining node lets its running turn end, takes messages in, and leaves
// them to the others.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{nodes: 2, model: 10 * time.Second})
		defer w.close()
		w.nodes[1].Drain(t.Context()) // so that the first has the turn
		w.say(0, "m")
		w.until(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		if err := w.nodes[0].Drain(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(w.start); took < 11*time.Second || took > 12*time.Second {
			t.Errorf("drained after %v, want when the turn had ended", took)
		}
		w.wantReplies("m")
		if w.nodes[0].Ready(t.Context()) == nil {
			t.Error("a draining node says that it is ready")
		}
		w.say(0, "n")
		rest(time.Minute)
		w.wantReplies("m")
		next := newWorld(t, settings{store: w.store, model: time.Second})
		defer next.close()
		time.Sleep(5 * time.Second)
		next.wantReplies("n")
	})
}

// Messages that keep coming do not keep a node from having drained.
func TestDrainWhileMessagesKeepComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{store: &slow{Store: memory.New(), takes: 15 * time.Millisecond}})
		defer w.close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var writers sync.WaitGroup
		for range 5 {
			writers.Go(func() {
				for ctx.Err() == nil {
					w.nodes[0].Receive(t.Context(), "bot", "c", onereply.Message{Text: "hi"})
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		limit, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		if err := w.nodes[0].Drain(limit); err != nil {
			t.Error(err)
		}
		cancel()
		writers.Wait()
	})
}

// What does not end in time is cut off, and another node goes on at once.
func TestDrainThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{model: time.Minute, bot: onereply.Bot{Timeout: time.Hour}})
		defer w.close()
		w.say(0, "m")
		w.until(5 * time.Second)
		next := newWorld(t, settings{store: w.store, model: time.Second})
		defer next.close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := w.nodes[0].Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drained with %v", err)
		}
		time.Sleep(2 * time.Second)
		next.wantReplies("m")
		w.wantReplies()
	})
}

// A node may be closed in any phase: everybody is answered, no goroutine is
// left (the bubble would not end), and another node goes on at once.
func TestClose(t *testing.T) {
	for _, at := range []time.Duration{0, time.Second, 1500 * time.Millisecond, 2 * time.Second, 6500 * time.Millisecond, 7 * time.Second, 10 * time.Second} {
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{wrong: []func(context.Context) error{func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return onereply.NotDeliveredError(ctx.Err())
					case <-time.After(2 * time.Second):
						return nil
					}
				}}}
				w := newWorld(t, settings{model: 5 * time.Second, bot: onereply.Bot{Sender: r}})
				defer w.close()
				next := newWorld(t, settings{store: w.store, model: time.Second})
				defer next.close()
				next.nodes[0].Drain(t.Context())
				w.say(0, "m")
				w.until(at)
				var calls sync.WaitGroup
				for range 3 {
					calls.Go(func() {
						_, err := w.nodes[0].Receive(t.Context(), "bot", "else", onereply.Message{Text: "hi"})
						var refused *onereply.Error
						if err != nil && (!errors.As(err, &refused) || refused.Code != onereply.CodeUnavailable) {
							t.Errorf("a message in that moment: %v", err)
						}
					})
				}
				w.nodes[0].Close()
				calls.Wait()
				w.nodes[0].Close()
				if _, err := w.nodes[0].Receive(t.Context(), "bot", "c", onereply.Message{Text: "hi"}); err == nil {
					t.Error("a closed node accepts a message")
				}
				if got := w.nodes[0].Stats(); got.Accepted != 0 {
					t.Errorf("a closed node counts: %+v", got)
				}
				if s := next.state(0); s.Lease != nil {
					t.Errorf("its lease is still held: %+v", s)
				}
				third := newWorld(t, settings{store: w.store, model: time.Second})
				defer third.close()
				time.Sleep(10 * time.Second)
				if s := third.state(0); s.Phase != onereply.PhaseIdle {
					t.Errorf("ten seconds later: %+v", s)
				}
			})
		})
	}
}

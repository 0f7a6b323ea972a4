package parallel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each number is given once, and no more calls run at once than the limit.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct{ n, limit int }{{0, 3}, {1, 3}, {2, 3}, {3, 3}, {10, 3}, {10, 1}} {
			var running, most atomic.Int64
			given := make([]atomic.Int64, test.n)
			err := Each(t.Context(), test.n, test.limit, func(_ context.Context, i int) error {
				most.Store(max(most.Load(), running.Add(1)))
				given[i].Add(1)
				time.Sleep(time.Second)
				running.Add(-1)
				return nil
			})
			for i := range given {
				if given[i].Load() != 1 {
					t.Errorf("%+v: %d was given %d times", test, i, given[i].Load())
				}
			}
			if err != nil || int(most.Load()) != min(test.n, test.limit) {
				t.Errorf("%+v: %d at once, %v", test, most.Load(), err)
			}
		}
	})
}

// The first error ends the others, begins no more, and is what is returned.
func TestEachEndsAtAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := errors.New("first")
		var begun atomic.Int64
		err := Each(t.Context(), 100, 2, func(ctx context.Context, i int) error {
			begun.Add(1)
			if i == 1 {
				return first
			}
			<-ctx.Done()
			return errors.New("later")
		})
		if !errors.Is(err, first) || begun.Load() > 4 {
			t.Errorf("%v, after %d calls", err, begun.Load())
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(first)
		if err := Each(ctx, 1, 1, func(context.Context, int) error { return nil }); !errors.Is(err, first) {
			t.Errorf("of a context that has ended: %v", err)
		}
	})
}

package keeper

import (
	"context"
	"sync"
)

// workers is how many conversations are read or copied at once: enough to hide
// the round trips to a server, too few to be felt by the nodes that use it.
const workers = 8

// each calls f for 0 to n-1, several at once, and waits for all of them. After
// the first error it begins no more, and returns it.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var running sync.WaitGroup
	for range min(workers, n) {
		running.Go(func() {
			for i := range numbers {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
	}
	close(numbers)
	running.Wait()
	return context.Cause(ctx)
}

package inspect

import (
	"context"
	"sync"
)

// inParallel calls f for the numbers from 0 to n-1, at most limit calls at once. The
// first error ends the context of the others and is returned once all have ended.
func inParallel(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int) // without room: a number is taken, or not begun
	var running sync.WaitGroup
	for range min(limit, n) {
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

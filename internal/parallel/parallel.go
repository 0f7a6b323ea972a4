// Package parallel makes many calls of one kind, a few at once. It is for calls of a
// store or a server: enough of them to hide the round trips, too few to be felt by
// others. It must never import anything of this module.
package parallel

import (
	"context"
	"sync"
)

// Each calls f for the numbers from 0 to n-1, at most limit calls at once. The
// first error ends the context of the others and is returned once all have ended.
func Each(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
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

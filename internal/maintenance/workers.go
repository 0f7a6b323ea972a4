package maintenance

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// workers is how many conversations are read or copied at once: enough to hide
// the round trips to a server, too few to be felt by the nodes that use it.
const workers = 8

// each calls f for the numbers from 0 to n-1, a few at once. The first error
// ends the context of the others, and is returned once all have ended.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return f(ctx, i)
		})
	}
	return group.Wait()
}

package keeper

import (
	"context"

	"github.com/onereply/onereply/internal/atonce"
)

// workers is how many conversations are read or copied at once: enough to hide
// the round trips to a server, too few to be felt by the nodes that use it.
const workers = 8

func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	return atonce.Do(ctx, n, workers, f)
}

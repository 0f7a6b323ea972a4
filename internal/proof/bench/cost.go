package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/parallel"
	"github.com/onereply/onereply/store"
)

// burstWindow is long, so that a burst stays one also on a busy machine.
const burstWindow = 2 * time.Second

// counting is a store that counts calls: on a store in another process each
// of them is a round trip.
type counting struct {
	store.Store
	writes, reads atomic.Int64
}

// Commit counts as a write.
func (c *counting) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	c.writes.Add(1)
	return c.Store.Commit(ctx, write)
}

// Load counts as a read.
func (c *counting) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	c.reads.Add(1)
	return c.Store.Load(ctx, key)
}

// Entries counts as a read.
func (c *counting) Entries(ctx context.Context, key store.Key, query store.EntryQuery) ([]store.Entry, bool, error) {
	c.reads.Add(1)
	return c.Store.Entries(ctx, key, query)
}

// costPerTurn counts what turns take.
func costPerTurn(ctx context.Context, b *bench, t *tally) error {
	for _, burst := range []int{1, 5} {
		if err := b.cost(ctx, t, "one after the other", burst, false); err != nil {
			return err
		}
	}
	return b.cost(ctx, t, "at once", 5, true)
}

func (b *bench) cost(ctx context.Context, t *tally, how string, burst int, atOnce bool) error {
	turns := 400
	if b.Quick {
		turns = 40
	}
	used, err := b.spend(ctx, turns, burst, atOnce)
	if err != nil {
		return err
	}
	group := counted(burst, "message")
	if burst > 1 {
		group += " " + how
	}
	each := func(figure, unit string, sum float64) { t.add(group, figure, unit, sum/float64(turns)) }
	each("writes", "", float64(used.writes))
	each("reads", "", float64(used.reads))
	each("bytes kept", "B", float64(used.kept))
	each("allocations", "", float64(used.allocations))
	each("allocated", "B", float64(used.allocated))
	each("processor time", "µs", float64(used.processor.Microseconds()))
	return nil
}

// spent is what a load has used, of all its turns.
type spent struct {
	writes, reads, kept    int64
	allocations, allocated uint64
	processor              time.Duration
}

// spend has each of many conversations answered once.
func (b *bench) spend(ctx context.Context, turns, burst int, together bool) (spent, error) {
	folder, err := b.newFolder()
	if err != nil {
		return spent{}, err
	}
	empty, err := b.emptyStore(ctx, folder)
	if err != nil {
		return spent{}, err
	}
	counter := &counting{}
	n, err := b.openNode(ctx, folder, onereply.Bot{
		Debounce: burstWindow, MaxWait: 10 * burstWindow,
		Responder: onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{Text: "It left the warehouse yesterday and will be with you on Friday."}, nil
		}),
	}, counter.around)
	if err != nil {
		return spent{}, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	processor := processorTime()
	err = parallel.Each(ctx, turns, 16, func(ctx context.Context, i int) error {
		return n.write(ctx, fmt.Sprintf("chat-%d", i), burst, together)
	})
	if err == nil {
		err = n.waitSent(ctx, turns)
	}
	runtime.ReadMemStats(&after)
	used := spent{
		writes: counter.writes.Load(), reads: counter.reads.Load(),
		allocations: after.Mallocs - before.Mallocs, allocated: after.TotalAlloc - before.TotalAlloc,
		processor: processorTime() - processor,
	}
	if err := errors.Join(err, n.close()); err != nil {
		return spent{}, err
	}
	full, err := b.Place.Size(ctx, folder)
	used.kept = full - empty
	return used, err
}

// emptyStore is the size of a store in which nothing is.
func (b *bench) emptyStore(ctx context.Context, folder string) (int64, error) {
	kept, err := b.Place.Open(ctx, folder)
	if err != nil {
		return 0, err
	}
	if err := kept.Close(); err != nil {
		return 0, err
	}
	return b.Place.Size(ctx, folder)
}

// write sends a burst.
func (n *node) write(ctx context.Context, conversation string, burst int, together bool) error {
	failures := make([]error, burst)
	var all sync.WaitGroup
	for i := range burst {
		send := func() { failures[i] = n.receive(ctx, conversation, fmt.Sprintf("m%d", i)) }
		if together {
			all.Go(send)
		} else {
			send()
		}
	}
	all.Wait()
	return errors.Join(failures...)
}

// waitSent waits until so many replies were sent.
func (n *node) waitSent(ctx context.Context, count int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		sent := n.Stats().Turns["sent"]
		if sent >= uint64(count) {
			return nil
		}
		if !waitUntil(ctx, time.Now().Add(5*time.Millisecond)) {
			return fmt.Errorf("%d of %d replies were sent: %w", sent, count, context.Cause(ctx))
		}
	}
}

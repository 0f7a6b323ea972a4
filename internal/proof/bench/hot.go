package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
)

const (
	hotRate    = 1_000 // inputs a second into the hot conversation
	othersRate = 200   // inputs a second into the others, together
)

// hotConversation measures what others notice of a conversation that never
// rests.
func hotConversation(ctx context.Context, b *bench, t *tally) error {
	calm, _, err := b.withHot(ctx, 0)
	if err != nil {
		return err
	}
	beside, accepted, err := b.withHot(ctx, hotRate)
	if err != nil {
		return err
	}
	t.compare("the hot one", "accepted", "/s", accepted, hotRate)
	ours, limit := beside.milliseconds(0.5, 0.99), calm.milliseconds(0.5, 0.99)
	t.compare("the others", "p50", "ms", ours[0], limit[0])
	t.compare("the others", "p99", "ms", ours[1], limit[1])
	return nil
}

// withHot returns how long the acknowledgements of the others took, and how many
// inputs a second the hot conversation accepted.
func (b *bench) withHot(ctx context.Context, rate int) (took times, accepted float64, err error) {
	n, err := b.newNode(ctx, onereply.Bot{
		Debounce: window, MaxWait: time.Second,
		Responder: onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{Text: "One moment."}, nil
		}),
	}, nil)
	if err != nil {
		return nil, 0, err
	}
	seconds := b.span().Seconds()
	others := int(othersRate * seconds)
	took = make(times, others)
	failures := make([]error, others)
	var hot atomic.Int64
	var refused error
	var all sync.WaitGroup
	start := time.Now()
	all.Go(func() {
		paced(ctx, others, b.span(), func(i int) {
			began := time.Now()
			failures[i] = n.receive(ctx, fmt.Sprintf("chat-%d", i%50), fmt.Sprintf("m%d", i))
			took[i] = time.Since(began)
		})
	})
	all.Go(func() {
		var once sync.Once
		paced(ctx, int(float64(rate)*seconds), b.span(), func(i int) {
			if err := n.receive(ctx, "hot", fmt.Sprintf("m%d", i)); err != nil {
				once.Do(func() { refused = err })
				return
			}
			hot.Add(1)
		})
	})
	all.Wait()
	lasted := time.Since(start).Seconds()
	err = errors.Join(slices.Concat(failures, []error{refused, n.close()})...)
	return took, float64(hot.Load()) / lasted, err
}

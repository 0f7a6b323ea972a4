package node

import (
	"context"
	"time"

	"github.com/onereply/onereply/turn"
)

// Drain stops taking turns, lets what runs end until ctx does, and then hands its
// leases back so that another node goes on at once. Inputs are accepted until
// [Node.Stop]. It returns ctx's cause where something had to be cut off.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Do(func() { close(n.drain) })
	n.post(n.engine.Drain)
	if n.settle(ctx) {
		return nil
	}
	n.post(n.engine.HandBack)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackGrace)
	defer cancel()
	if !n.settle(grace) {
		n.log.Warn("leases could not be given back; they end by themselves")
	}
	return context.Cause(ctx)
}

const (
	// handBackGrace is how long responders may take to return when a drain cuts them
	// off, and the store to take their leases back.
	handBackGrace = 3 * time.Second
	settleEvery   = 10 * time.Millisecond // between two looks whether all is quiet
)

// settle waits until nothing is under way here, and reports whether that happened before
// ctx ended. A node that has ended is quiet.
func (n *Node) settle(ctx context.Context) bool {
	for {
		quiet, err := ask(context.Background(), n, func(turn.Time) bool { return n.engine.Quiet() })
		if err != nil || quiet {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-n.ctx.Done():
			return true
		case <-time.After(settleEvery):
		}
	}
}

// Stop ends the node. Running work is cut off and its leases are handed back; call
// [Node.Drain] first to let it end. When Stop returns, the loop has ended and the
// status changes no more; responders that do not return may still run. It may be
// called more than once.
func (n *Node) Stop() {
	n.stopping.Do(func() {
		now, cancel := context.WithCancelCause(context.Background())
		cancel(ErrClosed)
		_ = n.Drain(now)
		n.stop(ErrClosed)
	})
	<-n.ended
}

// Wait waits for every goroutine of a node that was stopped: those of responders
// and senders too.
func (n *Node) Wait() { n.goroutines.Wait() }

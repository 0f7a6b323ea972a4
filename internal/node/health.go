package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/loglimit"
)

// health is what a node knows of its store from its own writes and claims. It makes
// [Node.Ready] fail while the store answers but does not work: a full disk takes no
// writes, a missing right lets no timer be claimed.
//
// A failure counts for a limited time only. A node that is not ready gets no traffic,
// and without traffic it would never learn that the store works again.
type health struct {
	mu sync.Mutex

	writeErr  error     // of the last write; nil: it succeeded
	writeTime time.Time // of the last write that failed

	claimErr    error     // of the last claim; nil: it succeeded
	claimTime   time.Time // of the last claim
	claimsSince time.Time // of the first failure, where all claims have failed since

	lines loglimit.Limit // of the log, about failures of the store: one a second
}

const (
	// unreadyFor is how long a failed write counts.
	unreadyFor = 10 * time.Second
	// claimsMayFail is how long claims may fail without making the node unready. They
	// come several times a second, so a single failure delays little.
	claimsMayFail = 2 * time.Second
	// claimCounts is how long a failed claim counts. The claim after it may hang for
	// storeTimeout before it fails too.
	claimCounts = unreadyFor + storeTimeout
)

// wrote notes the outcome of a write.
func (h *health) wrote(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writeErr = err
	if err != nil {
		h.writeTime = time.Now()
	}
}

// writesFail is why writes fail, nil where they do not.
func (h *health) writesFail() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writeErr == nil || time.Since(h.writeTime) > unreadyFor {
		return nil
	}
	return h.writeErr
}

// claimed notes the outcome of a claim.
func (h *health) claimed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if err != nil && (h.claimErr == nil || now.Sub(h.claimTime) > claimCounts) {
		h.claimsSince = now
	}
	h.claimErr, h.claimTime = err, now
}

// claimsFail is why claims have failed for a while, nil where they have not. Without
// claims this node takes over nothing that other nodes leave.
func (h *health) claimsFail() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claimErr == nil || h.claimTime.Sub(h.claimsSince) < claimsMayFail || time.Since(h.claimTime) > claimCounts {
		return nil
	}
	return h.claimErr
}

// log writes a line about a failure of the store, at most one a second: while the
// store is out of reach every conversation tries again and again. The line says how
// many failures had none.
func (h *health) log(log *slog.Logger, text string, args ...any) {
	if total := h.lines.Add(time.Now(), 1); total > 0 {
		log.Error(text, append(args, "others_since_the_last_line", total-1)...)
	}
}

// Ready reports why the node can't do its work, or nil.
func (n *Node) Ready(ctx context.Context) error {
	select {
	case <-n.drain:
		return errors.New("the node is draining")
	default:
	}
	if _, err := n.store.Now(ctx); err != nil {
		return fmt.Errorf("the store is out of reach: %w", err)
	}
	if err := n.health.writesFail(); err != nil {
		return fmt.Errorf("the store does not take writes: %w", err)
	}
	if err := n.health.claimsFail(); err != nil {
		return fmt.Errorf("due timers can't be claimed from the store: %w", err)
	}
	return nil
}

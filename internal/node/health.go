package node

import (
	"log/slog"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/loglimit"
)

// health is what a node knows of its store from the writes and the claims that it
// made.
type health struct {
	mu       sync.Mutex
	err      error     // of the last write, nil where it succeeded
	failedAt time.Time // when it failed

	claimErr     error     // of the last claim, nil where it succeeded
	claimFailed  time.Time // when it failed
	claimsFailed time.Time // since when all do

	lines loglimit.Limit // of the log, about failures: one a second
}

const (
	// unreadyFor is how long a failed write makes a node unready. After that it is
	// tried again: only traffic shows whether the store takes writes.
	unreadyFor = 10 * time.Second
	// claimsMayFail is how long claims may fail before that makes a node unready: they
	// come again several times a second, and what is due waits that long anyway.
	claimsMayFail = 2 * time.Second
	// blindFor is how long a failed claim counts: the next one may hang until its
	// time-out before it fails too.
	blindFor = unreadyFor + storeTimeout
)

// wrote notes the outcome of a write.
func (h *health) wrote(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	if err != nil {
		h.failedAt = time.Now()
	}
}

// writesFail is why writes fail, or nil.
func (h *health) writesFail() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil || time.Since(h.failedAt) > unreadyFor {
		return nil
	}
	return h.err
}

// claimed notes the outcome of a claim.
func (h *health) claimed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if err != nil && (h.claimErr == nil || now.Sub(h.claimFailed) > blindFor) {
		h.claimsFailed = now
	}
	h.claimErr, h.claimFailed = err, now
}

// claimsFail is why claims have failed for a while, or nil: without them this node takes
// over nothing that others leave.
func (h *health) claimsFail() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claimErr == nil || h.claimFailed.Sub(h.claimsFailed) < claimsMayFail || time.Since(h.claimFailed) > blindFor {
		return nil
	}
	return h.claimErr
}

// log tells of a failure of the store, but not of each: while it is out of
// reach every conversation tries again and again.
func (h *health) log(log *slog.Logger, text string, args ...any) {
	if total := h.lines.Add(time.Now(), 1); total > 0 {
		log.Error(text, append(args, "others_since_the_last_line", total-1)...)
	}
}

package sqlite

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/onereply/onereply/store"
)

// task is one write that waits for its turn.
type task struct {
	// apply runs within the transaction of a batch. An error means that the
	// whole transaction fails; a write that is merely refused records that
	// elsewhere, leaves nothing behind and returns nil.
	apply func(*connection) error
	done  chan error // gets the outcome of the transaction, once
}

// queue holds the writes that wait, in the order of their arrival.
type queue struct {
	mu      sync.Mutex
	waiting []*task
	closed  bool
	ready   chan struct{} // has a signal in it where there is something to do
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// write queues a task and waits until it is durable, or has failed. Where ctx
// ends first, a task that still waits is withdrawn; of one that is being
// written nobody knows the outcome.
func (q *queue) write(ctx context.Context, apply func(*connection) error) error {
	t := &task{apply: apply, done: make(chan error, 1)}
	if err := q.add(ctx, t); err != nil {
		return notApplied(err)
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
	}
	if q.withdraw(t) {
		return notApplied(ctx.Err())
	}
	return unknown(fmt.Errorf("gave up waiting for the disk: %w", ctx.Err()))
}

func (q *queue) add(ctx context.Context, t *task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return store.ErrClosed
	}
	q.waiting = append(q.waiting, t)
	q.signal()
	return nil
}

// withdraw takes back a task that the writer has not taken yet.
func (q *queue) withdraw(t *task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, t)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take waits for tasks and moves at most limit of them into batch. It reports
// false once the queue is closed and empty.
func (q *queue) take(batch []*task, limit int) ([]*task, bool) {
	for {
		<-q.ready
		q.mu.Lock()
		count := min(limit, len(q.waiting))
		batch = append(batch[:0], q.waiting[:count]...)
		q.waiting = slices.Delete(q.waiting, 0, count)
		ended := q.closed && count == 0
		if len(q.waiting) > 0 || q.closed {
			q.signal()
		}
		q.mu.Unlock()
		if count > 0 || ended {
			return batch, !ended
		}
	}
}

// close lets no more tasks in. Those that wait are still written.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// signal is called with the lock held.
func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default: // there is one in it already
	}
}

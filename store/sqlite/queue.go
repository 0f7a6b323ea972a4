package sqlite

import (
	"context"
	"fmt"
	"runtime"
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
	// done takes the outcome of the transaction, once. The writer calls it, so it
	// must not block.
	done func(error)
}

// queue holds the writes that wait, in the order of their arrival. Many goroutines add
// to it; the writer alone takes from it. A task is in one of three places: it waits here,
// where its caller can still withdraw it; it is in a batch, where nobody can; or it is
// done.
type queue struct {
	mu      sync.Mutex
	waiting []*task
	woken   bool // take is to return, with or without a task
	closed  bool
	ready   chan struct{} // has a signal in it where there is something to do
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// write queues a task and waits until it is durable, or has failed. Where ctx
// ends first, a task that still waits is withdrawn; of one that is being
// written nobody knows the outcome.
func (q *queue) write(ctx context.Context, apply func(*connection) error) error {
	if err := ctx.Err(); err != nil {
		return notApplied(err)
	}
	outcome := make(chan error, 1)
	t := &task{apply: apply, done: func(err error) { outcome <- err }}
	if err := q.add(t); err != nil {
		return notApplied(err)
	}
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
	}
	if q.withdraw(t) {
		return notApplied(ctx.Err())
	}
	return unknown(fmt.Errorf("gave up waiting for the disk: %w", ctx.Err()))
}

func (q *queue) add(t *task) error {
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

// take waits for tasks and moves at most limit of them into batch, none where the writer
// is only to be woken. It reports false once the queue is closed and empty.
func (q *queue) take(batch []*task, limit int) ([]*task, bool) {
	for {
		<-q.ready
		q.gather(limit)
		q.mu.Lock()
		count := min(limit, len(q.waiting))
		batch = append(batch[:0], q.waiting[:count]...)
		q.waiting = slices.Delete(q.waiting, 0, count)
		ended, woken := q.closed && count == 0, q.woken
		q.woken = false
		if len(q.waiting) > 0 || q.closed {
			q.signal()
		}
		q.mu.Unlock()
		if count > 0 || ended || woken {
			return batch, !ended
		}
	}
}

// gatherings is how often gather steps aside: 2 were measured to be better than
// none and than 16, where the processors wait for the disk.
const gatherings = 2

// gather lets goroutines that are ready to run go first, as long as they bring
// tasks: those share the transaction instead of paying for the next one. Where
// nothing else is ready it costs nothing.
func (q *queue) gather(limit int) {
	for range gatherings {
		before := q.length()
		runtime.Gosched()
		if after := q.length(); after == before || after >= limit {
			return
		}
	}
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// wake has take return soon.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.woken = true
	q.signal()
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

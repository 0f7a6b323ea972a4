package sqlite

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// maxBatch bounds the writes of one transaction, so that the first of them does
// not wait long for the last.
const maxBatch = 256

// logPages is the length of the write-ahead log, in pages of 4 KiB, at which it
// is copied back into the file. Fewer copies are faster, since pages that changed
// several times are copied once; and 32 MiB are soon copied.
const logPages = 8000

// writer owns the one connection that writes.
type writer struct {
	queue *queue
	open  func() (*connection, error) // opens a new connection
	db    *connection                 // nil after a failure that it did not survive
	ended chan struct{}               // closed when run has returned

	transactions, writes atomic.Int64
}

// run writes batches until the queue is closed and empty.
func (w *writer) run() {
	defer close(w.ended)
	var batch []*task
	for more := true; more; {
		batch, more = w.queue.take(batch, maxBatch)
		if len(batch) == 0 {
			continue
		}
		err := w.transaction(batch)
		for i, t := range batch {
			t.done(err)
			batch[i] = nil // for the garbage collector
		}
	}
}

// transaction applies a batch: all of it is durable when it returns nil.
// Otherwise nothing of it counts, and the error says whether that is certain.
//
// Arrival order is commit order, and each task sees what those before it wrote:
// of two writes that expect the same record, the second one conflicts although
// both are in the same transaction.
func (w *writer) transaction(batch []*task) error {
	err := w.apply(batch)
	if err == nil {
		w.transactions.Add(1)
		w.writes.Add(int64(len(batch)))
		return nil
	}
	return errors.Join(err, w.recover(err))
}

func (w *writer) apply(batch []*task) error {
	if err := w.reconnect(); err != nil {
		return notApplied(err)
	}
	// In: nothing. Out: the write lock. Taking it at once, and not with the
	// first change, closes the race with a person who writes to the file.
	if _, err := w.db.run("BEGIN IMMEDIATE"); err != nil {
		return notApplied(err)
	}
	if err := w.db.recent.begin(w.db); err != nil {
		return notApplied(err)
	}
	for _, t := range batch {
		if err := t.apply(w.db); err != nil {
			return notApplied(err)
		}
	}
	// In: all changes since BEGIN. Out: they are in the log and the log is on the
	// disk (synchronous = FULL), and only then visible to readers.
	if _, err := w.db.run("COMMIT"); err != nil {
		return outcome(err)
	}
	return nil
}

// reconnect opens the connection again where the last one was given up.
func (w *writer) reconnect() (err error) {
	if w.db == nil {
		w.db, err = w.open()
	}
	return err
}

// recover leaves the connection ready for the next batch, or gives it up, so
// that the next batch begins with a new one.
func (w *writer) recover(cause error) error {
	if w.db == nil {
		return nil
	}
	w.db.recent.forget()
	var err error
	if !w.db.GetAutocommit() {
		_, err = w.db.run("ROLLBACK")
	}
	if err == nil && !broken(cause) {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("roll back: %w", err)
	}
	err = errors.Join(err, w.db.Close())
	w.db = nil
	return err
}

// close ends the writer: what waits is written, the log is copied back into the
// file, and the connection is closed.
func (w *writer) close() error {
	w.queue.close()
	<-w.ended
	if w.db == nil {
		return nil
	}
	return w.db.Close()
}

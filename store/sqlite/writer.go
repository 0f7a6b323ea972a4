package sqlite

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
)

// maxBatch bounds the writes that share a transaction, so that the first of them
// does not wait long for the last.
const maxBatch = 256

// writer owns the one connection that writes, and the one goroutine that uses
// it. That goroutine turns what waits in the queue into transactions: group
// commit. While one transaction is synced to the disk, new writes gather in the
// queue; the next transaction takes all of them, up to maxBatch. So the more
// callers there are, the more of them share one sync.
type writer struct {
	queue *queue
	open  func() (*connection, error) // opens a new connection
	db    *connection                 // nil after a failure that it did not survive
	ended chan struct{}               // closed when run has returned

	database *database

	eraseAt time.Time   // when the log is to be emptied, zero: it need not be
	timer   *time.Timer // wakes the writer then

	transactions atomic.Int64 // that were committed; tests read it
}

// run writes batches until the queue is closed and empty.
func (w *writer) run() {
	defer close(w.ended)
	var batch []*task
	for {
		var more bool
		if batch, more = w.queue.take(batch, maxBatch); !more {
			return
		}
		if len(batch) > 0 {
			w.write(batch)
			clear(batch) // for the garbage collector
		}
		w.erase()
	}
}

// write makes a batch durable and tells each task the outcome. Where the driver panicked,
// each task gets a transaction of its own: the one that it can't bear must not take the
// others with it, each time that it is tried again.
func (w *writer) write(batch []*task) {
	err := w.transaction(batch)
	if errors.Is(err, errPanicked) && errors.Is(err, store.ErrNotApplied) && len(batch) > 1 {
		for i := range batch {
			batch[i].done(w.transaction(batch[i : i+1]))
		}
		return
	}
	for _, t := range batch {
		t.done(err)
	}
}

// transaction makes a batch durable: all of it is when it returns nil.
// Otherwise nothing of it counts, and the error says whether that is certain.
//
// Arrival order is commit order, and each task sees what those before it wrote:
// of two writes that expect the same record, the second one conflicts although
// both are in the same transaction.
func (w *writer) transaction(batch []*task) error {
	err := w.apply(batch)
	if err == nil {
		w.transactions.Add(1)
		w.eraseLater()
		return nil
	}
	return errors.Join(err, w.rollBack(err))
}

// apply carries out the tasks of a batch and commits them. Only a COMMIT that
// failed may have an unknown outcome; see [outcome].
func (w *writer) apply(batch []*task) error {
	err := guard(func() error {
		if err := w.begin(); err != nil {
			return err
		}
		for _, t := range batch {
			if err := t.apply(w.db); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return notApplied(err)
	}
	// In: all changes since BEGIN. Out: they are in the write-ahead log and that is on
	// the disk (synchronous = FULL), and only then visible to readers.
	if err := w.exec("COMMIT"); err != nil {
		return outcome(err)
	}
	if err := w.database.check(); err != nil {
		return unknown(err) // it may be in the file that is there, or in the one that is gone
	}
	return nil
}

// exec carries out a statement that has neither arguments nor rows.
func (w *writer) exec(query string) error {
	return guard(func() error {
		_, err := w.db.run(query)
		return err
	})
}

// begin opens a transaction.
func (w *writer) begin() error {
	if err := w.connect(); err != nil {
		return err
	}
	w.db.erases = false
	// In: nothing. Out: the write lock. Taking it at once, and not with the
	// first change, closes the race with a person who writes to the file.
	_, err := w.db.run("BEGIN IMMEDIATE")
	return err
}

// connect makes a new connection where the last one was given up. It fails where the files
// are not those that were opened.
func (w *writer) connect() (err error) {
	if w.db == nil {
		if w.db, err = w.open(); err != nil {
			return err
		}
	}
	return w.database.check()
}

// rollBack leaves the connection ready for the next batch, or gives it up, so
// that the next batch begins with a new one.
func (w *writer) rollBack(cause error) error {
	if w.db == nil {
		return nil
	}
	var err error
	if !w.db.GetAutocommit() {
		err = w.exec("ROLLBACK")
	}
	if err == nil && !broken(cause) {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("roll back: %w", err)
	}
	err = errors.Join(err, w.db.Close())
	w.db = nil
	w.database.log.Store(nil) // SQLite removes the log where no reader has it open
	return err
}

// close ends the writer: waiting tasks are written, the log is copied back into the
// file, and the connection is closed.
func (w *writer) close() error {
	w.queue.close()
	<-w.ended
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.db == nil {
		return nil
	}
	return w.db.Close()
}

package sqlite

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
)

// maxBatch bounds the writes of one transaction, so that the first of them does
// not wait long for the last.
const maxBatch = 256

// logBytes is the length of the write-ahead log at which it is copied back into
// the file. Fewer copies are faster, and 16 MiB are soon copied.
const logBytes = 16 << 20

// writer owns the one connection that writes.
type writer struct {
	queue *queue
	open  func() (*connection, error) // opens a new connection
	db    *connection                 // nil after a failure that it did not survive
	log   *logFile                    // of db
	ended chan struct{}               // closed when run has returned
	disk  *disk

	transactions, writes atomic.Int64
}

// run writes batches until the queue is closed and empty. While one is on its
// way to the disk the next one is applied.
func (w *writer) run() {
	defer close(w.ended)
	var batch, before []*task
	for more := true; more; {
		batch, more = w.queue.take(batch, maxBatch)
		if len(batch) == 0 {
			continue
		}
		if err := w.transaction(batch); err != nil {
			finish(batch, err)
			continue
		}
		w.harden(batch)
		batch, before = before, batch
	}
	w.disk.wait()
}

func finish(batch []*task, err error) {
	for i, t := range batch {
		t.done(err)
		batch[i] = nil // for the garbage collector
	}
}

// transaction applies a batch: all of it is in the log when it returns nil, but
// not yet on the disk. Otherwise nothing of it counts, and the error says whether
// that is certain.
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
	if err := w.disk.heal(w.log); err != nil {
		return notApplied(err)
	}
	w.shorten()
	w.log.later = true
	defer func() { w.log.later = false }()
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
	return w.commit()
}

// commit ends the transaction. Readers see it from now on, although it is not
// on the disk before [disk.harden]: what they tell of it waits for that.
func (w *writer) commit() error {
	w.disk.begin()
	// In: all changes since BEGIN. Out: they are in the log.
	if _, err := w.db.run("COMMIT"); err != nil {
		w.disk.fail()
		return outcome(err)
	}
	return nil
}

// harden brings the transaction to the disk, and then tells those who wait for
// it. It waits until the one before is there, and does not wait for this one.
//
// A batch that changed nothing is told in its turn too: its answers rest on what
// those before it wrote.
func (w *writer) harden(batch []*task) {
	w.disk.harden(w.log, func(err error) { finish(batch, err) })
}

// shorten copies the log back into the file where it has grown long. SQLite does
// the same after a commit, but then it would not be a sync that may come later.
// As there, a copy that fails is tried again before the next transaction: the log
// has all of it meanwhile.
func (w *writer) shorten() {
	if w.log.end() >= logBytes {
		_, _, _ = w.db.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	}
}

// reconnect opens the connection again where the last one was given up.
func (w *writer) reconnect() error {
	if w.db != nil {
		return nil
	}
	db, err := w.open()
	if err != nil {
		return err
	}
	if w.log, err = logOf(db); err != nil {
		return errors.Join(err, db.Close())
	}
	w.db = db
	return nil
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
	w.disk.wait()
	err = errors.Join(err, w.db.Close())
	w.db, w.log = nil, nil
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

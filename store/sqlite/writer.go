package sqlite

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// maxBatch bounds the writes that are answered together, so that the first of them
// does not wait long for the last.
const maxBatch = 256

// logPages is the length of the write-ahead log, in pages of 4 KiB, at which it
// is copied back into the file. Fewer copies are faster, since pages that changed
// several times are copied once; and 32 MiB are soon copied.
const logPages = 8000

// A transaction that was logged is committed after maxOpen, or when nothing has come
// for maxIdle. The longer it is, the more writes share a page; the more has to be
// carried out again after a crash, and the longer other programs see the state
// before. After a failure it is tried again every retryAfter.
const (
	maxOpen    = 100 * time.Millisecond
	maxIdle    = 2 * time.Millisecond
	retryAfter = time.Second
)

// writer owns the one connection that writes.
type writer struct {
	queue *queue
	open  func() (*connection, error) // opens a new connection
	db    *connection                 // nil after a failure that it did not survive
	redo  *redo
	ahead ahead
	ended chan struct{} // closed when run has returned

	inside  bool        // a transaction is open
	since   time.Time   // it was begun
	failing bool        // the last commit failed
	alarm   *time.Timer // when what is logged must be committed
	left    error       // why what is logged could not be committed in the end

	transactions, writes atomic.Int64
}

// resume carries out what a process that died has left in the log.
func (w *writer) resume(path string, o Options) (err error) {
	if w.redo, err = openRedo(path, w.db, o); err == nil {
		err = w.settle()
	}
	return err
}

// run writes batches until the queue is closed and empty.
func (w *writer) run() {
	defer close(w.ended)
	w.alarm.Stop() // nothing is logged yet
	defer w.alarm.Stop()
	var batch []*task
	for more := true; more; {
		batch, more = w.queue.take(batch, maxBatch, w.alarm.C)
		if len(batch) == 0 {
			w.left = w.settle()
			w.watch()
			continue
		}
		err := w.transaction(batch)
		for i, t := range batch {
			t.done(err)
			batch[i] = nil // for the garbage collector
		}
		if w.inside && time.Since(w.since) >= maxOpen {
			_ = w.settle() // if it fails, it is tried again
		}
		w.watch()
	}
}

// watch sees to it that what was logged is committed in time.
func (w *writer) watch() {
	switch {
	case !w.redo.counts():
		w.alarm.Stop()
	case w.failing:
		w.alarm.Reset(retryAfter)
	default:
		w.alarm.Reset(maxIdle)
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
		w.writes.Add(int64(len(batch)))
		return nil
	}
	return errors.Join(err, w.recover(err))
}

func (w *writer) apply(batch []*task) error {
	if err := w.begin(); err != nil {
		return notApplied(err)
	}
	logged := !w.failing && w.redo.takes(batch)
	for _, t := range batch {
		if err := t.apply(w.db); err != nil {
			return notApplied(err)
		}
		if logged && t.write.counts() {
			w.redo.add(t.write)
		}
	}
	if !logged {
		return w.commit()
	}
	if !w.redo.added() { // all were refused
		if w.redo.counts() {
			return nil
		}
		return w.commit() // nothing stays open for nothing
	}
	w.ahead.mark(batch)
	err := w.redo.sync()
	if err != nil { // then the tables take it
		if failed := w.commit(); failed != nil {
			return fmt.Errorf("%w; and before that the log: %w", failed, err)
		}
	}
	return nil
}

// begin opens a transaction, where none is.
func (w *writer) begin() error {
	if w.inside {
		return nil
	}
	if err := w.reconnect(); err != nil {
		return err
	}
	// In: nothing. Out: the write lock. Taking it at once, and not with the
	// first change, closes the race with a person who writes to the file.
	if _, err := w.db.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.inside, w.since = true, time.Now()
	others, err := w.db.recent.begin(w.db)
	switch {
	case err != nil || w.redo.off:
		return err
	case w.redo.counts():
		return w.redo.again(w.db)
	case others:
		return w.redo.readGeneration(w.db)
	}
	return nil
}

// commit ends the transaction. What failed to be logged, and fails to be committed
// too, may be found in the log after a crash: nothing is certain of it.
func (w *writer) commit() error {
	if err := w.redo.count(w.db); err != nil {
		return w.doubt(err, notApplied)
	}
	// In: all changes since BEGIN. Out: they are in the write-ahead log and that is on
	// the disk (synchronous = FULL), and only then visible to readers.
	if _, err := w.db.run("COMMIT"); err != nil {
		return w.doubt(err, outcome)
	}
	w.inside, w.failing = false, false
	w.redo.counted()
	w.ahead.clear()
	return nil
}

// doubt is what a commit that failed has left behind.
func (w *writer) doubt(err error, otherwise func(error) error) error {
	w.failing = true
	if w.redo.doubtful {
		return unknown(err)
	}
	return otherwise(err)
}

// settle commits what was logged. A failure loses nothing: the log has it.
func (w *writer) settle() error {
	if !w.redo.counts() {
		return nil
	}
	err := w.begin()
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		w.failing = true
		err = errors.Join(err, w.recover(err))
	}
	return err
}

// reconnect opens the connection again where the last one was given up.
func (w *writer) reconnect() (err error) {
	if w.db == nil {
		w.db, err = w.open()
	}
	return err
}

// recover leaves the connection ready for the next batch, or gives it up, so
// that the next batch begins with a new one. What the transaction held and was
// logged is carried out again in the next one.
func (w *writer) recover(cause error) error {
	w.redo.drop()
	w.inside = false
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
	if w.left != nil {
		w.left = fmt.Errorf("some of what was acknowledged is in the log beside the file, and the next start carries it out: %w", w.left)
	}
	return errors.Join(w.left, w.redo.close(), w.closeConnection())
}

func (w *writer) closeConnection() error {
	if w.db == nil {
		return nil
	}
	return w.db.Close()
}

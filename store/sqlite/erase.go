package sqlite

import (
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Deleted data must be gone from the disk, and not only from the tables. In the
// database file it is overwritten with zeros: see mainFile. The write-ahead log keeps
// earlier states of pages until it is overwritten from its beginning, which may take days
// on a quiet node. So after a deletion it is copied into the file and emptied.
//
// A process that dies before that does it when it is started again: see setUpWriter.
const (
	// eraseAfter is how long the log is left alone, so that many deletions are erased
	// at once.
	eraseAfter = 5 * time.Second
	// eraseAgain is the pause before the next try, where a reader still needs the log.
	eraseAgain = time.Second
	// eraseWait is how long writes may be held up for such a reader.
	eraseWait = 50 * time.Millisecond
)

// eraseLater has the log emptied soon if the transaction that was just committed removes
// anything.
func (w *writer) eraseLater() {
	if w.db.erases && w.eraseAt.IsZero() {
		w.eraseIn(eraseAfter)
	}
}

func (w *writer) eraseIn(pause time.Duration) {
	w.eraseAt = time.Now().Add(pause)
	if w.timer == nil {
		w.timer = time.AfterFunc(pause, w.queue.wake)
	} else {
		w.timer.Reset(pause)
	}
}

// erase empties the log if that is due.
func (w *writer) erase() {
	if w.eraseAt.IsZero() || time.Now().Before(w.eraseAt) {
		return
	}
	w.eraseAt = time.Time{}
	err := guard(w.emptyLog)
	if err == nil {
		return
	}
	if w.db != nil && broken(err) {
		_ = w.rollBack(err) // it gives the connection up
	}
	w.eraseIn(eraseAgain)
}

// emptyLog copies the log into the file and makes it empty. It fails with
// [sqlite3.BUSY] while a reader needs what is in it; a reader that begins afterwards does
// not.
func (w *writer) emptyLog() error {
	if err := w.connect(); err != nil {
		return err
	}
	if err := w.db.BusyTimeout(eraseWait); err != nil {
		return err
	}
	_, _, err := w.db.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	return errors.Join(err, w.db.BusyTimeout(lockWait))
}

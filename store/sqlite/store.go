package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Store is a [store.Store] in one SQLite file. Make one with [Open]. All
// methods may be called from many goroutines at once.
//
// It has three parts: the locks that keep other processes out, on the name and on the file,
// the writer, through which every change goes, and the readers. Close ends them in the
// reverse of that order: reads first, then the writes that wait, and the locks last, when
// nothing of this process touches the file any more.
type Store struct {
	path     string
	lock     *os.File
	database *database
	writer   *writer
	readers  *readers

	closing  sync.Once
	closeErr error
}

var _ store.Store = (*Store)(nil)

// Guarantees implements [store.Store].
func (s *Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Name: "sqlite", Durable: true, Exclusive: true,
		Note: "one file, " + s.path + ", opened by one process at a time; a commit is on the disk (fsync) before it is answered",
	}
}

// Now implements [store.Store]. It is the clock of this process, the only one
// that has the file open.
func (s *Store) Now(ctx context.Context) (turn.Time, error) {
	if err := s.usable(ctx); err != nil {
		return 0, fmt.Errorf("sqlite: read the clock: %w", err)
	}
	return turn.At(time.Now()), nil
}

// usable returns an error if the store is closed, ctx has ended, or the file is gone.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.readers.isClosed() {
		return store.ErrClosed
	}
	return explain(s.path, s.database.check())
}

// Close implements [store.Store]. Writes that were begun are finished, reads
// too; then the log is copied back into the file, so that the one file is all
// there is.
func (s *Store) Close() error {
	s.closing.Do(func() {
		err := errors.Join(s.readers.close(), s.writer.close(), s.database.Close(), s.lock.Close())
		if err != nil {
			s.closeErr = fmt.Errorf("sqlite: close: %w", explain(s.path, err))
		}
	})
	return s.closeErr
}

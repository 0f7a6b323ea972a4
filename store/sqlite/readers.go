package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// readers is a pool of connections that only read. With a write-ahead log a reader
// sees the file as it was when its statement began, whatever is written meanwhile, so
// reads need no part of the writer's goroutine and no lock of its.
//
// free is the pool: a read takes a connection from it and puts it back, so there are
// never more than its capacity, and one is never used by two. Connections are opened
// when they are first needed.
type readers struct {
	open   func() (*connection, error)
	free   chan *connection // a nil stands for one that is not open
	closed chan struct{}
	once   sync.Once
}

func newReaders(count int, open func() (*connection, error)) *readers {
	if count == 0 {
		count = defaultReaders
	}
	r := &readers{open: open, free: make(chan *connection, count), closed: make(chan struct{})}
	for range count {
		r.free <- nil
	}
	return r
}

// read runs f with a connection that nobody else uses meanwhile. It sees the
// last finished transaction, and each statement sees one transaction only. When
// ctx ends a running statement is interrupted.
func (r *readers) read(ctx context.Context, f func(*connection) error) error {
	db, err := r.take(ctx)
	if err != nil {
		return err
	}
	if db != nil {
		db.SetInterrupt(ctx)
		if err = guard(func() error { return f(db) }); err == nil || !broken(err) {
			db.SetInterrupt(context.Background())
		} else {
			err = errors.Join(err, db.Close())
			db = nil
		}
	}
	r.free <- db
	if errors.Is(err, sqlite3.INTERRUPT) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// take waits for a connection, and opens it where it is not.
func (r *readers) take(ctx context.Context) (*connection, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.isClosed():
		return nil, store.ErrClosed
	}
	var db *connection
	select {
	case db = <-r.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.closed:
		return nil, store.ErrClosed
	}
	if db != nil {
		return db, nil
	}
	err := guard(func() (err error) {
		if db, err = r.open(); err != nil {
			return err
		}
		return db.Exec("PRAGMA query_only = ON")
	})
	if err == nil {
		return db, nil
	}
	if db != nil {
		err = errors.Join(err, db.Close())
	}
	r.free <- nil
	return nil, err
}

func (r *readers) isClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

// close lets no more reads in, waits for those that run, and closes all
// connections.
func (r *readers) close() error {
	var failures []error
	r.once.Do(func() {
		close(r.closed)
		for range cap(r.free) {
			if db := <-r.free; db != nil {
				failures = append(failures, db.Close())
			}
		}
	})
	return errors.Join(failures...)
}

// read runs f on a reader. doing names the read in its error.
func (s *Store) read(ctx context.Context, f func(*connection) error, doing string, arguments ...any) error {
	err := s.readers.read(ctx, f)
	if err == nil {
		err = s.database.check()
	}
	if err != nil {
		return s.failed(err, doing, arguments...)
	}
	return nil
}

// write queues a change and waits for it.
func (s *Store) write(ctx context.Context, apply func(*connection) error, doing string, arguments ...any) error {
	if err := s.writer.queue.write(ctx, apply); err != nil {
		return s.failed(err, doing, arguments...)
	}
	return nil
}

// failed wraps an error with what was being done, and with advice where SQLite
// failed.
func (s *Store) failed(err error, doing string, arguments ...any) error {
	if isSQLite(err) {
		err = explain(s.path, err)
	}
	return fmt.Errorf("sqlite: %s: %w", fmt.Sprintf(doing, arguments...), err)
}

func isSQLite(err error) bool {
	var code sqlite3.ExtendedErrorCode
	return errors.Is(err, errPanicked) || errors.Is(err, errReplaced) || errors.As(err, &code)
}

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/store"
)

// errNotSent: the call failed before anything was sent to the server. For a write that
// is the certain kind of failure (see outcome).
var errNotSent = errors.New("no connection")

// queryOne runs a statement that gives one row, and scans it.
func (s *Store) queryOne(ctx context.Context, query string, arguments []any, into ...any) error {
	return s.withConnection(ctx, func(db *pgx.Conn) error {
		return db.QueryRow(ctx, query, arguments...).Scan(into...)
	})
}

// queryEach runs a statement and scans each of its rows; a nil scan skips them.
func (s *Store) queryEach(ctx context.Context, query string, arguments []any, scan func(pgx.Rows) error) error {
	return s.withConnection(ctx, func(db *pgx.Conn) error {
		rows, err := db.Query(ctx, query, arguments...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if scan == nil {
				continue
			}
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// withConnection lends a connection of the pool to use, and waits for one where all are
// in use, until ctx ends. An error wraps errNotSent where it is certain that nothing was
// sent. It retries nothing: a caller knows whether its call may be made twice.
func (s *Store) withConnection(ctx context.Context, use func(*pgx.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	if s.closed.Load() {
		return fmt.Errorf("%w: %w", errNotSent, store.ErrClosed)
	}
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		if s.closed.Load() {
			err = store.ErrClosed
		}
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer connection.Release()
	err = use(connection.Conn())
	if err != nil && ctx.Err() == nil && connection.Conn().IsClosed() {
		s.pool.Reset() // the server went away: its other connections are of no use either
	}
	return err
}

// failed says what was being done, and what a person can do about it. The causes stay
// wrapped, so callers can ask for the errors of package store.
func (s *Store) failed(err error, format string, arguments ...any) error {
	return fmt.Errorf("postgres: %s: %w", fmt.Sprintf(format, arguments...), explain(err))
}

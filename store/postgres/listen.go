package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/store"
)

// A connection that hears nothing for a while is tried, since nobody tells of
// one that a network has forgotten. One that is lost is made again, with a pause
// that doubles.
const (
	listenCheck   = 30 * time.Second
	listenTimeout = 5 * time.Second // to connect, and for the answer to a try
	firstPause    = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// Out: nothing. The session then gets the payloads of every node.
const listen = `LISTEN onereply`

// Hints implements [store.Hinter]. It has a connection of its own, connects again
// when that is lost, and calls f from the goroutine that it is called in. It
// returns nil once ctx has ended, and [store.ErrClosed] once the store is closed.
func (s *Store) Hints(ctx context.Context, f func(store.Key)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.hints.ctx, cancel)()
	pause := firstPause
	for s.hints.on && ctx.Err() == nil {
		if s.hear(ctx, f) {
			pause = firstPause
		}
		wait(ctx, pause)
		pause = min(2*pause, longestPause)
	}
	<-ctx.Done()
	if s.hints.ctx.Err() != nil {
		return s.failed(store.ErrClosed, "hints")
	}
	return nil
}

// hear listens on one connection until that fails or ctx ends, and reports
// whether it came to listen at all.
func (s *Store) hear(ctx context.Context, f func(store.Key)) bool {
	db, err := s.listener(ctx)
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenTimeout)
		defer cancel()
		_ = db.Close(ctx) // it is of no use either way
	}()
	for ctx.Err() == nil {
		text, err := next(ctx, db)
		if err != nil {
			return true
		}
		for _, key := range parsePayload(text, s.hints.from) {
			f(key)
		}
	}
	return true
}

// listener opens a connection that listens.
func (s *Store) listener(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	db, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(ctx, listen); err != nil {
		_ = db.Close(ctx) // what failed is the LISTEN
		return nil, err
	}
	return db, nil
}

// next returns the next payload, or "" if the connection was only tried.
func next(ctx context.Context, db *pgx.Conn) (string, error) {
	waiting, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	notification, err := db.WaitForNotification(waiting)
	switch {
	case err == nil:
		return notification.Payload, nil
	case waiting.Err() == nil || ctx.Err() != nil || db.IsClosed():
		return "", err
	}
	answer, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	return "", db.Ping(answer)
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

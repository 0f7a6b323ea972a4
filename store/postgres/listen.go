package postgres

import (
	"context"
	"sync"
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
const listen = `LISTEN onereply; LISTEN onereply_broadcasts`

// Hints implements [store.Hinter]. It shares one connection with Broadcasts, which
// connects again when it is lost. It returns nil once ctx has ended, and
// [store.ErrClosed] once the store is closed.
func (s *Store) Hints(ctx context.Context, f func(store.Key)) error {
	return s.listen(ctx, "hints", func(n notice) {
		if n.channel != hintChannel {
			return
		}
		for _, key := range parsePayload(n.payload, s.hints.from) {
			f(key)
		}
	})
}

// listen calls f for everything that is heard, until ctx ends or the store is
// closed.
func (s *Store) listen(ctx context.Context, what string, f func(notice)) error {
	h := s.hints
	if h.on && h.ctx.Err() == nil {
		defer h.lend(f)()
	}
	select {
	case <-ctx.Done():
	case <-h.ctx.Done():
	}
	if h.ctx.Err() != nil {
		return s.failed(store.ErrClosed, "%s", what)
	}
	return nil
}

// ears are all who listen, and the goroutine that hears for them while there are
// any.
type ears struct {
	mu   sync.Mutex
	last int
	all  map[int]func(notice)
	stop context.CancelFunc
}

// lend adds one who listens; the returned function takes it away, and returns when
// it is not called any more.
func (h *hints) lend(f func(notice)) (end func()) {
	e := &h.ears
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	number := e.last
	if len(e.all) == 0 {
		ctx, stop := context.WithCancel(h.ctx)
		e.all, e.stop = map[int]func(notice){}, stop
		h.done.Go(func() { h.store.hearOn(ctx, h.tell) })
	}
	e.all[number] = f
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.all, number); len(e.all) == 0 {
			e.stop()
		}
	}
}

func (h *hints) tell(n notice) {
	h.ears.mu.Lock()
	defer h.ears.mu.Unlock()
	for _, f := range h.ears.all {
		f(n)
	}
}

// hearOn hears until ctx ends, and connects again where that is needed.
func (s *Store) hearOn(ctx context.Context, f func(notice)) {
	pause := firstPause
	for ctx.Err() == nil {
		if s.hear(ctx, f) {
			pause = firstPause
		}
		wait(ctx, pause)
		pause = min(2*pause, longestPause)
	}
}

// hear listens on one connection until that fails or ctx ends, and reports
// whether it came to listen at all.
func (s *Store) hear(ctx context.Context, f func(notice)) bool {
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
		n, err := next(ctx, db)
		if err != nil {
			return true
		}
		f(n)
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
	if _, err := db.PgConn().Exec(ctx, listen).ReadAll(); err != nil {
		_ = db.Close(ctx) // what failed is the LISTEN
		return nil, err
	}
	return db, nil
}

// next returns what is said next, or nothing if the connection was only tried.
func next(ctx context.Context, db *pgx.Conn) (notice, error) {
	waiting, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	notification, err := db.WaitForNotification(waiting)
	switch {
	case err == nil:
		return notice{notification.Channel, notification.Payload}, nil
	case waiting.Err() == nil || ctx.Err() != nil || db.IsClosed():
		return notice{}, err
	}
	answer, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	return notice{}, db.Ping(answer)
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

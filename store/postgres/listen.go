package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/store"
)

// A connection that was silent for a while is tested, since a connection that a
// network has dropped looks like a silent one. A lost connection is made again, after
// a pause that doubles.
const (
	listenCheck   = 30 * time.Second
	listenTimeout = 5 * time.Second // to connect, and for the answer to a try
	firstPause    = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// Out: nothing. The session then gets the payloads of every node, its own included: that
// is how Echoed knows that receiving works. Both channels are heard on one connection, so
// what a node sent arrives in its order.
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

// listen calls f for each notification, until ctx ends or the store is closed. With
// hints turned off it only waits, so callers need not know of that setting.
func (s *Store) listen(ctx context.Context, what string, f func(notice)) error {
	h := s.hints
	if h.on && h.ctx.Err() == nil {
		defer h.listeners.add(h, f)()
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

// listeners are the functions that get each notification. While there are any, one
// goroutine receives for all of them, on one connection beside the pool: a node costs the
// server one listening session, however many listen. The functions are called one at a
// time, under mu, so they must neither block nor add or remove a listener.
type listeners struct {
	mu   sync.Mutex
	last int
	all  map[int]func(notice)
	stop context.CancelFunc // ends that goroutine
}

// add adds a function. The returned one removes it, and returns once it is not called
// any more.
func (l *listeners) add(h *hints, f func(notice)) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	number := l.last
	if len(l.all) == 0 {
		ctx, stop := context.WithCancel(h.ctx)
		l.all, l.stop = map[int]func(notice){}, stop
		h.done.Go(func() { h.store.receive(ctx, l.tell) })
	}
	l.all[number] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.all, number); len(l.all) == 0 {
			l.stop()
		}
	}
}

// tell hands a notification to all functions. An empty one, of a connection that was
// tested, is of no channel, and they ignore it.
func (l *listeners) tell(n notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		f(n)
	}
}

// receive calls f for each notification until ctx ends, and connects again whenever the
// connection is lost. Notifications sent in between are lost.
func (s *Store) receive(ctx context.Context, f func(notice)) {
	pause := firstPause
	for ctx.Err() == nil {
		if s.receiveOnce(ctx, f) {
			pause = firstPause
		}
		wait(ctx, pause)
		pause = min(2*pause, longestPause)
	}
}

// receiveOnce listens on one connection until it fails or ctx ends, and reports whether
// it could listen at all. Only then the pauses begin anew at 100 ms: a server that
// refuses is asked less and less often, with pauses of at most 5 s.
func (s *Store) receiveOnce(ctx context.Context, f func(notice)) bool {
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

// next returns the next notification, or an empty one if the connection was silent and
// its test went well.
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

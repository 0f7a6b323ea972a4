package scenario

import (
	"context"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Outside runs what must not be in a bubble: stores on a network, whose sockets
// and goroutines would keep its time from going on. Time in the bubble stands
// still while something runs outside. Make one with [NewOutside], not in a
// bubble.
type Outside struct {
	lines chan *line
}

// line carries one call at a time. Its channels are not of the bubble, so who
// waits for them is at work, as far as the bubble knows.
type line struct {
	call chan func()
	done chan struct{}
}

// outsideLines is how many calls run at once; more wait for their turn.
const outsideLines = 64

// NewOutside starts it. The returned function ends it.
func NewOutside() (o *Outside, end func()) {
	o = &Outside{lines: make(chan *line, outsideLines)}
	for range outsideLines {
		l := &line{call: make(chan func()), done: make(chan struct{})}
		go func() {
			for call := range l.call {
				call()
				l.done <- struct{}{}
			}
		}()
		o.lines <- l
	}
	return o, func() {
		for range outsideLines {
			close((<-o.lines).call)
		}
	}
}

func (o *Outside) run(call func()) {
	l := <-o.lines
	l.call <- call
	<-l.done
	o.lines <- l
}

// Opener opens the store of one life of a worker.
type Opener func() (store.Store, error)

// Opener makes one whose stores, and all calls of them, are outside. Hints
// between nodes do not come in: nothing may rest on them.
func (o *Outside) Opener(open func(context.Context) (store.Store, error)) Opener {
	return func() (store.Store, error) {
		var opened store.Store
		var err error
		o.run(func() { opened, err = open(context.Background()) })
		if err != nil {
			return nil, err
		}
		return &outsideStore{outside: o, store: opened}, nil
	}
}

// outsideStore is a store that is outside, but for its clock, which is the
// bubble's.
type outsideStore struct {
	outside *Outside
	store   store.Store
}

// ended is a context that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// during runs a call. A context of the bubble can't go outside; one that ends
// meanwhile has ended too late.
func (s *outsideStore) during(ctx context.Context, call func(context.Context)) {
	there := context.Background()
	if ctx.Err() != nil {
		there = ended
	}
	s.outside.run(func() { call(there) })
}

func (s *outsideStore) Load(ctx context.Context, key store.Key) (found store.Snapshot, err error) {
	s.during(ctx, func(ctx context.Context) { found, err = s.store.Load(ctx, key) })
	return found, err
}

func (s *outsideStore) Commit(ctx context.Context, write store.Write) (result store.Result, err error) {
	s.during(ctx, func(ctx context.Context) { result, err = s.store.Commit(ctx, write) })
	return result, err
}

func (s *outsideStore) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) (claimed []store.Timer, err error) {
	s.during(ctx, func(ctx context.Context) { claimed, err = s.store.Claim(ctx, now, limit, hold, bots...) })
	return claimed, err
}

func (s *outsideStore) Due(ctx context.Context, until turn.Time, limit int, bots ...string) (due []store.Timer, err error) {
	s.during(ctx, func(ctx context.Context) { due, err = s.store.Due(ctx, until, limit, bots...) })
	return due, err
}

func (s *outsideStore) Entries(ctx context.Context, key store.Key, query store.EntryQuery) (entries []store.Entry, more bool, err error) {
	s.during(ctx, func(ctx context.Context) { entries, more, err = s.store.Entries(ctx, key, query) })
	return entries, more, err
}

func (s *outsideStore) List(ctx context.Context, query store.ListQuery) (page store.Page, err error) {
	s.during(ctx, func(ctx context.Context) { page, err = s.store.List(ctx, query) })
	return page, err
}

func (s *outsideStore) Sweep(ctx context.Context, cursor string, limit int) (found []store.Found, next string, err error) {
	s.during(ctx, func(ctx context.Context) { found, next, err = s.store.Sweep(ctx, cursor, limit) })
	return found, next, err
}

func (s *outsideStore) Delete(ctx context.Context, key store.Key) (err error) {
	s.during(ctx, func(ctx context.Context) { err = s.store.Delete(ctx, key) })
	return err
}

func (s *outsideStore) Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (removed int, err error) {
	s.during(ctx, func(ctx context.Context) { removed, err = s.store.Expire(ctx, entriesBefore, idsBefore, limit) })
	return removed, err
}

func (s *outsideStore) Now(ctx context.Context) (turn.Time, error) {
	return turn.At(time.Now()), ctx.Err()
}

func (s *outsideStore) Guarantees() store.Guarantees { return s.store.Guarantees() }

func (s *outsideStore) Close() (err error) {
	s.outside.run(func() { err = s.store.Close() })
	return err
}

package storetest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// faulty is a memory store of which some calls are replaced.
type faulty struct {
	*memory.Store
	mu     sync.Mutex
	commit func(context.Context, store.Write) (store.Result, error)
	load   func(context.Context, store.Key) (store.Snapshot, error)
	claim  func(context.Context, turn.Time, int, time.Duration, ...string) ([]store.Timer, error)
	due    func(context.Context, turn.Time, int, ...string) ([]store.Timer, error)
	query  func(context.Context, store.Key, store.EntryQuery) ([]store.Entry, bool, error)
	list   func(context.Context, store.ListQuery) (store.Page, error)
	sweep  func(context.Context, string, int) ([]store.Found, string, error)
	remove func(context.Context, store.Key) error
	expire func(context.Context, turn.Time, turn.Time, int) (int, error)
	close  func() error
	reopen func() // what a restart does; nil: the store does not claim to be durable
}

func newFaulty(put func(*faulty)) *faulty {
	m := memory.New()
	f := &faulty{
		Store: m, commit: m.Commit, load: m.Load, claim: m.Claim, due: m.Due, query: m.Entries,
		list: m.List, sweep: m.Sweep, remove: m.Delete, expire: m.Expire, close: m.Close,
	}
	put(f)
	return f
}

func (f *faulty) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	return f.commit(ctx, w)
}

func (f *faulty) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	return f.load(ctx, key)
}

func (f *faulty) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	return f.claim(ctx, now, limit, hold, bots...)
}

func (f *faulty) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	return f.due(ctx, until, limit, bots...)
}

func (f *faulty) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	return f.query(ctx, key, q)
}

func (f *faulty) List(ctx context.Context, q store.ListQuery) (store.Page, error) {
	return f.list(ctx, q)
}

func (f *faulty) Sweep(ctx context.Context, cursor string, limit int) ([]store.Found, string, error) {
	return f.sweep(ctx, cursor, limit)
}

func (f *faulty) Delete(ctx context.Context, key store.Key) error { return f.remove(ctx, key) }

func (f *faulty) Expire(ctx context.Context, entries, ids turn.Time, limit int) (int, error) {
	return f.expire(ctx, entries, ids, limit)
}

func (f *faulty) Close() error { return f.close() }

func (f *faulty) Guarantees() store.Guarantees {
	guarantees := f.Store.Guarantees()
	guarantees.Durable = f.reopen != nil
	return guarantees
}

// restartable makes a store that keeps what it holds when it is closed, and
// takes no writes until it is opened again. Commit runs under the mutex.
func restartable(commit func(f *faulty, closed bool, w store.Write) (store.Result, error)) func(*faulty) {
	return func(f *faulty) {
		closed := false
		setClosed := func(now bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			closed = now
		}
		f.close = func() error { setClosed(true); return nil }
		f.reopen = func() { setClosed(false) }
		f.commit = func(_ context.Context, w store.Write) (store.Result, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return commit(f, closed, w)
		}
	}
}

// commitUnlessClosed is what a restartable store should do.
func commitUnlessClosed(f *faulty, closed bool, w store.Write) (store.Result, error) {
	if closed {
		return store.Result{}, errors.Join(store.ErrClosed, store.ErrNotApplied)
	}
	return f.Store.Commit(context.Background(), w)
}

// beforeCommit changes each write on its way into the store.
func beforeCommit(change func(*faulty, *store.Write)) func(*faulty) {
	return func(f *faulty) {
		f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
			change(f, &w)
			return f.Store.Commit(ctx, w)
		}
	}
}

// afterConflict changes the answer to each write that conflicts.
func afterConflict(change func(*faulty, store.Write, *store.Result)) func(*faulty) {
	return func(f *faulty) {
		f.commit = func(ctx context.Context, w store.Write) (store.Result, error) {
			result, err := f.Store.Commit(ctx, w)
			if result.Status == store.Conflict {
				change(f, w, &result)
			}
			return result, err
		}
	}
}

// expectWhatIsThere lets a write replace whatever is there.
func expectWhatIsThere(f *faulty, w *store.Write) {
	if there, err := f.Store.Load(context.Background(), w.Key); err == nil {
		w.Expect = there.Op
	}
}

// meetOnce returns a function in which the first caller waits for the second,
// so that a race between two of them happens every time.
func meetOnce() func() {
	var calls atomic.Int64
	met := make(chan struct{})
	return func() {
		switch calls.Add(1) {
		case 1:
			<-met
		case 2:
			close(met)
		}
	}
}

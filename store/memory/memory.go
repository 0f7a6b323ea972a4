// Package memory is a store that keeps conversations in maps under one mutex.
//
// It is for tests and for trying things out: everything is gone when the
// process ends. Its second job is to be the oracle, the store that is plain
// enough to be believed, against which package storetest compares all others.
// So it prefers the obvious to the fast wherever the two differ.
//
// Several engines in one process may share one Store; that is how tests play
// several nodes. Its clock is time.Now, which is virtual in a
// testing/synctest bubble. The package must never import the engine, a
// responder or a channel.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Store is a [store.Store] in memory. Make one with [New]; it must not be
// copied. All methods may be called from many goroutines at once.
//
// One mutex guards everything. Each method takes it in enter, holds it until it
// returns, and waits for nothing else meanwhile, so each call is one atomic step.
// So a commit races with nothing, and a read is never stale when it is made.
//
// Values are copied on their way in and on their way out (copy.go). A caller that
// changes a slice after the call therefore changes nothing that is stored, just as
// with a store that writes bytes.
type Store struct {
	mu            sync.Mutex
	closed        bool
	conversations map[store.Key]*conversation
	timers        timers
	order         []store.Key // all keys in order; nil when it has to be made anew
}

var _ store.Store = (*Store)(nil)

// conversation is all that is stored of one, but for its timer, which has a
// namespace of its own. It exists from the first write until it is deleted or
// expires, so its op is never zero while it is in the map.
//
// lastSeq is kept apart from entries because retention may remove the last entry:
// a sequence that was given out is not given out again. ids outlives the entries
// for the same reason: a message that a provider delivers again must be recognized
// after its text is gone.
type conversation struct {
	record  turn.Record
	log     store.Log
	op      store.Op
	active  turn.Time            // when it was last written
	entries []entry              // by rising sequence
	lastSeq int64                // greatest sequence ever appended
	ids     map[string]turn.Time // claimed message ids, and when they were claimed
}

// New returns an empty store.
func New() *Store {
	return &Store{
		conversations: make(map[store.Key]*conversation),
		timers:        newTimers(),
	}
}

// Load implements [store.Store]. A conversation that is not there gives the zero
// Snapshot, whose zero Op the first write expects.
func (s *Store) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if err := s.enter(ctx); err != nil {
		return store.Snapshot{}, fmt.Errorf("memory: load %v: %w", key, err)
	}
	defer s.mu.Unlock()
	c := s.conversations[key]
	if c == nil {
		return store.Snapshot{}, nil
	}
	return c.snapshot(key)
}

// Delete implements [store.Store]. The timer goes too: each timer belongs to a
// conversation that exists, and Claim relies on that.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("memory: delete %v: %w", key, err)
	}
	defer s.mu.Unlock()
	s.remove(key)
	return nil
}

// Now implements [store.Store]. It is the clock of this process, which is one clock
// for all nodes, since all that share the store are in this process.
func (s *Store) Now(ctx context.Context) (turn.Time, error) {
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("memory: read the clock: %w", err)
	}
	defer s.mu.Unlock()
	return turn.At(time.Now()), nil
}

// Guarantees implements [store.Store]. The store is not Exclusive: several engines of
// a test share it, and a lease that one of them holds must be respected.
func (s *Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Name: "memory",
		Note: "everything is lost when the process ends",
	}
}

// Close implements [store.Store]. All that was stored is gone. Later calls fail with
// [store.ErrClosed], and another Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.conversations, s.order, s.timers = nil, nil, newTimers()
	return nil
}

// enter locks the store for one call. A context that has ended, or a store that was
// closed, is an error, and then the lock is not held: the caller unlocks only where
// enter returned nil.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

// remove removes a conversation, its timer and the kept order of keys, which must
// always change together. The caller holds the lock.
func (s *Store) remove(key store.Key) {
	delete(s.conversations, key)
	s.timers.clear(key)
	s.order = nil
}

// snapshot returns a copy of the record, or refuses one that is too new. The check is
// the same in every store: a program that is older than the record must not decide
// on fields that it does not know.
func (c *conversation) snapshot(key store.Key) (store.Snapshot, error) {
	if err := store.CheckRecord(key, c.record); err != nil {
		return store.Snapshot{}, fmt.Errorf("memory: %w", err)
	}
	return store.Snapshot{Record: copyRecord(c.record), Log: copyLog(c.log), Op: c.op}, nil
}

package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// shardCount makes sure that all nodes spread the conversations over the same number
// of shards. Otherwise no node would find what another one writes.
//
// The number is kept in the key "meta" and fixed by the first node that starts. A
// server that loses its data loses the number too, and the next node that starts fixes
// it anew, perhaps with another one, while nodes that were open all the time go on with
// theirs. Data is lost in restarts and fail-overs, and these end connections. So a node
// reads the number again after each new connection, and writes it where it is gone:
// before a call begins, and once more before a write is acknowledged, since the write
// may have gone out over the new connection. If the number is another one, every call
// of this node fails from then on, and the error says what to do.
type shardCount struct {
	dials atomic.Uint64         // connections made so far
	seen  atomic.Uint64         // dials when the number was last read
	wrong atomic.Pointer[error] // set once another number was found

	asking    chan struct{} // a lock that a context can end: one call reads the number at a time
	questions sync.WaitGroup

	// Guarded by asking. A cluster that did not answer is asked again later.
	failed uint64    // dials when it last did not answer
	soon   time.Time // when to ask again if there were new connections since
	next   time.Time // when to ask again if there were none
}

// lock waits until no other call reads the number.
func (s *shardCount) lock(ctx context.Context) error {
	select {
	case s.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryLock takes the lock if it is free. If it is not, another call reads the number already,
// and the caller need not wait for it.
func (s *shardCount) tryLock() bool {
	select {
	case s.asking <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *shardCount) unlock() { <-s.asking }

// open reports whether the number has to be read again: a connection was made since.
func (s *shardCount) open() bool { return s.dials.Load() != s.seen.Load() && s.wrong.Load() == nil }

// checkShardCount reads the number again if a connection was made since it was last
// read. Written says that a write is waiting to be acknowledged.
func (s *Store) checkShardCount(ctx context.Context, written bool) error {
	if s.shardCount.open() {
		if s.client.Mode() == rueidis.ClientModeCluster {
			if err := s.askCluster(ctx, written); err != nil {
				return err
			}
		} else if err := s.ask(ctx); err != nil {
			return err
		}
	}
	if err := s.shardCount.wrong.Load(); err != nil {
		return *err
	}
	return nil
}

// The times of questions to a cluster. One that did not answer is asked again after 5 s,
// or after 1 s if new connections were made since.
const (
	clusterAnswers = time.Second // within
	clusterRests   = 5 * time.Second
)

// askCluster reads the number from a cluster. The server that has it may be down, which
// must not stop calls to the others, since a cluster does not lose all its data at once.
// So one call asks, and the others begin meanwhile; but a write is acknowledged only
// after an answer, or while it is not yet time to ask again. The answer is for all
// calls, so the question outlives the call that asks.
func (s *Store) askCluster(ctx context.Context, written bool) error {
	if written {
		if err := s.shardCount.lock(ctx); err != nil {
			return err
		}
	} else if !s.shardCount.tryLock() {
		return nil
	}
	if !s.shardCount.due() {
		s.shardCount.unlock()
		return nil
	}
	known := make(chan struct{})
	s.shardCount.questions.Go(func() {
		defer close(known)
		defer s.shardCount.unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clusterAnswers)
		defer cancel()
		if s.askOnce(ctx) != nil {
			now := time.Now()
			// To ask may have taken a connection too.
			s.shardCount.failed, s.shardCount.soon, s.shardCount.next = s.shardCount.dials.Load(), now.Add(clusterAnswers), now.Add(clusterRests)
		}
	})
	select {
	case <-known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// due reports whether to ask a cluster now. A server that was stopped (SIGSTOP) still
// accepts connections and answers none of them, so a new connection alone is no reason
// to ask each time.
func (s *shardCount) due() bool {
	after := s.next
	if s.dials.Load() != s.failed {
		after = s.soon
	}
	return s.open() && !time.Now().Before(after)
}

// ask reads the number from a single server. One call asks, and those that waited for it
// find the answer. It repeats while the question itself took a new connection. Its failure
// fails the call: without that server no call can succeed anyway.
func (s *Store) ask(ctx context.Context) error {
	if err := s.shardCount.lock(ctx); err != nil {
		return err
	}
	defer s.shardCount.unlock()
	for s.shardCount.open() {
		if err := s.askOnce(ctx); err != nil {
			return err
		}
	}
	return nil
}

// askOnce reads the number, or writes it where it is gone, unless the store is for reading
// only. It notes the count of connections from before the question: one that is made
// meanwhile asks for another look. Another number than this node's is kept as the error
// of all later calls.
func (s *Store) askOnce(ctx context.Context) error {
	dials := s.shardCount.dials.Load()
	found, err := fixShardCount(ctx, s.client, s.scripts.create, Options{Prefix: s.shards.prefix, Shards: s.shards.count, ReadOnly: s.readOnly})
	switch {
	case found.count != 0 && found.count != s.shards.count:
		err = fmt.Errorf("the conversations there are spread over %d shards by now, and this node has %d: the server lost its data, "+
			"and another node began anew; set shards to the same number in the URL of every node, and restart this one", found.count, s.shards.count)
		s.shardCount.wrong.Store(&err)
	case err != nil:
		return fmt.Errorf("read the number of shards again: %w", err)
	}
	s.shardCount.seen.Store(dials)
	return nil
}

package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// spread watches that all nodes spread conversations over one number of shards. A
// server that lost its data has lost the number too, and the first node that starts
// there decides anew; a node that was open all the time would go on with its own,
// and neither would find what the other writes.
//
// Data is lost in restarts and fail-overs, which end connections. So what is
// remembered is looked at again after each new one, and written again where it is
// gone: before a call begins, and once more before a write is answered, which may
// have gone out over the new connection.
type spread struct {
	dials atomic.Uint64         // connections that were made
	seen  atomic.Uint64         // how many there had been when the number was last read
	wrong atomic.Pointer[error] // there is another number now

	asking    chan struct{} // of one place: whoever asks has it
	questions sync.WaitGroup

	failed uint64    // how many there had been when a cluster last did not answer
	soon   time.Time // when to ask it again, if there are more by then
	next   time.Time // when to ask it again if not
}

// lock waits until nobody else asks.
func (s *spread) lock(ctx context.Context) error {
	select {
	case s.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *spread) tryLock() bool {
	select {
	case s.asking <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *spread) unlock() { <-s.asking }

// open reports whether a connection was made since the number was last read.
func (s *spread) open() bool { return s.dials.Load() != s.seen.Load() && s.wrong.Load() == nil }

// agree reads the number again if a connection was made since. Written says that a
// write waits to be answered.
func (s *Store) agree(ctx context.Context, written bool) error {
	if s.spread.open() {
		if s.client.Mode() == rueidis.ClientModeCluster {
			if err := s.askCluster(ctx, written); err != nil {
				return err
			}
		} else if err := s.ask(ctx); err != nil {
			return err
		}
	}
	if err := s.spread.wrong.Load(); err != nil {
		return *err
	}
	return nil
}

const (
	clusterAnswers = time.Second // within
	clusterRests   = 5 * time.Second
)

// askCluster asks for one call at a time, and lets the others begin: the server that
// remembers the number may be down, which is no reason to stop the others. Not all
// of a cluster loses its data at once. While nothing new is connected to, that server
// is asked now and then; a write that was made meanwhile waits until it has answered.
//
// The answer is for all calls, so the question outlives the one that asks it.
func (s *Store) askCluster(ctx context.Context, written bool) error {
	if written {
		if err := s.spread.lock(ctx); err != nil {
			return err
		}
	} else if !s.spread.tryLock() {
		return nil
	}
	if !s.spread.due() {
		s.spread.unlock()
		return nil
	}
	known := make(chan struct{})
	s.spread.questions.Go(func() {
		defer close(known)
		defer s.spread.unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clusterAnswers)
		defer cancel()
		if s.askOnce(ctx) != nil {
			now := time.Now()
			// To ask may have taken a connection too.
			s.spread.failed, s.spread.soon, s.spread.next = s.spread.dials.Load(), now.Add(clusterAnswers), now.Add(clusterRests)
		}
	})
	select {
	case <-known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// due reports whether to ask a cluster now. A server that is stopped takes connections
// for ever, and answers none: new ones are no reason to ask all the time.
func (s *spread) due() bool {
	after := s.next
	if s.dials.Load() != s.failed {
		after = s.soon
	}
	return s.open() && !time.Now().Before(after)
}

func (s *Store) ask(ctx context.Context) error {
	if err := s.spread.lock(ctx); err != nil {
		return err
	}
	defer s.spread.unlock()
	for s.spread.open() {
		if err := s.askOnce(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) askOnce(ctx context.Context) error {
	dials := s.spread.dials.Load()
	found, err := settle(ctx, s.client, s.scripts.create, Options{Prefix: s.shards.prefix, Shards: s.shards.count, ReadOnly: s.looks})
	switch {
	case found.count != 0 && found.count != s.shards.count:
		err = fmt.Errorf("the conversations there are spread over %d shards by now, and this node has %d: the server lost its data, "+
			"and another node began anew; set shards to the same number in the URL of every node, and restart this one", found.count, s.shards.count)
		s.spread.wrong.Store(&err)
	case err != nil:
		return fmt.Errorf("read the number of shards again: %w", err)
	}
	s.spread.seen.Store(dials)
	return nil
}

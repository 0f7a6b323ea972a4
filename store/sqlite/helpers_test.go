package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/storewrites"
)

// The writes of most tests, and what was written.
var (
	key         = storewrites.Key
	opOf        = storewrites.Op
	message     = storewrites.Arrival
	mustCommit  = storewrites.MustCommit
	mustEntries = storewrites.MustEntries
)

type ops = storewrites.Ops

// start is the time of most writes.
const start = storewrites.Start

// openNew opens a store on a new file.
func openNew(t testing.TB) *Store {
	t.Helper()
	return openAt(t, newPath(t))
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "test.db") }

// openAt opens a store and closes it at the end of the test.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	return openWith(t, path, Options{})
}

func openWith(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { mustClose(t, s) })
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// waitLimit bounds what a test waits for: far more than a slow and busy machine needs.
const waitLimit = 2 * time.Minute

// hold stops the writer within a transaction until release is called, and
// returns once it stands.
func hold(t testing.TB, s *Store) (release func()) {
	t.Helper()
	standing, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.writer.queue.write(context.Background(), func(*connection) error {
			close(standing)
			<-goOn
			return nil
		})
	}()
	receive(t, standing, "the writer stands")
	return func() {
		t.Helper()
		close(goOn)
		if err := receive(t, done, "the end of the held transaction"); err != nil {
			t.Errorf("the held transaction: %v", err)
		}
	}
}

// awaitWaiting polls until so many writes wait.
func awaitWaiting(t testing.TB, s *Store, count int) {
	t.Helper()
	await(t, count, "writes wait", func() int {
		s.writer.queue.mu.Lock()
		defer s.writer.queue.mu.Unlock()
		return len(s.writer.queue.waiting)
	})
}

func await(t testing.TB, want int, what string, count func() int) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for got := count(); got != want; got = count() {
		if time.Now().After(deadline) {
			t.Fatalf("%d %s, want %d", got, what, want)
		}
		time.Sleep(time.Millisecond)
	}
}

// receive is the next value of a channel, which must come within waitLimit.
func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(waitLimit):
		t.Fatalf("after %v still not: %s", waitLimit, what)
		panic("unreachable")
	}
}

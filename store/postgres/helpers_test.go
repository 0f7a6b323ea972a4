package postgres

import (
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/storewrites"
	"github.com/onereply/onereply/internal/proof/testservers"
)

// The writes of most tests, and what was written.
var (
	key         = storewrites.Key
	opOf        = storewrites.Op
	message     = storewrites.Arrival
	mustCommit  = storewrites.MustCommit
	mustLoad    = storewrites.MustLoad
	mustEntries = storewrites.MustEntries
)

type ops = storewrites.Ops

// start is the time of most writes.
const start = storewrites.Start

// waitLimit bounds what a test waits for: far more than a slow and busy machine needs.
const waitLimit = 2 * time.Minute

// openNew opens a store on a new database.
func openNew(t testing.TB) *Store {
	t.Helper()
	return openAt(t, testservers.Postgres(t))
}

// openAt opens a store and closes it at the end of the test.
func openAt(t testing.TB, url string) *Store {
	t.Helper()
	return openWith(t, url, Options{})
}

func openWith(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
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

// sql runs a statement beside the store.
func sql(t testing.TB, s *Store, statement string, arguments ...any) {
	t.Helper()
	if err := s.queryEach(t.Context(), statement, arguments, nil); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// read runs a query that gives one value.
func read[T any](t testing.TB, s *Store, query string, arguments ...any) T {
	t.Helper()
	var value T
	if err := s.queryOne(t.Context(), query, arguments, &value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// poll tries until it is true, with a deadline.
func poll(t testing.TB, what string, try func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(waitLimit); !try(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", waitLimit, what)
		}
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

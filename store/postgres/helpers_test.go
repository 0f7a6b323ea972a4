package postgres

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// start is the time of most writes: 15 June 2025, 15:06:40 UTC.
const start turn.Time = 1_750_000_000_000

// waitLimit bounds what a test waits for.
const waitLimit = 30 * time.Second

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

func key(conversation string) store.Key {
	return store.Key{Bot: "support", Conversation: conversation}
}

// opOf is a different Op for each number but 0.
func opOf(number uint64) store.Op {
	var op store.Op
	binary.BigEndian.PutUint64(op[8:], number)
	return op
}

// ops hands out Ops.
type ops struct{ last atomic.Uint64 }

func (o *ops) next() store.Op { return opOf(o.last.Add(1)) }

// message is the write of an arrival: the record replaced, a message appended,
// its id claimed, the timer moved.
func message(key store.Key, expect, op store.Op, seq int64) store.Write {
	return store.Write{
		Key: key, Expect: expect, Op: op, At: start,
		Record: turn.Record{
			Schema:  turn.Schema,
			Phase:   turn.Collecting,
			Version: seq,
			Pending: int(seq),
			Turn:    1,
			Window:  turn.Window{WaitingSince: start, Start: start, QuietUntil: start + 1500, Due: start + 1500},
			Seq:     seq,
		},
		Timer: start + 1500 + turn.Time(seq),
		Append: []store.Entry{{
			Seq: seq, Kind: store.Message, ID: fmt.Sprintf("m%d", seq), Status: turn.InputPending, At: start, Version: seq,
			Body: store.Body{
				Text:   "Hello, where is my order 4711? It should have come on Monday.",
				Sender: store.Sender{ID: "u1", Name: "Ann"}, SentAt: start - 200,
			},
		}},
	}
}

func mustCommit(t testing.TB, s store.Store, write store.Write) {
	t.Helper()
	result, err := s.Commit(t.Context(), write)
	if err != nil || result.Status != store.OK {
		t.Fatalf("Commit %v: got %v, %v; want ok", write.Key, result.Status, err)
	}
}

func mustLoad(t testing.TB, s store.Store, key store.Key) store.Snapshot {
	t.Helper()
	snapshot, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return snapshot
}

func mustEntries(t testing.TB, s store.Store, key store.Key) []store.Entry {
	t.Helper()
	entries, err := s.Entries(t.Context(), key, store.EntryQuery{})
	if err != nil {
		t.Fatalf("Entries: %v", err)
	}
	return entries
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

package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// start is the time of most writes: 15 June 2025, 15:06:40 UTC.
const start turn.Time = 1_750_000_000_000

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

func mustEntries(t testing.TB, s store.Store, key store.Key) []store.Entry {
	t.Helper()
	entries, err := s.Entries(t.Context(), key, store.EntryQuery{})
	if err != nil {
		t.Fatalf("Entries: %v", err)
	}
	return entries
}

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
	<-standing
	return func() {
		t.Helper()
		close(goOn)
		if err := <-done; err != nil {
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
	deadline := time.Now().Add(30 * time.Second)
	for got := count(); got != want; got = count() {
		if time.Now().After(deadline) {
			t.Fatalf("%d %s, want %d", got, what, want)
		}
		time.Sleep(time.Millisecond)
	}
}

package redis

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/onereply/onereply/internal/proof/storewrites"
	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// durable are the settings under which nothing that was acknowledged is lost.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// The names of most writes, and what was written.
var (
	key      = storewrites.Key
	mustLoad = storewrites.MustLoad
)

type ops = storewrites.Ops

// start is the time of the first writes.
const start = storewrites.Start

// forever is later than any timer of the tests.
const forever = turn.Time(1 << 52)

func newPrefix() string { return rand.Text() }

// openNew opens an empty store on a server that other tests may use too.
func openNew(t testing.TB, server *testservers.RedisServer) *Store {
	t.Helper()
	return openWith(t, server.URL(), Options{Prefix: newPrefix()})
}

// reopen opens the data of a store, as another process would.
func reopen(t testing.TB, server *testservers.RedisServer, s store.Store) *Store {
	t.Helper()
	return openWith(t, server.URL(), Options{Prefix: s.(*Store).shards.prefix})
}

func openWith(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// message is an arrival: the record replaced, one message appended, the timer
// moved.
func message(key store.Key, expect, op store.Op, seq int64) store.Write {
	at := start + turn.Time(seq)
	return store.Write{
		Key: key, Expect: expect, Op: op, At: at, Timer: at + 1500,
		Record: turn.Record{
			Schema:  turn.Schema,
			Phase:   turn.Collecting,
			Version: seq,
			Seq:     seq,
			Pending: 1,
			Window:  turn.Window{WaitingSince: at, Start: at, QuietUntil: at + 1500, Due: at + 1500},
		},
		Append: []store.Entry{{
			Seq: seq, Kind: store.Message, ID: fmt.Sprintf("m%d", seq), Status: turn.InputPending, At: at, Version: seq,
			Body: store.Body{Text: "Hello, is anybody there? I have a question about my order.", Sender: store.Sender{ID: "u1", Name: "Ada"}},
		}},
	}
}

func mustCommit(t testing.TB, s *Store, write store.Write) store.Op {
	t.Helper()
	result, err := s.Commit(t.Context(), write)
	if err != nil || result.Status != store.OK {
		t.Fatalf("Commit %v: %v, %v", write.Key, result.Status, err)
	}
	return write.Op
}

func mustEntries(t testing.TB, s *Store, key store.Key, query store.EntryQuery) []store.Entry {
	t.Helper()
	entries, _, err := s.Entries(t.Context(), key, query)
	if err != nil {
		t.Fatalf("Entries %v: %v", key, err)
	}
	return entries
}

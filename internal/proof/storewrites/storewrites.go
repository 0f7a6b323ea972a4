// Package storewrites makes the writes with which the tests of several stores fill them: each
// is what the engine writes when a message arrives. Only tests import it, and it must never
// import a store but their contract.
package storewrites

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Start is the time of most writes: 15 June 2025, 15:06:40 UTC.
const Start turn.Time = 1_750_000_000_000

// Key is a conversation of the one bot.
func Key(conversation string) store.Key {
	return store.Key{Bot: "support", Conversation: conversation}
}

// Op is a different Op for each number but 0.
func Op(number uint64) store.Op {
	var op store.Op
	binary.BigEndian.PutUint64(op[8:], number)
	return op
}

// Ops hands out Ops.
type Ops struct{ last atomic.Uint64 }

// Next is an Op that was not handed out before.
func (o *Ops) Next() store.Op { return Op(o.last.Add(1)) }

// Arrival is the write of an arrival: the record replaced, a message appended, its id
// claimed, the timer moved.
func Arrival(key store.Key, expect, op store.Op, seq int64) store.Write {
	return store.Write{
		Key: key, Expect: expect, Op: op, At: Start,
		Record: turn.Record{
			Schema:  turn.Schema,
			Phase:   turn.Collecting,
			Version: seq,
			Pending: int(seq),
			Turn:    1,
			Window:  turn.Window{WaitingSince: Start, Start: Start, QuietUntil: Start + 1500, Due: Start + 1500},
			Seq:     seq,
		},
		Timer: Start + 1500 + turn.Time(seq),
		Append: []store.Entry{{
			Seq: seq, Kind: store.Message, ID: fmt.Sprintf("m%d", seq), Status: turn.InputPending, At: Start, Version: seq,
			Body: store.Body{
				Text:   "Hello, where is my order 4711? It should have come on Monday.",
				Sender: store.Sender{ID: "u1", Name: "Ann"}, SentAt: Start - 200,
			},
		}},
	}
}

// MustCommit makes a write that is applied.
func MustCommit(t testing.TB, s store.Store, write store.Write) {
	t.Helper()
	result, err := s.Commit(t.Context(), write)
	if err != nil || result.Status != store.OK {
		t.Fatalf("Commit %v: got %v, %v; want ok", write.Key, result.Status, err)
	}
}

// MustLoad is the record of a conversation.
func MustLoad(t testing.TB, s store.Store, key store.Key) store.Snapshot {
	t.Helper()
	snapshot, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatalf("Load %v: %v", key, err)
	}
	return snapshot
}

// MustEntries is the whole transcript of a conversation.
func MustEntries(t testing.TB, s store.Store, key store.Key) []store.Entry {
	t.Helper()
	entries, _, err := s.Entries(t.Context(), key, store.EntryQuery{})
	if err != nil {
		t.Fatalf("Entries %v: %v", key, err)
	}
	return entries
}

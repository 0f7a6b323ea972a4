package engine_test

import (
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// benchNode answers a node's reads and writes at once, as a store does that has
// everything and never fails.
type benchNode struct {
	*engine.Node
	now turn.Time
}

func newBenchNode() *benchNode {
	var count uint64
	return &benchNode{now: 1_750_000_000_000, Node: engine.New(engine.Options{
		Name: "a", MaxGenerations: 1, Random: func() uint64 { return 0 },
		Bots: map[string]engine.Bot{"bench": {Policy: turn.Policy{
			Debounce: time.Hour, MaxWait: time.Hour, OnNewInput: turn.Interrupt, Lease: time.Minute, MaxAttempts: 1,
		}}},
		NewOp: func() (op store.Op) {
			count++
			binary.BigEndian.PutUint64(op[8:], count)
			return op
		},
	})}
}

// receive has a message accepted, and reports whether it was.
func (n *benchNode) receive(conversation, id string) (accepted bool) {
	n.Submit(n.now, &engine.Request{
		Key: store.Key{Bot: "bench", Conversation: conversation}, ID: id, Body: store.Body{Text: "hello"},
	})
	for outputs := n.Take(); len(outputs) > 0; outputs = n.Take() {
		for _, output := range outputs {
			switch o := output.(type) {
			case engine.Load:
				n.Loaded(n.now, engine.LoadResult{Key: o.Key})
			case engine.Commit:
				n.Committed(n.now, o.Write.Key, store.Result{}, nil)
			case engine.Answer:
				accepted = o.Result.Outcome == turn.Queued
			}
		}
	}
	return accepted
}

// BenchmarkInput measures what the engine and the core do for one message, in a
// thousand conversations that wait.
func BenchmarkInput(b *testing.B) {
	var names []string
	for i := range 1000 {
		names = append(names, "chat-"+strconv.Itoa(i))
	}
	n := newBenchNode()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%(1000*1000) == 0 {
			n = newBenchNode() // before too many wait in each
		}
		if !n.receive(names[i%1000], strconv.Itoa(i)) {
			b.Fatal("a message was not accepted")
		}
	}
}

// TestAllocationsOfAnInput guards a count that does not depend on the machine.
func TestAllocationsOfAnInput(t *testing.T) {
	n := newBenchNode()
	n.receive("a", "first")
	i := 0
	allocations := testing.AllocsPerRun(100, func() {
		i++
		if !n.receive("a", strconv.Itoa(i)) {
			t.Fatal("a message was not accepted")
		}
	})
	t.Logf("allocations: %v", allocations)
	if allocations > 16 {
		t.Errorf("an input takes %v allocations, want at most 16", allocations)
	}
}

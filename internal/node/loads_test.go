package node

import (
	"fmt"
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
)

func readOf(i int) engine.Load {
	return engine.Load{Key: store.Key{Bot: "a", Conversation: fmt.Sprint(i)}}
}

func TestReadsAreBoundedAndInOrder(t *testing.T) {
	var r loads
	started := 0
	for i := range 1000 {
		if r.add(readOf(i)) {
			started++
		}
	}
	if started != maxLoads {
		t.Errorf("%d goroutines were started, want %d", started, maxLoads)
	}
	for i := range 1000 {
		if got, ok := r.next(); !ok || got.Key != readOf(i).Key {
			t.Fatalf("read %d: got %v, %v", i, got.Key, ok)
		}
	}
	for range started {
		if _, ok := r.next(); ok {
			t.Fatal("there was one more")
		}
	}
	if !r.add(readOf(1)) {
		t.Error("nobody is told to read although all goroutines have ended")
	}
}

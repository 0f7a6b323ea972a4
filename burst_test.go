package onereply_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// A burst that reaches one node is everybody's work: no node does more than half
// of it, and while one is full the others are not idle.
func TestABurstIsSharedByTheNodes(t *testing.T) {
	for _, model := range []time.Duration{50 * time.Millisecond, time.Second, 8 * time.Second} {
		t.Run(fmt.Sprint("a model of ", model), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { shareABurst(t, model) })
		})
	}
}

func shareABurst(t *testing.T, model time.Duration) {
	const nodes, places, burst = 3, 4, 240
	shared := memory.New()
	defer shared.Close()
	var mu sync.Mutex
	did := map[string]int{}
	var last time.Time
	var all []*onereply.App
	for i := range nodes {
		name := fmt.Sprintf("node%d", i+1)
		responder := onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
			<-time.After(model)
			mu.Lock()
			defer mu.Unlock()
			did[name]++
			last = time.Now()
			return onereply.Reply{Text: "hello"}, nil
		})
		app, err := onereply.Open(t.Context(), shared, onereply.Options{
			Node: name, MaxGenerations: places, Logger: slog.New(slog.DiscardHandler),
		}, onereply.Bot{Name: "bot", Responder: responder})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		all = append(all, app)
	}
	for i := range burst {
		if _, err := all[0].Receive(t.Context(), "bot", fmt.Sprint(i), onereply.Message{ID: "m", Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	due := time.Now().Add(1500 * time.Millisecond)
	rest(burst*model/places + time.Minute)
	t.Logf("%v, after %v; at best %v", did, last.Sub(due), burst*model/(nodes*places))
	for name, n := range did {
		if n > burst/2 {
			t.Errorf("%s ran %d of %d", name, n, burst)
		}
	}
	if got := did["node1"] + did["node2"] + did["node3"]; got != burst {
		t.Errorf("%d attempts, want %d", got, burst)
	}
	if took, best := last.Sub(due), burst*model/(nodes*places); took > best*5/4+2*time.Second {
		t.Errorf("it took %v, at best %v: a node was idle", took, best)
	}
}

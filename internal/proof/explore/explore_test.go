package explore

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestScopes explores Tiny. With ONEREPLY_EXPLORE=stated or larger it explores
// these instead, as many scopes at once as there are processors.
func TestScopes(t *testing.T) {
	scopes := Tiny()
	switch name := os.Getenv("ONEREPLY_EXPLORE"); name {
	case "stated":
		scopes = Stated()
	case "larger":
		scopes = Larger()
	case "":
	default:
		t.Fatalf("ONEREPLY_EXPLORE must be stated, larger or empty, and is %q", name)
	}
	var states, transitions, depth int
	began := time.Now()
	for i, done := range exploreAll(t, scopes) {
		result := <-done
		t.Log(result.report)
		if result.err != nil {
			t.Errorf("%s: %v", scopes[i].Name, result.err)
		}
		states, transitions = states+result.report.States, transitions+result.report.Transitions
		depth = max(depth, result.report.Depth)
	}
	t.Logf("%d scopes explored to the end: %d states, %d transitions, depth %d, %v",
		len(scopes), states, transitions, depth, time.Since(began).Round(time.Second))
}

type explored struct {
	report Report
	err    error
}

// exploreAll gives the result of each scope, in order.
func exploreAll(t *testing.T, scopes []Scope) []chan explored {
	results := make([]chan explored, len(scopes))
	for i := range results {
		results[i] = make(chan explored, 1)
	}
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				report, err := Run(t.Context(), scopes[i], nil)
				results[i] <- explored{report, err}
			}
		})
	}
	group.Go(func() {
		defer close(next)
		for i := range scopes {
			next <- i
		}
	})
	t.Cleanup(group.Wait)
	return results
}

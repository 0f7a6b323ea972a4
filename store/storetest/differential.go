package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
)

// Effort is how much a differential test does. The zero Effort is right for
// every day.
type Effort struct {
	Seed  uint64 // of the first run; 0 draws one, which is printed if a run fails
	Runs  int    // each on a store of its own; 0 means 10
	Steps int    // calls in a run; 0 means 200
}

// Differential runs random calls through a store and through store/memory, and
// compares every answer and, at the end of each run, all contents. A sequence
// of calls that fails is cut down to one from which no call can be left out,
// and printed one call a line, with the seed that leads to it. Now and then the
// answer to a write is lost, and loading must show whether it was applied. It
// fails where one of the outcomes of a write was never met.
func Differential(t *testing.T, open func(t *testing.T) store.Store, effort Effort) {
	if effort.Seed == 0 {
		effort.Seed = rand.Uint64()
	}
	if effort.Runs == 0 {
		effort.Runs = 10
	}
	if effort.Steps == 0 {
		effort.Steps = 200
	}
	met := &outcomes{}
	play := func(calls []call) outcome {
		p := &pair{ctx: t.Context(), subject: open(t), oracle: memory.New(), outcomes: met}
		return p.play(calls)
	}
	for run := range effort.Runs {
		seed := effort.Seed + uint64(run)
		calls := drawCalls(rand.New(rand.NewPCG(seed, 0)), effort.Steps)
		if result := play(calls); result.mismatch != "" {
			result = shortest(play, calls[:result.failedAt])
			t.Fatalf("seed %d: after these calls\n%s\n%s\n(\"want\" is what store/memory answers; times are after %d)",
				seed, strings.Join(result.history, "\n"), result.mismatch, start)
		}
	}
	if missed := met.missed(); len(missed) > 0 {
		t.Errorf("seed %d: outcomes of writes: %v; never met: %v", effort.Seed, met, missed)
	}
}

// outcome is the result of a sequence of calls.
type outcome struct {
	history  []string // a line for each call, for people
	mismatch string   // the first difference; "" if there was none
	failedAt int      // how many calls it took
}

// maxReplays bounds the search for the shortest failing sequence.
const maxReplays = 500

// shortest leaves out calls, many at a time and then fewer, as long as the rest
// still fails, and returns the outcome of what remains.
func shortest(play func([]call) outcome, calls []call) outcome {
	best := play(calls)
	replays := 0
	for size := len(calls) / 2; size > 0; size /= 2 {
		for from := 0; from < len(calls) && replays < maxReplays; replays++ {
			fewer := slices.Delete(slices.Clone(calls), from, min(from+size, len(calls)))
			if result := play(fewer); result.mismatch != "" {
				best, calls = result, fewer[:result.failedAt]
			} else {
				from += size
			}
		}
	}
	if best.mismatch == "" {
		best.mismatch = fmt.Sprintf("the %d calls failed once and not again: the store depends on more than its calls", len(calls))
	}
	return best
}

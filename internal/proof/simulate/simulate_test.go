package simulate

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// runs is how many runs TestPromise makes: ONEREPLY_RUNS, or 1000.
func runs(t *testing.T) int {
	text, ok := os.LookupEnv("ONEREPLY_RUNS")
	if !ok {
		return 1000
	}
	count, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("ONEREPLY_RUNS must be a number: %v", err)
	}
	return count
}

// The promise holds under every fault, and with enough runs every kind of
// fault has really happened.
func TestPromise(t *testing.T) {
	count := runs(t)
	r, err := Run(t.Context(), Options{Seed: 1, Runs: count})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	for _, fault := range r.Faults {
		if fault.Count == 0 && count >= 1000 {
			t.Errorf("%s never happened in %d runs", fault.Fault, r.Runs)
		}
	}
	t.Logf("%+v", r)
}

// Two runs with one seed are the same, byte for byte.
func TestOneSeedOneTranscript(t *testing.T) {
	tell := func() string {
		var trace bytes.Buffer
		if _, err := Run(t.Context(), Options{Seed: 100, Runs: 50, Trace: &trace}); err != nil {
			t.Fatal(err)
		}
		return trace.String()
	}
	if first, second := tell(), tell(); first != second {
		t.Error("the same seeds gave two transcripts")
	}
}

// A plan without one of its events plays as before up to that event.
func TestDroppedEventChangesNothingBefore(t *testing.T) {
	plan := newPlan(3, Options{})
	last := len(plan.Events) - 1
	var whole, cut bytes.Buffer
	newWorld(plan, seededFault{}, &whole).play()
	newWorld(plan.with(plan.Events[:last]), seededFault{}, &cut).play()
	at := plan.Events[last].At
	if until(whole.String(), at.Seconds()) != until(cut.String(), at.Seconds()) {
		t.Error("dropping the last event changed what came before it")
	}
}

func until(transcript string, seconds float64) string {
	var kept []string
	for line := range strings.Lines(transcript) {
		if at := parseSeconds(line); at < seconds {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// A failing seed of a known fault is cut down to a few lines that a person can
// read.
func TestShrink(t *testing.T) {
	broken := func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		e = resultsNotFenced(&r, e, now, &p)
		return turn.Step(r, e, now, p)
	}
	report, err := Run(t.Context(), Options{Seed: 1, Runs: 2000, Step: engine.Step(broken)})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failure == nil {
		t.Fatal("results that are not fenced went unnoticed")
	}
	if report.Failure.Events >= 15 {
		t.Errorf("%d events are left, want fewer than 15", report.Failure.Events)
	}
	t.Log(report.Failure)
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := Run(t.Context(), Options{Faults: []string{"gremlins"}}); err == nil || !strings.Contains(err.Error(), "store-slow") {
		t.Errorf("an unknown fault gave %v, want an error that names those that exist", err)
	}
	if _, err := Run(t.Context(), Options{Nodes: 99}); err == nil {
		t.Error("99 nodes were accepted")
	}
}

func parseSeconds(line string) float64 {
	var at float64
	if _, err := fmt.Sscanf(line, "%f", &at); err != nil {
		return 0
	}
	return at
}

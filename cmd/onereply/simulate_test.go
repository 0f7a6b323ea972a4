package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSimulate(t *testing.T) {
	first := do(t, nil, "", "simulate", "--runs", "20", "--nodes", "2", "--quiet")
	first.expect(t, success, "the promise held", "")
	if second := do(t, nil, "", "simulate", "--runs", "20", "--nodes", "2", "--quiet"); first.stdout != second.stdout {
		t.Error("the same seed gave two reports")
	}
	do(t, nil, "", "simulate", "--runs", "2", "--faults", "none", "--trace", "--quiet").expect(t, success, "starts", "")
	do(t, nil, "", "simulate", "--runs", "2", "--faults", "crash, freeze", "--quiet").expect(t, success, "2 runs from seed 1", "")
	do(t, nil, "", "simulate", "--runs=-5").expect(t, failure, "", "runs must be 1 or more")
	do(t, nil, "", "simulate", "--faults", "gremlins", "--quiet").expect(t, failure, "", "there is no fault \"gremlins\"")
}

// Where nobody sees a bar move, progress is lines: the last one, and one each 15 seconds.
func TestSimulateProgressInALog(t *testing.T) {
	began := time.Now()
	r := do(t, nil, "", "simulate", "--runs", "100")
	most := 1 + int(time.Since(began)/(15*time.Second))
	if lines := strings.Count(r.stderr, "\n"); strings.Contains(r.stderr, "\r") || lines < 1 || lines > most || !strings.Contains(r.stderr, "100 of 100 runs") {
		t.Errorf("progress in a log is %q, want the last line, and %d at the most", r.stderr, most)
	}
}

func TestSimulateAsJSON(t *testing.T) {
	r := do(t, nil, "", "simulate", "--runs", "5", "--json")
	var report struct{ Runs int }
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || report.Runs != 5 {
		t.Errorf("got %q, %v; want a report of 5 runs", r.stdout, err)
	}
}

func TestSimulateProtocols(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "protocols.svg")
	r := do(t, nil, "", "simulate", "--protocol", "all", "--runs", "10", "--svg", svg)
	for _, name := range []string{"lock", "debounce", "lease", "early"} {
		r.expect(t, success, name, "")
	}
	picture, err := os.ReadFile(svg)
	if err != nil || !strings.HasPrefix(string(picture), "<svg") {
		t.Errorf("no picture: %v", err)
	}
	do(t, nil, "", "simulate", "--protocol", "hope").expect(t, failure, "", "there is no protocol \"hope\"")
}

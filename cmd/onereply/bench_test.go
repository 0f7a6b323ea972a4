package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/bench"
)

// TestBench runs one measurement with a process of its own, and prints it in
// both forms.
func TestBench(t *testing.T) {
	t.Setenv(asProgram, "1") // the process that is started is this test, as the program
	got := do(t, nil, "", "bench", "--quick", "--only", "takeover", "--folder", t.TempDir(), "--json")
	got.expect(t, success, "", "takeover, round 1 of 1")
	var report bench.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v in %s", err, got.stdout)
	}
	if len(report.Sections) != 1 || len(report.Sections[0].Rows) != 1 || report.Sections[0].Rows[0].Ratio == nil {
		t.Errorf("got %+v, want one figure with its limit", report)
	}
}

func TestBenchDraws(t *testing.T) {
	path := filepath.Join(t.TempDir(), "day.svg")
	got := do(t, nil, "", "bench", "--quick", "--only", "mixed", "--minutes", "0.1", "--folder", t.TempDir(), "--svg", path)
	got.expect(t, success, "last message to reply", "mixed")
	drawing, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(drawing), "<svg ") {
		t.Errorf("the drawing is %.20q, %v", drawing, err)
	}
	got = do(t, nil, "", "bench", "--quick", "--only", "cost", "--folder", t.TempDir(), "--svg", path)
	got.expect(t, failure, "writes", "the measurement mixed has some")
}

func TestBenchRefusesWrongOptions(t *testing.T) {
	do(t, nil, "", "bench", "--only", "speed,http", "--rounds=-1").expect(t, misuse, "", `no measurement "speed"`)
}

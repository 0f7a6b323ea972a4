package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/bench"
	"github.com/onereply/onereply/internal/proof/testservers"
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

// TestBenchOnServers measures on real servers, in databases and under prefixes
// of its own, and leaves nothing behind.
func TestBenchOnServers(t *testing.T) {
	t.Setenv(asProgram, "1")
	postgres, redis := testservers.NewPostgres(t).URL(t), testservers.NewRedis(t)
	measure := func(url, only string) result {
		return do(t, nil, "", "bench", "--quick", "--only", only, "--conversations", "200", "--folder", t.TempDir(), "--store", url)
	}
	measure(postgres, "nodes").expect(t, success, "3 nodes, messages to any", "nodes, round 1 of 1")
	measure(redis.URL(), "timers").expect(t, success, "size of each", "timers, round 1 of 1")
	measure(redis.URL(), "takeover").expect(t, success, "until the model runs again", "takeover, round 1 of 1")
	place, err := benchPlace(postgres)
	if err != nil {
		t.Fatal(err)
	}
	left, err := place.(benchPostgres).ask(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE 'onereply_bench%'")
	if err != nil || left != 0 {
		t.Errorf("%d databases are left, %v", left, err)
	}
	if keys, err := redis.Command("DBSIZE"); err != nil || strings.Trim(keys, ":\r\n ") != "0" {
		t.Errorf("keys are left: %q, %v", keys, err)
	}
}

func TestBenchRefusesWrongStores(t *testing.T) {
	for url, want := range map[string]string{
		"memory:":                        "can't be measured",
		"mysql://localhost/x":            "mysql",
		"postgres://u:secret@h:badport/": "can't be read",
	} {
		got := do(t, nil, "", "bench", "--quick", "--store", url)
		got.expect(t, misuse, "", want)
		if strings.Contains(got.stderr, "secret") {
			t.Errorf("the error shows the password: %s", got.stderr)
		}
	}
}

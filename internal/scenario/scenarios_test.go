package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// stories are where the file of scenarios may lie, seen from this package: the
// one that is kept up beside the repository, else the copy in it.
var stories = []string{filepath.Join("..", "..", "..", "shared", "scenarios.jsonl"), filepath.Join("testdata", "scenarios.jsonl")}

// mostConversations bounds the size of a story; ONEREPLY_SCENARIO_SCALE names
// another bound. A larger story proves the same, later.
const mostConversations = 1000

func scale(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ONEREPLY_SCENARIO_SCALE")
	if text == "" {
		return mostConversations
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 {
		t.Fatalf("ONEREPLY_SCENARIO_SCALE is %q; it must be a number of conversations", text)
	}
	return limit
}

func load(t *testing.T) []Scenario {
	t.Helper()
	path := os.Getenv("ONEREPLY_SCENARIOS")
	for _, story := range stories {
		if _, err := os.Stat(story); path == "" && err == nil {
			path = story
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return all
}

// TestScenarios plays every story on each stage that makes sense, and prints a
// table.
func TestScenarios(t *testing.T) {
	var table []string
	limit := scale(t)
	for _, s := range load(t) {
		s, reached := s.Scaled(limit)
		t.Run(s.ID, func(t *testing.T) {
			table = append(table, row(t, s, reached))
		})
	}
	t.Logf("\n%s", strings.Join(table, "\n"))
}

// row plays a story and tells how it ended.
func row(t *testing.T, s Scenario, reached int) string {
	t.Helper()
	line := func(stages, result string) string {
		return fmt.Sprintf("%-5s %-15s %-26s %s", s.ID, s.Class, stages, result)
	}
	if reason := s.NotApplicable(); reason != "" {
		return line("-", "not applicable yet: "+reason)
	}
	var played []string
	result := "passed"
	for _, stage := range s.Stages() {
		played = append(played, fmt.Sprintf("%s×%d", stage.Store, stage.Nodes))
		outcome := play(t, s, stage)
		if outcome.Note != "" && result == "passed" {
			result = "passed: " + outcome.Note
		}
		if len(outcome.Problems) > 0 {
			result = "FAILED"
			t.Errorf("%s on %s, %d nodes: %s\n  %s\n%s", s.ID, stage.Store, stage.Nodes, s.Title,
				strings.Join(outcome.Problems, "\n  "), strings.Join(outcome.Trace, "\n"))
		}
	}
	if reached > 0 {
		result += fmt.Sprintf(" (at a scale of %d conversations)", reached)
	}
	return line(strings.Join(played, " "), result)
}

func play(t *testing.T, s Scenario, stage Stage) (outcome Outcome) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onereply.db")
	synctest.Test(t, func(*testing.T) { outcome = Play(s, stage, path) })
	return outcome
}

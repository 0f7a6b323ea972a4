package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/postgres"
	"github.com/onereply/onereply/store/redis"
	"github.com/onereply/onereply/store/sqlite"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// stories are the repository's: collected faults of other bots, in
// scenarios*.jsonl, and our own.
var stories = filepath.Join("testdata", "*.jsonl")

// waiting are the stories that do not hold yet, by id, with what they wait for.
// One that holds on all stages must leave the list.
var waiting = map[string]string{}

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
	paths, err := filepath.Glob(stories)
	if err != nil {
		t.Fatal(err)
	}
	var all []Scenario
	for _, path := range paths {
		all = append(all, loadFile(t, path)...)
	}
	known := map[string]bool{}
	for _, s := range all {
		if known[s.ID] {
			t.Errorf("two stories have the id %q", s.ID)
		}
		known[s.ID] = true
	}
	for id := range waiting {
		if !known[id] {
			t.Errorf("%s waits for %s, but there is no such story", id, waiting[id])
		}
	}
	return all
}

func loadFile(t *testing.T, path string) []Scenario {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := Read(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return all
}

// TestScenarios plays every story on each stage that makes sense, and prints a
// table.
func TestScenarios(t *testing.T) {
	table(t, scale(t), Scenario.Stages, func(t *testing.T, _ Scenario, stage Stage) Opener {
		if stage.Store == "memory" {
			return nil
		}
		return inFile(t)
	})
}

func inFile(t *testing.T) Opener {
	path := filepath.Join(t.TempDir(), "onereply.db")
	return func() (store.Store, error) { return sqlite.Open(path, sqlite.Options{}) }
}

// fewConversations bounds the size of a story on a store that is somewhere else.
const fewConversations = 100

// TestScenariosOnPostgres plays them with as many nodes as they want on one database.
// Each node has its own connections.
func TestScenariosOnPostgres(t *testing.T) {
	withoutRaces(t)
	t.Parallel()
	outside, end := NewOutside()
	defer end()
	url := testservers.Postgres(t) + "&synchronous_commit=off" // nobody crashes it
	open := func(ctx context.Context) (store.Store, error) {
		return postgres.Open(ctx, url, postgres.Options{Connections: 4, NoHints: true})
	}
	table(t, fewConversations, on("postgres"), func(t *testing.T, _ Scenario, _ Stage) Opener {
		empty(t, open) // which is much faster than a new database each time
		return outside.Opener(open)
	})
}

// withoutRaces leaves stories on real stores to a run without the race detector,
// which scripts/unit makes: they wait for the store, and with it for minutes. The
// same code runs under the detector on the other stores.
func withoutRaces(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("scripts/unit runs it without the race detector")
	}
}

// empty deletes what the story before has left.
func empty(t *testing.T, open func(context.Context) (store.Store, error)) {
	t.Helper()
	s, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := s.List(t.Context(), store.ListQuery{Limit: 2 * fewConversations})
	if err != nil || page.Next != "" {
		t.Fatalf("list what is there: %v, more: %v", err, page.Next != "")
	}
	for _, item := range page.Items {
		if err := s.Delete(t.Context(), item.Key); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestScenariosOnRedis is the same on Redis.
func TestScenariosOnRedis(t *testing.T) {
	withoutRaces(t)
	t.Parallel()
	outside, end := NewOutside()
	defer end()
	url := testservers.Redis(t)
	table(t, fewConversations, on("redis"), func(t *testing.T, s Scenario, _ Stage) Opener {
		return outside.Opener(func(ctx context.Context) (store.Store, error) {
			return redis.Open(ctx, url, redis.Options{Prefix: s.ID})
		})
	})
}

func on(store string) func(Scenario) []Stage {
	return func(s Scenario) []Stage { return s.On(store) }
}

// fewest is how many stories are played on each store at the least, so that a
// mistake in choosing them shows.
const fewest = 50

// table plays the stories on their stages, and prints how each ended.
func table(t *testing.T, limit int, stages func(Scenario) []Stage, place func(*testing.T, Scenario, Stage) Opener) {
	t.Helper()
	var lines []string
	played, began := 0, time.Now()
	for _, s := range load(t) {
		s, reached := s.Scaled(limit)
		on := stages(s)
		t.Run(s.ID, func(t *testing.T) {
			lines = append(lines, row(t, s, reached, on, place))
		})
		if s.NotApplicable() == "" && waiting[s.ID] == "" {
			played++
		}
	}
	t.Logf("\n%s\n%d stories played in %v", strings.Join(lines, "\n"), played, time.Since(began).Round(time.Millisecond))
	if played < fewest {
		t.Errorf("only %d stories were played, want %d at the least", played, fewest)
	}
}

// row plays a story and tells how it ended.
func row(t *testing.T, s Scenario, reached int, stages []Stage, place func(*testing.T, Scenario, Stage) Opener) string {
	t.Helper()
	line := func(stages, result string) string {
		return fmt.Sprintf("%-5s %-15s %-26s %s", s.ID, s.Class, stages, result)
	}
	if reason := s.NotApplicable(); reason != "" {
		return line("-", "not applicable yet: "+reason)
	}
	var played []string
	problems := 0
	result := "passed"
	for _, stage := range stages {
		played = append(played, fmt.Sprintf("%s×%d", stage.Store, stage.Nodes))
		outcome := play(t, s, stage, place(t, s, stage))
		problems += len(outcome.Problems)
		if outcome.Note != "" && result == "passed" {
			result = "passed: " + outcome.Note
		}
		if len(outcome.Problems) > 0 && waiting[s.ID] == "" {
			result = "FAILED"
			t.Errorf("%s on %s, %d nodes: %s\n  %s\n%s", s.ID, stage.Store, stage.Nodes, s.Title,
				strings.Join(outcome.Problems, "\n  "), strings.Join(outcome.Trace, "\n"))
		}
	}
	if waiting[s.ID] != "" {
		result = "does not hold yet: " + waiting[s.ID]
		if problems == 0 {
			t.Errorf("%s holds now; take it from the list of those that wait", s.ID)
		}
	}
	if reached > 0 {
		result += fmt.Sprintf(" (at a scale of %d conversations)", reached)
	}
	return line(strings.Join(played, " "), result)
}

func play(t *testing.T, s Scenario, stage Stage, open Opener) (outcome Outcome) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { outcome = Play(s, stage, open) })
	return outcome
}

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// How much the tests of real processes do. The defaults fit a small machine
// that does other things meanwhile.
var (
	kills             = flag.Int("kills", 216, "how often the kill test kills the node")
	seed              = flag.Uint64("seed", 0, "of the kill test; 0 takes one from the clock, and prints it")
	idleConversations = flag.Int("idle", 20_000, "conversations that the memory test leaves idle; the promise speaks of 100000")
	manyShown         = flag.Int("many", 15_000, "conversations in the list, and messages in one conversation, that the console shows: a multiple of 5000. The promise speaks of 50000")
)

// workshop is where the program is built.
var workshop string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runIn(m))
}

func runIn(m *testing.M) int {
	var err error
	if workshop, err = os.MkdirTemp("", "onereply-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(workshop)
	defer stopBrowser()
	if flag.Lookup("test.run").Value.String() == "" {
		go buildAhead()
	}
	return m.Run()
}

// buildAhead makes the other programs while the first tests wait for browsers: it
// takes a minute or two, since one of them changes the standard library. Whoever
// needs one sees its error.
func buildAhead() {
	if _, err := build(); err == nil {
		_, _ = buildWrongClock()
	}
}

// build makes the program, once for all tests.
var build = sync.OnceValues(func() (string, error) { return compile("onereply") })

// compile makes a program from what is here, and what flags change of it.
func compile(name string, flags ...string) (path string, err error) {
	path = filepath.Join(workshop, name)
	arguments := append([]string{"-n", "5", "go", "build", "-o", path}, flags...)
	command := exec.Command("nice", append(arguments, "./cmd/onereply")...)
	command.Dir = ".."
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, output)
	}
	return path, nil
}

func program(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// limit bounds every wait for something that must happen. It is far more than
// a slow and busy machine needs.
const limit = 2 * time.Minute

// eventually polls until good holds.
func eventually(t testing.TB, what string, good func() bool) {
	t.Helper()
	if !within(limit, good) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// within polls, and reports whether good held in time.
func within(waitLimit time.Duration, good func() bool) bool {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(waitLimit)
	for !good() {
		if time.Now().After(deadline) {
			return false
		}
		<-ticker.C
	}
	return true
}

// lacking skips a test that this machine can't run, and fails it where all
// must run.
func lacking(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

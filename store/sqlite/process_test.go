package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
)

// childPath in the environment makes the test binary a process that writes to
// that file until it is killed.
const childPath = "ONEREPLY_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := writeForever(path); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	useMemory()
	os.Exit(m.Run())
}

// useMemory puts the files of tests into memory, where the system has a folder for
// that: a loss of power is simulated, so nothing is tested by waiting for a real disk.
// Benchmarks measure that one.
func useMemory() {
	const memory = "/dev/shm"
	bench := func(argument string) bool { return strings.HasPrefix(argument, "-test.bench=") }
	if info, err := os.Stat(memory); err == nil && info.IsDir() && !slices.ContainsFunc(os.Args, bench) {
		_ = os.Setenv("TMPDIR", memory) // a failure only means the disk
	}
}

// childWriters is how many conversations the other process writes to at once.
const childWriters = 32

// writeForever goes on where the last process was killed, and prints
// "conversation sequence" for each message after it was acknowledged.
func writeForever(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	failed := make(chan error)
	for i := range childWriters {
		go func() { failed <- writeConversation(s, fmt.Sprint(i)) }()
	}
	return <-failed
}

func writeConversation(s *Store, name string) error {
	there, err := s.Load(context.Background(), key(name))
	if err != nil {
		return err
	}
	for seq, before := there.Record.Seq+1, there.Op; ; seq++ {
		op := opOf(uint64(seq))
		result, err := s.Commit(context.Background(), message(key(name), before, op, seq))
		if err != nil || result.Status != store.OK {
			return fmt.Errorf("commit %s %d: %v, %w", name, seq, result, err)
		}
		fmt.Println(name, seq) // one write to the pipe, so it is whole or not there
		before = op
	}
}

// child is another process that has the file open.
type child struct {
	command *exec.Cmd
	output  *bufio.Reader
}

func startChild(t *testing.T, path string) *child {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childPath+"="+path)
	command.Stderr = os.Stderr
	pipe, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{command, bufio.NewReader(pipe)}
	if line, err := c.output.ReadString('\n'); err != nil || line != "open\n" {
		_ = c.command.Process.Kill()
		t.Fatalf("the other process said %q, %v", line, err)
	}
	return c
}

// kill ends the process as nothing can survive, some time after it has printed
// so many lines, and returns all that it had printed.
func (c *child) kill(t *testing.T, lines int, after time.Duration) []string {
	t.Helper()
	var text strings.Builder
	for range lines {
		line, err := c.output.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			t.Fatalf("the other process ended: %s%v", text.String(), err)
		}
	}
	timer := time.AfterFunc(after, func() { _ = c.command.Process.Kill() })
	defer timer.Stop()
	rest, err := io.ReadAll(c.output)
	if err != nil {
		t.Fatal(err)
	}
	text.Write(rest)
	_ = c.command.Wait() // it was killed, which counts as an error
	whole := text.String()[:strings.LastIndexByte(text.String(), '\n')+1]
	if strings.Contains(whole, "failed:") {
		t.Fatalf("the other process failed: %s", whole)
	}
	return strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
}

func TestASecondProcessIsRefusedUntilTheFirstIsKilled(t *testing.T) {
	path := newPath(t)
	other := startChild(t, path)
	_, err := Open(path, Options{})
	pid := fmt.Sprintf("process %d", other.command.Process.Pid)
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), pid) {
		t.Errorf("Open: got error %v, want ErrInUse with the file and %q", err, pid)
	}
	other.kill(t, 0, 0)
	openAt(t, path)
}

// A process is killed again and again, at random moments, while it writes.
func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	const kills = 24
	path := newPath(t)
	acknowledged := make(map[string]int64)
	for life := range kills {
		lines := rand.N(8 * childWriters)
		if life%2 == 1 { // some time later
			lines = rand.N(4000)
		}
		other := startChild(t, path)
		for _, line := range other.kill(t, lines, rand.N(5*time.Millisecond)) {
			var name string
			var seq int64
			if _, err := fmt.Sscan(line, &name, &seq); err == nil {
				acknowledged[name] = max(acknowledged[name], seq)
			}
		}
		checkAfterKill(t, path, acknowledged)
	}
	total := int64(0)
	for _, seq := range acknowledged {
		total += seq
	}
	t.Logf("%d messages were acknowledged in %d lives", total, kills)
}

// checkAfterKill checks that all that was acknowledged is there, that each
// conversation is whole, and that the program goes on.
func checkAfterKill(t *testing.T, path string, acknowledged map[string]int64) {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatalf("Open after a kill: %v", err)
	}
	defer mustClose(t, s)
	for i := range childWriters {
		name := fmt.Sprint(i)
		there, err := s.Load(t.Context(), key(name))
		if err != nil {
			t.Fatal(err)
		}
		if there.Record.Seq < acknowledged[name] {
			t.Fatalf("conversation %s ends with %d, but %d was acknowledged", name, there.Record.Seq, acknowledged[name])
		}
		// What was written but not acknowledged any more may be there, all of it.
		want := fmt.Sprintf("%d|%d|%d", there.Record.Seq, there.Record.Seq, there.Record.Seq)
		got := rows(t, s, fmt.Sprintf(`SELECT
			(SELECT count(*) FROM entries WHERE conversation_id = c.id),
			(SELECT count(*) FROM message_ids WHERE conversation_id = c.id),
			(SELECT due_ms - %d FROM timers WHERE conversation_id = c.id)
			FROM conversations AS c WHERE conversation = '%s'`, start+1500, name))
		if len(got) > 0 && got[0] != want {
			t.Fatalf("conversation %s is not whole: entries, ids and timer are %s, want %s", name, got[0], want)
		}
	}
}

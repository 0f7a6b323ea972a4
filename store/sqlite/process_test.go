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

// childShort in the environment makes its lives short, see writeForever.
const childShort = "ONEREPLY_TEST_SQLITE_SHORT"

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
//
// With childShort in the environment it closes and opens the file after each few
// messages, so that a kill meets the making and the deletion of files.
func writeForever(path string) error {
	messages := 1 << 30
	if os.Getenv(childShort) != "" {
		messages = 3
	}
	for first := true; ; first = false {
		s, err := Open(path, Options{})
		if err != nil {
			return err
		}
		if first {
			fmt.Println("open")
		}
		failed := make(chan error)
		for i := range childWriters {
			go func() { failed <- writeConversation(s, fmt.Sprint(i), messages) }()
		}
		for range childWriters {
			if err := <-failed; err != nil {
				return err
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
}

func writeConversation(s *Store, name string, messages int) error {
	there, err := s.Load(context.Background(), key(name))
	if err != nil {
		return err
	}
	for seq, before := there.Record.Seq+1, there.Op; messages > 0; seq++ {
		messages--
		op := opOf(uint64(seq))
		result, err := s.Commit(context.Background(), message(key(name), before, op, seq))
		if err != nil || result.Status != store.OK {
			return fmt.Errorf("commit %s %d: %v, %w", name, seq, result, err)
		}
		fmt.Println(name, seq) // one write to the pipe, so it is whole or not there
		before = op
	}
	return nil
}

// child is another process that has the file open.
type child struct {
	command *exec.Cmd
	output  *bufio.Reader
}

func startChild(t *testing.T, path string, more ...string) *child {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(append(os.Environ(), childPath+"="+path), more...)
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

// A process is killed again and again, at random moments, while it writes, and while it
// makes the database.
func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	const kills = 24
	path := newPath(t)
	acknowledged := make(map[string]int64)
	for life := range kills {
		lines := rand.N(8 * childWriters)
		var more []string
		if life%3 == 0 { // new files all the time
			more = []string{childShort + "=1"}
		}
		if life%2 == 1 { // some time later
			lines = rand.N(4000)
		}
		other := startChild(t, path, more...)
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

// A process is killed while it makes a database: whatever is there, the next one goes
// on with it.
func TestAKillWhileTheDatabaseIsMade(t *testing.T) {
	for range 8 {
		path := newPath(t)
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), childPath+"="+path, childShort+"=1")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		// It is killed between the first file and the first messages.
		await(t, 1, "files are there", func() int {
			if _, err := os.Stat(path + lockSuffix); err != nil {
				return 0
			}
			return 1
		})
		timer := time.NewTimer(rand.N(12 * time.Millisecond))
		<-timer.C
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed, which counts as an error
		s := openAt(t, path)
		mustCommit(t, s, message(key("after"), store.Op{}, opOf(1), 1))
		if got := rows(t, s, "PRAGMA integrity_check"); got[0] != "ok" {
			t.Errorf("integrity_check: %q", got)
		}
		mustClose(t, s)
	}
}

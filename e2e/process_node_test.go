package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// node is the program, running by itself.
type node struct {
	command   *exec.Cmd
	log       *logKeeper    // its standard error
	output    *logKeeper    // its standard output
	listening chan string   // gets its URL once
	ended     chan struct{} // closed when it has ended
	url       string        // once await has returned
}

// launch starts the program and does not wait for it.
func launch(t testing.TB, env []string, args ...string) *node {
	t.Helper()
	n := &node{
		command: exec.Command(program(t), args...), log: &logKeeper{}, output: &logKeeper{},
		listening: make(chan string, 1), ended: make(chan struct{}),
	}
	n.command.Env = append(os.Environ(), env...)
	n.command.Stderr = n.log
	stdout, err := n.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.kill)
	go n.follow(stdout)
	return n
}

var address = regexp.MustCompile(`http://[0-9.:]+`)

func (n *node) follow(stdout io.Reader) {
	defer close(n.ended)
	lines := bufio.NewScanner(stdout)
	for told := false; lines.Scan(); {
		fmt.Fprintln(n.output, lines.Text())
		if url := address.FindString(lines.Text()); url != "" && !told {
			n.listening <- url
			told = true
		}
	}
	_ = n.command.Wait() // who wants the exit code asks for it
}

// start launches the program and waits until it listens.
func start(t testing.TB, env []string, args ...string) *node {
	t.Helper()
	n := launch(t, env, args...)
	n.await(t)
	return n
}

func (n *node) await(t testing.TB) {
	t.Helper()
	if err := n.listens(); err != nil {
		t.Fatal(err)
	}
}

// listens waits until it does.
func (n *node) listens() error {
	select {
	case n.url = <-n.listening:
		return nil
	case <-n.ended:
		return fmt.Errorf("it ended with exit code %d:\n%s", n.command.ProcessState.ExitCode(), n.log.tail())
	case <-time.After(limit):
		return fmt.Errorf("it does not listen:\n%s", n.log.tail())
	}
}

func (n *node) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := n.command.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", s, err)
	}
}

// kill is kill -9, and waits for the end.
func (n *node) kill() {
	_ = n.command.Process.Signal(syscall.SIGKILL) // it may have ended already
	<-n.ended
}

// exits waits until it ends by itself, with the exit code.
func (n *node) exits(t testing.TB, code int) {
	t.Helper()
	select {
	case <-n.ended:
	case <-time.After(limit):
		t.Fatalf("it does not end:\n%s", n.log.tail())
	}
	if got := n.command.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d:\n%s", got, code, n.log.tail())
	}
}

// stops ends it in order.
func (n *node) stops(t testing.TB) {
	t.Helper()
	n.signal(t, syscall.SIGTERM)
	n.exits(t, 0)
}

func (n *node) hasEnded() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// logKeeper keeps what a process logged, the newest part of it.
type logKeeper struct {
	mu   sync.Mutex
	kept []byte
}

const keptLog = 1 << 20

func (k *logKeeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, p...)
	if extra := len(k.kept) - keptLog; extra > keptLog {
		k.kept = bytes.Clone(k.kept[extra:])
	}
	return len(p), nil
}

func (k *logKeeper) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.kept)
}

// tail is the end of it, for people.
func (k *logKeeper) tail() string {
	text := k.text()
	return text[max(0, len(text)-4000):]
}

// lines are those with all of the words.
func (k *logKeeper) lines(words ...string) []string {
	var found []string
	for line := range strings.Lines(k.text()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

// result is what a command that ended by itself left behind.
type result struct {
	code           int
	stdout, stderr string
}

// run runs a command of the program to its end.
func run(t testing.TB, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, program(t), args...)
	command.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("onereply %s: %v", strings.Join(args, " "), err)
	}
	return result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// settings writes a configuration, and gives the arguments that serve it from
// a store in the folder.
func settings(t testing.TB, folder, yaml string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onereply.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + filepath.Join(folder, "onereply.db")
	return []string{"serve", "--config", path, "--listen", "127.0.0.1:0", "--store", store}
}

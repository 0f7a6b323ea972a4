package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/client"
)

// waitLimit bounds every wait for a process: far more than a slow and busy machine needs.
const waitLimit = 2 * time.Minute

// patient waits for an answer no longer than for a process.
var patient = &http.Client{Timeout: waitLimit}

// process is the program, running by itself.
type process struct {
	command *exec.Cmd
	first   string // line of its standard output
	url     string
	stderr  *bytes.Buffer
}

// spawn starts the program and waits for the line that has its URL.
func spawn(t *testing.T, args ...string) *process {
	t.Helper()
	return spawnCommand(t, exec.Command(os.Args[0], args...))
}

func spawnCommand(t *testing.T, command *exec.Cmd) *process {
	t.Helper()
	p := &process{command: command, stderr: &bytes.Buffer{}}
	p.command.Env = append(os.Environ(), asProgram+"=1")
	p.command.Stderr = p.stderr
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.command.Process.Kill() }) // it has ended, as a rule
	defer p.killLater().Stop()
	p.first, err = bufio.NewReader(stdout).ReadString('\n')
	_, rest, found := strings.Cut(strings.Replace(p.first, "https://", "http://", 1), "http://")
	if err != nil || !found {
		t.Fatalf("it printed %q, %v and on stderr: %s", p.first, err, p.exit())
	}
	p.url = "http://" + strings.Trim(strings.Fields(rest)[0], "/")
	return p
}

// killLater kills the process after waitLimit, so that nothing waits longer for it.
func (p *process) killLater() *time.Timer {
	return time.AfterFunc(waitLimit, func() { _ = p.command.Process.Kill() })
}

// exit waits for the end and gives what was printed on stderr.
func (p *process) exit() string {
	defer p.killLater().Stop()
	_ = p.command.Wait() // the exit code is looked at by those who want it
	return p.stderr.String()
}

// ends fails the test where the process ends with another exit code.
func (p *process) ends(t *testing.T, code int) {
	t.Helper()
	stderr := p.exit()
	if got := p.command.ProcessState.ExitCode(); got != code {
		t.Errorf("got exit code %d, want %d; stderr: %s", got, code, stderr)
	}
}

func (p *process) signal(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// shows fails the test where a path leads to no page with this title.
func (p *process) shows(t *testing.T, path, title string) {
	t.Helper()
	response, err := patient.Get(p.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("<title>"+title)) {
		t.Errorf("%s: got %s, %v and %.200s", path, response.Status, err, page)
	}
}

// settings asks for the settings of a demo, or changes them.
func (p *process) settings(t *testing.T, method, body, want string) {
	t.Helper()
	request, err := http.NewRequest(method, p.url+"/demo/settings", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := patient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("%s: got %s %s, %v, want %s", method, response.Status, got, err, want)
	}
}

// until polls a conversation until it is as the test wants it.
func (p *process) until(t *testing.T, bot, conversation string, good func(onereply.State) bool) {
	t.Helper()
	c, err := client.New(p.url, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for {
		state, err := c.State(ctx, bot, conversation)
		if err == nil && good(state.Value) {
			return
		}
		var problem *client.Error
		if err != nil && !errors.As(err, &problem) {
			t.Fatalf("%v; the last state was %+v", err, state.Value)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the state is %+v", state.Value)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

const slowBot = `
drain: 1m
bots:
  slow:
    debounce: 0
    responder: {kind: echo, delay: 1m}
  quick:
    debounce: 10s
    responder: {kind: echo, delay: 50ms}
`

func serveSlow(t *testing.T) *process {
	t.Helper()
	path := write(t, "onereply.yaml", slowBot)
	store := "sqlite:" + filepath.Join(t.TempDir(), "onereply.db")
	return spawn(t, "serve", "--config", path, "--listen", "127.0.0.1:0", "--store", store)
}

func TestServeAnswersAndStops(t *testing.T) {
	p := serveSlow(t)
	if !strings.HasPrefix(p.first, "Listening on http://127.0.0.1:") {
		t.Errorf("it printed %q", p.first)
	}
	env := map[string]string{"ONEREPLY_SERVER": p.url}
	do(t, env, "", "send", "quick", "c1", "first", "--id", "m1").expect(t, success, "queued  m1  version 1", "")
	do(t, env, "", "send", "quick", "c1", "second", "--id", "m2").expect(t, success, "queued  m2  version 2", "")
	do(t, env, "", "send", "quick", "c1", "second", "--id", "m2").expect(t, success, "duplicate  m2", "")
	do(t, env, "", "flush", "quick", "c1").expect(t, success, "quick/c1  ", "")
	p.until(t, "quick", "c1", func(s onereply.State) bool { return s.Phase == onereply.PhaseIdle && s.Answered == 2 })
	do(t, env, "", "show", "quick", "c1").expect(t, success, "(sent) to m1, m2", "")
	do(t, env, "", "list", "quick").expect(t, success, "quick  c1            idle   2        2         0", "")
	do(t, env, "", "pause", "quick", "c1", "--reason", "lunch").expect(t, success, "paused: lunch", "")
	do(t, env, "", "send", "quick", "c1", "third").expect(t, success, "paused  ", "")
	do(t, env, "", "resume", "quick", "c1", "--close").expect(t, success, "quick/c1  idle", "")
	do(t, env, "", "send", "nobody", "c1", "x").expect(t, failure, "", "No such bot")
	do(t, env, "", "delete", "quick", "c1", "--yes").expect(t, success, "deleted", "")
	do(t, env, "", "show", "quick", "c1").expect(t, failure, "", "onereply: ")
	p.shows(t, "/", "onereply console")
	p.signal(t)
	p.ends(t, success)
}

func TestASecondSignalEndsItNow(t *testing.T) {
	p := serveSlow(t)
	env := map[string]string{"ONEREPLY_SERVER": p.url}
	do(t, env, "", "send", "slow", "c1", "hello").expect(t, success, "queued", "")
	p.until(t, "slow", "c1", func(s onereply.State) bool { return s.Phase == onereply.PhaseGenerating })
	p.signal(t)
	waitDraining(t, p.url)
	p.signal(t)
	p.ends(t, failure)
}

// waitDraining returns once the node says that it takes no more turns.
func waitDraining(t *testing.T, url string) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for time.Now().Before(deadline) {
		response, err := patient.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusServiceUnavailable {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it does not drain")
}

func TestTheStoreIsOpenedOnce(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "onereply.db")
	p := spawn(t, "demo", "--store", store)
	do(t, nil, "", "demo", "--store", store).expect(t, failure, "", "open the store: ")
	p.signal(t)
	p.ends(t, success)
}

func TestDemo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := spawn(t, "demo")
	if !strings.HasPrefix(p.first, "Open http://127.0.0.1:") {
		t.Errorf("it printed %q", p.first)
	}
	p.shows(t, "/", "onereply playground")
	p.shows(t, "/console", "onereply console")
	p.settings(t, http.MethodGet, "", `{"debounce":"1.5s","max_wait":"4s","model_delay":"2s"}`)
	const quick = `{"debounce":"0s","max_wait":"1s","model_delay":"0s"}`
	p.settings(t, http.MethodPut, quick, quick)
	p.settings(t, http.MethodGet, "", quick)
	do(t, map[string]string{"ONEREPLY_SERVER": p.url}, "", "send", "demo", "c1", "hello").expect(t, success, "queued", "")
	p.until(t, "demo", "c1", func(s onereply.State) bool { return s.Answered == 1 })
	p.signal(t)
	p.ends(t, success)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("it left %v behind, %v", left, err)
	}
}

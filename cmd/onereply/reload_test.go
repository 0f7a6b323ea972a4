package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/server/config"
)

// reloaded is a node's configuration in a test: its file, and what was put into force.
type reloaded struct {
	*reloading
	t       *testing.T
	hangups chan os.Signal
	applied []config.Config
	fails   atomic.Pointer[string] // why nothing can be put into force; nil: it can
	out     bytes.Buffer           // the log
}

const reloadedBots = "bots: {support: {responder: {kind: echo}}}\n"

func newReloaded(t *testing.T, text string) *reloaded {
	r := &reloaded{t: t, hangups: make(chan os.Signal)}
	file := filepath.Join(t.TempDir(), "onereply.yaml")
	read := func() (config.Config, error) {
		return readConfig(file, func(string) (string, bool) { return "", false }, config.Overrides{})
	}
	r.reloading = &reloading{
		from: &source{file: file, read: read, hangups: r.hangups}, log: slog.New(slog.NewTextHandler(&r.out, nil)),
		apply: func(_ context.Context, c config.Config) error {
			if why := r.fails.Load(); why != nil {
				return errors.New(*why)
			}
			r.applied = append(r.applied, c)
			return nil
		},
	}
	r.write(text)
	r.from.seen, _ = os.Stat(file)
	now, err := read()
	if err != nil {
		t.Fatal(err)
	}
	r.now = now
	t.Cleanup(r.start(t.Context()))
	return r
}

func (r *reloaded) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.from.file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// said is what was logged since it was asked last.
func (r *reloaded) said() string {
	defer r.out.Reset()
	return r.out.String()
}

// TestTheFileIsReadAgain once it has changed and stayed so, and on a signal; never else.
func TestTheFileIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloaded(t, reloadedBots)
		wait := func(looks int) {
			time.Sleep(time.Duration(looks) * lookEvery)
			synctest.Wait()
		}
		wait(10)
		if len(r.applied) != 0 || r.said() != "" {
			t.Fatal("a file that does not change was taken")
		}
		for i := range 5 { // it is being written
			r.write(reloadedBots + strings.Repeat("#", i+1))
			wait(1)
		}
		if r.said() != "" {
			t.Error("a file that is being written was read")
		}
		r.write("api_keys: [0123456789abcdef]\nlisten: 127.0.0.1:9\n" + reloadedBots)
		wait(2)
		if len(r.applied) != 1 || len(r.applied[0].APIKeys) != 1 || r.applied[0].Listen != "127.0.0.1:8080" {
			t.Fatalf("in force are %+v", r.applied)
		}
		if said := r.said(); !strings.Contains(said, "changed=api_keys") || !strings.Contains(said, "level=WARN") || !strings.Contains(said, "keys=listen") {
			t.Errorf("logged %s", said)
		}
		r.hangups <- syscall.SIGHUP
		wait(2)
		if said := r.said(); len(r.applied) != 1 || !strings.Contains(said, "changed=nothing") || !strings.Contains(said, "keys=listen") {
			t.Errorf("on a signal: %d, logged %s", len(r.applied), said)
		}
		if err := os.Remove(r.from.file); err != nil {
			t.Fatal(err)
		}
		wait(5)
		if said := r.said(); said != "" {
			t.Errorf("a file that is gone: %s", said)
		}
	})
}

// TestABadFileChangesNothing: each mistake is told with its line, once.
func TestABadFileChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloaded(t, "api_keys: [0123456789abcdef]\n"+reloadedBots)
		r.write("api_keys: [short]\nlsten: x\n" + reloadedBots)
		time.Sleep(5 * lookEvery)
		synctest.Wait()
		said := r.said()
		for _, want := range []string{"onereply.yaml:1:12: api_keys[0]: must have at least 16 bytes", "onereply.yaml:2:1: lsten: unknown key"} {
			if strings.Count(said, want) != 1 {
				t.Errorf("%q is told %d times in %s", want, strings.Count(said, want), said)
			}
		}
		r.write("api_keys: [0123456789abcdef0]\n" + reloadedBots)
		why := "no such responder"
		r.fails.Store(&why)
		time.Sleep(5 * lookEvery)
		synctest.Wait()
		if said := r.said(); strings.Count(said, "no such responder") != 1 {
			t.Errorf("logged %s", said)
		}
		if len(r.applied) != 0 || r.now.APIKeys[0].Key != "0123456789abcdef" {
			t.Errorf("in force are %+v", r.applied)
		}
	})
}

// TestTheLastKeyStays where others reach the node, also if the file would listen elsewhere.
func TestTheLastKeyStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloaded(t, "listen: 0.0.0.0:80\napi_keys: [0123456789abcdef]\n"+reloadedBots)
		r.write("listen: 127.0.0.1:80\n" + reloadedBots)
		time.Sleep(5 * lookEvery)
		synctest.Wait()
		if said := r.said(); len(r.applied) != 0 || !strings.Contains(said, "the last key can't be removed") {
			t.Errorf("in force are %+v, logged %s", r.applied, said)
		}
	})
}

// TestCheckSaysWhatAReloadChanges for people and for programs.
func TestCheckSaysWhatAReloadChanges(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	running := file("old.yaml", reloadedBots)
	next := file("new.yaml", "drain: 1s\napi_keys: [0123456789abcdef]\n"+reloadedBots)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--running", running}, "changed at once: api_keys\nneeds a restart: drain\n"},
		{[]string{"--running", next}, "changed at once: nothing\nneeds a restart: nothing\n"},
		{[]string{"--running", running, "--json"}, `"at_once":["api_keys"],"restart":["drain"]`},
	} {
		var out, problems bytes.Buffer
		code := run(t.Context(), append([]string{"check", "--config", next}, test.args...), nil, &out, &problems, func(string) (string, bool) { return "", false })
		if got := strings.NewReplacer(": [", ":[", ", \"", ",\"").Replace(out.String()); code != success || !strings.Contains(strings.ReplaceAll(got, "\": ", "\":"), test.want) {
			t.Errorf("%v: exit code %d, %s%s", test.args, code, out.String(), problems.String())
		}
	}
}

// TestARevokedKeyStopsAtOnce in a process: a call, and a stream that was opened with it.
func TestARevokedKeyStopsAtOnce(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "onereply.yaml")
	write := func(keys, delay string) {
		text := fmt.Sprintf("listen: 127.0.0.1:0\nstore: sqlite:%s\napi_keys: [%s]\nbots: {support: {debounce: 0s, responder: {kind: echo, delay: %s}}}\n", filepath.Join(folder, "db"), keys, delay)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const stays, goes = "the-key-that-stays", "the-key-that-goes"
	write(stays+", "+goes, "1h")
	p := spawn(t, "serve", "--config", file)
	call := func(method, path, key, body string) *http.Response {
		request, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		response, err := patient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	streams := map[string]*bufio.Reader{}
	for _, key := range []string{stays, goes} {
		streams[key] = bufio.NewReader(call("GET", "/v1/events", key, "").Body)
	}
	write(stays, "1ms")
	if rest, err := io.ReadAll(streams[goes]); err != nil {
		t.Errorf("the stream of the key that is gone breaks: %v after %q", err, rest)
	}
	if got := call("GET", "/v1/whoami", goes, "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("the key that is gone: status %d", got)
	}
	if got := call("POST", "/v1/bots/support/conversations/c/messages", stays, `{"text":"hi"}`).StatusCode; got != http.StatusAccepted {
		t.Errorf("the key that stays: status %d", got)
	}
	var seen []string
	for !slices.Contains(seen, "event: reply.sent") { // the responder has its new delay
		line, err := streams[stays].ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
		seen = append(seen, strings.TrimSpace(line))
	}
	p.signal(t)
	p.ends(t, success)
	if said := p.stderr.String(); !strings.Contains(said, `"changed":"api_keys, bots.support"`) || strings.Contains(said, goes) {
		t.Errorf("logged %s", said)
	}
}

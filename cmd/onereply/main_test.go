package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram makes the test binary behave as the program, for tests that need
// a process of its own.
const asProgram = "ONEREPLY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// result is what a command line gave.
type result struct {
	code           int
	stdout, stderr string
}

// do runs a command line with nothing in the environment but env.
func do(t *testing.T, env map[string]string, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	lookup := func(name string) (string, bool) { value, found := env[name]; return value, found }
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr, lookup)
	return result{code, stdout.String(), stderr.String()}
}

// expect fails the test where the result is another one. Of the output, it
// looks for a part.
func (r result) expect(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stdout, stdout) || !strings.Contains(r.stderr, stderr) {
		t.Errorf("got exit code %d, stdout %q, stderr %q\nwant %d, %q, %q", r.code, r.stdout, r.stderr, code, stdout, stderr)
	}
	if stderr == "" && r.stderr != "" {
		t.Errorf("unexpected on stderr: %s", r.stderr)
	}
}

// write makes a file in a folder of the test's own.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHelp(t *testing.T) {
	all := do(t, nil, "", "--help")
	all.expect(t, success, "Usage: onereply <command>", "")
	commands := strings.Fields("demo serve check send reply tail show list flush pause resume requeue resend mark-sent delete doctor copy simulate bench version")
	for _, command := range commands {
		if !strings.Contains(all.stdout, "\n  "+command+" ") {
			t.Errorf("--help does not mention %s", command)
		}
		do(t, nil, "", command, "--help").expect(t, success, "Usage: onereply "+command, "")
	}
}

func TestWrongUsage(t *testing.T) {
	tests := []struct {
		args   string
		stderr string
	}{
		{"", "expected one of"},
		{"bogus", "there is no command bogus"},
		{"shwo", `there is no command shwo, did you mean "show"?`},
		{"list one two", "unexpected argument two"},
		{"--bogus", "unknown flag --bogus"},
		{"send", `expected "<bot> <conversation> <text> ..."`},
		{"send support c1", `expected "<text> ..."`},
		{"show support", `expected "<conversation>"`},
		{"list --phase busy", "--phase must be idle, collecting, generating, sending, paused or failed, it is \"busy\""},
		{"list --limit=-1", "--limit must not be negative"},
		{"show b c --server localhost:8080", "the server must be a URL"},
		{"delete b c", "say --yes"},
		{"serve --listen 99999", "onereply: --listen: "},
		{"serve --store mysql:", "onereply: --store: must be a store's URL"},
		{"serve --store sqlite::memory:", "onereply: --store: sqlite::memory: would forget"},
		{"serve --log-level loud", "--log-level must be one of"},
		{"demo --listen 0.0.0.0:0", "listens on this machine only"},
		{"demo --listen :8080", "listens on this machine only"},
		{"demo --store mysql:", "--store: must be a store's URL"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			do(t, nil, "", strings.Fields(test.args)...).expect(t, misuse, "", test.stderr)
		})
	}
}

func TestVersion(t *testing.T) {
	do(t, nil, "", "version").expect(t, success, "onereply ", "")
	do(t, nil, "", "version", "--json").expect(t, success, `"version":"`, "")
}

func TestCheck(t *testing.T) {
	good := write(t, "good.yaml", "bots:\n  a:\n    responder: {kind: \"${KIND}\"}\n")
	bad := write(t, "bad.yaml", "lisen: x\nbots:\n  a:\n    lease: 5\n")
	foreign := write(t, "foreign.yaml", "store: nats://localhost\nbots: {a: {responder: {kind: echo}}}\n")
	env := map[string]string{"KIND": "echo"}

	do(t, env, "", "check", "--config", good).expect(t, success, good+": valid, 1 bot\n", "")
	do(t, env, "", "check", "--config", good, "--json").expect(t, success, `{"valid":true,"problems":[]}`, "")

	problems := bad + `:1:1: lisen: unknown key; did you mean "listen"?` + "\n" +
		bad + ":4:5: bots.a.responder: is missing; say who answers, such as kind: echo\n" +
		bad + ":4:12: bots.a.lease: a duration needs its unit, such as 1.5s or 500ms; 5 alone is not clear\n"
	got := do(t, env, "", "check", "--config", bad)
	got.expect(t, failure, "", problems)
	if got.stderr != problems {
		t.Errorf("got %s, want no more than the problems", got.stderr)
	}
	do(t, env, "", "check", "--config", bad, "--json").expect(t, failure, `"line":1,"column":1,"path":"lisen","message":"unknown key; did you mean`, "")

	unset := write(t, "unset.yaml", "listen: 0.0.0.0:8080\napi_keys: [\"${KEY}\"]\nbots: {a: {responder: {kind: echo}}}\n")
	if got := do(t, env, "", "check", "--config", unset); got.code != failure || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "KEY") {
		t.Errorf("a variable that is not set: %d, %s", got.code, got.stderr)
	}
	do(t, env, "", "check", "--config", foreign).expect(t, failure, "", foreign+":1:8: store: must be a store's URL: sqlite:PATH")
	do(t, env, "", "check", "--config", good+".not").expect(t, failure, "", "there is no configuration")
	do(t, env, "", "check", "--config", t.TempDir()).expect(t, failure, "", "read the configuration")
}

func TestServeWithoutConfigurationShowsOne(t *testing.T) {
	t.Chdir(t.TempDir())
	got := do(t, nil, "", "serve")
	got.expect(t, failure, "", "there is no configuration onereply.yaml")
	_, shown, _ := strings.Cut(got.stderr, "start with this:\n\n")
	path := write(t, "shown.yaml", strings.TrimSuffix(shown, "\n"))
	do(t, map[string]string{"OPENAI_API_KEY": "key"}, "", "check", "--config", path).expect(t, success, "valid, 1 bot", "")
}

func TestServeRefuses(t *testing.T) {
	good := "bots: {a: {responder: {kind: echo}}}\n"
	tests := []struct {
		name, file string
		args       []string
		stderr     string
	}{
		{"a bad configuration", "bots: {}\n", nil, "onereply.yaml:1:7: bots: at least one bot is needed\n"},
		{"an open address without keys", good, []string{"--listen", "0.0.0.0:0"}, "--listen: 0.0.0.0:0 can be reached from other machines"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("onereply.yaml", []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			do(t, nil, "", append([]string{"serve"}, test.args...)...).expect(t, failure, "", test.stderr)
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	code := run(ctx, []string{"show", "b", "c"}, strings.NewReader(""), &stderr, &stderr, func(string) (string, bool) { return "", false })
	if code != failure {
		t.Errorf("got exit code %d and %q, want %d", code, stderr.String(), failure)
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// expect fails the test where a command ended otherwise.
func (r result) expect(t testing.TB, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stdout, stdout) || !strings.Contains(r.stderr, stderr) {
		t.Errorf("got exit code %d, %q and %q, want %d with %q and %q", r.code, r.stdout, r.stderr, code, stdout, stderr)
	}
}

// TestDemo: it prints where its page is, the page is there, and a burst of
// messages gets one reply.
func TestDemo(t *testing.T) {
	t.Parallel()
	n := start(t, nil, "demo", "--store", "sqlite:"+filepath.Join(t.TempDir(), "demo.db"))
	c := newCaller(t)
	page := c.do(http.MethodGet, n.url+"/", "")
	if page.status != 200 || !strings.Contains(string(page.body), "<html") {
		t.Errorf("its page is %v", page)
	}
	var ids []string
	for i := range 5 {
		ids = append(ids, fmt.Sprintf("m%d", i+1))
		c.mustSay(t, n.url, "demo", "c1", ids[i], "hello "+ids[i])
	}
	c.rests(t, n.url, "demo", "c1")
	covered := ""
	for _, l := range c.read(t, n.url, "demo", "c1") {
		if l.Kind == "reply" {
			covered += fmt.Sprint(l.Covers)
		}
	}
	if want := fmt.Sprint(ids); covered != want {
		t.Errorf("the replies cover %s, want one that covers %s", covered, want)
	}
	n.stops(t)
}

const commandConfig = `
api_keys: [` + testKey + `]
bots:
  support:
    debounce: 50ms
    responder: {kind: openai, base_url: "%s", model: echo, attempts: 1}
`

// TestCommands talks to a node as an operator does.
func TestCommands(t *testing.T) {
	t.Parallel()
	m := newModel(t, func() time.Duration { return 10 * time.Millisecond }, func(moment) {})
	n := start(t, nil, settings(t, t.TempDir(), fmt.Sprintf(commandConfig, m.server.URL))...)
	c := newCaller(t)
	c.key = testKey
	env := []string{"ONEREPLY_SERVER=" + n.url, "ONEREPLY_API_KEY=" + testKey}
	command := func(args string) result { return run(t, env, strings.Fields(args)...) }

	tail := launch(t, env, "tail", "support", "--json")
	eventually(t, "tail follows", func() bool { return c.metric(t, n.url, "onereply_event_streams") == 1 })
	command("send support c1 hello there --id m1").expect(t, 0, "queued  m1  version 1", "")
	command("send support c1 hello there --id m1").expect(t, 0, "duplicate  m1", "")
	c.rests(t, n.url, "support", "c1")
	command("show support c1").expect(t, 0, "(sent) to m1", "")
	command("list --phase idle").expect(t, 0, "support  c1", "")
	command("pause support c1 --reason lunch").expect(t, 0, "paused: lunch", "")
	command("send support c1 are you there --id m2").expect(t, 0, "paused  m2", "")
	command("list --phase paused --json").expect(t, 0, `"conversation":"c1"`, "")
	command("resume support c1").expect(t, 0, "support/c1", "")
	c.rests(t, n.url, "support", "c1")

	m.fails.Store(true)
	command("send support c1 [m3] --id m3").expect(t, 0, "queued  m3", "")
	eventually(t, "the turn fails", func() bool { return c.look(n.url, "support", "c1").Phase == "failed" })
	command("list --phase failed").expect(t, 0, "support  c1", "")
	m.fails.Store(false)
	command("requeue support c1").expect(t, 0, "support/c1", "")
	c.rests(t, n.url, "support", "c1")
	command("show support c1").expect(t, 0, "(sent) to m3", "")

	run(t, env[:1], "list").expect(t, 1, "", "API key")
	run(t, env, "send", "nobody", "c1", "hello").expect(t, 1, "", "No such bot")
	run(t, env, "send", "support").expect(t, 2, "", "")
	run(t, []string{"ONEREPLY_SERVER=http://127.0.0.1:1"}, "list").expect(t, 1, "", "127.0.0.1:1")

	n.stops(t)
	tail.kill()
	tells(t, tail.output.text())
}

// tells checks that tail told the instance of the first turn in order.
func tells(t *testing.T, printed string) {
	t.Helper()
	want := []string{"message.accepted", "turn.scheduled", "turn.started", "reply.committed", "reply.sent"}
	for text := range strings.Lines(printed) {
		var event struct{ Type string }
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Fatalf("tail printed %q: %v", text, err)
		}
		if len(want) > 0 && event.Type == want[0] {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Errorf("tail did not tell %v, but:\n%s", want, printed)
	}
}

// TestListenWithoutKeys: an address that others can reach needs API keys.
func TestListenWithoutKeys(t *testing.T) {
	t.Parallel()
	const open = "bots: {support: {responder: {kind: echo}}}\n"
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		got := run(t, nil, append(settings(t, t.TempDir(), open), "--listen", address)...)
		got.expect(t, 1, "", "api_keys")
	}
	n := start(t, nil, append(settings(t, t.TempDir(), "api_keys: ["+testKey+"]\n"+open), "--listen", "0.0.0.0:0")...)
	n.stops(t)
}

// TestStoreIsOpenedOnce: a second process on the same file says so and ends.
func TestStoreIsOpenedOnce(t *testing.T) {
	t.Parallel()
	arguments := settings(t, t.TempDir(), inputConfig)
	first := start(t, nil, arguments...)
	run(t, nil, arguments...).expect(t, 1, "", "another process")
	c := newCaller(t)
	c.key = testKey
	c.mustSay(t, first.url, "support", "c1", "m1", "hello")
	c.rests(t, first.url, "support", "c1")
	first.kill()
	second := start(t, nil, arguments...) // a killed process leaves no lock behind
	second.stops(t)
}

// TestCheck names each mistake with its line.
func TestCheck(t *testing.T) {
	t.Parallel()
	path := settings(t, t.TempDir(), "lisen: 127.0.0.1:8080\nbots:\n  support:\n    debounce: soon\n    responder: {kind: ecko}\n")[2]
	got := run(t, nil, "check", "--config", path)
	output := got.stdout + got.stderr
	for _, want := range []string{":1:", "listen", ":4:", "debounce", ":5:", "echo"} {
		if got.code != 1 || !strings.Contains(output, want) {
			t.Errorf("exit code %d, want 1 and %q in:\n%s", got.code, want, output)
		}
	}
}

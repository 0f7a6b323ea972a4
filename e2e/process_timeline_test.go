package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const timelineConfig = `
bots:
  support:
    debounce: 1s
    max_wait: 30s
    lease: 10s
    responder: {kind: openai, base_url: "%s", model: echo}
    delivery: {kind: webhook, url: "%s", secret: %s, parts: separate, limit: 60}
`

// eventLog is what a program saw that watched the nodes from outside.
type eventLog struct {
	mu    sync.Mutex
	steps []map[string]any
}

// keep watches a node from now on. It names an event that the node does not know: the
// answer to that, the first event, shows that the stream is open.
func (l *eventLog) keep(t *testing.T, c *caller, base string) {
	t.Helper()
	open := make(chan struct{})
	var once sync.Once
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		c.stream(ctx, base+"/v1/events?after=the-beginning", func(kind, data string) {
			if kind == "events.lost" {
				once.Do(func() { close(open) })
				return
			}
			var event map[string]any
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				t.Errorf("an event is no JSON: %s", data)
			}
			l.add(event)
		})
	}()
	select {
	case <-open:
	case <-time.After(limit):
		t.Fatal("the stream of events does not open")
	}
}

// add keeps of an event what a timeline keeps of it.
func (l *eventLog) add(event map[string]any) {
	if event["type"] == "reply.delta" {
		return
	}
	for _, name := range []string{"id", "bot", "conversation", "covers", "text"} {
		delete(event, name)
	}
	if event["type"] != "turn.started" {
		delete(event, "node")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, event)
}

func (l *eventLog) seen() []map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]map[string]any(nil), l.steps...)
}

// count is how many events of a type were seen.
func (l *eventLog) count(kind string) (n int) {
	for _, step := range l.seen() {
		if step["type"] == kind {
			n++
		}
	}
	return n
}

// TestTimelineOutlivesItsNode: a turn of five inputs with a repeat, a discard,
// and a node that is killed while the model writes. What the next node tells of
// it, entry by entry, is what those saw who watched both.
func TestTimelineOutlivesItsNode(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	slow.Store(true)
	var calls atomic.Int64
	m := newModel(t, func() time.Duration {
		if slow.Load() {
			return time.Minute
		}
		return 10 * time.Millisecond
	}, func(at moment) {
		if at == asked {
			calls.Add(1)
		}
	})
	r := newReceiver(t, takesAll, func(moment) {})
	arguments := settings(t, t.TempDir(), fmt.Sprintf(timelineConfig, m.server.URL, r.server.URL, signingSecret))
	c := newCaller(t)
	log := &eventLog{}
	await := func(what string, is func() bool) {
		t.Helper()
		if !within(limit, is) {
			t.Fatalf("%s does not happen; seen: %v", what, log.seen())
		}
	}

	first := start(t, nil, append(arguments, "--node", "first")...)
	log.keep(t, c, first.url)
	for _, id := range []string{"m1", "m2", "m2", "m3", "m4"} {
		c.mustSay(t, first.url, "support", "c", id, "["+id+"]")
	}
	await("the first attempt", func() bool { return calls.Load() == 1 && log.count("turn.started") == 1 })
	c.mustSay(t, first.url, "support", "c", "m5", "[m5]")
	await("the second attempt", func() bool { return calls.Load() == 2 && log.count("turn.started") == 2 })
	first.kill()

	slow.Store(false)
	second := start(t, nil, append(arguments, "--node", "second")...)
	log.keep(t, c, second.url)
	c.rests(t, second.url, "support", "c")
	await("the end of the turn", func() bool { return log.count("turn.ended") == 1 })

	want := log.seen()
	got := readTimeline(t, c.do(http.MethodGet, path(second.url, "support", "c")+"/timeline", "").body)
	compareSteps(t, got, want)
	line := kinds(want)
	const whole = "message.accepted turn.scheduled message.accepted turn.scheduled message.repeated message.accepted turn.scheduled " +
		"message.accepted turn.scheduled turn.started message.accepted reply.discarded turn.scheduled turn.started " +
		"reply.discarded turn.scheduled turn.started reply.committed part.sent"
	if !strings.HasPrefix(line, whole) || !strings.HasSuffix(line, "part.sent reply.sent turn.ended") {
		t.Errorf("what happened is not what was meant to:\n got %s\nwant %s", line, whole)
	}
	shown := run(t, nil, "show", "support", "c", "--timeline", "--json", "--server", second.url)
	compareSteps(t, readTimeline(t, []byte(shown.stdout)), want)
}

func kinds(steps []map[string]any) string {
	var names []string
	for _, step := range steps {
		names = append(names, fmt.Sprint(step["type"]))
	}
	return strings.Join(names, " ")
}

// readTimeline reads the steps of the one turn that there was.
func readTimeline(t *testing.T, document []byte) []map[string]any {
	t.Helper()
	var timeline struct {
		Turns []struct {
			Turn, Lost int
			Open       bool
			Steps      []map[string]any
		}
	}
	if err := json.Unmarshal(document, &timeline); err != nil {
		t.Fatalf("%v: %.300s", err, document)
	}
	if len(timeline.Turns) != 1 || timeline.Turns[0].Turn != 1 || timeline.Turns[0].Open || timeline.Turns[0].Lost != 0 {
		t.Fatalf("it is not one whole turn: %.2000s", document)
	}
	return timeline.Turns[0].Steps
}

func compareSteps(t *testing.T, got, want []map[string]any) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("step %d is missing: %v", i, want[i])
		case i >= len(want):
			t.Errorf("step %d was seen by nobody: %v", i, got[i])
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("step %d:\n got %v\nwant %v", i, got[i], want[i])
		}
	}
}

//go:build unix

package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// slowConfig is a bot whose model takes its time.
func slowConfig(model, receiver string) string {
	return fmt.Sprintf(`
drain: 1m
bots:
  support:
    debounce: 50ms
    lease: 1s
    on_new_input: finish
    responder: {kind: openai, base_url: "%s", model: echo, attempts: 100}
    delivery: {kind: webhook, url: "%s", secret: %s}
`, model, receiver, signingSecret)
}

// stage is a node with a model that thinks for so long, and a receiver.
type stage struct {
	node     *node
	model    *model
	receiver *receiver
	caller   *caller
	restart  []string
}

func newStage(t *testing.T, thinks time.Duration) *stage {
	nobody := func(moment) {}
	s := &stage{
		model:    newModel(t, func() time.Duration { return thinks }, nobody),
		receiver: newReceiver(t, takesAll, nobody),
		caller:   newCaller(t),
	}
	s.restart = settings(t, t.TempDir(), slowConfig(s.model.server.URL, s.receiver.server.URL))
	s.node = start(t, nil, s.restart...)
	return s
}

// generating waits until the model has been asked n times.
func (s *stage) generating(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the model is asked %d times", n), func() bool {
		return len(s.model.of("support", "c1")) >= n && s.caller.look(s.node.url, "support", "c1").Phase == "generating"
	})
}

// draining waits until the node says that it takes no more turns.
func (s *stage) draining(t *testing.T) {
	t.Helper()
	eventually(t, "it drains", func() bool {
		return s.caller.do("GET", s.node.url+"/readyz", "").status == 503
	})
}

// replies are what the person sees, by what each covers.
func (s *stage) replies() []string {
	var covers []string
	shown := map[string]bool{}
	for _, a := range s.receiver.of("support", "c1") {
		if !shown[a.id] {
			covers = append(covers, fmt.Sprint(a.covers))
		}
		shown[a.id] = true
	}
	return covers
}

// TestTermDrains: the running turn ends and is sent, a message that comes
// meanwhile is accepted and kept for the next start, and the exit code is 0.
func TestTermDrains(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3*time.Second)
	s.caller.mustSay(t, s.node.url, "support", "c1", "m1", "[m1] hello")
	s.generating(t, 1)
	s.node.signal(t, syscall.SIGTERM)
	s.draining(t)
	if got := s.caller.do("GET", s.node.url+"/healthz", "").status; got != 200 {
		t.Errorf("a draining node is alive: got status %d", got)
	}
	s.caller.mustSay(t, s.node.url, "support", "c1", "m2", "[m2] one more")
	s.node.exits(t, 0)
	if got := fmt.Sprint(s.replies()); got != "[[m1]]" {
		t.Errorf("after the drain the person saw replies to %s, want [[m1]]:\n%s", got, s.node.log.tail())
	}
	s.model.calm.Store(true)
	s.node = start(t, nil, s.restart...)
	s.caller.rests(t, s.node.url, "support", "c1")
	if got := fmt.Sprint(s.replies()); got != "[[m1] [m2]]" {
		t.Errorf("after the next start the person saw replies to %s, want [[m1] [m2]]", got)
	}
	s.node.stops(t)
}

// TestTermWithATurnThatTakesLonger: after drain the turn is given back, and
// the next start goes on with it at once. The exit code is still 0.
func TestTermWithATurnThatTakesLonger(t *testing.T) {
	t.Parallel()
	nobody := func(moment) {}
	s := &stage{
		model:    newModel(t, func() time.Duration { return time.Hour }, nobody),
		receiver: newReceiver(t, takesAll, nobody),
		caller:   newCaller(t),
	}
	config := "drain: 300ms\n" + slowConfig(s.model.server.URL, s.receiver.server.URL)[len("\ndrain: 1m\n"):]
	s.restart = settings(t, t.TempDir(), config)
	s.node = start(t, nil, s.restart...)
	s.caller.mustSay(t, s.node.url, "support", "c1", "m1", "[m1] hello")
	s.generating(t, 1)
	s.node.stops(t)
	s.model.calm.Store(true)
	s.node = start(t, nil, s.restart...)
	s.caller.rests(t, s.node.url, "support", "c1")
	if got := fmt.Sprint(s.replies()); got != "[[m1]]" {
		t.Errorf("the person saw replies to %s, want [[m1]]", got)
	}
	s.node.stops(t)
}

// TestSecondSignalEndsAtOnce: with exit code 1, and nothing is lost.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, time.Hour)
	s.caller.mustSay(t, s.node.url, "support", "c1", "m1", "[m1] hello")
	s.generating(t, 1)
	s.node.signal(t, syscall.SIGTERM)
	s.draining(t)
	s.node.signal(t, syscall.SIGINT)
	s.node.exits(t, 1)
	s.model.calm.Store(true)
	s.node = start(t, nil, s.restart...)
	s.caller.rests(t, s.node.url, "support", "c1")
	if got := fmt.Sprint(s.replies()); got != "[[m1]]" {
		t.Errorf("the person saw replies to %s, want [[m1]]", got)
	}
	s.node.stops(t)
}

// TestFrozenForLongerThanItsLease: a process that was stopped, for example
// with its machine, goes on afterwards, and there is one reply.
func TestFrozenForLongerThanItsLease(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"while the model writes", "while the model ends meanwhile", "while it waits"} {
		t.Run(when, func(t *testing.T) {
			thinks := 5 * time.Second
			if when == "while the model ends meanwhile" {
				thinks = time.Second
			}
			s := newStage(t, thinks)
			s.caller.mustSay(t, s.node.url, "support", "c1", "m1", "[m1] hello")
			if when != "while it waits" {
				s.generating(t, 1)
			}
			s.node.signal(t, syscall.SIGSTOP)
			frozen := time.After(2500 * time.Millisecond) // the lease is 1s
			<-frozen
			s.node.signal(t, syscall.SIGCONT)
			s.model.calm.Store(true)
			s.caller.rests(t, s.node.url, "support", "c1")
			s.caller.mustSay(t, s.node.url, "support", "c1", "m2", "[m2] and now")
			s.caller.rests(t, s.node.url, "support", "c1")
			if got := fmt.Sprint(s.replies()); got != "[[m1] [m2]]" {
				t.Errorf("the person saw replies to %s, want [[m1] [m2]]", got)
			}
			if got := s.receiver.count(); got != 2 {
				t.Errorf("%d deliveries, want 2", got)
			}
			s.node.stops(t)
		})
	}
}

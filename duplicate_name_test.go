package onereply_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// logged is the lines that a node logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) handler() slog.Handler { return slog.NewTextHandler(l, nil) }

// count is how many lines have a text.
func (l *logged) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

const underThisName = "another node runs under this node's name"

// Two nodes with one name that both live are told to each, once. One that replaces
// the other is no reason.
func TestTwoNodesWithOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, b := memory.New(), newBus()
		defer shared.Close()
		var logs [3]logged
		first := onBusWith(t, b.join(shared), "node", onereply.Bot{}, logs[0].handler())
		defer first.Close()
		second := onBusWith(t, b.join(shared), "node", onereply.Bot{}, logs[1].handler())
		rest(6 * time.Second)
		second.Close()
		rest(time.Minute)
		if n := logs[0].count(underThisName) + logs[1].count(underThisName); n != 0 {
			t.Errorf("a node that was replaced: %d warnings", n)
		}
		third := onBusWith(t, b.join(shared), "node", onereply.Bot{}, logs[2].handler())
		defer third.Close()
		other := onBusWith(t, b.join(shared), "other", onereply.Bot{}, logs[2].handler())
		defer other.Close()
		rest(3 * time.Minute)
		for i, want := range []int{1, 0, 1} {
			if n := logs[i].count(underThisName); n != want {
				t.Errorf("node %d warned %d times, want %d: %s", i, n, want, logs[i].text.String())
			}
		}
		if logs[0].count("--node") != 1 {
			t.Errorf("it does not say what to do: %s", logs[0].text.String())
		}
	})
}

const doesNotHear = "this node does not hear"

// A node that does not hear itself says so once, and once more when it does again.
func TestANodeThatDoesNotHearItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		var log logged
		l := &line{Store: memory.New()}
		defer l.Close()
		joined := b.join(l).(*onBus)
		app := onBusWith(t, joined, "node", onereply.Bot{}, log.handler())
		defer app.Close()
		rest(time.Minute)
		if n := log.count(doesNotHear); n != 0 {
			t.Errorf("a node that is well warned %d times", n)
		}
		l.cut.Store(true)
		joined.deaf.Store(true)
		rest(time.Minute)
		if n := log.count(doesNotHear); n != 0 {
			t.Errorf("while the store was away it warned %d times", n)
		}
		l.cut.Store(false)
		rest(2 * 5 * time.Second) // what was said in the outage is lost, and what is said now is on its way
		if n := log.count(doesNotHear); n != 0 {
			t.Errorf("at once after the store was away it warned %d times", n)
		}
		for round := 1; round <= 2; round++ {
			joined.deaf.Store(true)
			rest(5 * time.Minute)
			if n := log.count(doesNotHear); n != round || log.count("hints=off") != round {
				t.Errorf("round %d: it warned %d times: %s", round, n, log.text.String())
			}
			joined.deaf.Store(false)
			rest(time.Minute)
			if n := log.count("this node hears what nodes tell each other again"); n != round {
				t.Errorf("round %d: it was well again %d times", round, n)
			}
		}
	})
}

// What the store can't carry is counted, and told every 10 s at most.
func TestACrowdedStoreIsToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, shared := newBus(), memory.New()
		defer shared.Close()
		var log logged
		joined := b.join(shared).(*onBus)
		app := onBusWith(t, joined, "node", onereply.Bot{}, log.handler())
		defer app.Close()
		other := b.node(t, shared, "other", onereply.Bot{})
		defer other.Close()
		defer other.Subscribe(onereply.EventQuery{}).Close()
		rest(time.Second)
		joined.crowded.Store(true)
		for range 100 {
			say(t, app, "c", "")
			rest(300 * time.Millisecond)
		}
		if n := log.count("carries less"); n < 2 || n > 4 {
			t.Errorf("%d lines in 30 s: %s", n, log.text.String())
		}
	})
}

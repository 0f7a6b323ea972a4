package engine_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// newEarlyHarness is a node whose bot starts attempts early; its quiet time is long
// enough for renewals.
func newEarlyHarness(t *testing.T) *harness {
	return newHarness(t, func(o *engine.Options) {
		bot := o.Bots["bot"]
		bot.Policy.Debounce, bot.Policy.MaxWait, bot.Policy.EarlyAttempts = time.Minute, 5*time.Minute, 2
		o.Bots["bot"] = bot
		o.MaxGenerations = 1
	})
}

// early has the node say a message, and takes the attempt that begins at once.
func (h *harness) early(id string) engine.Start {
	h.t.Helper()
	h.say(id)
	h.pass(0)
	started := asked[engine.Start](h)
	if !started.Early {
		h.t.Fatalf("the attempt for %s is not early", id)
	}
	return started
}

// A result that comes before the end of the window is kept under a lease that is
// renewed, takes no slot, and is committed at the moment at which the window ends.
func TestAnEarlyResultWaitsForTheWindow(t *testing.T) {
	h := newEarlyHarness(t)
	started := h.early("m")
	h.pass(10 * time.Second)
	writes := h.writes
	h.respond(started, engine.Response{Text: "hello"})
	if h.writes != writes || h.node.Generating() != 0 || h.node.Working() != 1 {
		t.Errorf("%d writes, %d generate, %d work", h.writes-writes, h.node.Generating(), h.node.Working())
	}
	h.pass(50*time.Second - time.Millisecond)
	if left := h.record().Lease.Expires.Sub(h.now); h.record().Phase != turn.Generating || left < lease/2 {
		t.Errorf("a moment before the end it is %s, and %v of the lease are left", h.record().Phase, left)
	}
	h.pass(time.Millisecond)
	asked[engine.Send](h)
	if got := h.replied(turn.ReplyCommitted); got != "hello" {
		t.Errorf("committed: %q", got)
	}
	if c := h.node.Counters; c.Total.EarlyStarts != 1 || c.Total.Replaced != 0 || c.Total.ModelCalls != 1 || c.DueToStart.Count != 0 {
		t.Errorf("counted %+v, %d starts that were due", c.Total, c.DueToStart.Count)
	}
}

// A kept result is let go when newer input replaces it, at this node or at another one.
func TestAKeptResultIsReplaced(t *testing.T) {
	for name, write := range map[string]func(h *harness){
		"here": func(h *harness) { h.say("newer") },
		"at another node": func(h *harness) {
			h.other("c", turn.Message{})
			h.node.Hinted(h.now, keyOf("c"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newEarlyHarness(t)
			h.respond(h.early("m"), engine.Response{Text: "stale", Tokens: 7})
			write(h)
			h.settle()
			h.pass(0)
			if name == "here" {
				if again := asked[engine.Start](h); !again.Early || texts(again.Prompt.Messages) != "m newer" {
					t.Errorf("the next attempt sees %q", texts(again.Prompt.Messages))
				}
				if got := h.node.Counters.Total; got.Replaced != 1 || got.Discards != 0 || got.TokensDiscarded != 7 {
					t.Errorf("counted %+v", got)
				}
			}
			h.pass(10 * time.Minute)
			if got := len(h.entries(keyOf("c"), store.EntryQuery{Status: turn.ReplyCommitted})); got != 0 {
				t.Errorf("%d replies were committed", got)
			}
		})
	}
}

// Newer input tells a running attempt to stop; the next one begins once it has returned.
func TestARunningEarlyAttemptIsReplaced(t *testing.T) {
	h := newEarlyHarness(t)
	first := h.early("m")
	h.say("newer")
	h.pass(time.Second)
	if stop := asked[engine.Stop](h); stop.Reason != turn.Replaced || count[engine.Start](h) != 0 {
		t.Errorf("stopped for %q, and %d attempts began beside it", stop.Reason, count[engine.Start](h))
	}
	h.respond(first, engine.Response{Text: "stale"})
	h.pass(0)
	if again := asked[engine.Start](h); texts(again.Prompt.Messages) != "m newer" {
		t.Errorf("the next attempt sees %q", texts(again.Prompt.Messages))
	}
}

// A person at another node may move the end of the window, or end it. The holder hears
// of it, or finds it when it offers the result.
func TestTheWindowOfAKeptResultMoves(t *testing.T) {
	h := newEarlyHarness(t)
	h.respond(h.early("m"), engine.Response{Text: "hello"})
	h.other("c", turn.Typing{For: 90 * time.Second}) // of which no hint comes
	h.pass(80 * time.Second)
	if h.record().Phase != turn.Generating {
		t.Fatalf("while somebody types it is %s", h.record().Phase)
	}
	h.other("c", turn.Flush{})
	h.node.Hinted(h.now, keyOf("c"))
	h.settle()
	h.pass(0)
	asked[engine.Send](h)
}

// A node that leaves, or that can't renew, gives a kept result up. Another node begins
// again.
func TestANodeThatLeavesGivesAKeptResultUp(t *testing.T) {
	h := newEarlyHarness(t)
	h.respond(h.early("m"), engine.Response{Text: "hello"})
	h.node.HandBack(h.now)
	h.settle()
	r := h.record()
	if at, _ := r.Wake(); r.Phase != turn.Collecting || at != h.now || h.node.Working() != 0 || count[engine.Stop](h) != 0 {
		t.Errorf("it is %s, to be looked at in %v, %d work", r.Phase, at.Sub(h.now), h.node.Working())
	}

	h = newEarlyHarness(t)
	h.respond(h.early("m"), engine.Response{Text: "hello"})
	h.cutOff()
	h.pass(lease)
	h.reconnect()
	h.pass(3 * time.Minute)
	if got := h.replied(turn.ReplyCommitted); got != "" || count[engine.Start](h) == 0 {
		t.Errorf("committed %q, and %d attempts began again", got, count[engine.Start](h))
	}
}

// An early attempt waits behind conversations that are due.
func TestAnEarlyAttemptWaitsBehindWhatIsDue(t *testing.T) {
	h := newEarlyHarness(t)
	first := h.early("m") // takes the only slot
	h.submit("early", engine.Request{Op: engine.Receive, Key: keyOf("early"), ID: "e", Body: store.Body{Text: "e"}})
	h.submit("due", engine.Request{Op: engine.Receive, Key: keyOf("due"), ID: "d", Body: store.Body{Text: "d"}})
	h.submit("flush", engine.Request{Op: engine.Flush, Key: keyOf("due")})
	h.pass(time.Second)
	h.respond(first, engine.Response{Text: "hello"})
	h.pass(0)
	if next := asked[engine.Start](h); next.Key != keyOf("due") {
		t.Errorf("the next one is %v", next.Key)
	}
}

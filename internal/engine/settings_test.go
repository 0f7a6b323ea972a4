package engine_test

import (
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// Settings may change between the commit of a reply and its sends. What was committed
// stays as it is, and a send ends within the lease that was taken, whatever the new
// length of leases.
func TestSettingsChangeBetweenCommitAndSend(t *testing.T) {
	parts := []string{"one", "two", "three"}
	tests := map[string]func(p turn.Policy) turn.Policy{
		"longer leases":   func(p turn.Policy) turn.Policy { p.Lease = 10 * lease; return p },
		"shorter leases":  func(p turn.Policy) turn.Policy { p.Lease = lease / 10; return p },
		"no tries":        func(p turn.Policy) turn.Policy { p.RetryFor, p.MaxAttempts = 0, 1; return p },
		"no discards":     func(p turn.Policy) turn.Policy { p.MaxDiscards = 0; return p },
		"a longer window": func(p turn.Policy) turn.Policy { p.Debounce, p.MaxWait = time.Hour, time.Hour; return p },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.respond(h.started("m"), engine.Response{Text: "one two three", Parts: parts})
			h.node.ChangeBot("bot", func(b *engine.Bot) { b.Policy = change(b.Policy) })
			for part := range parts {
				for count[engine.Send](h) == 0 { // it may wait for the lease to be renewed, or to end
					h.pass(time.Second)
					if h.now > start.Add(time.Hour) {
						t.Fatalf("part %d is not sent within an hour", part)
					}
				}
				s := asked[engine.Send](h)
				if s.Reply.Done != part || s.Reply.Parts != len(parts) {
					t.Errorf("sends part %d of %d, want %d of %d", s.Reply.Done, s.Reply.Parts, part, len(parts))
				}
				if held := h.record().Lease; s.Until >= held.Expires || s.Until < h.now || s.Lease.Nonce != held.Nonce {
					t.Errorf("part %d is given until %d, and the lease ends at %d", part, s.Until, held.Expires)
				}
				h.sent(s, engine.SendResult{})
			}
			if got := h.replied(turn.ReplySent); got != "one two three" {
				t.Errorf("sent: %q", got)
			}
		})
	}
}

// A policy holds from the next step on: for the window that is open, and for the
// attempt that runs.
func TestAPolicyHoldsFromTheNextStepOn(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.node.ChangeBot("bot", func(b *engine.Bot) { b.Policy.Debounce = 3 * time.Second })
	h.say("n")
	h.settle()
	if due := h.record().Window.Due; due != start.Add(3*time.Second) {
		t.Errorf("due at %d, want three seconds after the second message", due)
	}
	h.pass(3 * time.Second)
	s := asked[engine.Start](h)
	h.node.ChangeBot("bot", func(b *engine.Bot) { b.Policy.OnNewInput = turn.Finish })
	h.say("newer")
	h.settle()
	if n := count[engine.Stop](h); n != 0 {
		t.Error("the attempt is told to stop, although attempts finish now")
	}
	h.respond(s, engine.Response{Text: "hello"})
	if got := h.replied(turn.ReplyCommitted); got != "hello" {
		t.Errorf("committed: %q", got)
	}
}

package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A conversation in which nothing happens is forgotten after a minute.
func TestIdleConversationsAreForgotten(t *testing.T) {
	tests := map[string]func(h *harness){
		"answered": func(h *harness) { h.answered("hello", "m") },
		"paused":   func(h *harness) { h.say("m"); h.submit("pause", engine.Request{Op: engine.Pause}) },
		"failed":   func(h *harness) { h.respond(h.started("m"), engine.Response{Fault: turn.Rejected, Reason: "no"}) },
		"unknown":  func(h *harness) { h.submit("flush", engine.Request{Op: engine.Flush}) },
		"deleted":  func(h *harness) { h.say("m"); h.submit("forget", engine.Request{Op: engine.Forget}) },
		"far away": func(h *harness) { h.say("m"); h.submit("typing", engine.Request{Op: engine.Typing, For: time.Hour}) },
	}
	for name, traffic := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *engine.Options) {
				b := o.Bots["bot"]
				b.Policy.MaxWait = time.Hour
				o.Bots["bot"] = b
			})
			traffic(h)
			h.settle()
			h.pass(61 * time.Second)
			if n := h.node.Remembered(); n != 0 {
				t.Errorf("%d conversations are remembered", n)
			}
		})
	}
}

func TestIdleConversationsTakeBoundedMemory(t *testing.T) {
	h := newHarness(t)
	for i := range 100_000 {
		h.submit("pause", engine.Request{Key: keyOf(fmt.Sprint(i)), Op: engine.Pause})
		h.settle()
		if n := h.node.Remembered(); n > 4096 {
			t.Fatalf("after %d conversations %d are remembered", i, n)
		}
	}
}

// What was decided by what a node remembers is right although another node
// wrote in between.
func TestWhatIsRememberedDecidesNothing(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.other("c", turn.Pause{})
	h.pass(2 * time.Second)
	if n := count[engine.Start](h); n != 0 {
		t.Error("an attempt runs although another node paused the conversation")
	}
}

// Whatever goes on in a conversation when it is forgotten: nothing of it comes
// back, and the next message starts anew.
func TestForget(t *testing.T) {
	tests := map[string]func(h *harness) (end func()){
		"idle":       func(h *harness) func() { h.answered("hello", "m"); return func() {} },
		"collecting": func(h *harness) func() { h.say("m"); h.settle(); return func() {} },
		"writing":    func(h *harness) func() { h.say("m"); return func() {} },
		"queued": func(h *harness) func() {
			h.submit("first", engine.Request{Key: keyOf("first"), Op: engine.Receive, ID: "m"})
			h.pass(time.Second)
			h.say("m")
			h.pass(time.Second)
			first := asked[engine.Start](h)
			return func() { h.respond(first, engine.Response{None: true}) }
		},
		"generating": func(h *harness) func() {
			started := h.started("m")
			return func() { h.respond(started, engine.Response{Text: "hello"}) }
		},
		"sending": func(h *harness) func() {
			h.respond(h.started("m"), engine.Response{Parts: []string{"one", "two"}})
			send := asked[engine.Send](h)
			return func() { h.sent(send, engine.SendResult{Entry: &store.Entry{Seq: send.Reply.Seq}}) }
		},
		"failed": func(h *harness) func() {
			h.respond(h.started("m"), engine.Response{Fault: turn.Rejected})
			return func() {}
		},
		"paused": func(h *harness) func() {
			h.say("m")
			h.submit("pause", engine.Request{Op: engine.Pause})
			return func() {}
		},
	}
	for name, traffic := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *engine.Options) { o.MaxGenerations = 1 })
			end := traffic(h)
			h.submit("forget", engine.Request{Op: engine.Forget})
			h.settle()
			if got := h.answers["forget"].Err; got != nil {
				t.Fatal(got)
			}
			end()
			h.pass(time.Minute)
			if r := h.record(); r.Exists() || len(h.entries(keyOf("c"), store.EntryQuery{})) != 0 {
				t.Errorf("something came back: %+v", r)
			}
			if n := count[engine.Send](h); n != 0 {
				t.Errorf("%d sends are asked for", n)
			}
			h.out = nil
			h.say("m")
			h.settle()
			if got := h.answers["m"]; got.Version != 1 || got.Duplicate {
				t.Errorf("the next message: %+v, want version 1", got)
			}
			h.pass(2 * time.Second)
			asked[engine.Start](h)
		})
	}
}

func TestForgetEndsWhatRuns(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.submit("forget", engine.Request{Op: engine.Forget})
	h.settle()
	if stop := asked[engine.Stop](h); stop.Nonce != started.Lease.Nonce {
		t.Errorf("stopped: %+v", stop)
	}
}

// A timer that was claimed just before its conversation was deleted does not
// bring an empty one back.
func TestATimerOfAForgottenConversation(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	found, _ := h.store.Claim(context.Background(), h.now.Add(time.Hour), 1, time.Second)
	h.submit("forget", engine.Request{Op: engine.Forget})
	h.settle()
	h.node.Claimed(h.now, found, nil)
	h.settle()
	if h.record().Exists() {
		t.Error("the conversation is back")
	}
}

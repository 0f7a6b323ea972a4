package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Behind a load balancer each message comes to any node. These are the round trips
// between a message and its acknowledgement, by what the node knows of the record.
func TestRoundTripsOfAnAcknowledgement(t *testing.T) {
	repeated := func(h, _ *harness) { h.say("m") }
	tests := map[string]struct {
		before func(h, other *harness) // on one store
		alone  bool
		calls  string
	}{
		"new conversation":                 {calls: "commit"},
		"known record":                     {before: func(h, _ *harness) { h.say("before") }, calls: "commit"},
		"old record":                       {before: func(h, other *harness) { h.say("before"); h.settle(); other.say("newer") }, calls: "commit commit"},
		"unknown record":                   {before: func(_, other *harness) { other.say("before") }, calls: "commit commit"},
		"deleted by this node":             {before: func(h, _ *harness) { h.say("before"); h.forget() }, calls: "commit"},
		"deleted by another node":          {before: func(h, other *harness) { h.say("before"); h.settle(); other.forget() }, calls: "commit commit"},
		"known record, repeated message":   {before: repeated, calls: "commit"},
		"old record, repeated message":     {before: func(h, other *harness) { h.say("m"); h.settle(); other.say("newer") }, calls: "commit"},
		"unknown record, repeated message": {before: func(_, other *harness) { other.say("m") }, calls: "commit"},
		"alone in the store, unknown":      {before: func(_, other *harness) { other.say("before") }, alone: true, calls: "load commit"},
		"alone in the store, new":          {alone: true, calls: "load commit"},
		"alone in the store, known record": {before: func(h, _ *harness) { h.say("before") }, alone: true, calls: "commit"},
		"forgotten, as nothing happened":   {before: func(h, _ *harness) { h.node.Drain(h.now); h.say("before"); h.pass(10 * time.Minute) }, calls: "commit commit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *engine.Options) { o.Alone = test.alone })
			other := newHarnessOn(t, h.store, start)
			if test.before != nil {
				test.before(h, other)
			}
			h.settle()
			other.settle()
			h.out, h.calls = nil, nil
			delete(h.answers, "m")
			h.say("m")
			h.settle()
			if got := fmt.Sprint(h.calls); got != "["+test.calls+"]" {
				t.Errorf("calls of the store: %s, want %s", got, test.calls)
			}
			if got := h.answers["m"]; got.Err != nil || got.Outcome == "" {
				t.Errorf("answered %+v", got)
			}
			if n := len(h.entries(keyOf("c"), store.EntryQuery{ID: "m"})); n != 1 {
				t.Errorf("the message is stored %d times", n)
			}
		})
	}
}

// forget deletes the conversation "c".
func (h *harness) forget() {
	h.submit("forget", engine.Request{Op: engine.Forget})
	h.settle()
}

// staleConflicts has each conflict name an old record: the one that was there when
// the test began to lie.
func (h *harness) staleConflicts() {
	old, err := h.store.Load(context.Background(), keyOf("c"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.fault = func(w store.Write) (store.Result, error) {
		result, err := h.store.Commit(context.Background(), w)
		if result.Status == store.Conflict {
			result.Current = old
		}
		return result, err
	}
}

// A conflict that names an old record costs a round trip more, and then a read.
func TestAnOldAnswerOfAConflict(t *testing.T) {
	for name, behind := range map[string]func(h *harness){
		"it names what the write expected": func(h *harness) { h.staleConflicts(); h.other("c", turn.Message{}) },
		"it names what nobody expects":     func(h *harness) { h.staleConflicts(); h.say("known"); h.settle(); h.other("c", turn.Message{}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("before")
			h.settle()
			behind(h)
			version := h.record().Version
			h.calls = nil
			h.say("m")
			h.settle()
			if got := h.answers["m"]; got.Err != nil || got.Version != version+1 {
				t.Errorf("answered %+v, want version %d", got, version+1)
			}
			if r := h.record(); r.Version != version+1 || int64(r.Pending) != version+1 {
				t.Errorf("version %d with %d pending, want %d of each", r.Version, r.Pending, version+1)
			}
			if n := len(h.calls); n > 4 {
				t.Errorf("it took %v", h.calls)
			}
		})
	}
}

// A node whose conflicts name another record each time reads at last.
func TestConflictsWithoutEnd(t *testing.T) {
	h := newHarness(t)
	h.say("before")
	h.settle()
	writes := 0
	h.fault = func(w store.Write) (store.Result, error) {
		if writes++; writes > 20 {
			t.Fatalf("%d writes in vain: %v", writes, h.calls)
		}
		if h.count("load") > 0 {
			return h.store.Commit(context.Background(), w)
		}
		return store.Result{Status: store.Conflict, Current: store.Snapshot{Record: w.Record, Op: newOps()()}}, nil
	}
	h.calls = nil
	h.say("m")
	h.settle()
	if got := h.answers["m"]; got.Err != nil || got.Version != 2 {
		t.Errorf("answered %+v, want version 2", got)
	}
	if n := h.count("commit"); n < 3 || n > 6 {
		t.Errorf("%d writes, want that a few conflicts are no reason to read: %v", n, h.calls)
	}
}

// A read starts the count of conflicts anew: the next few are again followed by a write.
func TestConflictsAreCountedFromTheLastRead(t *testing.T) {
	h := newHarness(t)
	h.say("before")
	h.settle()
	left := 10
	h.fault = func(w store.Write) (store.Result, error) {
		if left--; left < 0 {
			return h.store.Commit(context.Background(), w)
		}
		return store.Result{Status: store.Conflict, Current: store.Snapshot{Record: w.Record, Op: newOps()()}}, nil
	}
	h.calls = nil
	h.say("m")
	h.settle()
	five := strings.Repeat("commit ", 5)
	if got, want := fmt.Sprint(h.calls), "["+five+"load "+five+"load commit]"; got != want {
		t.Errorf("calls of the store: %s, want %s", got, want)
	}
}

// count is how many calls of the store of a kind were made.
func (h *harness) count(call string) int {
	n := 0
	for _, c := range h.calls {
		if c == call {
			n++
		}
	}
	return n
}

// What is under way here is not given up over an old answer, which knows nothing of
// its lease.
func TestAnOldAnswerEndsNoAttempt(t *testing.T) {
	tests := map[string]func(h *harness, s engine.Start){
		"the attempt's result meets it": func(*harness, engine.Start) {},
		"a repeated message meets it":   func(h *harness, _ engine.Start) { h.say("m"); h.settle() },
		"the next renewal meets it":     func(h *harness, _ engine.Start) { h.pass(lease/3 + time.Second) },
	}
	for name, meet := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *engine.Options) {
				bot := o.Bots["bot"]
				bot.Policy.OnNewInput = turn.Finish
				o.Bots["bot"] = bot
			})
			h.say("m")
			h.settle()
			h.staleConflicts() // of before the lease
			h.pass(time.Second)
			s := asked[engine.Start](h)
			h.other("c", turn.Message{})
			meet(h, s)
			if n := count[engine.Stop](h); n != 0 {
				t.Errorf("the attempt is told to stop")
			}
			h.respond(s, engine.Response{Text: "hello"})
			if got := h.replied(turn.ReplyCommitted); got != "hello" {
				t.Errorf("committed: %q, want the attempt's reply", got)
			}
		})
	}
}

// What an operator asks for is not refused by an old answer.
func TestAnOldAnswerRefusesNothing(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.staleConflicts()
	h.other("c", turn.Typing{For: time.Minute}, turn.Pause{})
	h.submit("pause", engine.Request{Op: engine.Pause}) // the node knows of no pause, and its write conflicts
	h.submit("resume", engine.Request{Op: engine.Resume, Answer: true})
	h.settle()
	if got := h.answers["resume"]; got.Outcome != turn.Done || h.record().OnHold {
		t.Errorf("the resume: %+v; on hold: %v", got, h.record().OnHold)
	}
}

// Two nodes that share a conversation pay two round trips for each message, however
// often one comes before the other.
func TestConflictsDoNotAddUp(t *testing.T) {
	h := newHarness(t)
	other := newHarnessOn(t, h.store, start)
	for i := range 10 {
		other.say(fmt.Sprint("theirs", i))
		other.settle()
		h.calls = nil
		h.say(fmt.Sprint("ours", i))
		h.settle()
		if got := fmt.Sprint(h.calls); got != "[commit commit]" {
			t.Fatalf("message %d: %s, want two writes", i, got)
		}
	}
	if r := h.record(); r.Version != 20 || r.Pending != 20 {
		t.Errorf("version %d with %d pending, want 20 of each", r.Version, r.Pending)
	}
}

// Where two nodes took messages of one conversation, both wake up. The node that wrote
// first learns from one conflict that the other has written since, and leaves the
// conversation to it.
func TestAWakeUpThatAnotherNodeTakesCareOf(t *testing.T) {
	h := newHarness(t)
	other := newHarnessOn(t, h.store, start)
	h.say("ours")
	h.settle()
	h.pass(time.Second / 2)
	other.now = h.now
	other.say("theirs")
	other.settle()
	h.calls = nil
	h.pass(700 * time.Millisecond)
	h.settle()
	if got := fmt.Sprint(h.calls); got != "[commit]" {
		t.Errorf("calls of the store: %s, want one write, which conflicts", got)
	}
	if n := count[engine.Start](h); n != 0 {
		t.Errorf("the node that wrote first has begun an attempt")
	}
	other.pass(time.Second)
	other.started("ours", "theirs")
}

// A wake-up that an old answer has ended comes back by the store's timer.
func TestAWakeUpThatAnOldAnswerEnds(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.staleConflicts()
	h.other("c", turn.Typing{For: time.Second / 2})
	h.pass(time.Minute)
	h.settle()
	h.started("m")
}

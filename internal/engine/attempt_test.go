package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// An attempt tells its turn, its number within the turn, and the version that it saw.
func TestTheNumbersOfAnAttempt(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "before")
	h.respond(h.started("m", "n", "o"), engine.Response{Fault: turn.Failure, Reason: "no"})
	h.pass(time.Minute)
	s := asked[engine.Start](h)
	if s.Turn != 2 || s.Attempt != 2 || s.Through != 4 || s.Early || s.Lease.Nonce != h.record().Lease.Nonce || s.NoSignalUntil != 0 {
		t.Errorf("turn %d, attempt %d through %d, early %v, no signal until %d", s.Turn, s.Attempt, s.Through, s.Early, s.NoSignalUntil)
	}
}

// A prompt holds the waiting messages, and the bot's share of the history since the last
// reset. After a refusal the model is asked once more without the history.
func TestWhatIsReadForAPrompt(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { b := o.Bots["bot"]; b.Observe = 3; o.Bots["bot"] = b })
	h.answered("hello", "before")
	h.submit("reset", engine.Request{Op: engine.Reset})
	h.answered("hello", "again")
	read := h.asksForPrompt()
	if want := (engine.ReadPrompt{Key: keyOf("c"), Nonce: h.record().Lease.Nonce, AfterSeq: 5, FreshAfter: 3, Through: 3, History: 10, Observe: 3}); read != want {
		t.Errorf("asks for %+v, want %+v", read, want)
	}
	h.node.PromptRead(h.now, read.Key, read.Nonce, h.entries(read.Key, store.EntryQuery{After: 5}), h.entries(read.Key, store.EntryQuery{After: 3}), nil)
	h.settle()
	s := asked[engine.Start](h)
	if texts(s.Prompt.History) != "again hello" {
		t.Fatalf("the history is %q", texts(s.Prompt.History))
	}
	h.node.Responded(h.now, engine.Response{Key: s.Key, Nonce: s.Lease.Nonce, Fault: turn.Refused, Reason: "no"})
	for h.step() && count[engine.ReadPrompt](h) == 0 {
	}
	for count[engine.ReadPrompt](h) == 0 {
		h.now = max(h.now+1, h.node.NextTick())
		h.node.Tick(h.now)
		for h.step() && count[engine.ReadPrompt](h) == 0 {
		}
	}
	if read := asked[engine.ReadPrompt](h); read.History != 0 || read.Observe != 0 {
		t.Errorf("after a refusal it asks for %+v", read)
	} else {
		h.node.PromptRead(h.now, read.Key, read.Nonce, h.entries(read.Key, store.EntryQuery{After: 5}), h.entries(read.Key, store.EntryQuery{After: 3}), nil)
	}
	h.settle()
	if s := asked[engine.Start](h); len(s.Prompt.History) != 0 || texts(s.Prompt.Messages) != "m" {
		t.Errorf("the prompt is %q after %q", texts(s.Prompt.Messages), texts(s.Prompt.History))
	}
}

// A result is taken once, and only of the attempt that runs.
func TestAResultOfAnotherAttempt(t *testing.T) {
	h, told := newToldHarness(t)
	s := h.started("m")
	writes := h.writes
	h.node.Responded(h.now, engine.Response{Key: s.Key, Nonce: "another", Text: "wrong"})
	h.settle()
	if h.writes != writes {
		t.Error("the result of another attempt is written")
	}
	h.node.Responded(h.now, engine.Response{Key: s.Key, Nonce: s.Lease.Nonce, Text: "right"})
	h.node.Responded(h.now, engine.Response{Key: s.Key, Nonce: s.Lease.Nonce, Text: "twice"})
	h.node.HandBack(h.now) // it has returned: there is nothing to stop
	h.settle()
	if results := toldOf[turn.Generated](*told); len(results) != 1 || count[engine.Stop](h) != 0 {
		t.Errorf("%d results are told, %d attempts are stopped", len(results), count[engine.Stop](h))
	}
	h.node.Responded(h.now, engine.Response{Key: keyOf("unknown"), Nonce: s.Lease.Nonce, Text: "wrong"})
	h.node.PromptRead(h.now, keyOf("gone"), s.Lease.Nonce, nil, nil, nil)
	h.node.SendEnded(h.now, engine.SendResult{Key: keyOf("neither"), Nonce: s.Lease.Nonce})
	h.settle()
	if got := h.replied(turn.ReplyCommitted); got != "right" || h.node.Remembered() != 1 {
		t.Errorf("committed: %q, %d conversations are remembered", got, h.node.Remembered())
	}
}

// Each answer brings the time.
func TestEachAnswerBringsTheTime(t *testing.T) {
	h := newHarness(t)
	h.now = h.now.Add(10 * time.Second) // no tick
	h.other("c", turn.Message{})
	h.node.Claimed(h.now.Add(time.Second), []store.Timer{{Key: keyOf("c"), At: h.now.Add(time.Second)}}, nil)
	h.now = h.now.Add(time.Second)
	for h.step() && count[engine.ReadPrompt](h) == 0 {
	}
	read := asked[engine.ReadPrompt](h)
	if got := h.record().Lease.Expires; got != h.now.Add(lease) {
		t.Errorf("the lease ends %v after a claim, want %v", got.Sub(h.now), lease)
	}
	h.now = h.now.Add(time.Second)
	h.node.PromptRead(h.now, read.Key, read.Nonce, nil, nil, nil)
	h.settle()
	if got := h.record().Window.NotBefore; got <= h.now {
		t.Errorf("the back-off ends %v after the prompt was read", got.Sub(h.now))
	}
	h.pass(time.Minute)
	s := asked[engine.Start](h)
	h.now = h.now.Add(time.Millisecond)
	h.respond(s, engine.Response{Text: "hello"})
	if got := h.theReply().At; got != h.now {
		t.Errorf("the reply is written %v before it came", h.now.Sub(got))
	}
	send := asked[engine.Send](h)
	h.now = h.now.Add(time.Millisecond)
	h.sent(send, engine.SendResult{})
	if got := h.events[len(h.events)-1].At; got != h.now {
		t.Errorf("it is told as sent %v before it was", h.now.Sub(got))
	}
	h.say("a", "b") // the first is being written
	h.now = h.now.Add(time.Millisecond)
	h.settle()
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "c", Text: new(string)}) // it is being read
	h.now = h.now.Add(time.Millisecond)
	h.settle()
	for id, want := range map[string]turn.Time{"a": h.now - 2, "b": h.now - 1, "c": h.now} {
		e := h.entries(keyOf("c"), store.EntryQuery{ID: id})
		if id == "c" {
			e = h.entries(keyOf("c"), store.EntryQuery{Status: turn.InputEarly})
		}
		if len(e) != 1 || e[0].At != want {
			t.Errorf("%s is written as %+v, want it at %d", id, e, want)
		}
	}
}

// together has the requests and events that follow applied by one write.
func (h *harness) together(do func()) {
	h.submit("before", engine.Request{Op: engine.ClaimName, Name: fmt.Sprint("n", h.writes)}) // its write is under way
	do()
	h.settle()
}

// A lease that was taken and ended by one write begins nothing.
func TestAnAttemptThatEndsInTheWriteOfItsLease(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.pass(time.Second - time.Millisecond)
	h.together(func() {
		h.now = h.now.Add(time.Millisecond)
		h.node.Tick(h.now)
		h.submit("pause", engine.Request{Op: engine.Pause})
	})
	if r := h.record(); count[engine.Start](h) != 0 || h.node.Working() != 0 || !h.node.Quiet() || r.Shown() != turn.Paused || r.Tries.Runs != 1 {
		t.Errorf("%d run, %d work, record %+v", count[engine.Start](h), h.node.Working(), r)
	}
}

// An attempt is told to end once, for the first reason. If its lease is gone by then, its
// end writes nothing; else it gives the lease back, and what it says is still offered.
func TestAnAttemptIsToldToEndOnce(t *testing.T) {
	newer := func(h *harness) { h.say("newer"); h.settle() }
	pause := func(h *harness) { h.submit("pause", engine.Request{Op: engine.Pause}); h.settle() }
	leave := func(h *harness) { h.node.HandBack(h.now); h.settle() }
	both := func(h *harness) {
		h.together(func() { h.say("newer"); h.submit("pause", engine.Request{Op: engine.Pause}) })
	}
	tests := map[string]struct {
		why    []func(h *harness)
		reason string
		end    turn.Event // that the core is told; nil: none
	}{
		"newer input":              {[]func(*harness){newer}, turn.Superseded, turn.Interrupted{}},
		"the node leaves":          {[]func(*harness){leave}, turn.HandedBack, turn.HandBack{}},
		"a pause":                  {[]func(*harness){pause}, turn.WasPaused, nil},
		"a pause after input":      {[]func(*harness){newer, pause}, turn.Superseded, nil},
		"both in one write":        {[]func(*harness){both}, turn.Superseded, nil},
		"input, and it leaves":     {[]func(*harness){newer, leave}, turn.Superseded, turn.Interrupted{}},
		"a pause, and it leaves":   {[]func(*harness){pause, leave}, turn.WasPaused, nil},
		"it leaves, and is paused": {[]func(*harness){leave, pause}, turn.HandedBack, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h, told := newToldHarness(t)
			s := h.started("m")
			for _, happen := range test.why {
				happen(h)
			}
			if stop := asked[engine.Stop](h); stop.Key != s.Key || stop.Nonce != s.Lease.Nonce || stop.Reason != test.reason || count[engine.Stop](h) != 0 {
				t.Errorf("told %+v, and %d times more", stop, count[engine.Stop](h))
			}
			if h.node.Working() != 1 || h.node.Generating() != 1 {
				t.Errorf("before it has returned %d work, in %d slots", h.node.Working(), h.node.Generating())
			}
			*told = nil
			h.respond(s, engine.Response{Fault: turn.Failure, Reason: "canceled"})
			var want []turn.Event
			switch test.end.(type) {
			case turn.Interrupted:
				want = []turn.Event{turn.Interrupted{Nonce: s.Lease.Nonce}}
			case turn.HandBack:
				want = []turn.Event{turn.HandBack{Nonce: s.Lease.Nonce}}
			}
			if !slices.Equal(*told, want) || h.node.Working() != 0 || h.node.Generating() != 0 || h.record().Lease.Nonce != "" {
				t.Errorf("the core is told %#v; %d work, in %d slots, under the lease %q", *told, h.node.Working(), h.node.Generating(), h.record().Lease.Nonce)
			}
		})
	}
}

// Where an attempt was stopped before its prompt was read, the responder never runs.
func TestAnAttemptIsStoppedBeforeItsPromptIsRead(t *testing.T) {
	for name, stop := range map[string]engine.Request{"by a pause": {Op: engine.Pause}, "by a person": {Op: engine.HumanReply, Body: store.Body{Text: "hello"}}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			read := h.asksForPrompt()
			h.submit("stop", stop)
			h.settle()
			h.node.PromptRead(h.now, read.Key, read.Nonce, h.entries(read.Key, store.EntryQuery{}), nil, nil)
			h.settle()
			if count[engine.Start](h) != 0 || count[engine.Stop](h) != 0 || h.node.Generating() != 0 {
				t.Errorf("%d responders run, %d were told to stop, %d slots are taken", count[engine.Start](h), count[engine.Stop](h), h.node.Generating())
			}
		})
	}
}

// A text that comes while the node leaves, and before the window ends, is given up with
// the lease: nobody is left to keep it.
func TestAnEarlyTextThatComesWhileTheNodeLeaves(t *testing.T) {
	h := newEarlyHarness(t)
	s := h.early("m")
	h.node.HandBack(h.now)
	h.settle()
	h.respond(s, engine.Response{Text: "hello"})
	if r := h.record(); r.Lease.Nonce != "" || r.Phase != turn.Collecting || h.node.Working() != 0 {
		t.Errorf("it is %s under the lease %q, %d work", r.Phase, r.Lease.Nonce, h.node.Working())
	}
}

// A kept result is offered once. A second one of the same attempt changes nothing.
func TestAKeptResultIsOfferedOnce(t *testing.T) {
	h := newEarlyHarness(t)
	s := h.early("m")
	h.respond(s, engine.Response{Text: "first"})
	h.respond(s, engine.Response{Text: "second"})
	h.pass(time.Minute)
	if got := h.replied(turn.ReplyCommitted); got != "first" {
		t.Errorf("committed: %q", got)
	}
}

// Where the node leaves before the write of a lease is answered, nothing is read for the
// attempt.
func TestANodeThatLeavesReadsNoPrompt(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.pass(time.Second - time.Millisecond)
	h.now = h.now.Add(time.Millisecond)
	h.node.Tick(h.now)
	h.node.HandBack(h.now)
	for h.step() && count[engine.ReadPrompt](h) == 0 {
	}
	if n := count[engine.ReadPrompt](h); n != 0 {
		t.Errorf("%d prompts are read", n)
	}
}

// looked answers the read that a deletion begins with.
func (h *harness) looked() {
	h.t.Helper()
	h.node.Loaded(h.now, h.load(asked[engine.Load](h)))
	h.collect()
}

// While a conversation is deleted nothing else happens to it.
func TestADeletionIsWaitedFor(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.submit("forget", engine.Request{Op: engine.Forget})
	h.looked()
	h.say("n")
	h.submit("again", engine.Request{Op: engine.Forget})
	if count[engine.Delete](h) != 1 || count[engine.Commit](h) != 0 || count[engine.Load](h) != 0 {
		t.Errorf("the node asks for %T", h.out)
	}
	h.settle()
	if h.record().Exists() || h.answers["n"].Outcome != turn.Queued || h.answers["n"].Version != 1 {
		t.Errorf("n is answered %+v, the record is %+v", h.answers["n"], h.record())
	}
}

// Nodes tell attempts to end in the order of their keys, so that a simulation can be
// repeated.
func TestANodeLeavesInOrder(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) { o.MaxGenerations = 20 })
	var want, got []string
	for i := range 20 {
		name := fmt.Sprintf("c%02d", 19-i)
		want = append([]string{name}, want...)
		h.submit(name, engine.Request{Key: keyOf(name), Op: engine.Receive, ID: "m", Body: store.Body{Text: "m"}})
	}
	h.pass(time.Second)
	h.node.HandBack(h.now)
	h.collect()
	for count[engine.Stop](h) > 0 {
		got = append(got, asked[engine.Stop](h).Key.Conversation)
	}
	if !slices.Equal(got, want) {
		t.Errorf("told in the order %v", got)
	}
}

// A conversation that was deleted by another node does not come back with a wake-up of
// this one.
func TestAWakeUpOfADeletedConversation(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	if err := h.store.Delete(context.Background(), keyOf("c")); err != nil {
		t.Fatal(err)
	}
	h.pass(2 * time.Second)
	if h.record().Exists() || !h.node.Quiet() || h.node.Generating() != 0 {
		t.Errorf("the record is %+v; quiet %v, %d slots are taken", h.record(), h.node.Quiet(), h.node.Generating())
	}
}

// A deletion that fails leaves the conversation, and its caller hears of it.
func TestADeletionThatFails(t *testing.T) {
	h := newHarness(t)
	s := h.started("m")
	h.submit("forget", engine.Request{Op: engine.Forget})
	h.looked()
	asked[engine.Delete](h)
	h.node.Deleted(h.now, keyOf("c"), context.DeadlineExceeded)
	h.settle()
	if got := h.answers["forget"]; got.Err == nil || count[engine.Stop](h) != 0 {
		t.Errorf("answered %+v, %d attempts are stopped", got, count[engine.Stop](h))
	}
	h.respond(s, engine.Response{Text: "hello"})
	if got := h.replied(turn.ReplyCommitted); got != "hello" {
		t.Errorf("committed: %q", got)
	}
}

// A conversation that was idle and is in use again is not forgotten over it.
func TestWhatIsInUseAgainIsKept(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "m")
	h.pass(30 * time.Second)
	s := h.started("n")
	h.pass(2 * time.Minute)
	h.respond(s, engine.Response{Text: "again"})
	if got := h.replied(turn.ReplyCommitted); got != "again" {
		t.Errorf("committed: %q", got)
	}
}

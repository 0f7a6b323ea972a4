package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A conversation that was deleted while its attempt ran is forgotten when that returns.
func TestADeletedConversationIsForgottenAfterItsAttempt(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.forget()
	h.respond(started, engine.Response{Text: "late"})
	if n := h.node.Remembered(); n != 0 {
		t.Errorf("%d conversations are remembered", n)
	}
}

// The answer to the question of another attempt begins nothing.
func TestAPromptOfAnotherAttempt(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	for h.step() && count[engine.ReadPrompt](h) == 0 {
	}
	read := asked[engine.ReadPrompt](h)
	waiting := h.entries(read.Key, store.EntryQuery{})
	h.node.PromptRead(h.now, read.Key, "another", waiting, nil, nil)
	h.collect()
	if n := count[engine.Start](h); n != 0 {
		t.Errorf("%d responders run", n)
	}
	h.node.PromptRead(h.now, read.Key, read.Nonce, waiting, nil, nil)
	h.collect()
	h.node.PromptRead(h.now, read.Key, read.Nonce, waiting, nil, nil) // and a second one neither
	h.collect()
	if n := count[engine.Start](h); n != 1 {
		t.Errorf("%d responders run, want 1", n)
	}
}

// A send that takes longer than a lease keeps it, since it is renewed.
func TestALongSendKeepsItsLease(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	send := asked[engine.Send](h)
	if want := send.Lease.Expires.Add(-lease / 10); send.Until != want {
		t.Errorf("it may take until %d, want %d", send.Until, want)
	}
	h.pass(3 * lease)
	if n := count[engine.Stop](h); n != 0 {
		t.Errorf("it was told to stop %d times", n)
	}
	h.sent(send, engine.SendResult{})
	if r := h.record(); r.Phase != turn.Idle {
		t.Errorf("the conversation is %s", r.Phase)
	}
}

// A new text says that the attachments have arrived: nothing is waited for any more.
func TestAnEditWithATextEndsTheWaitForAttachments(t *testing.T) {
	h := newHarness(t)
	h.submit("m", engine.Request{Op: engine.Receive, ID: "m", Body: store.Body{
		Text: "see this", Attachments: []store.Attachment{{URL: "https://example.test/a", Pending: true}},
	}})
	h.settle()
	text := "see this, please"
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: &text})
	h.pass(1500 * time.Millisecond)
	prompt := asked[engine.Start](h).Prompt
	if a := prompt.Messages[0].Attachments; len(a) != 1 || a[0].Pending || a[0].URL == "" {
		t.Errorf("the attachments are %+v", a)
	}
}

// No attachments are the same, whether as none or as an empty list.
func TestAnEditThatChangesNothing(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Attachments: &[]store.Attachment{}})
	h.settle()
	if got := h.answers["edit"]; got.Outcome != turn.Ignored || got.Reason != engine.Unchanged {
		t.Errorf("answered %+v", got)
	}
	h.submit("more", engine.Request{Op: engine.Edit, ID: "m", Attachments: &[]store.Attachment{{URL: "https://example.test/a"}}})
	h.settle()
	h.submit("none", engine.Request{Op: engine.Edit, ID: "m", Attachments: &[]store.Attachment{}})
	h.settle()
	if got := h.answers["none"]; got.Outcome != turn.Queued {
		t.Errorf("answered %+v", got)
	}
}

// The window ends at its moment, and not at the next look for timers of others.
func TestATurnStartsWhenItIsDue(t *testing.T) {
	h := newHarness(t)
	h.now = h.now.Add(10 * time.Millisecond)
	h.say("m")
	h.settle()
	due := h.now.Add(time.Second)
	for h.now < due.Add(time.Second) && count[engine.Start](h) == 0 {
		h.tick(max(h.node.NextTick(), h.now+1))
	}
	asked[engine.Start](h)
	if h.now != due {
		t.Errorf("it started %v after the end of the window", h.now.Sub(due))
	}
}

// What an operator says of a reply that is not unconfirmed is ignored; but the same
// request whose first write was applied without its knowing is done.
func TestMarkingAReplyAsSent(t *testing.T) {
	h := newHarness(t)
	h.respond(h.started("m"), engine.Response{Text: "hello"})
	h.sent(asked[engine.Send](h), engine.SendResult{Err: "nobody knows"})
	number := h.record().Turn
	h.fault = func(w store.Write) (store.Result, error) {
		h.store.Commit(context.Background(), w)
		h.fault = nil
		h.other("c", turn.Typing{For: time.Minute}, turn.Message{}) // so that the record does not tell
		return store.Result{}, store.ErrUnknown
	}
	h.submit("first", engine.Request{Op: engine.MarkSent, Turn: number})
	h.settle()
	if got := h.answers["first"]; got.Outcome != turn.Done || got.Reason != "" || got.Err != nil {
		t.Errorf("the first: %+v", got)
	}
	h.submit("again", engine.Request{Op: engine.MarkSent, Turn: number})
	h.settle()
	if got := h.answers["again"]; got.Outcome != turn.Ignored || got.Reason != turn.NotUnconfirmed {
		t.Errorf("once more: %+v", got)
	}
}

// A conversation in which nothing happens is remembered for a minute, from the last time
// that it was used.
func TestIdleConversationsAreRememberedForAWhile(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "m")
	for range 2 {
		h.pass(time.Minute - 5*time.Millisecond)
		if n := h.node.Remembered(); n != 1 {
			t.Fatalf("%d conversations are remembered before the minute is over", n)
		}
		h.calls = nil
		h.submit("flush", engine.Request{Op: engine.Typing})
		h.settle()
		if got := h.count("load"); got != 0 {
			t.Errorf("calls of the store: %v, want no read", h.calls)
		}
	}
	h.pass(time.Minute + time.Second)
	if n := h.node.Remembered(); n != 0 {
		t.Errorf("%d conversations are remembered after it", n)
	}
}

// An id like that of a reply is ours where that turn was.
func TestOwnRepliesAreRecognised(t *testing.T) {
	h := newHarness(t)
	for i := range 11 {
		h.answered("hello", fmt.Sprint("m", i))
	}
	for id, ours := range map[string]bool{"c/1": true, "c/9": true, "c/10": true, "c/11": true, "c/13": false, "c/0": false, "c/-1": false, "c/010": false, "c/a": false, "d/1": false} {
		h.say(id)
		h.settle()
		if got := h.answers[id]; (got.Reason == engine.OwnMessage) != ours {
			t.Errorf("%s: answered %+v", id, got)
		}
	}
}

// Writing counts the conversations that wait for the store.
func TestWritingCounts(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.submit("other", engine.Request{Key: keyOf("d"), Op: engine.Receive, ID: "m", Body: store.Body{Text: "m"}})
	if n := h.node.Writing(); n != 2 {
		t.Errorf("%d wait for the store, want 2", n)
	}
	h.settle()
	if n := h.node.Writing(); n != 0 {
		t.Errorf("%d wait for the store, want none", n)
	}
	h.pass(time.Second)
	h.fault = func(store.Write) (store.Result, error) { return store.Result{}, store.ErrNotApplied }
	h.respond(asked[engine.Start](h), engine.Response{Text: "hello"}) // it is tried again
	if n := h.node.Writing(); n != 1 {
		t.Errorf("%d wait for the store, want the one whose result was not written", n)
	}
}

// Where all callers were answered that the store is out of reach, nothing is left to try.
func TestARefusedMessageLeavesNothingToDo(t *testing.T) {
	h := newHarness(t)
	h.cutOff()
	h.say("m")
	h.settle()
	h.reconnect()
	h.calls = nil
	h.pass(2 * time.Second)
	if len(h.calls) > 0 {
		t.Errorf("calls of the store: %v", h.calls)
	}
}

// A write that was certainly not applied is answered at once: nothing has to be read.
func TestAWriteThatIsRefused(t *testing.T) {
	h := newHarness(t)
	h.fault = func(store.Write) (store.Result, error) {
		return store.Result{}, fmt.Errorf("the disk is full: %w", store.ErrNotApplied)
	}
	h.say("m")
	h.settle()
	if got := fmt.Sprint(h.calls); got != "[commit]" || !errors.Is(h.answers["m"].Err, engine.ErrUnavailable) {
		t.Errorf("calls of the store: %s; the answer: %+v", got, h.answers["m"])
	}
}

// What a person wrote, and whose first write may still land, is not said to be refused
// because the second one was.
func TestAReplyOfAPersonThatMayStillLand(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	tries := 0
	h.fault = func(store.Write) (store.Result, error) {
		if tries++; tries == 1 {
			return store.Result{}, store.ErrUnknown // and it is not there when the node looks
		}
		return store.Result{}, fmt.Errorf("away: %w", store.ErrNotApplied)
	}
	h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}})
	h.settle()
	if err := h.answers["human"].Err; !errors.Is(err, engine.ErrOutcomeUnknown) || tries != 2 {
		t.Errorf("after %d tries: %v, want that nobody knows", tries, err)
	}
}

// With more bots than slots a full node claims nothing, whatever the shares are.
func TestAFullNodeOfManyBotsClaimsNothing(t *testing.T) {
	h := newHarness(t, bots("a", "b", "c", "d", "e", "f"))
	for _, bot := range []string{"a", "b", "c", "d"} {
		h.manyWait(bot, 1)
	}
	h.pass(2 * time.Second)
	if n := count[engine.Start](h); n != slots {
		t.Fatalf("%d run, want %d", n, slots)
	}
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	h.collect()
	if n := count[engine.Claim](h); n != 0 {
		t.Error("it claims timers without a free slot")
	}
}

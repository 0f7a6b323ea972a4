package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// What arrives while a write is under way shares the next one, and each is
// answered with its own version.
func TestInputsThatWaitAreWrittenTogether(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	for i := range 100 {
		h.say(fmt.Sprint("m", i))
	}
	h.settle()
	if h.writes != 2 {
		t.Errorf("101 messages took %d writes, want 2", h.writes)
	}
	for i := range 100 {
		got := h.answers[fmt.Sprint("m", i)]
		if got.Err != nil || got.Outcome != turn.Queued || got.Version != int64(i+2) {
			t.Errorf("message %d: %+v, want version %d", i, got, i+2)
		}
	}
	if r := h.record(); r.Version != 101 || r.Pending != 101 {
		t.Errorf("version %d, pending %d; want 101 of each", r.Version, r.Pending)
	}
}

func TestOneWriteAppliesABoundedNumber(t *testing.T) {
	h := newHarness(t)
	h.say("first")
	for i := range 1000 {
		h.say(fmt.Sprint("m", i))
	}
	h.settle()
	if h.writes != 5 {
		t.Errorf("1001 messages took %d writes, want one of the first, and 4 of at most 256", h.writes)
	}
}

func TestTooManyThatWaitAreRefused(t *testing.T) {
	h := newHarness(t)
	for i := range 10_002 { // the first is being written
		h.say(fmt.Sprint("m", i))
	}
	if err := h.answers["m10001"].Err; !errors.Is(err, engine.ErrTooMany) {
		t.Errorf("the message beyond the queue: %v", err)
	}
	h.settle()
	h.say("late")
	h.settle()
	if err := h.answers["late"].Err; !errors.Is(err, engine.ErrTooMany) {
		t.Errorf("the message beyond what may wait: %v", err)
	}
	if n := h.record().Pending; n != 10_000 {
		t.Errorf("%d messages wait", n)
	}
}

func TestRepeatsAreNotedOnce(t *testing.T) {
	tests := map[string]func(h *harness){
		"within a write": func(h *harness) {
			h.say("m")
			h.submit("again", engine.Request{Op: engine.Receive, ID: "m"})
		},
		"after it": func(h *harness) {
			h.say("m")
			h.settle()
			h.submit("again", engine.Request{Op: engine.Receive, ID: "m"})
		},
		"together with new ones": func(h *harness) {
			h.say("m")
			h.settle()
			h.say("n")
			h.submit("again", engine.Request{Op: engine.Receive, ID: "m"})
		},
	}
	for name, traffic := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			traffic(h)
			h.settle()
			if got := h.answers["m"]; got.Duplicate || got.Err != nil {
				t.Errorf("the first: %+v", got)
			}
			if got := h.answers["again"]; !got.Duplicate || got.Outcome != engine.Duplicate || got.Err != nil {
				t.Errorf("the repeat: %+v", got)
			}
			want := 1
			if _, ok := h.answers["n"]; ok {
				want = 2
			}
			if r := h.record(); r.Version != int64(want) {
				t.Errorf("version %d, want %d", r.Version, want)
			}
			if got := h.node.Counters; got.Accepted != uint64(want) || got.Duplicates != 1 {
				t.Errorf("counted %d accepted and %d repeats", got.Accepted, got.Duplicates)
			}
		})
	}
}

func TestEditsFindTheMessageAsTheBatchLeavesIt(t *testing.T) {
	text := func(s string) *string { return &s }
	h := newHarness(t)
	h.say("first")
	h.settle()
	h.submit("before", engine.Request{Op: engine.Typing, For: time.Minute}) // its write is under way
	h.submit("lookup", engine.Request{Op: engine.Retract, ID: "first"})
	h.say("m", "gone")
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: text("new")})
	h.submit("same", engine.Request{Op: engine.Edit, ID: "m", Text: text("new")})
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "gone"})
	h.submit("unknown", engine.Request{Op: engine.Retract, ID: "never"})
	h.settle()
	for name, want := range map[string]turn.Outcome{"edit": turn.Queued, "same": turn.Ignored, "retract": turn.Queued} {
		if got := h.answers[name]; got.Outcome != want || got.Err != nil {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if got := h.answers["unknown"]; got.Outcome != turn.CameEarly || got.Err != nil {
		t.Errorf("an unknown message: %+v", got)
	}
	if h.writes != 3 {
		t.Errorf("%d writes, want 3: what waited is written together", h.writes)
	}
	if got := texts(h.entries(keyOf("c"), store.EntryQuery{Status: turn.InputPending})); got != "new" {
		t.Errorf("what waits is %q, want the edited message only", got)
	}
	if got := strings.TrimSpace(texts(h.entries(keyOf("c"), store.EntryQuery{Status: turn.InputDeleted}))); got != "" {
		t.Errorf("the text %q of a deleted message is still there", got)
	}
}

func TestAnEditFindsTheEditBeforeIt(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.submit("before", engine.Request{Op: engine.Typing, For: time.Minute}) // its write is under way
	h.submit("first", engine.Request{Op: engine.Edit, ID: "m", Text: new("new")})
	h.submit("second", engine.Request{Op: engine.Edit, ID: "m", Text: new("new")})
	h.settle()
	if got := h.answers["second"]; got.Outcome != turn.Ignored || got.Reason != engine.Unchanged {
		t.Errorf("the second: %+v, want that it changes nothing", got)
	}
}

// What was looked up before a conflict is looked up again after it.
func TestLookupsAreOutOfDateAfterAConflict(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
	h.node.Loaded(h.now, h.load(asked[engine.Load](h)))
	h.collect()
	h.other("c", turn.Pause{}, turn.Resume{}) // m is settled now
	h.settle()
	if got := h.answers["retract"]; got.Outcome != turn.Erased || got.Version != 1 {
		t.Errorf("deleting a message that was settled meanwhile: %+v", got)
	}
}

// A read that was asked for before a request came knows nothing of what that
// request needs.
func TestARequestThatCameDuringAReadIsNotAnsweredByIt(t *testing.T) {
	h := newHarness(t)
	h.say("m1", "m2", "m3")
	h.settle()
	h.node = newHarnessOn(t, h.store, h.now).node // another node, which knows nothing yet
	h.submit("typing", engine.Request{Op: engine.Typing})
	read := asked[engine.Load](h)
	h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}})
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "m1", Text: new(string)})
	h.node.Loaded(h.now, h.load(read))
	h.settle()
	var reply store.Entry
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Kind == store.Reply {
			reply = e
		}
	}
	if want := []string{"m1", "m2", "m3"}; !slices.Equal(reply.Covers, want) {
		t.Errorf("the human's reply covers %q, want %q", reply.Covers, want)
	}
	if got := h.answers["edit"]; got.Outcome != turn.Recorded || got.Err != nil {
		t.Errorf("the edit of a message that was answered: %+v", got)
	}
}

// Requests that must look something up, and keep coming, do not hold up those
// that have it.
func TestWhatWasLookedUpIsNotHeldUpByWhatWasNot(t *testing.T) {
	h := newHarness(t)
	h.say("m", "n")
	h.settle()
	h.submit("first", engine.Request{Op: engine.Edit, ID: "m", Text: new("one")})
	read := asked[engine.Load](h)
	h.submit("second", engine.Request{Op: engine.Edit, ID: "n", Text: new("two")})
	h.node.Loaded(h.now, h.load(read))
	h.collect()
	if written := asked[engine.Commit](h).Write; texts(written.Change) != "one" {
		t.Errorf("written: %q, want the first edit alone", texts(written.Change))
	}
}

func TestAHumansReplyCoversWhatWaits(t *testing.T) {
	h := newHarness(t)
	h.say("m1", "m2")
	h.settle()
	h.say("m3")
	h.submit("human", engine.Request{Op: engine.HumanReply, Body: store.Body{Text: "hello"}})
	h.say("m4")
	h.settle()
	reply := h.entries(keyOf("c"), store.EntryQuery{Status: turn.ReplyCommitted})[0]
	if want := []string{"m1", "m2", "m3"}; !slices.Equal(reply.Covers, want) || reply.Author != turn.ReplyHuman {
		t.Errorf("the human's reply covers %q, want %q", reply.Covers, want)
	}
	if got := h.answers["human"]; got.MessageID != "c/2" || got.Err != nil {
		t.Errorf("the answer to the human: %+v", got)
	}
	if got := texts(h.entries(keyOf("c"), store.EntryQuery{Status: turn.InputPending})); got != "m4" {
		t.Errorf("what waits: %q, want what came after", got)
	}
}

// An attempt under way reads its messages as they were when it began.
func TestALateEditKeepsWhatTheAttemptSaw(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Policy.OnNewInput = turn.Discard
		o.Bots["bot"] = b
	})
	h.say("m")
	h.settle()
	h.now = h.now.Add(time.Second)
	h.node.Tick(h.now)
	h.collect()
	wake := asked[engine.Commit](h)
	result, err := h.write(*wake.Write)
	h.node.Committed(h.now, wake.Write.Key, result, err)
	h.collect()
	read := asked[engine.ReadPrompt](h)
	for _, text := range []string{"second", "third"} {
		h.submit(text, engine.Request{Op: engine.Edit, ID: "m", Text: &text})
		h.settle()
	}
	h.node.PromptRead(h.now, read.Key, read.Nonce, h.entries(read.Key, store.EntryQuery{}), nil, nil)
	h.settle()
	started := asked[engine.Start](h)
	if got := texts(started.Prompt.Messages); got != "m" {
		t.Errorf("the attempt reads %q, want the text as it was", got)
	}
	h.respond(started, engine.Response{Text: "too old"})
	h.pass(2 * time.Second)
	if got := texts(asked[engine.Start](h).Prompt.Messages); got != "third" {
		t.Errorf("the next attempt reads %q, want the text as it is", got)
	}
}

func TestOwnMessagesAreNoInput(t *testing.T) {
	h := newHarness(t)
	h.answered("hello", "m")
	h.submit("echo", engine.Request{Op: engine.Receive, ID: "c/1"})
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "c/1", Text: new(string)})
	h.submit("else", engine.Request{Op: engine.Receive, ID: "c/01"})
	h.submit("later", engine.Request{Op: engine.Receive, ID: "c/7"})
	h.settle()
	for _, name := range []string{"echo", "edit"} {
		if got := h.answers[name]; got.Outcome != turn.Ignored || got.Reason != engine.OwnMessage {
			t.Errorf("%s: %+v, want ignored as our own", name, got)
		}
	}
	for _, name := range []string{"else", "later"} {
		if got := h.answers[name]; got.Outcome != turn.Queued {
			t.Errorf("an id that only looks like ours, %s: %+v", name, got)
		}
	}
}

func TestWordsThatCloseWhatWaits(t *testing.T) {
	words := func(o *engine.Options) {
		b := o.Bots["bot"]
		b.StopWords, b.OptOutWords = words.NewList([]string{"never mind"}), words.NewList([]string{"STOP"})
		o.Bots["bot"] = b
	}
	for text, want := range map[string]turn.Phase{
		" Never Mind. ": turn.Idle, "@bot “Stop”!": turn.Paused, "don't stop": turn.Collecting,
	} {
		h := newHarness(t, words)
		h.say("m")
		h.submit("word", engine.Request{Op: engine.Receive, ID: "w", Body: store.Body{Text: text}})
		h.settle()
		if got := h.record().Shown(); got != want {
			t.Errorf("after %q the conversation is %s, want %s", text, got, want)
		}
	}
}

// A reply of which the splitter leaves nothing is sent whole: without parts it
// would count as none.
func TestASplitterThatGivesNothing(t *testing.T) {
	h := newHarness(t, func(o *engine.Options) {
		b := o.Bots["bot"]
		b.Split = func(string) []string { return nil }
		o.Bots["bot"] = b
	})
	h.answered("hello", "m")
	if got := h.replied(turn.ReplySent); got != "hello" {
		t.Errorf("sent %q, want hello", got)
	}
}

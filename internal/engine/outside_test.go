package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// outside hands in a reply from outside, with this id.
func (h *harness) outside(name, id, text string, change ...func(*engine.Request)) {
	r := engine.Request{Op: engine.HumanReply, ID: id, Body: store.Body{Text: text}}
	for _, change := range change {
		change(&r)
	}
	h.submit(name, r)
}

func beside(r *engine.Request) { r.Beside = true }
func sent(r *engine.Request)   { r.Sent = true }

// repliesOf are the replies of the conversation "c": text, status and what they cover.
func (h *harness) repliesOf() string {
	var all []string
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Kind == store.Reply {
			all = append(all, strings.TrimSpace(e.ID+" "+e.Text+" "+string(e.Status)+" "+strings.Join(e.Covers, "+")))
		}
	}
	return strings.Join(all, ", ")
}

// A reply with an id is given once: the second one is told the id of the first, in the
// same write, in a later one, and at a node that knows nothing.
func TestAReplyWithAnIDIsGivenOnce(t *testing.T) {
	for name, again := range map[string]func(h *harness) *harness{
		"in one write": func(h *harness) *harness { h.outside("again", "r", "hello"); return h },
		"later":        func(h *harness) *harness { h.settle(); h.outside("again", "r", "hello"); return h },
		"at another node": func(h *harness) *harness {
			h.settle()
			other := newHarnessOn(t, h.store, h.now)
			other.outside("again", "r", "hello")
			return other
		},
		"elsewhere sent": func(h *harness) *harness { h.settle(); h.outside("again", "r", "hello", sent); return h },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("m")
			h.settle()
			h.submit("before", engine.Request{Op: engine.Typing}) // its write lets the next ones wait for each other
			h.outside("first", "r", "hello")
			other := again(h)
			h.settle()
			other.settle()
			first, second := h.answers["first"], other.answers["again"]
			if first.Err != nil || first.Duplicate || first.MessageID != "c/2" {
				t.Errorf("the first was answered %+v", first)
			}
			if second.Err != nil || !second.Duplicate || second.Outcome != engine.Duplicate || second.MessageID != "c/2" {
				t.Errorf("the second was answered %+v", second)
			}
			if got := h.repliesOf(); got != "c/2 hello committed m" {
				t.Errorf("the replies are %q", got)
			}
		})
	}
}

// Ids of replies and of messages stand apart.
func TestIDsOfRepliesAreNoIDsOfMessages(t *testing.T) {
	h := newHarness(t)
	h.say("x")
	h.settle()
	h.outside("reply", "x", "hello", beside)
	h.settle()
	h.outside("other", "y", "hello again", beside)
	h.settle()
	h.say("y")
	h.settle()
	for _, name := range []string{"reply", "other", "y"} {
		if got := h.answers[name]; got.Err != nil || got.Duplicate {
			t.Errorf("%s was answered %+v", name, got)
		}
	}
}

// Where the answer to its write is lost, a reply with an id is found again, or written
// once more, and its caller is told as if nothing had happened.
func TestAReplyWithAnIDWhoseOutcomeIsUnknown(t *testing.T) {
	for name, fault := range map[string]func(h *harness, w store.Write){
		"it was written": func(h *harness, w store.Write) { h.store.Commit(context.Background(), w) },
		"it was written, and another came": func(h *harness, w store.Write) {
			h.store.Commit(context.Background(), w)
			h.other("c", turn.Typing{For: time.Minute})
		},
		"it was not written":           func(*harness, store.Write) {},
		"it was not, and another came": func(h *harness, _ store.Write) { h.other("c", turn.Typing{For: time.Minute}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("m")
			h.settle()
			h.fault = func(w store.Write) (store.Result, error) {
				h.fault = nil
				fault(h, w)
				return store.Result{}, store.ErrUnknown
			}
			h.outside("r", "r", "hello")
			h.settle()
			if got := h.answers["r"]; got.Err != nil || got.Duplicate || got.Outcome != turn.Done || got.MessageID != "c/2" {
				t.Errorf("answered %+v", got)
			}
			if got := h.repliesOf(); got != "c/2 hello committed m" {
				t.Errorf("the replies are %q", got)
			}
		})
	}
}

// While the store is out of reach its caller is told to try again, and may.
func TestAReplyWithAnIDMayBeTriedAgain(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	away := errors.New("away")
	h.fault = func(w store.Write) (store.Result, error) {
		h.fault, h.unread = nil, away
		h.store.Commit(context.Background(), w)
		return store.Result{}, store.ErrUnknown
	}
	h.outside("r", "r", "hello")
	h.settle()
	if got := h.answers["r"].Err; !errors.Is(got, engine.ErrUnavailable) || errors.Is(got, engine.ErrOutcomeUnknown) {
		t.Errorf("answered %v, want to try again", got)
	}
	h.unread, h.now = nil, h.now.Add(time.Second)
	h.outside("again", "r", "hello")
	h.settle()
	if got := h.answers["again"]; got.Err != nil || !got.Duplicate || got.MessageID != "c/2" {
		t.Errorf("answered %+v", got)
	}
	if got := h.repliesOf(); got != "c/2 hello committed m" {
		t.Errorf("the replies are %q", got)
	}
}

// The claim of an id outlives the reply, as that of a message does.
func TestAReplyThatIsNotKeptAnyMore(t *testing.T) {
	h := newHarness(t)
	h.outside("first", "r", "hello", sent)
	h.settle()
	if n, err := h.store.Expire(context.Background(), h.now.Add(time.Hour), 0, 100); err != nil || n != 2 {
		t.Fatalf("%d entries were removed, and 2 are there: %v", n, err)
	}
	other := newHarnessOn(t, h.store, h.now)
	other.outside("again", "r", "hello", sent)
	other.settle()
	if got := other.answers["again"]; got.Err != nil || !got.Duplicate || got.MessageID != "" {
		t.Errorf("answered %+v", got)
	}
	if n, err := h.store.Expire(context.Background(), h.now.Add(time.Hour), h.now.Add(time.Hour), 100); err != nil || n == 0 {
		t.Fatalf("nothing was forgotten: %d, %v", n, err)
	}
	third := newHarnessOn(t, h.store, h.now)
	third.outside("third", "r", "hello", sent)
	third.settle()
	if got := third.answers["third"]; got.Err != nil || got.Duplicate {
		t.Errorf("answered %+v", got)
	}
}

// A reply that closes nothing goes out beside an attempt, which answers what waits.
func TestAReplyBesideAnAttempt(t *testing.T) {
	h := newHarness(t)
	started := h.started("m")
	h.outside("note", "", "an invoice is due", beside)
	h.settle()
	if got := h.answers["note"]; got.Err != nil || got.MessageID != "c/2" {
		t.Errorf("answered %+v", got)
	}
	h.respond(started, engine.Response{Text: "hello"})
	h.settle()
	if got := h.repliesOf(); got != "c/2 an invoice is due committed, c/1 hello committed m" {
		t.Errorf("the replies are %q", got)
	}
}

// What was sent elsewhere is part of the transcript, and nobody sends it.
func TestAReplyThatWasSentElsewhere(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.settle()
	h.outside("r", "", "by phone", sent)
	h.settle()
	h.pass(time.Minute)
	if got := h.repliesOf(); got != "c/2 by phone sent m" {
		t.Errorf("the replies are %q", got)
	}
	if n := count[engine.Send](h) + count[engine.Start](h); n != 0 {
		t.Errorf("%d sends and attempts began", n)
	}
	if e := h.entries(keyOf("c"), store.EntryQuery{ID: "m"}); e[0].Status != turn.InputAnswered {
		t.Errorf("the message is %s", e[0].Status)
	}
}

package engine_test

import (
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

func withWords(o *engine.Options) {
	b := o.Bots["bot"]
	b.StopWords, b.OptOutWords = words.NewList([]string{"stop"}), words.NewList([]string{"leave"})
	o.Bots["bot"] = b
}

// by submits a message of a person, whose text is its id unless one is given.
func (h *harness) by(sender, id string, text ...string) {
	body := store.Body{Text: strings.Join(append(text, id)[:1], ""), Sender: store.Sender{ID: sender}}
	h.submit(id, engine.Request{Op: engine.Receive, ID: id, Body: body})
}

// fates are the messages of the conversation "c" with their statuses.
func (h *harness) fates() string {
	var all []string
	for _, e := range h.entries(keyOf("c"), store.EntryQuery{}) {
		if e.Kind == store.Message {
			all = append(all, fmt.Sprintf("%s %s", e.ID, e.Status))
		}
	}
	return strings.Join(all, ", ")
}

// A stop word closes what its sender has waiting, and nothing of anybody else's.
func TestAStopWordClosesItsSendersMessages(t *testing.T) {
	tests := map[string]struct {
		events func(h *harness)
		want   string
	}{
		"of two people": {
			func(h *harness) { h.by("ann", "m1"); h.by("bob", "m2"); h.settle(); h.by("bob", "s", "Stop!") },
			"m1 pending, m2 closed, s closed",
		},
		"written together": {
			func(h *harness) {
				h.by("ann", "m0")
				h.by("ann", "m1")
				h.by("bob", "m2")
				h.by("bob", "s", "stop")
				h.by("bob", "m3")
			},
			"m0 pending, m1 pending, m2 closed, s closed, m3 pending",
		},
		"without senders": {func(h *harness) { h.say("m1", "m2"); h.settle(); h.by("", "s", "stop") }, "m1 closed, m2 closed, s closed"},
		"of nobody else":  {func(h *harness) { h.say("m1"); h.settle(); h.by("bob", "s", "stop") }, "m1 pending, s closed"},
		"by an edit": {
			func(h *harness) {
				h.by("bob", "m1")
				h.by("ann", "m2")
				h.by("bob", "m3")
				h.settle()
				h.edit("m3", "“stop”")
			},
			"m1 closed, m2 pending, m3 closed",
		},
		"by an edit in one write": {
			func(h *harness) { h.by("bob", "m0"); h.by("bob", "m1"); h.edit("m1", "stop"); h.by("ann", "m2") },
			"m0 closed, m1 closed, m2 pending",
		},
		"by an edit before it": {
			func(h *harness) {
				h.by("bob", "m1")
				h.by("ann", "m2")
				h.edit("m3", "stop")
				h.by("bob", "m3")
			},
			"m1 closed, m2 pending, m3 closed",
		},
		"by an edit before it, in one write": {
			func(h *harness) {
				h.by("bob", "m1")
				h.by("ann", "m2")
				h.settle()
				h.submit("before", engine.Request{Op: engine.Typing, For: time.Minute}) // its write is under way
				text := "stop"
				h.submit("edit", engine.Request{Op: engine.Edit, ID: "m3", Text: &text})
				h.by("bob", "m3")
			},
			"m1 closed, m2 pending, m3 closed",
		},
		"not by one that an edit before it has changed": {
			func(h *harness) { h.by("bob", "m1"); h.edit("m2", "don't stop"); h.by("bob", "m2", "stop") },
			"m1 pending, m2 pending",
		},
		"after an edit": {
			func(h *harness) {
				h.by("bob", "m1")
				h.by("ann", "m2")
				h.settle()
				h.edit("m1", "again")
				h.edit("m2", "again")
				h.by("bob", "s", "stop")
			},
			"m1 closed, m2 pending, s closed",
		},
		"not of what was answered": {
			func(h *harness) { h.answered("hello", "m1"); h.by("", "s", "stop") }, "m1 answered, s closed",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, withWords)
			test.events(h)
			h.settle()
			if got := h.fates(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if pending := strings.Count(h.fates(), "pending"); h.record().Pending != pending {
				t.Errorf("%d wait, and the record counts %d", pending, h.record().Pending)
			}
		})
	}
}

// What is said of a word is true.
func TestOutcomesOfWords(t *testing.T) {
	for text, want := range map[string]turn.Outcome{"stop": turn.Closed, "leave": turn.OnPause, "go on": turn.Queued} {
		h := newHarness(t, withWords)
		h.by("bob", "note")
		h.by("ann", "w", text)
		h.settle()
		h.edit("note", text)
		h.settle()
		edited := want
		if text == "go on" && h.answers["w"].Outcome != want {
			t.Errorf("%q: %+v, want %s", text, h.answers["w"], want)
		}
		if got := h.answers["edit"]; got.Outcome != edited || got.Reason != "" {
			t.Errorf("an edit into %q: %+v, want %s", text, got, edited)
		}
		if got := h.answers["w"]; got.Outcome != want || got.Due != 0 && want == turn.OnPause {
			t.Errorf("%q: %+v, want %s", text, got, want)
		}
		if got := h.record().OnHold; got != (text == "leave") {
			t.Errorf("after %q it is on hold: %v", text, got)
		}
	}
}

// What waits is read again where another node has written since.
func TestAStopWordOnARecordThatHasChanged(t *testing.T) {
	h := newHarness(t, withWords)
	h.by("other", "m1")
	h.settle()
	h.by("bob", "s", "stop")
	h.node.Loaded(h.now, h.load(asked[engine.Load](h)))
	h.collect()
	h.other("c", turn.Message{}) // by nobody
	h.by("", "t", "stop")
	h.settle()
	if got, want := h.fates(), "m1 pending, other1 closed, s closed, t closed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A stop word that is delivered again closes nothing a second time.
func TestAStopWordThatIsRepeated(t *testing.T) {
	h := newHarness(t, withWords)
	h.by("bob", "s", "stop")
	h.settle()
	h.by("bob", "m1")
	h.settle()
	h.by("bob", "s", "stop")
	h.settle()
	if got, want := h.fates(), "s closed, m1 pending"; got != want || !h.answers["s"].Duplicate {
		t.Errorf("%s, want %s; the repeat: %+v", got, want, h.answers["s"])
	}
}

// A stop word whose write has an unknown outcome closes once, and says so.
func TestAStopWordOfUnknownOutcome(t *testing.T) {
	for _, applied := range []bool{true, false} {
		h := newHarness(t, withWords)
		h.by("bob", "m1")
		h.settle()
		h.fault = func(w store.Write) (store.Result, error) {
			h.fault = nil
			if applied {
				_, _ = h.store.Commit(t.Context(), w)
				h.other("c", turn.Typing{For: 1}, turn.Message{}) // so that its Op is not the last
			}
			return store.Result{}, store.ErrUnknown
		}
		h.by("bob", "s", "stop")
		h.settle()
		if got := h.fates(); !strings.HasPrefix(got, "m1 closed") || !strings.Contains(got, "s closed") || h.answers["s"].Outcome != turn.Closed {
			t.Errorf("applied %v: %s; the answer: %+v", applied, got, h.answers["s"])
		}
	}
}

// A part that was only asked for when the stop word came is not on its way yet.
func TestAStopWordInTheSameWriteAsThePartBefore(t *testing.T) {
	for name, speak := range map[string]func(h *harness){
		"stop word": func(h *harness) { h.by("", "s", "stop") },
		"human":     func(h *harness) { h.human("I am here") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, withWords)
			h.respond(h.started("m"), engine.Response{Text: "one two three", Parts: []string{"one", "two", "three"}})
			s := asked[engine.Send](h)
			h.node.Hinted(h.now, keyOf("c"))
			speak(h)
			h.node.SendEnded(h.now, engine.SendResult{Key: s.Key, Nonce: s.Lease.Nonce, Part: s.Reply.Done, Entry: s.Entry})
			speakAgain := func() []string {
				var parts []string
				for count[engine.Send](h) > 0 {
					s := asked[engine.Send](h)
					parts = append(parts, fmt.Sprint(s.Entry.Text, s.Reply.Done))
					h.sent(s, engine.SendResult{})
				}
				return parts
			}
			h.settle()
			sent := speakAgain()
			if slices.Contains(sent, "one two three1") || slices.Contains(sent, "one two three2") {
				t.Errorf("sent after it: %q", sent)
			}
			if got := h.replied(turn.ReplyPartial); got != "one two three" {
				t.Errorf("in part: %q", got)
			}
			if h.record().NeedsAttention() {
				t.Errorf("somebody is told: %+v", h.record().Unconfirmed)
			}
			if got := h.fates(); !strings.HasPrefix(got, "m answered") {
				t.Errorf("it says %s", got)
			}
		})
	}
}

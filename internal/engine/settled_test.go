package engine_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// settlements are the ways in which a message comes to wait for no answer, or never does.
var settlements = map[string]func(h *harness){
	"answered": func(h *harness) {
		h.secret(false)
		h.answered("the reply")
	},
	"closed": func(h *harness) {
		h.secret(false)
		h.submit("close", engine.Request{Op: engine.Pause})
		h.submit("close", engine.Request{Op: engine.Resume})
		h.settle()
	},
	"context": func(h *harness) { h.secret(true) },
}

// secret submits the message "m", all of whose fields hold a secret.
func (h *harness) secret(context bool) {
	h.submit("m", engine.Request{Op: engine.Receive, ID: "m", Context: context, Body: store.Body{
		Text: "secret", Sender: store.Sender{ID: "1", Name: "secret"}, ForwardedFrom: store.Sender{Name: "secret"}, SentAt: h.now,
		ReplyTo: &store.Quote{ID: "0", Text: "secret"}, Attachments: []store.Attachment{{URL: "secret"}}, Metadata: json.RawMessage(`"secret"`),
	}})
	h.settle()
}

// nothingToAnswer fails where the record is not the one that was there before.
func (h *harness) nothingToAnswer(before turn.Record) {
	h.t.Helper()
	if after := h.record(); !reflect.DeepEqual(before, after) {
		h.t.Errorf("the record was %+v, and is %+v", before, after)
	}
	h.pass(time.Minute)
	if count[engine.Start](h) > 0 {
		h.t.Error("an attempt began")
	}
}

// toldOf is the only event of a kind.
func (h *harness) toldOf(kind turn.Kind) engine.Event {
	h.t.Helper()
	var told []engine.Event
	for _, e := range h.events {
		if e.Kind == kind {
			told = append(told, e)
		}
	}
	if len(told) != 1 {
		h.t.Fatalf("watchers were told %d times of %s", len(told), kind)
	}
	return told[0]
}

// Of a settled message that its author deletes nothing is left: neither its texts, nor
// what others quote of it, in the store or in later prompts. The reply stays.
func TestASettledMessageIsErased(t *testing.T) {
	for name, settle := range settlements {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			settle(h)
			quote := store.Body{Text: "quoting", ReplyTo: &store.Quote{ID: "m", Text: "secret", Sender: store.Sender{Name: "secret"}}}
			h.submit("quoting", engine.Request{Op: engine.Receive, ID: "quoting", Context: true, Body: quote})
			h.settle()
			h.submit("too", engine.Request{Op: engine.Receive, ID: "too", Context: true, Body: quote})
			h.settle()
			before := h.record()
			h.submit("other", engine.Request{Op: engine.Receive, ID: "other", Context: true, Body: store.Body{Text: "other"}}) // its write is under way
			h.submit("edit", engine.Request{Op: engine.Edit, ID: "too", Text: new("edited")})
			h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
			h.settle()
			h.wants("edit", "recorded")
			h.wants("retract", "erased")
			if strings.Contains(h.everything(), "secret") {
				t.Errorf("it is there: %s", h.everything())
			}
			before.Seq++ // of the other message
			h.nothingToAnswer(before)
			told := h.toldOf(turn.KindMessageErased)
			if told.MessageID != "m" || told.Text != "" || told.ReplyID != "" || told.Seq != 1 || !told.Erases() {
				t.Errorf("watchers are told %+v", told)
			}
			m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]
			if m.Status != turn.InputDeleted || m.Reason != "erased" {
				t.Errorf("the entry is %+v", m)
			}
			h.say("next")
			h.pass(time.Second)
			prompt := asked[engine.Start](h).Prompt
			want := "quoting edited other"
			if name == "answered" {
				want = "the reply " + want
			}
			if got := texts(prompt.History); got != want {
				t.Errorf("the history is %q, want %q", got, want)
			}
			for request, want := range map[engine.Op]string{engine.Retract: "ignored deleted", engine.Edit: "ignored deleted", engine.Receive: "duplicate"} {
				h.submit("again", engine.Request{Op: request, ID: "m", Text: new("secret"), Body: store.Body{Text: "secret"}})
				h.settle()
				h.wants("again", want)
			}
		})
	}
}

// A settled message that its author edits reads as it was edited from then on, and is
// marked as such in later prompts.
func TestAnEditOfASettledMessageIsRecorded(t *testing.T) {
	for name, settle := range settlements {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			settle(h)
			before := h.record()
			h.edit("m", "new", 2000)
			h.wants("edit", "recorded")
			h.edit("m", "older", 1000)
			h.wants("edit", "ignored older")
			h.nothingToAnswer(before)
			if told := h.toldOf(turn.KindMessageRecorded); told.MessageID != "m" || told.Text != "new" || told.ReplyID != "" || told.Erases() {
				t.Errorf("watchers are told %+v", told)
			}
			m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]
			if m.Text != "new" || m.EditedAt != 2000 || !m.Recorded || m.Sender.ID != "1" {
				t.Errorf("the entry is %+v", m)
			}
			h.say("next")
			h.pass(time.Second)
			if p := asked[engine.Start](h).Prompt; p.History[0].Text != "new" || !p.History[0].Recorded || p.Messages[0].Recorded {
				t.Errorf("the prompt is %+v", p)
			}
			h.edit("m", "new", 3000)
			h.wants("edit", "ignored unchanged")
		})
	}
}

// Nothing under way learns of a change of a settled message.
func TestAChangeOfASettledMessageLeavesWhatIsUnderWay(t *testing.T) {
	h := newHarness(t)
	h.answered("first", "m")
	attempt := h.started("next")
	h.edit("m", "new")
	h.wants("edit", "recorded")
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
	h.settle()
	h.wants("retract", "erased")
	if count[engine.Stop](h) > 0 {
		t.Error("the attempt was stopped")
	}
	h.respond(attempt, engine.Response{Text: "second"})
	h.sent(asked[engine.Send](h), engine.SendResult{})
	if got := h.replied(turn.ReplySent); got != "first | second" {
		t.Errorf("the replies are %q", got)
	}
}

// The answer to the write is lost: a second try ends as the first would have.
func TestTheAnswerToAChangeOfASettledMessageIsLost(t *testing.T) {
	for op, want := range map[engine.Op]string{engine.Edit: "recorded", engine.Retract: "erased"} {
		for _, overtaken := range []bool{false, true} {
			t.Run(fmt.Sprint(want, overtaken), func(t *testing.T) {
				h := newHarness(t)
				h.secret(true)
				h.losesAnswer(func() {
					if overtaken {
						h.other("c", turn.Pause{})
					}
				})
				h.submit("change", engine.Request{Op: op, ID: "m", Text: new("new")})
				h.settle()
				h.wants("change", want)
			})
		}
	}
}

// An opt-out word in the edit of a settled message pauses the conversation, and an opt-in
// word ends that, also where the answer to the write is lost. A stop word there closes
// nothing. What is only context is not said to the bot.
func TestWordsInTheEditOfASettledMessage(t *testing.T) {
	for name, settle := range settlements {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " lost ", lost), func(t *testing.T) {
				h := newHarness(t, withWords, func(o *engine.Options) {
					b := o.Bots["bot"]
					b.OptInWords = words.NewList([]string{"start"})
					o.Bots["bot"] = b
				})
				settle(h)
				h.say("next")
				edit := func(text, want string) {
					t.Helper()
					if lost {
						h.losesAnswer(func() {})
					}
					h.edit("m", text)
					h.wants("edit", want)
				}
				edit("stop", "recorded")
				if name == "context" {
					edit("leave", "recorded")
				} else {
					edit("leave", "paused")
				}
				if r := h.record(); r.OnHold != (name != "context") || r.Pending != 1 {
					t.Errorf("after an opt-out: on hold %v, %d wait", r.OnHold, r.Pending)
				}
				edit("start", "recorded")
				if r := h.record(); r.OnHold || r.Pending != 1 {
					t.Errorf("after an opt-in: on hold %v, %d wait", r.OnHold, r.Pending)
				}
			})
		}
	}
}

// A deletion that comes while the record is read has not been looked up: what quotes its
// message is read with the next one.
func TestADeletionThatCameDuringAReadFindsWhatQuotesItsMessage(t *testing.T) {
	h := newHarness(t)
	h.secret(true)
	h.submit("quoting", engine.Request{Op: engine.Receive, ID: "quoting", Context: true, Body: store.Body{ReplyTo: &store.Quote{ID: "m", Text: "secret"}}})
	h.settle()
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: new("secret too")})
	read := asked[engine.Load](h)
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
	h.node.Loaded(h.now, h.load(read))
	h.settle()
	h.wants("retract", "erased")
	if strings.Contains(h.everything(), "secret") {
		t.Errorf("it is there: %s", h.everything())
	}
}

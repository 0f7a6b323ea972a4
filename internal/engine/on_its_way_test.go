package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// settlers are the ways in which people settle what waits while a reply is on its way.
var settlers = map[string][]engine.Request{
	"nobody":         nil,
	"reply":          {{Op: engine.HumanReply, Body: store.Body{Text: "I take over"}}},
	"sent elsewhere": {{Op: engine.HumanReply, Body: store.Body{Text: "I called"}, Sent: true}},
	"reset":          {{Op: engine.Reset}},
	"reset word":     {{Op: engine.Receive, ID: "w", Body: store.Body{Text: "new chat", Sender: store.Sender{ID: "ann"}}}},
	"resume":         {message("later"), {Op: engine.Pause}, {Op: engine.Resume}},
}

// A message that a reply on its way answers is its author's until that reply is settled:
// whoever has settled the rest, its deletion erases it, and its edit is an input.
func TestAChangeOfWhatAReplyOnItsWayAnswers(t *testing.T) {
	changes := map[string]struct {
		request engine.Request
		outcome string
		fate    string // of the message, once the reply is sent
	}{
		"deletion":            {engine.Request{Op: engine.Retract, ID: "m"}, "withdrawn", "deleted"},
		"edit":                {engine.Request{Op: engine.Edit, ID: "m", Text: new("changed")}, "queued", "pending changed"},
		"edit to a stop word": {engine.Request{Op: engine.Edit, ID: "m", Text: new("stop")}, "closed", "answered stop"},
	}
	for by, requests := range settlers {
		for name, change := range changes {
			t.Run(by+", "+name, func(t *testing.T) {
				h := newHarness(t, withWords, func(o *engine.Options) {
					b := o.Bots["bot"]
					b.ResetWords = words.NewList([]string{"new chat"})
					o.Bots["bot"] = b
				})
				h.by("ann", "m", "secret")
				h.pass(time.Second)
				h.respond(asked[engine.Start](h), engine.Response{Text: "hello"})
				send := asked[engine.Send](h)
				for i, r := range requests {
					h.submit(fmt.Sprint("settle", i), r)
					h.settle()
				}
				h.submit("change", change.request)
				h.settle()
				h.wants("change", change.outcome)
				h.sent(send, engine.SendResult{})
				m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]
				fate := string(m.Status)
				if m.Text != "" {
					fate += " " + m.Text
				}
				if fate != change.fate {
					t.Errorf("the message is %s, want %s", fate, change.fate)
				}
				if got := h.replied(turn.ReplySent); got != "hello" && got != "hello | I called" {
					t.Errorf("the replies are %q", got)
				}
			})
		}
	}
}

// onItsWay is a reply "hello" to two people, whose send has begun.
func onItsWay(t *testing.T) (*harness, engine.Send) {
	h := newHarness(t, withWords)
	h.by("ann", "m5")
	h.by("bob", "m6")
	h.pass(time.Second)
	h.respond(asked[engine.Start](h), engine.Response{Text: "hello"})
	return h, asked[engine.Send](h)
}

// In a group a stop word closes nothing that a reply on its way covers: what is closed is
// never among what a reply says that it answers.
func TestAStopWordLeavesWhatAReplyCovers(t *testing.T) {
	h, send := onItsWay(t)
	h.by("bob", "m7")
	h.by("bob", "s", "stop")
	h.settle()
	h.sent(send, engine.SendResult{})
	if got := h.fates(); got != "m5 answered, m6 answered, m7 closed, s closed" {
		t.Errorf("the messages are %s", got)
	}
}

// It closes them where nobody can have seen that reply, and it is taken back.
func TestAStopWordClosesWhatAReplyThatFailsCovered(t *testing.T) {
	h, send := onItsWay(t)
	h.by("bob", "s", "stop")
	h.settle()
	h.sent(send, engine.SendResult{Err: "away", Certain: true})
	if got := h.fates(); got != "m5 pending, m6 closed, s closed" {
		t.Errorf("the messages are %s", got)
	}
}

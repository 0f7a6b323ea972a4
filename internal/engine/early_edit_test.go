package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// edit submits an edit of a message of the conversation "c"; the ticket is "edit".
func (h *harness) edit(id, text string, at ...turn.Time) {
	r := engine.Request{Op: engine.Edit, ID: id, Text: &text}
	for _, at := range at {
		r.EditedAt = at
	}
	h.submit("edit", r)
	h.settle()
}

// outcome is what a request was answered, with its reason.
func (h *harness) outcome(name string) string {
	h.t.Helper()
	r := h.answers[name]
	if r.Err != nil {
		h.t.Fatalf("%s: %v", name, r.Err)
	}
	return strings.TrimSpace(string(r.Outcome) + " " + r.Reason)
}

func (h *harness) wants(name, outcome string) {
	h.t.Helper()
	if got := h.outcome(name); got != outcome {
		h.t.Errorf("%s was answered %q, want %q", name, got, outcome)
	}
}

// everything is all that the store holds of the conversation "c", as text.
func (h *harness) everything() string {
	text, err := json.Marshal([]any{h.record(), h.entries(keyOf("c"), store.EntryQuery{})})
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// An edit that comes before its message opens no turn, and the message is answered as
// it was edited.
func TestAnEditComesBeforeItsMessage(t *testing.T) {
	h := newHarness(t)
	h.edit("m", "new")
	h.wants("edit", "early")
	if r := h.record(); r.Phase != turn.Idle || r.Version != 0 || r.Turn != 0 || len(r.Early) != 1 {
		t.Errorf("the record is %+v", r)
	}
	h.submit("m", engine.Request{Op: engine.Receive, ID: "m", Body: store.Body{Text: "old", Attachments: []store.Attachment{{Kind: "voice", Pending: true}}}})
	h.settle()
	h.wants("m", "queued")
	h.pass(time.Second)
	prompt := asked[engine.Start](h).Prompt
	if got := texts(prompt.Messages); got != "new" || prompt.Messages[0].Attachments[0].Pending {
		t.Errorf("the prompt holds %+v", prompt.Messages)
	}
	if r := h.record(); len(r.Early) != 0 || r.Version != 1 {
		t.Errorf("the record is %+v", r)
	}
	if kept := h.entries(keyOf("c"), store.EntryQuery{Status: turn.InputEarly}); len(kept) != 0 {
		t.Errorf("the edit is kept still: %+v", kept)
	}
	for _, e := range h.events {
		if e.Kind == turn.KindMessageAccepted && e.Text != "new" {
			t.Errorf("watchers are told of %q", e.Text)
		}
	}
}

// The message may come in the same batch, at a node that does not know the record, and
// after its time.
func TestTheMessageOfAnEarlyEditComes(t *testing.T) {
	for name, come := range map[string]func(h *harness) (*harness, string){
		"in the same batch": func(h *harness) (*harness, string) {
			h.submit("before", engine.Request{Op: engine.Typing, For: time.Minute}) // its write is under way
			text := "new"
			h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: &text})
			h.say("m")
			h.settle()
			return h, "new"
		},
		"at another node": func(h *harness) (*harness, string) {
			h.edit("m", "new")
			other := newHarnessOn(t, h.store, h.now)
			other.say("m")
			other.settle()
			return other, "new"
		},
		"too late": func(h *harness) (*harness, string) {
			h.edit("m", "new")
			h.pass(turn.EarlyFor)
			h.say("m")
			h.settle()
			if strings.Contains(h.everything(), `"text":"new"`) {
				t.Errorf("its text is there still: %s", h.everything())
			}
			return h, "m"
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("first")
			h.settle()
			h, want := come(h)
			if got := texts(h.entries(keyOf("c"), store.EntryQuery{ID: "m"})); got != want {
				t.Errorf("the message is %q, want %q", got, want)
			}
		})
	}
}

// Several edits come before the message, in any order: the newest wins, and what one of
// them leaves alone the others change.
func TestEditsComeInAnyOrder(t *testing.T) {
	h := newHarness(t)
	h.edit("m", "second", 2000)
	h.edit("m", "first", 1000)
	h.wants("edit", "ignored older")
	h.edit("m", "second again", 2000)
	h.wants("edit", "early")
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Attachments: &[]store.Attachment{{Kind: "image"}}})
	h.settle()
	h.say("m")
	h.settle()
	h.edit("m", "older than what is there", 1999)
	h.wants("edit", "ignored older")
	m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]
	if m.Text != "second again" || len(m.Attachments) != 1 {
		t.Errorf("the message is %+v", m.Body)
	}
	h.edit("m", "third", 3000)
	h.wants("edit", "queued")
	h.edit("m", "undated")
	h.wants("edit", "queued")
	h.edit("m", "between", 2999)
	h.wants("edit", "ignored older")
	if got := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]; got.Text != "undated" || got.EditedAt != h.now {
		t.Errorf("the message is %+v", got.Body)
	}
}

// An edit leaves alone what an earlier one has changed and it does not mention.
func TestEarlyEditsAddUp(t *testing.T) {
	text := "new"
	edits := []engine.Request{{Text: &text}, {Attachments: &[]store.Attachment{{Kind: "image"}}}}
	for first := range edits {
		h := newHarness(t)
		for i := range edits {
			r := edits[(first+i)%2]
			r.Op, r.ID = engine.Edit, "m"
			h.submit("edit", r)
			h.settle()
		}
		h.say("m")
		h.settle()
		if m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"})[0]; m.Text != "new" || len(m.Attachments) != 1 {
			t.Errorf("from %d on: the message is %+v", first, m.Body)
		}
	}
}

// A node that does not know the record learns from it that an edit is kept.
func TestAnOlderEditComesToAnotherNode(t *testing.T) {
	h := newHarness(t)
	h.edit("m", "new", 2000)
	other := newHarnessOn(t, h.store, h.now)
	other.edit("m", "old", 1000)
	other.wants("edit", "ignored older")
}

// A deletion that comes before its message claims the id: the message is neither stored
// nor answered. Edits that were kept for it are gone.
func TestADeletionComesBeforeItsMessage(t *testing.T) {
	h := newHarness(t)
	h.edit("m", "a secret")
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
	h.settle()
	h.wants("retract", "early")
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
	h.settle()
	h.wants("retract", "ignored deleted")
	other := newHarnessOn(t, h.store, h.now)
	for _, node := range []*harness{h, other} {
		node.submit("m", engine.Request{Op: engine.Receive, ID: "m", Body: store.Body{Text: "a secret"}})
		node.settle()
		node.wants("m", "ignored deleted")
		node.edit("m", "a secret")
		node.wants("edit", "ignored deleted")
	}
	h.pass(time.Hour)
	if strings.Contains(h.everything(), "secret") || count[engine.Start](h) > 0 {
		t.Errorf("it is there: %s", h.everything())
	}
	h.say("another", "another")
	h.settle()
	h.wants("another", "duplicate")
}

// The deletion and the message come together, at two nodes: whichever is first.
func TestADeletionRacesItsMessage(t *testing.T) {
	retract := func(h *harness) { h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"}) }
	for name, test := range map[string]struct {
		first, second func(*harness)
		wants         map[string]string
	}{
		"the message is first":  {func(h *harness) { h.say("m") }, retract, map[string]string{"retract": "withdrawn"}},
		"the deletion is first": {retract, func(h *harness) { h.say("m") }, map[string]string{"m": "ignored deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.say("before")
			h.settle()
			h.submit("close", engine.Request{Op: engine.Pause})
			h.submit("close", engine.Request{Op: engine.Resume})
			h.settle()
			other := newHarnessOn(t, h.store, h.now)
			raced := false
			other.fault = func(w store.Write) (store.Result, error) {
				if !raced {
					raced = true
					test.first(h)
					h.settle()
				}
				return h.store.Commit(context.Background(), w)
			}
			test.second(other)
			other.settle()
			for name, want := range test.wants {
				other.wants(name, want)
			}
			if m := h.entries(keyOf("c"), store.EntryQuery{ID: "m"}); len(m) != 1 || m[0].Status != turn.InputDeleted || m[0].Text != "" {
				t.Errorf("the message is %+v", m)
			}
		})
	}
}

// What retention has removed is known by its id only.
func TestADeletionOfWhatRetentionRemoved(t *testing.T) {
	h := newHarness(t)
	h.say("m")
	h.submit("close", engine.Request{Op: engine.Pause})
	h.submit("close", engine.Request{Op: engine.Resume})
	h.settle()
	if _, err := h.store.Expire(context.Background(), h.now+1, 0, 100); err != nil {
		t.Fatal(err)
	}
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "m"})
	h.settle()
	h.wants("retract", "ignored deleted")
}

// A conversation keeps only so many edits, and for so long.
func TestEarlyEditsAreBounded(t *testing.T) {
	h := newHarness(t)
	for i := range turn.MaxEarly {
		h.edit(fmt.Sprint("m", i), "new")
	}
	h.edit("one more", "new")
	if err := h.answers["edit"].Err; !errors.Is(err, engine.ErrTooMany) {
		t.Fatalf("one more: %+v", h.answers["edit"])
	}
	h.edit("m7", "newer")
	h.wants("edit", "early")
	h.submit("retract", engine.Request{Op: engine.Retract, ID: "one more"})
	h.settle()
	h.wants("retract", "early")
	h.pass(turn.EarlyFor)
	h.edit("one more time", "new")
	h.wants("edit", "early")
	if r := h.record(); len(r.Early) != 1 || strings.Count(h.everything(), `"status":"early"`) != 1 {
		t.Errorf("%d are kept: %s", len(r.Early), h.everything())
	}
}

// The answer to the write of an early edit or deletion is lost: a second try ends as the
// first would have.
func TestTheAnswerToAnEarlyChangeIsLost(t *testing.T) {
	for name, overtaken := range map[string]bool{"nobody wrote": false, "somebody wrote": true} {
		for _, op := range []engine.Op{engine.Edit, engine.Retract} {
			t.Run(fmt.Sprint(name, op), func(t *testing.T) {
				h := newHarness(t)
				h.say("before")
				h.settle()
				h.losesAnswer(func() {
					if overtaken {
						h.other("c", turn.Typing{For: time.Minute})
					}
				})
				text := "new"
				h.submit("change", engine.Request{Op: op, ID: "m", Text: &text})
				h.settle()
				h.wants("change", "early")
				h.say("m")
				h.settle()
				want := map[engine.Op]string{engine.Edit: "queued", engine.Retract: "ignored deleted"}[op]
				h.wants("m", want)
			})
		}
	}
}

// A read shows what was there before the write that follows it. Here a message comes, and
// while it is looked up two more requests: another message, which must wait for the next
// read, and behind it an edit of the first. The read says for that edit too that its
// message is not there.
func TestAWriteMakesWhatWasReadBeforeOutOfDate(t *testing.T) {
	h := newHarness(t)
	h.edit("m", "first") // so that each message is looked up
	h.say("m")
	if count[engine.Load](h) != 1 {
		t.Fatalf("the node asked for %T", h.out)
	}
	h.say("other")
	text := "second"
	h.submit("edit", engine.Request{Op: engine.Edit, ID: "m", Text: &text})
	h.settle()
	h.wants("m", "queued")
	h.wants("edit", "queued")
	h.pass(time.Second)
	if got := texts(asked[engine.Start](h).Prompt.Messages); got != "second other" {
		t.Errorf("the prompt holds %q", got)
	}
}

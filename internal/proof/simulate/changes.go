package simulate

import (
	"fmt"
	"reflect"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// changes is what the people of a conversation edited and deleted.
type changes struct {
	written   map[string]time.Duration // by text: when its author made the edit, as the channel says
	corrected map[string]correction    // by message: the newest edit that was acknowledged
	takenBack map[string]bool          // messages whose deletion somebody asked for
	retired   map[string]turn.Time     // when the author of one of them was told that it is deleted
}

// correction is an edit that was acknowledged.
type correction struct {
	when  time.Duration // its author made it
	acked turn.Time
}

func newChanges() changes {
	return changes{
		written: map[string]time.Duration{}, corrected: map[string]correction{},
		takenBack: map[string]bool{}, retired: map[string]turn.Time{},
	}
}

// ask notes what somebody asks for.
func (c *changes) ask(a *ask) {
	switch a.op {
	case engine.Edit:
		c.written[a.text] = a.When
	case engine.Retract:
		c.takenBack[a.Message] = true
	}
}

// acknowledge notes that the author of a change was told that it is made.
func (c *changes) acknowledge(a *ask, now turn.Time) {
	switch {
	case a.op == engine.Retract:
		c.retired[a.Message] = now
	case a.What == stopWord: // it says no time: it counts as it comes
	case a.When > c.corrected[a.Message].when:
		c.corrected[a.Message] = correction{a.When, now}
	}
}

// judgeChanged is P4 for edits and deletions that come in any order, before their
// message and after its answer too: by what was acknowledged up to a moment, it is neither
// accepted nor told once its author has deleted it, and never reads as it was before the
// newest edit.
func (l *ledger) judgeChanged(t *conversation, e store.Entry, at turn.Time) {
	newest := t.changes.corrected[e.ID]
	if e.Status == turn.InputDeleted {
		return
	}
	if retired := t.changes.retired[e.ID]; retired != 0 && retired <= at {
		l.fail("P4 deleted", "%s is %s, and its author was told that it is deleted", e.ID, e.Status)
	}
	if !closesOwn(e.Text) && newest.acked <= at && at < newest.acked.Add(turn.EarlyFor) && t.changes.written[e.Text] < newest.when {
		l.fail("P4 newest", "%s reads %q, and a newer edit was acknowledged", e.ID, e.Text)
	}
}

// judgeErased is P4 for what a deletion leaves: nothing that anybody wrote.
func (l *ledger) judgeErased(e store.Entry) {
	if e.Status == turn.InputDeleted && !reflect.DeepEqual(e.Body, store.Body{Trace: e.Trace}) {
		l.fail("P4 erased", "%s is deleted, and this is left of it: %+v", e.ID, e.Body)
	}
}

// isSettled reports whether a change is of a message for whose answer nobody waits, so
// that it is no input.
func isSettled(e store.Entry) bool {
	switch e.Status {
	case turn.InputPending, turn.InputFailed:
		return false
	case turn.InputDeleted:
		return e.Reason == string(turn.Erased)
	}
	return true
}

// overtake has edits and deletions overtake their message, and each other: the webhooks
// of one chat run in any order. It has dice of its own.
func (p *Plan) overtake(conversation int) {
	d := roll(p.Seed, "overtaking", int64(conversation))
	if !d.chance(30) {
		return
	}
	change := func(what What, id string, at, when time.Duration) {
		p.add(Event{At: at, What: what, Node: d.below(p.nodes), Conversation: conversation, Message: id, When: when})
	}
	for number := range d.between(1, 3) {
		id := fmt.Sprintf("o%d", number+1)
		at := d.span(2*time.Second, p.traffic)
		p.add(Event{At: at, What: send, Node: d.below(p.nodes), Conversation: conversation, Message: id})
		near := func() time.Duration { return at - d.span(0, 2*time.Second) + d.span(0, time.Second) }
		if d.chance(30) {
			change(retract, id, near(), 0)
			continue
		}
		for range d.between(1, 3) {
			change(edit, id, near(), at+d.span(time.Millisecond, 5*time.Second))
		}
	}
}

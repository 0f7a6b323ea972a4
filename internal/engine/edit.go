package engine

import (
	"reflect"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// change edits or deletes a message. One that waits is changed in the transcript
// and counts as newer input. One that was set aside is changed in the transcript
// only: it takes part again after a requeue. All others were answered, and stay.
func (n *Node) changeMessage(c *conversation, b *batch, t *task) {
	entry := b.message(t)
	switch {
	case entry == nil && isReplyID(c, b, t.ID):
		t.result.Outcome, t.result.Reason = turn.Ignored, OwnMessage
	case entry == nil:
		n.changeEarly(c, b, t)
	case t.history.mayBeApplied && t.Op == Retract && entry.Status == turn.InputDeleted:
		t.result.Outcome = b.deletedOutcome(entry) // an earlier try of this very request did it
	case entry.Status == turn.InputDeleted: // that is final
		t.result.Outcome, t.result.Reason = turn.Ignored, turn.WasDeleted
	case t.Op == Edit && t.older(entry.Body):
		t.result.Outcome, t.result.Reason = turn.Ignored, Older
	case entry.Status != turn.InputPending && entry.Status != turn.InputFailed:
		t.result.Outcome, t.result.Reason = turn.Ignored, turn.AlreadyAnswered
	case t.Op == Retract:
		n.retract(c, b, t, *entry)
	default:
		n.edit(c, b, t, *entry)
	}
}

// message is the message that a task is about, as the batch leaves it.
func (b *batch) message(t *task) *store.Entry {
	for i := len(b.write.Change) - 1; i >= 0; i-- {
		if e := &b.write.Change[i]; e.Kind == store.Message && e.ID == t.ID {
			return e
		}
	}
	for i := range b.write.Append {
		if e := &b.write.Append[i]; e.Kind == store.Message && e.ID == t.ID {
			return e
		}
	}
	return t.stored.message
}

// edit changes a message. One that an attempt has already seen keeps its earlier
// version beside the new one: the attempt may be committed for what it saw, and its
// prompt may have to be made again after a crash.
func (n *Node) edit(c *conversation, b *batch, t *task, entry store.Entry) {
	changed := entry
	changed.Body = edited(entry.Body, t.change())
	if changed.Text == entry.Text && sameAttachments(changed.Attachments, entry.Attachments) {
		t.result.Outcome, t.result.Reason = turn.Ignored, Unchanged
		if t.history.mayBeApplied { // an earlier try of this very request did it
			t.result.Outcome, t.result.Reason = turn.Queued, ""
		}
		return
	}
	changed.ChannelEdit, changed.EditedAt = max(entry.ChannelEdit, t.EditedAt), t.editedAt(n.now)
	if entry.Status == turn.InputFailed {
		if n.step(c, b, t, turn.SetAsideChanged{Target: entry.Version}).Changed {
			b.replace(changed)
		}
		return
	}
	seen := b.write.Record.Attempt.Through
	effects := n.step(c, b, t, turn.Edit{
		Target: entry.Version, HadMedia: anyPending(entry.Attachments), HasMedia: anyPending(changed.Attachments), Bot: entry.Sender.Bot, Seq: entry.Seq,
	})
	if !effects.Changed {
		return
	}
	if entry.Version <= seen { // the attempt that runs must still see it as it was
		changed.Was = &store.Was{Version: entry.Version, Text: entry.Text, Attachments: entry.Attachments}
	} else if changed.Was != nil && changed.Was.Version > seen {
		changed.Was = nil
	}
	changed.Version = b.write.Record.Version
	b.replace(changed)
}

// change is what an edit changes.
func (t *task) change() store.Edit { return store.Edit{Text: t.Text, Attachments: t.Attachments} }

// edited is a message after an edit. A new text says that the attachments that were
// still awaited have arrived.
func edited(body store.Body, edit store.Edit) store.Body {
	if edit.Text != nil {
		body.Text = *edit.Text
		body.Attachments = arrived(body.Attachments)
	}
	if edit.Attachments != nil {
		body.Attachments = *edit.Attachments
	}
	return body
}

// retract deletes a message: the text is gone from the store, the id stays
// claimed.
func (n *Node) retract(c *conversation, b *batch, t *task, entry store.Entry) {
	setAside := entry.Status == turn.InputFailed
	var event turn.Event = turn.Delete{Target: entry.Version, HadMedia: anyPending(entry.Attachments), Seq: entry.Seq}
	if setAside {
		event = turn.SetAsideChanged{Target: entry.Version, Deleted: true}
	}
	if !n.step(c, b, t, event).Changed {
		return
	}
	if !setAside {
		entry.Version = b.write.Record.Version
	}
	entry.Status = turn.InputDeleted
	entry.Body = store.Body{Sender: entry.Sender, SentAt: entry.SentAt, Trace: entry.Trace}
	b.replace(entry)
}

// deletedOutcome is the outcome of a deletion that an earlier write carried out, by
// what waits now.
func (b *batch) deletedOutcome(message *store.Entry) turn.Outcome {
	switch {
	case neverCame(message):
		return turn.CameEarly
	case b.write.Record.Pending == 0:
		return turn.Emptied
	}
	return turn.Queued
}

// replace records a change of an entry, in the entry itself where the same batch
// appends it or has changed it before: the batch holds each message once.
func (b *batch) replace(entry store.Entry) {
	for _, entries := range [][]store.Entry{b.write.Append, b.write.Change} {
		for i := range entries {
			if entries[i].Seq == entry.Seq {
				entries[i] = entry
				return
			}
		}
	}
	b.write.Change = append(b.write.Change, entry)
}

// arrived is attachments that are no longer awaited.
func arrived(attachments []store.Attachment) []store.Attachment {
	out := make([]store.Attachment, len(attachments))
	for i, a := range attachments {
		a.Pending = false
		out[i] = a
	}
	return out
}

// sameAttachments reports whether nothing changed; nil and empty are the same.
func sameAttachments(a, b []store.Attachment) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

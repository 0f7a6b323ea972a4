package engine

import (
	"reflect"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// changeMessage edits or deletes a message. One that waits is changed in the transcript
// and counts as newer input. All others are changed in the transcript only. One that was
// set aside takes part again after a requeue. One that is settled is erased, or
// shown as edited from then on.
func (n *Node) changeMessage(c *conversation, b *batch, t *task) {
	entry := b.message(t)
	switch {
	case entry == nil && isReplyID(c, b, t.ID):
		t.result.Outcome, t.result.Reason = turn.Ignored, OwnMessage
	case entry == nil:
		n.changeEarly(c, b, t)
	case t.earlier.mayBeApplied && t.Op == Retract && entry.Status == turn.InputDeleted:
		t.result.Outcome = b.deletedOutcome(entry) // an earlier try of this very request did it
	case t.earlier.mayBeApplied && t.word.closes() && entry.Status != turn.InputPending && entry.Text == *t.Text:
		t.result.Outcome = t.word.outcome() // likewise
		if entry.Recorded && t.word == stopWord {
			t.result.Outcome = turn.Recorded
		}
	case entry.Status == turn.InputDeleted: // that is final
		t.result.Outcome, t.result.Reason = turn.Ignored, turn.WasDeleted
	case t.Op == Edit && t.older(entry.Body):
		t.result.Outcome, t.result.Reason = turn.Ignored, Older
	case t.Op == Retract:
		n.retract(c, b, t, *entry)
	default:
		n.edit(c, b, t, *entry)
	}
}

// isSettled reports whether nobody waits for the answer of a message, and nothing brings
// it back.
func isSettled(message store.Entry) bool {
	return message.Status != turn.InputPending && message.Status != turn.InputFailed
}

// message is the message that a task is about, as the batch leaves it.
func (b *batch) message(t *task) *store.Entry {
	for i := len(b.write.Change) - 1; i >= 0; i-- {
		if e := &b.write.Change[i]; e.Kind == store.Message && e.ID == t.messageID() {
			return e
		}
	}
	for i := range b.write.Append {
		if e := &b.write.Append[i]; e.Kind == store.Message && e.ID == t.messageID() {
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
		if t.earlier.mayBeApplied { // an earlier try of this very request did it
			t.result.Outcome, t.result.Reason = turn.Queued, ""
			if isSettled(entry) {
				t.result.Outcome = turn.Recorded
			}
		}
		return
	}
	changed.ChannelEdit, changed.EditedAt = max(entry.ChannelEdit, t.EditedAt), t.editedAt(n.now)
	switch {
	case isSettled(entry):
		if n.step(c, b, t, turn.SettledChanged{Seq: entry.Seq}).Changed {
			changed.Recorded = true
			b.replace(changed)
			n.optLate(c, b, t, entry)
		}
		return
	case entry.Status == turn.InputFailed:
		if n.input(c, b, t, turn.SetAsideChanged{Target: entry.Version, Bytes: changed.Size, Had: entry.Size, Seq: entry.Seq}).Changed {
			b.replace(changed)
			n.optLate(c, b, t, entry)
		}
		return
	}
	if t.word.closes() && !entry.Sender.Bot {
		if n.stop(c, b, t, turn.StopWord{Edited: entry.Version, Seq: entry.Seq}, entry.Sender).Changed {
			changed.Was, changed.Size = nil, entry.Size // it may wait on, for the reply on its way
			b.replace(changed)
		}
		return
	}
	seen := b.write.Record.Attempt.Through
	effects := n.input(c, b, t, turn.Edit{
		Target: entry.Version, HadMedia: anyPending(entry.Attachments), HasMedia: anyPending(changed.Attachments), Bot: entry.Sender.Bot, Seq: entry.Seq,
		Bytes: changed.Size, Had: entry.Size,
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
	body.Size = body.Bytes()
	return body
}

// retract deletes a message: all that its author wrote is gone from the store, its
// earlier texts and what others quote of it too. Its id stays claimed.
func (n *Node) retract(c *conversation, b *batch, t *task, entry store.Entry) {
	var event turn.Event
	switch {
	case isSettled(entry):
		event = turn.SettledChanged{Deleted: true, Seq: entry.Seq}
	case entry.Status == turn.InputFailed:
		event = turn.SetAsideChanged{Target: entry.Version, Deleted: true, Had: entry.Size, Seq: entry.Seq}
	default:
		event = turn.Delete{Target: entry.Version, HadMedia: anyPending(entry.Attachments), Had: entry.Size, Seq: entry.Seq}
	}
	if !n.step(c, b, t, event).Changed {
		return
	}
	if entry.Status == turn.InputPending {
		entry.Version = b.write.Record.Version
	}
	entry.Reason = ""
	if isSettled(entry) {
		entry.Reason = string(turn.Erased)
	}
	entry.Status, entry.Body = turn.InputDeleted, store.Body{Trace: entry.Trace}
	b.replace(entry)
	b.eraseQuotes(t)
}

// eraseQuotes removes what other messages quote of the one that the task deletes. Those
// that the batch does not hold were read with the task.
func (b *batch) eraseQuotes(t *task) {
	held := map[int64]bool{}
	for _, entries := range [][]store.Entry{b.write.Append, b.write.Change} {
		for i := range entries {
			held[entries[i].Seq] = true
			eraseQuote(&entries[i], t.ID)
		}
	}
	for _, e := range t.stored.quoting {
		if !held[e.Seq] {
			eraseQuote(&e, t.ID)
			b.write.Change = append(b.write.Change, e)
		}
	}
}

// eraseQuote removes what an entry quotes of the message with an id.
func eraseQuote(e *store.Entry, id string) {
	if e.ReplyTo != nil && e.ReplyTo.ID == id {
		e.ReplyTo = &store.Quote{ID: id}
	}
}

// deletedOutcome is the outcome of a deletion that an earlier write carried out, by
// what waits now.
func (b *batch) deletedOutcome(message *store.Entry) turn.Outcome {
	switch {
	case message.IsClaim():
		return turn.CameEarly
	case message.Reason == string(turn.Erased):
		return turn.Erased
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

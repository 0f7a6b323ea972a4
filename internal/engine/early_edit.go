package engine

import (
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Older is the reason of an edit that came after a newer one.
const Older = "older"

// changeEarly edits or deletes a message that has not come. An edit is kept for it, in
// an entry of its own that claims no id. A deletion claims the id, so that the message is
// a repeat when it comes.
func (n *Node) changeEarly(c *conversation, b *batch, t *task) {
	kept := b.keptFor(t, n.now)
	switch {
	case t.earlier.idClaimed: // it came, and retention has removed it
		t.result.Outcome, t.result.Reason = turn.Ignored, turn.WasDeleted
		return
	case t.Op == Edit && kept != nil && t.older(kept.Body):
		t.result.Outcome, t.result.Reason = turn.Ignored, Older
		return
	}
	edit := t.edit(kept)
	effects := n.step(c, b, t, turn.Early{Seq: seqOf(kept), Deleted: t.Op == Retract, Bytes: edited(store.Body{}, *edit).Size})
	if effects.Reason == turn.TooManyEarly {
		t.result.Err = ErrTooMany
		return
	}
	b.dropEarly(t, effects.DropEarly)
	entry := store.Entry{
		Seq: effects.AppendEarly, Kind: store.Early, ID: t.ID, Status: turn.InputEarly, At: n.now,
		Body: store.Body{Edit: edit},
	}
	entry.EditedAt, entry.ChannelEdit = t.editedAt(n.now), t.EditedAt
	if kept != nil {
		entry.ChannelEdit = max(kept.ChannelEdit, t.EditedAt)
	}
	switch {
	case t.Op == Retract:
		entry.Kind, entry.Status, entry.Body = store.Message, turn.InputDeleted, store.Body{}
		b.appendEntry(entry)
	case entry.Seq == 0:
		entry.Seq, entry.At, entry.Trace = kept.Seq, kept.At, kept.Trace
		b.replace(entry)
	default:
		b.appendEntry(entry)
	}
}

// edit is what the request changes, and beyond that what an edit that is kept already
// does.
func (t *task) edit(kept *store.Entry) *store.Edit {
	edit := t.change()
	if kept == nil {
		return &edit
	}
	if edit.Text == nil {
		edit.Text = kept.Edit.Text
	}
	if edit.Attachments == nil {
		edit.Attachments = kept.Edit.Attachments
	}
	return &edit
}

// older reports whether a newer edit than the request's was applied before. Only a
// channel that says when its people edited can be told that.
func (t *task) older(applied store.Body) bool {
	return t.EditedAt != 0 && t.EditedAt < applied.ChannelEdit
}

// editedAt is when the message was edited, as far as anybody knows.
func (t *task) editedAt(now turn.Time) turn.Time {
	if t.EditedAt != 0 {
		return t.EditedAt
	}
	return now
}

// keptFor is the edit that is kept for the task's message, nil if there is none.
func (b *batch) keptFor(t *task, now turn.Time) *store.Entry {
	for _, entries := range [][]store.Entry{b.write.Change, b.write.Append, t.stored.early} {
		for i := range entries {
			if e := &entries[i]; e.Kind == store.Early && e.ID == t.ID && b.write.Record.KeepsEarly(e.Seq, now) {
				return e
			}
		}
	}
	return nil
}

// seqOf is the sequence of an edit that is kept, 0 if there is none.
func seqOf(kept *store.Entry) int64 {
	if kept == nil {
		return 0
	}
	return kept.Seq
}

// dropEarly removes the texts of edits that are not kept any more. They were read with
// the task: it looks them up wherever the record knows of any.
func (b *batch) dropEarly(t *task, gone []int64) {
	for _, seq := range gone {
		for _, entries := range [][]store.Entry{b.write.Change, b.write.Append, t.stored.early} {
			for _, e := range entries {
				if e.Kind == store.Early && e.Seq == seq {
					e.Status, e.Body = turn.InputDeleted, store.Body{Trace: e.Trace}
					b.replace(e)
				}
			}
		}
	}
}

// accepted is a message as it is accepted: as its author has edited it since.
func accepted(body store.Body, kept *store.Entry) store.Body {
	if kept == nil {
		body.Size = body.Bytes()
		return body
	}
	body = edited(body, *kept.Edit)
	body.EditedAt, body.ChannelEdit = kept.EditedAt, kept.ChannelEdit
	return body
}

package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// humanReply commits a reply from outside. It covers the waiting messages that it settles,
// which are all but those that a reply on its way answers, or none. Its id is claimed by an
// entry of its own, so that a repeat is recognised, however long ago the reply was given.
// Without an id a second try after an unknown outcome can't be told from a second reply:
// it is refused.
func (n *Node) humanReply(c *conversation, b *batch, t *task) {
	claimed := b.message(t)
	switch {
	case t.ID == "" && t.earlier.mayBeApplied:
		t.result.Err = ErrOutcomeUnknown
		return
	case t.ID != "" && (claimed != nil || t.earlier.idClaimed):
		t.result.Outcome, t.result.Duplicate, t.result.MessageID = Duplicate, true, ""
		if claimed != nil { // retention has not removed it
			t.result.MessageID = ReplyID(c.key, claimed.Turn)
		}
		return
	}
	before := *b // the messages as they wait before this reply settles them
	t.reply = t.Body
	t.reply.Author = turn.ReplyHuman
	t.reply.Parts = n.bot(c).cut(t.Body.Text)
	effects := n.step(c, b, t, turn.HumanReply{
		Parts: n.bot(c).sends(t.reply.Parts), Beside: t.Beside, Sent: t.Sent, Claims: t.ID != "", PauseFor: t.For,
	})
	if effects.Outcome == turn.Ignored {
		t.result.Err = ErrTooMany
		return
	}
	for _, e := range before.waiting(t.stored.waiting) {
		if effects.Answers(e.Version) {
			t.reply.Covers = append(t.reply.Covers, e.ID)
		}
	}
	n.writeReplies(c, b, t, effects)
	t.result.MessageID = b.reply.ID
	if effects.AppendClaim != 0 {
		n.claimReply(b, t, effects.AppendClaim)
	}
}

// claimReply appends what claims the id of a reply from outside. It is an entry that
// nobody is shown, like the claim of a message that was deleted before it came.
func (n *Node) claimReply(b *batch, t *task, seq int64) {
	b.appendEntry(store.Entry{
		Seq: seq, Kind: store.Message, ID: t.messageID(), Status: turn.InputDeleted, At: n.now,
		ReplySeq: b.reply.Seq, Body: store.Body{Turn: b.reply.Turn},
	})
	t.earlier.placement = placement{seq: seq, at: n.now, outcome: t.result.Outcome, reason: t.result.Reason, version: b.write.Record.Version}
}

// claimOf is the id that the reply with an id claims. No message has it: no channel gives
// an id with a control character.
func claimOf(id string) string { return "\x01reply/" + id }

// waiting is the messages that wait as the batch leaves them. stored are those of the
// transcript, as of the record that the batch began with.
func (b *batch) waiting(stored []store.Entry) []store.Entry {
	var all []store.Entry
	add := func(e store.Entry) {
		if e.Kind == store.Message && e.Status == turn.InputPending {
			all = append(all, e)
		}
	}
	for _, e := range stored {
		if b.entry(e.Seq) == nil {
			add(e)
		}
	}
	for _, e := range b.write.Change {
		add(e)
	}
	for _, e := range b.write.Append {
		add(e)
	}
	return all
}

// cut splits a text into parts that the channel takes. It never loses the text:
// a reply without parts would count as none.
func (bot Bot) cut(text string) []string {
	if bot.Split != nil {
		if parts := bot.Split(text); len(parts) > 0 {
			return parts
		}
	}
	return []string{text}
}

// sends is how many sends it takes to deliver the parts.
func (bot Bot) sends(parts []string) int {
	if bot.Whole {
		return 1
	}
	return len(parts)
}

// writeReplies adds the reply that a step committed to the transcript.
func (n *Node) writeReplies(c *conversation, b *batch, t *task, effects turn.Effects) {
	if seq := effects.AppendReply; seq != 0 {
		b.commit(n.replyEntry(c, b, t, seq))
	}
}

// writeProgress records how far replies have come: how much of one that was given up was
// delivered, and what the channel said of it. Their entries are known: see lacksReply.
func (b *batch) writeProgress(c *conversation, t *task, progress []turn.Progress) {
	for _, p := range progress {
		entry := b.entry(p.Seq)
		if entry == nil {
			entry = c.replyAt(p.Seq, t)
		}
		if entry == nil {
			continue
		}
		changed := *entry
		changed.Delivered = max(changed.Delivered, p.Delivered)
		changed.Receipts = changed.Receipts.Merge(p.Receipts, p.Again)
		b.replace(changed)
	}
}

// entry is the entry with a sequence that the batch appends or has changed, nil: it has
// not.
func (b *batch) entry(seq int64) *store.Entry {
	for _, entries := range [][]store.Entry{b.write.Change, b.write.Append} {
		for i := range entries {
			if entries[i].Seq == seq {
				return &entries[i]
			}
		}
	}
	return nil
}

// report takes in what a channel says of a reply that it has taken. A reply that the batch
// itself has settled has the status that the batch gives it.
func (n *Node) report(c *conversation, b *batch, t *task) {
	part, found := t.reported(b.write.Record)
	if found == nil {
		t.result.Outcome, t.result.Reason = turn.Ignored, turn.NotSent
		if t.Turn != 0 {
			t.result.Err = fmt.Errorf("%w: turn %d has no reply", ErrNotFound, t.Turn)
		}
		return
	}
	entry := *found
	if newer := b.entry(entry.Seq); newer != nil {
		entry = *newer
	}
	for _, mark := range b.write.Mark {
		if mark.Seq == entry.Seq {
			entry.Status = mark.Status
		}
	}
	t.result.MessageID = entry.ID
	parts := max(len(entry.Parts), 1)
	if part.Part > parts {
		t.result.Err = fmt.Errorf("%w: the reply has %d parts", ErrNotFound, parts)
		return
	}
	n.step(c, b, t, turn.Report{
		Turn: entry.Turn, Seq: entry.Seq, Texts: parts, Sends: n.bot(c).sends(make([]string, parts)), Status: entry.Status, Receipts: entry.Receipts,
		ID: t.ID, Part: part.Part, Receipt: t.Receipt, Reason: t.Reason,
	})
	if t.earlier.mayBeApplied && t.result.Reason == turn.NothingNew { // an earlier try of this very request saw to it
		t.result.Outcome, t.result.Reason = turn.Done, ""
	}
}

// reported is the part that the report is about, and its reply; nil: there is none, as far
// as can be told. A part in doubt is known by its text.
func (t *task) reported(r turn.Record) (turn.SentPart, *store.Entry) {
	_, named := r.SentAs(t.ID)
	for _, part := range t.about(r) {
		for i := range t.stored.replies {
			e := &t.stored.replies[i]
			if e.Turn == part.Turn && (t.Turn != 0 || named || sameText(textOf(e, part.Part), *t.Text)) {
				return part, e
			}
		}
	}
	return turn.SentPart{}, nil
}

// textOf is the text of a part of a reply, from 1, or of all parts (0).
func textOf(e *store.Entry, part int) string {
	if part == 0 && len(e.Parts) == 1 {
		part = 1
	}
	if 0 < part && part <= len(e.Parts) {
		return e.Parts[part-1]
	}
	return e.Text
}

// sameText compares texts but for space, which platforms change.
func sameText(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// replyEntry is the transcript's entry for a committed reply: the responder's, a
// person's, or a text that stands in for one. Its id is that of the turn, whichever
// attempt it comes from.
func (n *Node) replyEntry(c *conversation, b *batch, t *task, seq int64) store.Entry {
	entry := store.Entry{
		Seq: seq, Kind: store.Reply, Status: turn.ReplyCommitted, At: n.now,
		Version: b.write.Record.Attempt.Through, Body: t.reply,
	}
	if reply := b.findReply(seq); reply != nil {
		entry.Turn, entry.Version, entry.Late = reply.Turn, reply.Through, reply.Late
		if text := n.bot(c).standInText(reply.Kind); text != "" {
			entry.Body = store.Body{Text: text, Parts: []string{text}, Author: reply.Kind, Turn: reply.Turn}
		}
	} else { // settled at once: the responder had nothing to say, or a person has sent it elsewhere
		entry.Turn = b.settledReplyTurn()
	}
	switch {
	case t.Op == HumanReply && t.Beside:
		entry.Version = b.write.Record.Answered
	case t.Op == HumanReply:
		entry.Version = b.write.Record.Version
	}
	entry.ID = ReplyID(c.key, entry.Turn)
	return entry
}

// standInText is the text of a reply that stands in for one, "" for any other kind.
func (bot Bot) standInText(kind string) string {
	switch kind {
	case turn.ReplyFallback:
		return bot.Fallback
	case turn.ReplyRefusal:
		return bot.Refusal
	}
	return ""
}

// signText is what people are told with a sign.
func (bot Bot) signText(sign turn.Sign) string {
	if sign == turn.SignOutage {
		return bot.OutageText
	}
	return bot.DelayText
}

// findReply is the committed reply with a sequence: the current one, or one that waits
// behind it. There is none where it was settled at once.
func (b *batch) findReply(seq int64) *turn.Reply {
	if reply := b.write.Record.Reply; reply != nil && reply.Seq == seq {
		return reply
	}
	for i := range b.write.Record.Queue {
		if b.write.Record.Queue[i].Seq == seq {
			return &b.write.Record.Queue[i]
		}
	}
	return nil
}

// settledReplyTurn is the number of the turn whose reply was settled with its commit,
// taken from the notice of that.
func (b *batch) settledReplyTurn() int64 {
	for i := len(b.events) - 1; i >= 0; i-- {
		if b.events[i].Kind == turn.KindReplyCommitted {
			return b.events[i].Turn
		}
	}
	return b.write.Record.Turn
}

// appendEntry appends an entry to the transcript, and returns it as it is stored.
// The trace that the record has gathered moves into it: see [store.Log].
func (b *batch) appendEntry(entry store.Entry) store.Entry {
	entry.Trace, b.write.Log.Trace = b.write.Log.Trace, store.Trace{}
	b.write.Append = append(b.write.Append, entry)
	return entry
}

// commit appends the reply's entry.
func (b *batch) commit(entry store.Entry) {
	entry = b.appendEntry(entry)
	b.reply = &entry
	for i := range b.events {
		if e := &b.events[i]; e.Seq == entry.Seq {
			e.ReplyID, e.Covers, e.Text = entry.ID, entry.Covers, entry.Text
			e.Author = entry.Author
		}
	}
}

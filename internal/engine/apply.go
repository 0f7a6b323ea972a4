package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Duplicate is the outcome of a message whose id was claimed before.
const Duplicate turn.Outcome = "duplicate"

// Reasons that only the engine gives.
const (
	Unchanged  = "unchanged"   // the edit changes nothing
	OwnMessage = "own_message" // it is about a reply of ours
)

// one puts a request through the core, on top of those before it in the batch.
func (n *Node) one(c *conversation, b *batch, r *Request) {
	r.result = Result{MessageID: r.ID, At: n.now}
	n.put(c, b, r)
	r.result.Version = b.write.Record.Version
	if t := r.applied(); t != nil {
		r.result.Outcome, r.result.Reason, r.result.Duplicate, r.result.Version = t.outcome, t.reason, false, t.version
	}
	if b.write.Record.Shown() == turn.Collecting {
		r.result.Due = b.write.Record.Due
	}
}

func (n *Node) put(c *conversation, b *batch, r *Request) {
	switch {
	case r.Op == Receive:
		n.receive(c, b, r)
	case r.Op == Edit || r.Op == Retract:
		n.change(c, b, r)
	case r.Op == HumanReply:
		n.humanReply(c, b, r)
	case r.wakes() && !b.write.Record.Exists(): // it was forgotten, and must not come back
		r.result.Outcome, r.result.Reason = turn.Ignored, turn.NothingWaits
	default:
		e := n.step(c, b, r, r.plain())
		n.append(c, b, r, e)
		if e.Reason == turn.NoTrouble && r.maybe { // an earlier try of this very request saw to it
			r.result.Outcome, r.result.Reason = turn.Done, ""
		}
	}
}

// plain is the event of a request that needs nothing but its own fields.
func (r *Request) plain() turn.Event {
	switch r.Op {
	case Typing:
		return turn.Typing{For: r.For}
	case Flush:
		return turn.Flush{}
	case Pause:
		return turn.Pause{Reason: r.Reason}
	case Resume:
		return turn.Resume{Answer: r.Answer}
	case Requeue:
		return turn.Requeue{}
	case Resend:
		return turn.Resend{Turn: r.Turn}
	case MarkSent:
		return turn.MarkSent{Turn: r.Turn}
	case Seal:
		return turn.Seal{Token: r.Token}
	}
	return r.event
}

// step applies one event, and collects what goes with it.
func (n *Node) step(c *conversation, b *batch, r *Request, event turn.Event) turn.Effects {
	record, effects := n.options.Step(b.write.Record, event, n.now, n.bot(c).Policy)
	r.result.Outcome, r.result.Reason = effects.Outcome, effects.Reason
	b.actions = append(b.actions, effects.Actions...)
	if !effects.Changed {
		return effects
	}
	b.write.Record, b.changed = record, true
	if r.Audit != nil {
		entry := *r.Audit
		entry.At = n.now
		b.write.Record = b.write.Record.Audited(entry)
	}
	b.write.Settle = append(b.write.Settle, effects.Settles...)
	b.write.Mark = append(b.write.Mark, effects.Marks...)
	b.events = slices.Grow(b.events, len(effects.Notices))
	for _, notice := range effects.Notices {
		b.events = append(b.events, n.event(c, b, r, notice))
	}
	return effects
}

// receive accepts a message whose id is new.
func (n *Node) receive(c *conversation, b *batch, r *Request) {
	switch {
	case ours(c, b, r.ID): // a provider gives us back what we sent
		r.result.Outcome, r.result.Reason = turn.Ignored, OwnMessage
		return
	case r.again || b.holds(r.ID):
		r.result.Outcome, r.result.Duplicate = Duplicate, true
		return
	case b.write.Record.Pending >= maxPending:
		r.result.Err = ErrTooMany
		return
	}
	bot := n.bot(c)
	effects := n.step(c, b, r, turn.Message{Quiet: bot.quiet(r), Media: waits(r.Body.Attachments)})
	b.write.Append = append(b.write.Append, store.Entry{
		Seq: b.write.Record.Seq, Kind: store.Message, ID: r.ID, Status: turn.InputPending,
		At: n.now, Version: b.write.Record.Version, Body: r.Body,
	})
	stop, optOut := word(r.Body.Text, bot.StopWords), word(r.Body.Text, bot.OptOutWords)
	if stop || optOut {
		n.step(c, b, r, turn.Close{})
	}
	if optOut {
		n.step(c, b, r, turn.Pause{Reason: "opt_out"})
	}
	r.result.Outcome, r.result.Reason = effects.Outcome, effects.Reason
	r.trial = try{seq: b.write.Append[len(b.write.Append)-1].Seq, at: n.now, outcome: effects.Outcome, reason: effects.Reason, version: b.write.Record.Version}
}

// holds reports whether the batch itself claims the id.
func (b *batch) holds(id string) bool {
	for _, e := range b.write.Append {
		if e.Kind == store.Message && e.ID == id {
			return true
		}
	}
	return false
}

// quiet is the quiet time after a message, 0 for the debounce. The parts of an
// album, and the rest of a text that the client cut in two, follow at once.
func (bot Bot) quiet(r *Request) time.Duration {
	quiet := bot.Policy.Debounce
	if r.Group {
		quiet = max(quiet, bot.GroupWait)
	}
	if bot.SplitAt > 0 && utf8.RuneCountInString(r.Body.Text) >= bot.SplitAt {
		quiet = max(quiet, bot.SplitWait)
	}
	return quiet
}

func waits(attachments []store.Attachment) bool {
	for _, a := range attachments {
		if a.Pending {
			return true
		}
	}
	return false
}

// change edits or deletes a message.
func (n *Node) change(c *conversation, b *batch, r *Request) {
	entry := b.find(r)
	switch {
	case entry == nil && ours(c, b, r.ID):
		r.result.Outcome, r.result.Reason = turn.Ignored, OwnMessage
	case entry == nil:
		r.result.Err = fmt.Errorf("%w: %q was never received", ErrNotFound, r.ID)
	case r.maybe && r.Op == Retract && entry.Status == turn.InputDeleted:
		r.result.Outcome = turn.Queued // an earlier try of this very request did it
	case entry.Status != turn.InputPending && entry.Status != turn.InputFailed:
		r.result.Outcome, r.result.Reason = turn.Ignored, turn.AlreadyAnswered
	case r.Op == Retract:
		n.retract(c, b, r, *entry)
	default:
		n.edit(c, b, r, *entry)
	}
}

// find is the message as the batch leaves it.
func (b *batch) find(r *Request) *store.Entry {
	for i := len(b.write.Change) - 1; i >= 0; i-- {
		if e := &b.write.Change[i]; e.Kind == store.Message && e.ID == r.ID {
			return e
		}
	}
	for i := range b.write.Append {
		if e := &b.write.Append[i]; e.Kind == store.Message && e.ID == r.ID {
			return e
		}
	}
	return r.found
}

// ours reports whether id is that of a reply of this conversation.
func ours(c *conversation, b *batch, id string) bool {
	digits, ok := strings.CutPrefix(id, c.key.Conversation+"/")
	if !ok {
		return false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return err == nil && 0 < number && number <= b.write.Record.Turn && id == ReplyID(c.key, number)
}

// ReplyID is the id of a turn's reply: one for all its attempts.
func ReplyID(key store.Key, number int64) string {
	return fmt.Sprintf("%s/%d", key.Conversation, number)
}

func (n *Node) edit(c *conversation, b *batch, r *Request, entry store.Entry) {
	changed := entry
	if r.Text != nil {
		changed.Text = *r.Text
		changed.Attachments = arrived(entry.Attachments)
	}
	if r.Attachments != nil {
		changed.Attachments = *r.Attachments
	}
	if changed.Text == entry.Text && sameAttachments(changed.Attachments, entry.Attachments) {
		r.result.Outcome, r.result.Reason = turn.Ignored, Unchanged
		if r.maybe { // an earlier try of this very request did it
			r.result.Outcome, r.result.Reason = turn.Queued, ""
		}
		return
	}
	if entry.Status == turn.InputFailed {
		if n.step(c, b, r, turn.Touch{Target: entry.Version}).Changed {
			changed.EditedAt = n.now
			b.replace(changed)
		}
		return
	}
	seen := b.write.Record.Through
	effects := n.step(c, b, r, turn.Edit{Target: entry.Version, HadMedia: waits(entry.Attachments), HasMedia: waits(changed.Attachments), Seq: entry.Seq})
	if !effects.Changed {
		return
	}
	if entry.Version <= seen {
		changed.Was = &store.Was{Version: entry.Version, Text: entry.Text, Attachments: entry.Attachments}
	} else if changed.Was != nil && changed.Was.Version > seen {
		changed.Was = nil
	}
	changed.Version, changed.EditedAt = b.write.Record.Version, n.now
	b.replace(changed)
}

// retract deletes a message: the text is gone from the store, the id stays
// claimed.
func (n *Node) retract(c *conversation, b *batch, r *Request, entry store.Entry) {
	aside := entry.Status == turn.InputFailed
	var event turn.Event = turn.Delete{Target: entry.Version, HadMedia: waits(entry.Attachments), Seq: entry.Seq}
	if aside {
		event = turn.Touch{Target: entry.Version, Deleted: true}
	}
	if !n.step(c, b, r, event).Changed {
		return
	}
	if !aside {
		entry.Version = b.write.Record.Version
	}
	entry.Status = turn.InputDeleted
	entry.Body = store.Body{Sender: entry.Sender, SentAt: entry.SentAt}
	b.replace(entry)
}

// replace records a change of an entry, in the entry itself where the same
// batch appends it.
func (b *batch) replace(entry store.Entry) {
	for i := range b.write.Append {
		if b.write.Append[i].Seq == entry.Seq {
			b.write.Append[i] = entry
			return
		}
	}
	b.write.Change = append(b.write.Change, entry)
}

func arrived(attachments []store.Attachment) []store.Attachment {
	out := make([]store.Attachment, len(attachments))
	for i, a := range attachments {
		a.Pending = false
		out[i] = a
	}
	return out
}

func sameAttachments(a, b []store.Attachment) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// humanReply commits what a person wrote.
func (n *Node) humanReply(c *conversation, b *batch, r *Request) {
	if r.maybe {
		r.result.Err = ErrMaybe
		return
	}
	waiting := *b // as they were before this reply settles them
	r.reply = r.Body
	r.reply.Author = turn.ReplyHuman
	r.reply.Parts = n.bot(c).cut(r.Body.Text)
	effects := n.step(c, b, r, turn.HumanReply{Parts: n.bot(c).sends(r.reply.Parts)})
	if effects.Outcome == turn.Ignored {
		r.result.Err = ErrTooMany
		return
	}
	r.reply.Covers = waiting.waiting(r.pending, b.findReply(effects.AppendReply).From)
	n.append(c, b, r, effects)
	r.result.MessageID = ReplyID(c.key, b.write.Record.Turn)
}

// waiting is the ids of the messages that wait and were touched after from.
func (b *batch) waiting(stored []store.Entry, from int64) []string {
	var ids []string
	add := func(e store.Entry) {
		if e.Status == turn.InputPending && e.Version > from {
			ids = append(ids, e.ID)
		}
	}
	for _, e := range stored {
		if !b.changes(e.Seq) {
			add(e)
		}
	}
	for _, e := range b.write.Change {
		add(e)
	}
	for _, e := range b.write.Append {
		if e.Kind == store.Message {
			add(e)
		}
	}
	return ids
}

func (b *batch) changes(seq int64) bool {
	for _, e := range b.write.Change {
		if e.Seq == seq {
			return true
		}
	}
	return false
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

// append adds the reply that a step committed to the transcript, and records
// how much of a reply that was given up had been delivered.
func (n *Node) append(c *conversation, b *batch, r *Request, effects turn.Effects) {
	if seq := effects.AppendReply; seq != 0 {
		b.commit(n.replyEntry(c, b, r, seq))
	}
	for _, mark := range effects.Marks {
		if entry := c.speaks(mark.Seq, r); entry != nil && mark.Status == turn.ReplyPartial {
			partial := *entry
			partial.Delivered = c.snap.Record.Reply.Done
			if _, ok := r.event.(turn.Sent); ok {
				partial.Delivered++
			}
			b.write.Change = append(b.write.Change, partial)
		}
	}
}

func (n *Node) replyEntry(c *conversation, b *batch, r *Request, seq int64) store.Entry {
	entry := store.Entry{
		Seq: seq, Kind: store.Reply, Status: turn.ReplyCommitted, At: n.now,
		Version: b.write.Record.Through, Body: r.reply,
	}
	if reply := b.findReply(seq); reply != nil {
		entry.Turn, entry.Version, entry.Late = reply.Turn, reply.Through, reply.Late
		if reply.Kind == turn.ReplyFallback {
			entry.Body = store.Body{Text: n.bot(c).Fallback, Parts: []string{n.bot(c).Fallback}, Author: turn.ReplyFallback, Turn: reply.Turn}
		}
	} else { // settled at once: the responder had nothing to say
		entry.Turn = r.turn(b)
	}
	entry.ID = ReplyID(c.key, entry.Turn)
	return entry
}

func (b *batch) findReply(seq int64) *turn.Reply {
	if r := b.write.Record.Reply; r != nil && r.Seq == seq {
		return r
	}
	for i := range b.write.Record.Queue {
		if b.write.Record.Queue[i].Seq == seq {
			return &b.write.Record.Queue[i]
		}
	}
	return nil
}

// turn is the number of the turn whose attempt had nothing to say: the one
// that the notice of its commit names.
func (r *Request) turn(b *batch) int64 {
	for i := len(b.events) - 1; i >= 0; i-- {
		if b.events[i].Kind == turn.ReplyCommittedKind {
			return b.events[i].Turn
		}
	}
	return b.write.Record.Turn
}

// commit appends the reply's entry. What happened up to now goes with it, so
// that the record stays small.
func (b *batch) commit(entry store.Entry) {
	entry.Trace, b.write.Record.Trace = b.write.Record.Trace, ""
	b.write.Append = append(b.write.Append, entry)
	b.spoken = &entry
	for i := range b.events {
		if e := &b.events[i]; e.Seq == entry.Seq {
			e.ReplyID, e.Covers, e.Text = entry.ID, entry.Covers, entry.Text
			e.Author = entry.Author
		}
	}
}

package engine

import (
	"fmt"
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
	ResetWord  = "reset_word"  // of a reset: the person asked for it
)

// apply puts a task through the core, on top of those before it in the batch.
func (n *Node) apply(c *conversation, b *batch, t *task) {
	n.adopt(c, b, t)
	t.result = Result{Key: c.key, MessageID: t.ID, At: n.now}
	n.decide(c, b, t)
	t.result.Version = b.write.Record.Version
	if p := t.ownPlacement(); p != nil { // what looks like a duplicate is its own earlier write
		t.result.Outcome, t.result.Reason, t.result.Duplicate, t.result.Version = p.outcome, p.reason, false, p.version
	}
	if b.write.Record.Shown() == turn.Collecting {
		t.result.Due = b.write.Record.Window.Due
	}
}

// decide has the core decide on one task. Messages, their changes and replies of a
// person write to the transcript too; all others are one event of the core.
func (n *Node) decide(c *conversation, b *batch, t *task) {
	switch {
	case t.Op == Receive:
		n.receive(c, b, t)
	case t.Op == Edit || t.Op == Retract:
		n.changeMessage(c, b, t)
	case t.Op == HumanReply:
		n.humanReply(c, b, t)
	case t.Op == Report:
		n.report(c, b, t)
	case t.Op == AdoptName:
		n.takeName(c, b, t, turn.AdoptName{Name: t.Name, Key: t.Moves})
	case t.Op == TakeDuty:
		n.step(c, b, t, turn.TakeDuty{Holder: n.options.Name, Nonce: t.Name, For: t.For, Alone: n.options.Alone})
	case t.wakes() && !b.write.Record.Exists(): // it was deleted, and must not come back
		t.result.Outcome, t.result.Reason = turn.Ignored, turn.NothingWaits
	default:
		effects := n.step(c, b, t, t.coreEvent())
		n.writeReplies(c, b, t, effects)
		if effects.Reason == turn.NotUnconfirmed && t.earlier.mayBeApplied { // an earlier try of this very request saw to it
			t.result.Outcome, t.result.Reason = turn.Done, ""
		}
	}
}

// step applies one event of a task, and collects its effects. turn.Step makes every
// decision. The engine adds the things that the core does not see: texts, the log for
// people, and the name of the conversation.
func (n *Node) step(c *conversation, b *batch, t *task, event turn.Event) turn.Effects {
	policy := n.bot(c).Policy
	policy.NoSendUntil = n.pausedUntil(c)
	record, effects := n.options.Step(b.write.Record, event, n.now, policy)
	t.result.Outcome, t.result.Reason = effects.Outcome, effects.Reason
	b.actions = append(b.actions, effects.Actions...)
	if !effects.Changed {
		return effects
	}
	b.refuses = b.refuses || effects.Reason == turn.OverBudget
	b.write.Record, b.changed = record, true
	if t.Audit != nil {
		entry := *t.Audit
		entry.At = n.now
		b.write.Log = b.write.Log.Audited(entry)
	}
	b.write.Log.Trace = b.write.Log.Trace.Add(effects.Notices...)
	if seq := effects.AppendReset; seq != 0 {
		b.appendEntry(store.Entry{Seq: seq, Kind: store.Reset, Reason: effects.ResetReason, At: n.now, Version: record.Version})
	}
	b.write.Settle = append(b.write.Settle, effects.Settles...)
	b.write.Mark = append(b.write.Mark, effects.Marks...)
	b.writeProgress(c, t, effects.Progress)
	b.events = slices.Grow(b.events, len(effects.Notices))
	for _, notice := range effects.Notices {
		e := n.event(c, t, notice)
		e.Name = record.Names.Key
		b.events = append(b.events, e)
	}
	return effects
}

// receive accepts a message whose id is new. The id is claimed by the write, since
// only the store knows all that were ever claimed: the first write of a repeat is
// refused as a duplicate, and comes back here with that known.
//
// A reset word begins afresh after it is closed.
func (n *Node) receive(c *conversation, b *batch, t *task) {
	bot, kept := n.bot(c), b.keptFor(t, n.now)
	t.body = accepted(t.Body, kept)
	t.word = bot.wordOf(&t.Request, t.body.Text) // by the edit that came before it
	switch {
	case isReplyID(c, b, t.ID): // a provider gives us back what we sent
		t.result.Outcome, t.result.Reason = turn.Ignored, OwnMessage
		return
	case t.full && t.stored.message != nil:
		t.earlier.idClaimed = true
		n.repeated(b, t)
		return
	case t.earlier.idClaimed || b.claims(t.ID):
		n.repeated(b, t)
		return
	case b.write.Record.Pending >= MaxPending && !t.word.closes():
		t.refuse(ErrTooMany)
		return
	}
	entry := store.Entry{Kind: store.Message, ID: t.ID, Status: turn.InputPending, At: n.now, Body: t.body}
	reset := !t.word.closes() && bot.ResetWords.Has(t.body.Text)
	var effects turn.Effects
	if t.word.closes() {
		entry.Status = turn.InputClosed
		effects = n.stop(c, b, t, turn.StopWord{SentAt: t.Body.SentAt, Early: seqOf(kept), Address: c.address(t, b.write.Record)}, t.Body.Sender)
	} else {
		message := turn.Message{
			Quiet: bot.quiet(t), Media: anyPending(t.body.Attachments), Early: seqOf(kept), Address: c.address(t, b.write.Record),
			SentAt: t.Body.SentAt, Context: t.Context, Unaddressed: t.Unaddressed, Bot: t.Body.Sender.Bot, Bytes: t.body.Size,
		}
		if reset {
			message.Closes = turn.EndedReset
		}
		effects = n.input(c, b, t, message)
	}
	if !effects.Changed {
		return
	}
	entry.Seq, entry.Version = b.write.Record.Seq, b.write.Record.Version
	if effects.AppendContext {
		entry.Status, entry.Reason, entry.Version = turn.InputContext, effects.Reason, 0
	}
	b.appendEntry(entry)
	b.dropEarly(t, effects.DropEarly)
	n.writeReplies(c, b, t, effects)
	if reset && effects.AppendInput && !t.Body.Sender.Bot {
		n.step(c, b, t, turn.Reset{Reason: ResetWord})
		t.result.Outcome, t.result.Reason = effects.Outcome, effects.Reason
	}
	t.earlier.placement = placement{
		seq: entry.Seq, at: n.now, outcome: t.result.Outcome, reason: t.result.Reason, version: entry.Version,
	}
}

// repeated ends a message whose id was claimed before: by the same message, which makes
// it a duplicate, or by its deletion, which is final.
func (n *Node) repeated(b *batch, t *task) {
	if message := b.message(t); message != nil && message.IsClaim() {
		t.result.Outcome, t.result.Reason = turn.Ignored, turn.WasDeleted
		return
	}
	t.result.Outcome, t.result.Duplicate = Duplicate, true
}

// claims reports whether the batch itself claims the id.
func (b *batch) claims(id string) bool {
	for _, e := range b.write.Append {
		if e.Kind == store.Message && e.ID == id {
			return true
		}
	}
	return false
}

// quiet is the quiet time after a message, 0 for the debounce. The parts of an
// album, and the rest of a text that the client cut in two, follow at once.
func (bot Bot) quiet(t *task) time.Duration {
	quiet := bot.Policy.Debounce
	if t.Group {
		quiet = max(quiet, bot.GroupWait)
	}
	if bot.SplitAt > 0 && utf8.RuneCountInString(t.body.Text) >= bot.SplitAt {
		quiet = max(quiet, bot.SplitWait)
	}
	return quiet
}

// anyPending reports whether an attachment is still being processed.
func anyPending(attachments []store.Attachment) bool {
	for _, a := range attachments {
		if a.Pending {
			return true
		}
	}
	return false
}

// ReplyID is the id of a turn's reply: one for all its attempts.
func ReplyID(key store.Key, number int64) string {
	return fmt.Sprintf("%s/%d", key.Conversation, number)
}

// isReplyID reports whether id is that of a reply of this conversation.
func isReplyID(c *conversation, b *batch, id string) bool {
	digits, ok := strings.CutPrefix(id, c.key.Conversation+"/")
	if !ok {
		return false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return err == nil && 0 < number && number <= b.write.Record.LastTurn() && id == ReplyID(c.key, number)
}

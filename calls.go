package onereply

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// begin checks what all calls share.
func (a *App) begin(op, bot, conversation string) (call, error) {
	c := call{op: op, key: store.Key{Bot: bot, Conversation: conversation}}
	if _, ok := a.bot(bot); !ok {
		return c, c.fail(CodeNotFound, "bot", errors.New("no such bot is configured"))
	}
	if err := checkName(conversation); err != nil {
		return c, c.fail(CodeInvalid, "conversation", err)
	}
	return c, nil
}

// Receive accepts a message. It returns once the message is durable, before
// any responder runs. A repeated ID is acknowledged and changes nothing. After an error
// with [CodeUnavailable] it may have been stored or not: send it again with the same
// ID. [CodeTooMany] says that [MaxPendingMessages] wait in the conversation.
func (a *App) Receive(ctx context.Context, bot, conversation string, m Message) (Receipt, error) {
	c, err := a.begin("receive", bot, conversation)
	if err != nil {
		return Receipt{}, err
	}
	if field, err := checkMessage(m, a.options.Limits.MetadataBytes); err != nil {
		return Receipt{}, c.fail(CodeInvalid, field, err)
	}
	if m.ID == "" {
		m.ID = "m_" + rand.Text()
	}
	if m.FromMe {
		return a.ignore(ctx, c, m.ID, ReasonOwnMessage)
	}
	result, err := a.node.Submit(ctx, &engine.Request{
		Key: c.key, Op: engine.Receive, ID: m.ID, Group: m.Group != "", Context: m.Context, Unaddressed: m.Unaddressed, Body: bodyOf(m),
	})
	return receiptOf(result), c.of(err)
}

// ignore acknowledges a message that is no input.
func (a *App) ignore(ctx context.Context, c call, id, reason string) (Receipt, error) {
	found, err := a.locate(ctx, c.key)
	if err != nil {
		return Receipt{}, c.of(err)
	}
	a.node.Ignore()
	return Receipt{MessageID: id, Version: found.snapshot.Record.Version, Outcome: OutcomeIgnored, Reason: reason}, nil
}

func receiptOf(r engine.Result) Receipt {
	return Receipt{
		MessageID: r.MessageID, Version: r.Version, Duplicate: r.Duplicate,
		DueAt: timeOf(r.Due), Outcome: Outcome(r.Outcome), Reason: r.Reason,
	}
}

// Edit changes a message that waits for its answer. It counts as input: the window
// moves, and an attempt that runs is overtaken. A message that is settled, or is context,
// reads as it was edited from then on, in the transcript and in later prompts, and nothing
// is answered anew: the outcome is [OutcomeRecorded]. An edit whose message has not come is
// kept for it for [EarlyEditKept]: the outcome is [OutcomeEarly], and an error has
// [CodeTooMany] where [MaxEarlyEdits] are kept in the conversation.
func (a *App) Edit(ctx context.Context, bot, conversation, id string, change Edit) (Receipt, error) {
	c, err := a.begin("edit", bot, conversation)
	if err != nil {
		return Receipt{}, err
	}
	if err := checkName(id); err != nil {
		return Receipt{}, c.fail(CodeInvalid, "id", err)
	}
	if field, err := checkChange(change); err != nil {
		return Receipt{}, c.fail(CodeInvalid, field, err)
	}
	r := engine.Request{Key: c.key, Op: engine.Edit, ID: id, Text: change.Text}
	if !change.EditedAt.IsZero() {
		r.EditedAt = turn.At(change.EditedAt)
	}
	if change.Attachments != nil {
		attachments := storedAttachments(*change.Attachments)
		r.Attachments = &attachments
	}
	result, err := a.node.Submit(ctx, &r)
	return receiptOf(result), c.of(err)
}

// Retract is the deletion of a message by its author. The text is removed from
// the store; the ID stays known, so that a repeat of the message does not bring it
// back. An attempt that saw the message is discarded. A message that is settled, or is
// context, is erased as well, from later prompts too; the reply that answered it stays:
// the outcome is [OutcomeErased]. If the message has not come, its ID is
// claimed, and what comes under it is ignored: the outcome is [OutcomeEarly].
func (a *App) Retract(ctx context.Context, bot, conversation, id string) (Receipt, error) {
	c, err := a.begin("retract", bot, conversation)
	if err != nil {
		return Receipt{}, err
	}
	if err := checkName(id); err != nil {
		return Receipt{}, c.fail(CodeInvalid, "id", err)
	}
	result, err := a.node.Submit(ctx, &engine.Request{Key: c.key, Op: engine.Retract, ID: id})
	return receiptOf(result), c.of(err)
}

// Typing says that a person is writing: the window stays open for d from now, within
// its hard cap. d is at most [MaxTyping]; 0 means one debounce. It changes no version,
// and does nothing where no message waits.
func (a *App) Typing(ctx context.Context, bot, conversation string, d time.Duration) error {
	c, err := a.begin("typing", bot, conversation)
	if err != nil {
		return err
	}
	if d < 0 || d > MaxTyping {
		return c.fail(CodeInvalid, "for", fmt.Errorf("it must be at most %d minutes, and not negative", MaxTyping/time.Minute))
	}
	_, err = a.node.Submit(ctx, &engine.Request{Key: c.key, Op: engine.Typing, For: d})
	return c.of(err)
}

// Flush ends the quiet time now: waiting messages are answered at once. It does nothing
// if none waits.
func (a *App) Flush(ctx context.Context, bot, conversation string) (State, error) {
	return a.control(ctx, "flush", bot, conversation, engine.Request{Op: engine.Flush})
}

// Pause hands the conversation to a human: inputs are kept, nothing is
// generated or sent, and a running attempt is discarded. It may be called
// before the first message. [App.Resume] undoes it. A second pause takes the place of
// the first.
func (a *App) Pause(ctx context.Context, bot, conversation string, p Pause) (State, error) {
	return a.control(ctx, "pause", bot, conversation, engine.Request{Op: engine.Pause, Reason: p.Reason, For: p.For})
}

// Pause says how a conversation is paused.
type Pause struct {
	// Reason is for people to read: UTF-8 of at most [MaxNameBytes] without NUL; it may be
	// empty.
	Reason string

	// For is how long the pause lasts: it ends by itself, as if [App.Resume] were called,
	// and what waits is answered. At most [MaxPauseFor]; 0: until somebody ends it.
	For time.Duration
}

// Reset begins afresh: waiting messages are closed, an attempt that runs is discarded,
// and the history of later turns begins here. A reply on its way goes on, unless nobody
// can have seen any of it. Versions and turns count on, IDs stay known, and a pause
// stays. reason has at most [MaxNameBytes] and may be empty. It does nothing where
// nothing was said since the last reset. There is no way back.
func (a *App) Reset(ctx context.Context, bot, conversation, reason string) (State, error) {
	return a.control(ctx, "reset", bot, conversation, engine.Request{Op: engine.Reset, Reason: reason})
}

// Resume gives the conversation back to the bot. answerPending tells whether
// the waiting messages are answered now, or closed without a reply. It does nothing
// where the conversation is not paused.
func (a *App) Resume(ctx context.Context, bot, conversation string, answerPending bool) (State, error) {
	return a.control(ctx, "resume", bot, conversation, engine.Request{Op: engine.Resume, Answer: answerPending})
}

// Requeue tries a failed turn again, and with it, or with the waiting messages, those
// that earlier turns set aside. It does nothing where there are neither. An error with
// [CodeConflict] says that there are messages that were set aside, and that the turn or
// reply under way has to end first.
func (a *App) Requeue(ctx context.Context, bot, conversation string) (State, error) {
	return a.control(ctx, "requeue", bot, conversation, engine.Request{Op: engine.Requeue})
}

// Resend sends an unconfirmed reply again: one whose outcome is unknown, of which only
// a part arrived, or, where a person wrote it, that could not be delivered. It keeps its
// ID, begins with the first part that is not certain to have arrived, and goes out after
// what is under way, also while the conversation is paused. The person may see a part
// twice: that is the caller's decision. An error with [CodeConflict] says that the turn
// has no unconfirmed reply, or that somebody has seen to it.
func (a *App) Resend(ctx context.Context, bot, conversation string, turn int64) (State, error) {
	return a.control(ctx, "resend", bot, conversation, engine.Request{Op: engine.Resend, Turn: turn})
}

// MarkSent takes an unconfirmed reply for sent, without sending anything: its status
// becomes [StatusSent]. Errors are those of [App.Resend]. There is no way back.
func (a *App) MarkSent(ctx context.Context, bot, conversation string, turn int64) (State, error) {
	return a.control(ctx, "mark_sent", bot, conversation, engine.Request{Op: engine.MarkSent, Turn: turn})
}

// ReplyStatus is what a channel reports about a reply after accepting it.
type ReplyStatus string

// The statuses that a channel reports. Each outweighs those before it, in whatever order
// they are reported.
const (
	ReplyFailed    ReplyStatus = "failed"    // it did not arrive after all
	ReplyDelivered ReplyStatus = "delivered" // it has arrived
	ReplyRead      ReplyStatus = "read"      // the person has read it
)

// ReplyReport is a channel's report about a reply that it accepted earlier.
type ReplyReport struct {
	Status ReplyStatus

	// Part is the one that it is about, from 1; 0: all that were sent.
	Part int

	// Reason says why it failed, for people; up to [MaxNameBytes].
	Reason string

	// SentID is the channel's own id of the part, for later reports: see [App.ReportSent].
	SentID string
}

// ReportReply takes in what a channel says of a turn's reply, seconds or hours after it
// has taken it. The transcript shows it as the reply's Receipt; a failure makes the reply
// [StatusUndelivered], and [App.Attention] lists it until somebody resends it or marks it as
// sent. What it answered stays answered. Reports may come twice and in any order: one that
// says nothing new is [OutcomeIgnored]. An error with [CodeNotFound] says that the turn has
// no reply, or no such part.
func (a *App) ReportReply(ctx context.Context, bot, conversation string, number int64, r ReplyReport) (Receipt, error) {
	c, err := a.begin("report_reply", bot, conversation)
	if err != nil {
		return Receipt{}, err
	}
	if r.Part < 0 {
		return Receipt{}, c.fail(CodeInvalid, "part", errors.New("it must be the number of a part, from 1"))
	}
	return a.takeReport(ctx, c, &engine.Request{ID: r.SentID, Turn: number, Part: r.Part, Receipt: turn.Receipt(r.Status), Reason: r.Reason})
}

// SentReport is what a channel says of a message that the bot sent, under the channel's own
// id of it.
type SentReport struct {
	ID string // see [Delivery].SentID; required

	// Text is that of the message, nil where the channel does not say it. It tells a part
	// whose send is not over, or whose outcome nobody knows: its id is not known here.
	Text *string

	Status ReplyStatus
	Reason string // why it failed, for people; up to [MaxNameBytes]
}

// ReportSent is [App.ReportReply] for a channel that knows its own ids only: the last 24 of
// each conversation are kept. If it is about none of these, and about no part in doubt, it
// is [OutcomeIgnored] with [ReasonNotSent]: the bot did not send that message, or long ago.
func (a *App) ReportSent(ctx context.Context, bot, conversation string, r SentReport) (Receipt, error) {
	c, err := a.begin("report_sent", bot, conversation)
	if err != nil {
		return Receipt{}, err
	}
	if r.ID == "" {
		return Receipt{}, c.fail(CodeInvalid, "id", errors.New("it must be the channel's id of the message"))
	}
	return a.takeReport(ctx, c, &engine.Request{ID: r.ID, Text: r.Text, Receipt: turn.Receipt(r.Status), Reason: r.Reason})
}

// takeReport carries out a report of either kind.
func (a *App) takeReport(ctx context.Context, c call, r *engine.Request) (Receipt, error) {
	switch ReplyStatus(r.Receipt) {
	case ReplyFailed, ReplyDelivered, ReplyRead:
	default:
		return Receipt{}, c.fail(CodeInvalid, "status", fmt.Errorf("it must be failed, delivered or read, it is %q", r.Receipt))
	}
	if err := checkReason(r.Reason); err != nil {
		return Receipt{}, c.fail(CodeInvalid, "reason", err)
	}
	r.Key, r.Op = c.key, engine.Report
	result, err := a.node.Submit(ctx, r)
	receipt := receiptOf(result)
	receipt.DueAt = Time{}
	if receipt.Outcome != OutcomeIgnored {
		receipt.Outcome = OutcomeRecorded
	}
	return receipt, c.of(err)
}

// control carries out a request about a conversation. Its reason and how long it holds are
// checked here.
func (a *App) control(ctx context.Context, op, bot, conversation string, r engine.Request) (State, error) {
	c, err := a.begin(op, bot, conversation)
	if err != nil {
		return State{}, err
	}
	if err := checkReason(r.Reason); err != nil {
		return State{}, c.fail(CodeInvalid, "reason", err)
	}
	if err := checkPause(r.For); err != nil {
		return State{}, c.fail(CodeInvalid, "for", err)
	}
	r.Key = c.key
	result, err := a.act(ctx, op, &r)
	if err != nil {
		return State{}, c.of(err)
	}
	switch result.Reason {
	case turn.NotUnconfirmed:
		return State{}, c.fail(CodeConflict, "turn", errors.New("this turn has no reply that waits for an operator, or somebody has handled it; attention lists those that wait"))
	case turn.UnderWay:
		return State{}, c.fail(CodeConflict, "", errors.New("a turn or a reply is under way; ask again when it is over"))
	}
	return stateOf(result.Key, *result.Record), nil
}

// HumanReply is a reply given from outside: by a person, or by a program in their place.
type HumanReply struct {
	// Text has 1 to [MaxTextBytes].
	Text string

	// ID tells a repeat, for as long as IDs of messages are kept: the same reply given
	// twice is sent once. It has at most [MaxNameBytes], and stands apart from the IDs of
	// messages. "": it has none.
	ID string

	// Beside: it closes nothing, such as a notification. What waits is left to the bot, and
	// its attempt and its reply go on. It goes out as soon as nothing else is under way.
	Beside bool

	// Sent: it was sent elsewhere, as from a person's phone. It is recorded, and not sent.
	Sent bool

	// PauseFor is how long the bot is silent after it, at most [MaxPauseFor]: a pause that
	// ends by itself. One that lasts longer stays. 0: it need not be.
	PauseFor time.Duration
}

// Answer delivers a reply from outside, also while the conversation is paused, and settles
// the messages that wait, unless it says otherwise. The receipt's MessageID is the
// reply's ID in deliveries and in the transcript, the same for a repeat; "" for a repeat
// of a reply that is not kept any more. After an error with [CodeUnknown] a reply without
// an ID may have been accepted: look at the transcript before you call it again. With an
// ID, call it again. [CodeTooMany] says that [MaxQueuedHumanReply] replies wait to be
// sent.
func (a *App) Answer(ctx context.Context, bot, conversation string, r HumanReply) (Receipt, error) {
	c, err := a.begin("answer", bot, conversation)
	if err != nil {
		return Receipt{}, err
	}
	if field, err := checkReply(r); err != nil {
		return Receipt{}, c.fail(CodeInvalid, field, err)
	}
	result, err := a.act(ctx, "reply", &engine.Request{
		Key: c.key, Op: engine.HumanReply, ID: r.ID, Body: store.Body{Text: r.Text}, Beside: r.Beside, Sent: r.Sent, For: r.PauseFor,
	})
	if err != nil && ctx.Err() != nil && r.ID == "" {
		err = fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, err)
	}
	receipt := receiptOf(result)
	receipt.DueAt = Time{}
	switch {
	case receipt.Duplicate:
	case r.Sent:
		receipt.Outcome = OutcomeRecorded
	default:
		receipt.Outcome = OutcomeQueued
	}
	return receipt, c.of(err)
}

// Seal makes the attempt that runs under a token undiscardable by newer input: see
// [Turn.Seal]. An error with [CodeConflict] says that the attempt was superseded or lost
// its lease. There is no way back.
func (a *App) Seal(ctx context.Context, bot, conversation string, token int64) error {
	c, err := a.begin("seal", bot, conversation)
	if err != nil {
		return err
	}
	result, err := a.node.Submit(ctx, &engine.Request{Key: c.key, Op: engine.Seal, Token: token})
	if err == nil && result.Outcome == turn.Fenced {
		return c.fail(CodeConflict, "token", errors.New("this attempt was superseded or has lost its lease; do nothing irreversible"))
	}
	return c.of(err)
}

// Forget removes all that is stored of a conversation, the IDs of its messages too. An
// attempt that runs is discarded, and its reply never sent. Its aliases go too. There is no way back. It
// does nothing where nothing is stored.
func (a *App) Forget(ctx context.Context, bot, conversation string) error {
	c, err := a.begin("forget", bot, conversation)
	if err != nil {
		return err
	}
	found, err := a.locate(ctx, c.key)
	if err != nil {
		return c.of(err)
	}
	names := found.snapshot.Record.Names
	for _, name := range slices.Concat([]string{names.Claim}, names.Aliases, names.Dropped) { // they know where it was, and go first
		if name == "" {
			continue
		}
		key := store.Key{Bot: bot, Conversation: name}
		if err := a.submit(ctx, key, engine.Request{Op: engine.FreeName, Name: found.key.Conversation}); err != nil {
			return c.of(err)
		}
	}
	if _, err = a.act(ctx, "delete", &engine.Request{Key: found.key, Op: engine.Forget}); err != nil {
		return c.of(err)
	}
	a.tellDeleted(found.key, conversation)
	return nil
}

// tellDeleted tells all who watch, on all nodes, that nothing of the conversation is left.
// So the events that nodes keep of it lose their texts.
func (a *App) tellDeleted(key store.Key, name string) {
	e := engine.Event{Key: key, Node: a.options.Node, Notice: turn.Notice{Kind: engine.ConversationDeleted, At: a.clock.Now()}}
	if name != key.Conversation {
		e.Name = name
	}
	a.fleet.Publish(&e)
}

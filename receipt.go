package onereply

import (
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// Outcome is the result of an input.
type Outcome string

// The outcomes of inputs.
const (
	OutcomeQueued    Outcome = "queued"    // it waits for the next reply
	OutcomeDuplicate Outcome = "duplicate" // its ID was accepted before: nothing changed
	OutcomeIgnored   Outcome = "ignored"   // it changed nothing; Reason says why
	OutcomePaused    Outcome = "paused"    // it is kept, and waits until the conversation is resumed; or it was an opt-out word, which paused it
	OutcomeClosed    Outcome = "closed"    // it was a stop word, which closed what its sender had waiting, or a reset word, which closed all
	OutcomeWithdrawn Outcome = "withdrawn" // it was a deletion after which nothing waits
	OutcomeContext   Outcome = "context"   // it is kept as context and never answered; Reason may say why
	OutcomeRecorded  Outcome = "recorded"  // it is noted, and nothing is to be answered: the edit of a message that is settled, a report of the channel
	OutcomeErased    Outcome = "erased"    // it was the deletion of a message that is settled: its text is gone
	OutcomeEarly     Outcome = "early"     // it was an edit or a deletion of a message that has not come: see [App.Edit]
)

// Reasons of messages that are ignored, or kept as context.
const (
	ReasonOwnMessage   = engine.OwnMessage // ignored: Message.FromMe was set
	ReasonNotAddressed = turn.NotAddressed // Message.Unaddressed was set
	ReasonBot          = turn.FromBot      // ignored: another bot wrote it
	ReasonNotSent      = turn.NotSent      // ignored: the channel was not given the reply, or that part of it
	ReasonMaxAge       = turn.TooOld       // context: it was sent longer ago than the bot's MaxAge
)

// Receipt acknowledges an input. The caller need not keep the input any longer: it is
// durable, as far as the store promises durability.
type Receipt struct {
	// MessageID is the given ID, or the one that was made. Of a reply from outside it is
	// the reply's ID, which has the number of its turn.
	MessageID string `json:"message_id"`

	// Version counts the inputs that the conversation has accepted so far, this one
	// among them.
	Version int64 `json:"version"`

	// Duplicate: the ID was accepted before, and nothing changed.
	Duplicate bool `json:"duplicate"`

	// DueAt is when the next turn starts. It is zero while the conversation is paused,
	// and while a turn runs.
	DueAt Time `json:"due_at"`

	Outcome Outcome `json:"outcome"`

	// Reason says why a message was ignored or kept as context; "" otherwise.
	Reason string `json:"reason,omitempty"`
}

// Edit changes a message. At least one field must be set.
type Edit struct {
	// Text is the new text, with the limits of [Message]. nil: it stays as it was.
	Text *string

	// Attachments are all attachments that the message has then. nil: they stay as
	// they were; but where Text is given, none of them is waited for any more.
	Attachments *[]Attachment

	// EditedAt is when the author edited it, by the channel's clock. An edit that is older
	// than another one that said so changes nothing, in whatever order they come. Zero:
	// the order in which edits come counts.
	EditedAt time.Time
}

package onereply

import (
	"context"
	"errors"
	"time"
)

// Sender delivers replies.
//
// A nil error means that the part was delivered. A [*SendError] says how sure that is.
// After any other error, also a time-out or a panic, nobody knows whether it was, and the
// bot's UnknownSend decides.
//
// Send is called for many conversations at once, but for one conversation never twice
// at the same time. ctx ends after the bot's SendTimeout, or shortly before the lease
// does, where that can't be renewed: Send must return then, since a send that outlives its
// lease could overtake the next one. It must not retry: whether the reply is still current is checked before
// each try.
type Sender interface {
	Send(ctx context.Context, d *Delivery) error
}

// SenderFunc is a function that is a [Sender].
type SenderFunc func(ctx context.Context, d *Delivery) error

// Send calls f.
func (f SenderFunc) Send(ctx context.Context, d *Delivery) error { return f(ctx, d) }

// Delivery is one part of a committed reply, to be delivered.
type Delivery struct {
	// ID is the reply's: the same for each try, and for all parts.
	ID string

	// SendID is by what a channel recognises a repeat, together with Part. It is the ID,
	// and another one where an operator sends a reply again that has certainly failed: a
	// channel that took it before must not drop it as a repeat.
	SendID string

	Bot string

	// Conversation is the key of the conversation, Address the name under which somebody
	// wrote last: the same, unless the conversation has aliases.
	Conversation string
	Address      string

	Turn int64

	// Part says which of Parts this is, from 0. It is -1 where all are to be sent at
	// once: see [Capabilities].AllParts.
	Part  int
	Parts []string

	// Text is that of this part; of the whole reply where Part is -1.
	Text string

	// Covers are the IDs of the messages that the reply answers, and Version is the
	// conversation's version that it answers.
	Covers  []string
	Version int64

	// LateInput: the reply is sent for what it saw, although newer input existed.
	LateInput bool

	// Human: a person wrote it.
	Human bool

	// CommittedAt is when the reply became the conversation's, by the store's clock.
	CommittedAt time.Time

	// Try is 1 for the first try of this part, and grows with each further one.
	Try int

	// SentID is for Send to set when it succeeds: the channel's own id of what it has taken,
	// under which [App.ReportSent] hears of it later. "": the channel tells none. One of more
	// than 256 bytes is not kept.
	SentID string
}

// Capabilities are the powers of a [Sender] beyond sending. The zero value is none.
type Capabilities struct {
	// RecognisesRepeats: a part that is sent twice with one SendID and Part is shown
	// once.
	RecognisesRepeats bool

	// AllParts: one send carries all parts of a reply.
	AllParts bool

	// Split cuts a text that is too long for the channel. It gives at least one part,
	// none of them blank, and may be called from many goroutines. nil: no text is cut.
	Split func(text string) []string
}

// CapableSender is a [Sender] that can do more. It must always give the same answer.
type CapableSender interface {
	Sender
	Capabilities() Capabilities
}

// SendError is a failed send. Its zero value means that nobody knows whether the part was
// delivered.
type SendError struct {
	// NotDelivered: it was certainly not delivered.
	NotDelivered bool

	// Permanent: trying again is pointless. It counts only together with NotDelivered.
	Permanent bool

	// RetryAfter is the pause that the receiver asked for; 0: it asked for none. Nothing
	// is sent in this conversation before its end, also if the reply is withdrawn
	// meanwhile. It is bounded by the bot's RetryFor. It counts only together with
	// NotDelivered.
	RetryAfter time.Duration

	// WholeBot: the pause holds for all conversations of the bot that this Sender serves.
	// Each node keeps to the pauses that it was told.
	WholeBot bool

	// Err is the cause; it may be nil.
	Err error
}

// Error returns the cause.
func (e *SendError) Error() string {
	if e.Err == nil {
		return "the send failed"
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *SendError) Unwrap() error { return e.Err }

// NotDeliveredError says that a send certainly failed and is worth another try.
func NotDeliveredError(err error) error { return &SendError{NotDelivered: true, Err: err} }

// RefusedError says that a send certainly failed, for good.
func RefusedError(err error) error { return &SendError{NotDelivered: true, Permanent: true, Err: err} }

func capabilitiesOf(s Sender) Capabilities {
	if s, ok := s.(CapableSender); ok {
		return s.Capabilities()
	}
	return Capabilities{}
}

// outcomeOf reads the error of a sender.
func outcomeOf(err error) *SendError {
	var known *SendError
	if errors.As(err, &known) {
		return known
	}
	return &SendError{Err: err}
}

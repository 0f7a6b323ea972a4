package onereply

import (
	"context"
	"errors"
	"time"
)

// Delivery is one part of a committed reply, to be delivered.
type Delivery struct {
	ID           string // the reply's: the same for each try, and for all parts
	Bot          string
	Conversation string
	Turn         int64
	Part         int      // which of Parts, from 0; -1: all of them at once (see Capabilities.AllParts)
	Parts        []string // all parts
	Text         string   // of this part; of the whole reply where Part is -1
	Covers       []string // ids of the messages that the reply answers
	Version      int64    // of the conversation that it answers
	LateInput    bool     // it was sent for what it saw, although newer input existed
	Human        bool     // a person wrote it
	CommittedAt  time.Time
	Try          int // from 1
}

// Sender delivers replies. A nil error means that the part was delivered. A
// [*SendError] says what is known; any other error, a time-out included, means
// that nobody knows, and the bot's UnknownSend decides. Send is called for many
// conversations at once, for one conversation never twice at the same time. ctx
// ends after the bot's SendTimeout, or shortly before the lease does: Send must
// return then, and must not retry by itself: whether the reply is still current
// is checked before each try.
type Sender interface {
	Send(ctx context.Context, d *Delivery) error
}

// SenderFunc is a function that is a [Sender].
type SenderFunc func(ctx context.Context, d *Delivery) error

// Send calls f.
func (f SenderFunc) Send(ctx context.Context, d *Delivery) error { return f(ctx, d) }

// Capabilities are what a [Sender] can do beyond sending. Senders that have any
// implement [CapableSender].
type Capabilities struct {
	// RecognisesRepeats: a part that is sent twice with one ID and Part is shown
	// once.
	RecognisesRepeats bool
	// AllParts: one send carries all parts of a reply.
	AllParts bool
	// Split cuts a text that is too long for the channel, nil: never. It gives
	// at least one part, none of them blank.
	Split func(text string) []string
}

// CapableSender is a [Sender] with [Capabilities].
type CapableSender interface{ Capabilities() Capabilities }

// SendError says what is known of a failed send.
type SendError struct {
	NotDelivered bool          // it was certainly not delivered
	Permanent    bool          // trying again is pointless; only with Certain
	RetryAfter   time.Duration // the earliest retry that the receiver asked for; 0: none
	Err          error
}

func (e *SendError) Error() string {
	if e.Err == nil {
		return "the send failed"
	}
	return e.Err.Error()
}
func (e *SendError) Unwrap() error { return e.Err }

// NotDelivered says that a send certainly failed and is worth another try.
func NotDeliveredError(err error) error { return &SendError{NotDelivered: true, Err: err} }

// Refused says that a send certainly failed, for good.
func RefusedError(err error) error { return &SendError{NotDelivered: true, Permanent: true, Err: err} }

func capabilitiesOf(s Sender) Capabilities {
	if d, ok := s.(CapableSender); ok {
		return d.Capabilities()
	}
	return Capabilities{}
}

// outcomeOf reads what a sender returned.
func outcomeOf(err error) *SendError {
	var known *SendError
	if errors.As(err, &known) {
		return known
	}
	return &SendError{Err: err}
}

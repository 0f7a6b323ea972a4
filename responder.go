package onereply

import (
	"context"
	"time"

	"github.com/onereply/onereply/turn"
)

// Responder answers a turn: a model, an agent, or a function.
//
// Respond is called for many conversations at once, but for one conversation never
// twice at the same time while its lease is held. Three rules can't be put into types:
//
//   - Return soon when ctx ends. The attempt was superseded or its lease was lost, and
//     the result is thrown away. [context.Cause] says which. After ten seconds the turn
//     goes on without it.
//   - Don't retry. Whether the turn is still current is checked between attempts, and
//     only there.
//   - Don't do anything irreversible before [Turn.Seal] returned nil.
//
// An error that is not a [*ResponderError], a panic, and a run of more than the bot's
// Timeout count as a failed attempt.
type Responder interface {
	Respond(ctx context.Context, t *Turn) (Reply, error)
}

// ResponderFunc is a function that is a [Responder].
type ResponderFunc func(ctx context.Context, t *Turn) (Reply, error)

// Respond calls f.
func (f ResponderFunc) Respond(ctx context.Context, t *Turn) (Reply, error) { return f(ctx, t) }

// EarlyResponder is a [Responder] that says whether it may be started early. One that is
// none may be: whoever sets [Bot].Start knows it.
type EarlyResponder interface {
	Responder
	MayStartEarly() bool
}

func mayStartEarly(r Responder) bool {
	early, ok := r.(EarlyResponder)
	return !ok || early.MayStartEarly()
}

// Turn is the question to a [Responder]: all messages that wait, as one prompt. It must not be used after Respond has returned.
type Turn struct {
	Bot          string
	Conversation string

	// Number counts the conversation's turns, from 1. The reply's ID is
	// Conversation/Number, whichever attempt makes it, so the two are a good
	// idempotency key for what an agent does. (After [App.Move] the ID keeps the
	// conversation's original name.)
	Number int64

	// Attempt is 1 for the first run for this turn, and grows with each further one.
	Attempt int

	// Early: the run began while the quiet time runs (see [StartEarly]). Newer input may
	// replace it, so it must do nothing that lasts, or seal first.
	Early bool

	// Token is the fencing number of the lease: it grows with each lease of the
	// conversation. [App.Seal] takes it.
	Token int64

	// Messages wait for this reply, in the order of their SentAt; where that is
	// missing, in the order of acceptance. There is at least one. The reply covers
	// exactly these.
	Messages []PromptEntry

	// History holds the entries before these messages, oldest first: messages that were
	// settled, and replies as far as people saw them. It may end with messages that
	// nobody answered.
	History []PromptEntry

	names NamesMode // "" means NamesAuto
	times bool
	delta func(string)
	seal  func(context.Context) error
	spend func(Usage)
}

// Delta shows a piece of the reply on the event stream before the reply is committed.
// The reply may be discarded later. A piece that comes after the end of the attempt is
// dropped. It may be called from many goroutines, and never waits. On a zero Turn it
// does nothing.
func (t *Turn) Delta(text string) {
	if t.delta != nil {
		t.delta(text)
	}
}

// Seal says that this attempt is about to do something irreversible. Where it returns
// nil, newer input can't discard the attempt any more; a human's reply, a stop word or
// [App.Forget] still ends it. It returns an error with [CodeConflict] where the
// attempt was superseded already. After any error nothing irreversible must be done.
// There is no way back. On a zero Turn it returns nil.
func (t *Turn) Seal(ctx context.Context) error {
	if t.seal == nil {
		return nil
	}
	return t.seal(ctx)
}

// Spend adds to the tokens that this attempt used. It counts them also where the
// attempt is discarded later. It may be called from many goroutines. On a zero Turn it
// does nothing.
func (t *Turn) Spend(u Usage) {
	if t.spend != nil {
		t.spend(u)
	}
}

// Usage counts a model's tokens.
type Usage struct {
	Input  int64 // of the prompt
	Output int64 // of the reply
}

// Reply is the answer of a [Responder]. A Reply without any text that is not Silent is
// a failed attempt: nothing empty is ever sent. One of more than [MaxReplyBytes], or of
// more than [MaxParts] parts, is a failed attempt too.
type Reply struct {
	// Text is the whole reply. It may be empty where there are Parts.
	Text string

	// Parts are the same in several messages, sent in this order; blank ones are left
	// out. nil: Text is the only one.
	Parts []string

	// Silent: there is nothing to say. The messages are settled without a reply.
	Silent bool
}

// ResponderErrorKind is the kind of a responder's error, which decides how the turn goes
// on.
type ResponderErrorKind string

// The kinds of [ResponderError].
const (
	// These three are an outage: the turn waits with growing pauses until it is over,
	// and no attempt is used up.
	ResponderUnavailable ResponderErrorKind = "unavailable"  // no connection, or the 5xx of a gateway
	ResponderRateLimited ResponderErrorKind = "rate_limited" // too many requests
	ResponderOverloaded  ResponderErrorKind = "overloaded"   // the model has no room for more

	// ResponderQuotaSpent is an outage with pauses of at least five minutes: somebody
	// must pay.
	ResponderQuotaSpent ResponderErrorKind = "quota_spent"

	// ResponderFailed is a failed attempt, such as a 500, a time-out, an empty or a cut
	// answer. The turn is tried again, as often as the bot's Attempts allow.
	ResponderFailed ResponderErrorKind = "failed"

	// ResponderBadRequest fails the turn at once: trying again is pointless.
	ResponderBadRequest ResponderErrorKind = "bad_request"

	// ResponderRefused is for a prompt that is refused for what it holds: it is too long, or a
	// filter stops it. Another attempt asks for less, without the history first, until the
	// message is found that is refused alone. That one is set aside, and the rest is answered.
	// It takes at most 8 calls a turn. A sealed attempt is a [ResponderBadRequest] instead.
	ResponderRefused ResponderErrorKind = "refused"
)

// ResponderError is an error of a [Responder] that says what to do about it. A Kind
// that is not one of the constants counts as [ResponderFailed].
type ResponderError struct {
	Kind ResponderErrorKind

	// RetryAfter is the earliest retry that the model asked for; 0: it asked for none.
	RetryAfter time.Duration

	// Err is the cause; nil: only the kind is known.
	Err error
}

// Error returns the kind and the cause.
func (f *ResponderError) Error() string {
	if f.Err == nil {
		return string(f.Kind)
	}
	return string(f.Kind) + ": " + f.Err.Error()
}

// Unwrap returns Err.
func (f *ResponderError) Unwrap() error { return f.Err }

// class is the error's kind in the turn core.
func (f *ResponderError) class() turn.Fault {
	switch f.Kind {
	case ResponderUnavailable, ResponderRateLimited, ResponderOverloaded, ResponderQuotaSpent:
		return turn.Outage
	case ResponderBadRequest:
		return turn.Rejected
	case ResponderRefused:
		return turn.Refused
	}
	return turn.Failure
}

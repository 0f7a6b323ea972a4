package onereply

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Sender of a message, and a file that comes with one.
type (
	Person     = store.Sender
	Attachment = store.Attachment
)

// Message is what somebody wrote.
type Message struct {
	ID          string          // "": one is made; it is never dropped as a repeat then
	Text        string          // up to MaxTextBytes; blank only where there is an attachment
	Sender      Person          //
	SentAt      time.Time       // by the sender's or the provider's clock; zero: unknown
	Attachments []Attachment    // up to MaxAttachments
	Metadata    json.RawMessage // any JSON, kept and handed on

	Group       string // messages of one album share it; the quiet time is at least GroupWait
	FromMe      bool   // our own reply, come back: ignored
	Unaddressed bool   // chatter in a group that is not meant for the bot: ignored
}

// Turn is what a [Responder] is asked to answer: all that waits, as one
// prompt.
type Turn struct {
	Bot          string
	Conversation string
	Number       int64 // the reply's id is Conversation/Number
	Attempt      int   // from 1; grows with each run for this turn
	Token        int64 // the fencing token of the lease; grows with each lease of the conversation

	Messages []Message      // what waits: in the order of SentAt, else as accepted; never empty
	History  []HistoryEntry // what came before, oldest first; roles alternate, and the last one is the assistant's

	delta func(string)
	seal  func(context.Context) error
	spend func(Usage)
}

// Role is who said a line of the history.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// HistoryEntry is one line of the history. Neighbouring messages of one role are one
// line, joined with line breaks.
type HistoryEntry struct {
	Role Role
	Text string
}

// Text is the prompt as one text: the messages with a line break between them,
// and the sender's name before each where several people wrote.
func (t *Turn) Text() string { return joinMessages(t.Messages) }

// Delta shows a piece of the reply to whoever watches the event stream, before
// it is committed. It may be discarded later.
func (t *Turn) Delta(text string) {
	if t.delta != nil {
		t.delta(text)
	}
}

// Seal says that this attempt is about to do something irreversible. Where it
// returns nil, newer input can't discard the attempt any more; a human's reply,
// a stop word or [App.Forget] still ends it. It returns an error with code
// [CodeConflict] where the attempt was superseded already. After any error
// nothing irreversible must be done.
func (t *Turn) Seal(ctx context.Context) error {
	if t.seal == nil {
		return nil
	}
	return t.seal(ctx)
}

// Spend reports tokens as they are used, also by an attempt that is discarded
// later.
func (t *Turn) Spend(u Usage) {
	if t.spend != nil {
		t.spend(u)
	}
}

// Usage counts a model's tokens.
type Usage struct {
	Input  int64
	Output int64
}

// Reply is what a [Responder] answers. A Reply without any text that is not
// Silent is a failed attempt: nothing empty is ever sent.
type Reply struct {
	Text   string
	Parts  []string // the same in several messages, sent in order; nil: Text is the only one
	Silent bool     // there is nothing to say: the messages are settled without a reply
}

// Responder answers a turn. Respond is called for many conversations at once,
// for one conversation never twice at the same time while its lease is held.
// When ctx ends, the attempt was superseded or its lease was lost, and the
// result is thrown away: return soon. Errors other than [*ResponderError] count as a
// failed attempt. Respond must not retry by itself: freshness is checked
// between attempts.
type Responder interface {
	Respond(ctx context.Context, t *Turn) (Reply, error)
}

// ResponderFunc is a function that is a [Responder].
type ResponderFunc func(ctx context.Context, t *Turn) (Reply, error)

// Respond calls f.
func (f ResponderFunc) Respond(ctx context.Context, t *Turn) (Reply, error) { return f(ctx, t) }

// ResponderErrorKind says what is wrong with a responder, and so what the turn
// does next.
type ResponderErrorKind string

// The kinds of [ResponderError].
const (
	ResponderUnavailable ResponderErrorKind = "unavailable"  // no connection, 5xx of a gateway: waited out
	ResponderRateLimited ResponderErrorKind = "rate_limited" // waited out
	ResponderOverloaded  ResponderErrorKind = "overloaded"   // waited out
	ResponderQuotaSpent  ResponderErrorKind = "quota_spent"  // waited out with long pauses: somebody must pay
	ResponderFailed      ResponderErrorKind = "failed"       // a failed attempt: a 500, a time-out, an empty or cut answer
	ResponderBadRequest  ResponderErrorKind = "bad_request"  // trying again is pointless: the turn fails at once
)

// ResponderError is an error of a [Responder] that says what to do about it. A
// Kind that is not one of the constants counts as [ResponderFailed].
type ResponderError struct {
	Kind       ResponderErrorKind
	RetryAfter time.Duration // the earliest retry that the model asked for; 0: none
	Err        error         // the cause; nil: only the kind is known
}

func (f *ResponderError) Error() string {
	if f.Err == nil {
		return string(f.Kind)
	}
	return string(f.Kind) + ": " + f.Err.Error()
}
func (f *ResponderError) Unwrap() error { return f.Err }

// class is what the turn core knows of the error.
func (f *ResponderError) class() turn.Fault {
	switch f.Kind {
	case ResponderUnavailable, ResponderRateLimited, ResponderOverloaded, ResponderQuotaSpent:
		return turn.Outage
	case ResponderBadRequest:
		return turn.Rejected
	}
	return turn.Mistake
}

// joinMessages makes one text of several messages.
func joinMessages(messages []Message) string {
	people := map[Person]bool{}
	for _, m := range messages {
		if m.Sender != (Person{}) { // who does not say is taken for the one who does
			people[m.Sender] = true
		}
	}
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(people) > 1 {
			b.WriteString(nameOf(m.Sender))
			b.WriteString(": ")
		}
		b.WriteString(describe(m))
	}
	return b.String()
}

func nameOf(p Person) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.ID != "":
		return p.ID
	}
	return "someone"
}

// describe is the message's text, and a placeholder for each attachment, so
// that a kind that can't be read is still mentioned.
func describe(m Message) string {
	lines := make([]string, 0, 1+len(m.Attachments))
	if strings.TrimSpace(m.Text) != "" {
		lines = append(lines, m.Text)
	}
	for _, a := range m.Attachments {
		kind := a.Kind
		if kind == "" {
			kind = "attachment"
		}
		switch {
		case a.Pending:
			lines = append(lines, "["+kind+", not available]")
		case a.URL != "":
			lines = append(lines, "["+kind+": "+a.URL+"]")
		default:
			lines = append(lines, "["+kind+"]")
		}
	}
	return strings.Join(lines, " ")
}

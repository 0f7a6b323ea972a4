package onereply

import (
	"context"
	"time"

	"github.com/onereply/onereply/internal/node"
)

// SignalSender is a [Sender] that can also show people that a reply is on its way. A
// signal is tried once, for at most five seconds. Its error is logged, and changes
// nothing. It may be called for one conversation while a Send is.
type SignalSender interface {
	Sender
	Signal(ctx context.Context, s Signal) error
}

// SignalKind is the kind of a signal.
type SignalKind string

// SignalTyping says that a turn is being written. It is repeated every few seconds, for
// as long as the responder runs.
const SignalTyping SignalKind = "typing"

// SignalNotice says once that a reply takes longer, or that the model is out of reach: see
// [Bot].Notice and [Bot].OutageNotice.
const SignalNotice SignalKind = "notice"

// NoticeKind says what a notice is about.
type NoticeKind string

// The kinds of notices.
const (
	NoticeDelay  NoticeKind = "delay"
	NoticeOutage NoticeKind = "outage"
)

// Notice is a text by which people are told once that they have to wait. It is a signal:
// no reply, not part of the transcript, and tried once.
type Notice struct {
	After time.Duration // how long they have waited by then, more than 0; 0: they are not told
	Text  string        // at most [MaxTextBytes]
}

// Signal shows people that a reply is on its way. It is no reply, and covers nothing.
type Signal struct {
	Kind SignalKind

	Bot          string
	Conversation string
	Address      string // the name under which somebody wrote last: the conversation's key, or an alias
	Turn         int64

	// Message is the ID of the newest message that is being answered: some channels show
	// typing only as an answer to one. "" for a notice.
	Message string

	Notice NoticeKind // of a notice, with its Text
	Text   string
}

// signalWith makes the function by which the runtime gives signals; nil: the sender can't.
func signalWith(s Sender) func(context.Context, node.Signal) error {
	sender, ok := s.(SignalSender)
	if !ok {
		return nil
	}
	return func(ctx context.Context, signal node.Signal) error {
		return sender.Signal(ctx, Signal{
			Kind: SignalKind(signal.Kind), Bot: signal.Key.Bot, Conversation: signal.Conversation, Address: signal.Address, Turn: signal.Turn, Message: signal.Message,
			Notice: NoticeKind(signal.Sign), Text: signal.Text,
		})
	}
}

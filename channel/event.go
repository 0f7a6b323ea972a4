package channel

import (
	"time"

	"github.com/onereply/onereply"
)

// Event is something that a platform tells: one of the types below.
type Event interface {
	chat() Address // where it happened; nil: in no chat
}

// Chat is the chat of an event.
type Chat struct {
	To Address

	// Also are other addresses of the same chat, such as a phone number beside a hidden
	// id. What comes from any of them is one conversation.
	Also []Address
}

// Message is a message that somebody wrote. Its ID is the platform's: the same for each
// delivery.
type Message struct {
	Chat
	onereply.Message

	// AtOnce: the person does not want to wait, as with a command. The quiet time ends
	// with the message.
	AtOnce bool
}

// Edit changes a message.
type Edit struct {
	Chat
	ID string
	onereply.Edit
}

// Deletion deletes a message.
type Deletion struct {
	Chat
	ID string
}

// Typing says that the person is writing.
type Typing struct {
	Chat
	For time.Duration // how long that holds; 0: one quiet time
}

// TakeOver is a reply that a person sent in the bot's place, such as staff from their
// phone. The text becomes history, and the bot is silent for [Settings].TakeoverFor. If its
// ID is that of a message which the bot sent, or its text that of one whose send is not over
// or has an unknown outcome, it is an [Echo] of that: so a platform that does not tell them
// apart may report all of them as a TakeOver.
type TakeOver struct {
	Chat
	ID   string // of the message
	Text string
}

// Control says that people have taken the chat over, or given it back to the bot.
type Control struct {
	Chat
	WithPeople bool
}

// Echo is a message of the bot's own that the platform sends back. It is no input. It
// settles a part whose outcome was unknown: the part has arrived.
type Echo struct {
	Chat
	ID   string // the platform's: see [Sent]
	Part string // [Part].ID, if the platform carries it; "": it does not
	Text string // by which a part is known that has no ID yet; "": the platform does not say it
}

// Report is the later fate of a message that the platform took: it was delivered, read, or
// failed. A failure is shown in Attention until somebody sees to it.
type Report struct {
	Chat
	ID     string // the platform's: see [Sent]
	Part   string // [Part].ID, if the platform carries it; "": it does not
	Status onereply.ReplyStatus
	Reason string // why it failed, for people
}

// Moved says that a chat has another address from now on.
type Moved struct {
	From, To Address
}

// Skipped is an event that changes nothing. It is counted, so that people see that the
// platform speaks to the channel.
type Skipped struct {
	Kind string // in the platform's words
}

func (c Chat) chat() Address  { return c.To }
func (m Moved) chat() Address { return m.To }
func (Skipped) chat() Address { return nil }

// Package channel is the contract between onereply and the programs that speak the
// protocol of a chat platform, and what connects such a program to an App.
//
// # The contract
//
// A [Channel] is an adapter for one account on one platform. It does four things, and
// nothing else: it says whether a request was made by the platform (Check), it turns a
// checked request into events (Parse), it sends one part of a reply once (Send), and it
// says what the platform can do (Capabilities). It keeps no conversations, waits for
// nothing, and never retries: whether a reply is still current is checked before each try,
// and an adapter can't know that. Four more interfaces are optional, for platforms that
// need them: [Typist], [Poller], [Opener] and [Connector].
//
// # Accounts and the host
//
// An [Account] is a channel under its name in a bot. It is the Sender that the bot's
// configuration takes ([onereply.Channel]). A [Host] is the way in: it answers the
// platform's requests, runs the pollers, and hands each event to the App.
// A request is answered with success only once all of its messages are durable. An event
// that the App refuses for good is counted and dropped, so that it holds up no other.
//
// # Names
//
// A conversation's name is that of the account, and the parts of its [Address], with
// colons between them: telegram:42. So an address is all that is needed to answer.
//
// The package must never import a concrete channel, a store, a responder, the server or
// cmd. Package channel/channeltest is the suite that each channel must pass.
package channel

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Channel is an adapter for one account on a chat platform. Its methods are called from
// many goroutines at once.
type Channel interface {
	// Capabilities says what the platform can do. It always gives the same answer.
	Capabilities() Capabilities

	// Check returns nil if the platform made the request, and made it just now. Else its
	// error wraps [ErrForged]. It compares in constant time, and does no I/O but for keys
	// that the platform publishes.
	Check(ctx context.Context, r *Request) error

	// Parse turns a checked request into events, in the order in which the platform tells
	// them. Events that the channel does not know or need are [Skipped]: platforms add kinds
	// of events at any time. An error is for a body that can't be read at all; the platform
	// is then asked to send it again. It does no I/O.
	Parse(r *Request) (Batch, error)

	// Send sends one part of a reply, once. A nil error means that the platform has taken
	// it. A [*onereply.SendError] says how sure a failure is: its zero value, like any other
	// error, means that nobody knows. A [*MovedError] says that the chat has another
	// address; the part was certainly not sent then.
	Send(ctx context.Context, p *Part) (Sent, error)
}

// Typist is a [Channel] that can show that the bot is writing. Typing is called while it
// does, each time before what people see ends: see [Capabilities].TypingFor. message is the
// ID of the newest message that is being answered, which some platforms want to know. It is
// tried once, for at most five seconds, and its error changes nothing.
type Typist interface {
	Typing(ctx context.Context, to Address, message string) error
}

// Poller is a [Channel] that fetches its events itself: by long polling, or over a socket
// that it opens. One node at a time runs Poll. It hands each batch to deliver, which
// returns nil once all of it is durable: only then may the platform be told so. After an
// error of deliver the batch has to be brought again; repeats do no harm. Poll returns an
// error where it has to pause, and nil only when ctx has ended.
type Poller interface {
	Poll(ctx context.Context, deliver func(context.Context, Batch) error) error
}

// Opener is a [Channel] that has to learn something from its platform, such as its own
// name there. Open is called when the host starts, and again after a pause while it fails.
// The host does not wait for it: until Open has succeeded, the other methods must work
// without what it learns.
type Opener interface {
	Open(ctx context.Context) error
}

// Connector is a [Channel] that can ask its platform how the account stands there, and tell
// it where to post. The command onereply channel calls it, and no node does.
type Connector interface {
	// Look asks the platform. Its error says that the account can't be used at all, such as
	// one with a wrong token.
	Look(ctx context.Context) (Standing, error)

	// Connect tells the platform to post to the address, and to nothing else; "": to post
	// nowhere, so that a node can poll.
	Connect(ctx context.Context, address string) error
}

// Standing is what a platform says of an account.
type Standing struct {
	Name    string // the account's there
	Posts   bool   // this channel is configured to be posted to; else it polls
	Address string // to which the platform posts now; "": to none
	Waiting int    // events that it keeps for the account
	Problem string // the last failure of its posts, in its words; "": none is known
}

// ErrForged is the error of a request that the platform did not make, or not now.
var ErrForged = errors.New("the request's signature does not match")

// Request is a request as the platform made it.
type Request struct {
	Method string
	URL    *url.URL // as the platform sees it: some sign it
	Header http.Header
	Body   []byte    // the raw bytes: signatures are over these
	At     time.Time // when it came
}

// MaxBodyBytes bounds a request's body.
const MaxBodyBytes = 3 << 20

// Batch holds the events of one request, or of one poll.
type Batch struct {
	Events []Event

	// Answer is given to the platform's request once the events are durable. nil: an
	// empty 200.
	Answer *Answer
}

// Answer is the answer to a request.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// Unit is how a platform counts the length of a text.
type Unit int

// The units.
const (
	Characters Unit = iota // code points
	UTF16                  // code units of UTF-16: an emoji has two
	Bytes                  // of UTF-8
)

// Capabilities are what a platform can do.
type Capabilities struct {
	// Limit is the length of the longest part, in Unit: at least 16. A longer reply is cut.
	Limit int
	Unit  Unit

	// TypingFor is how long people see that the bot is writing, after one call of
	// [Typist].Typing. 0: five seconds. A message ends it.
	TypingFor time.Duration

	// RecognisesRepeats: a part that is sent twice with one [Part].ID is shown once.
	RecognisesRepeats bool
}

// Part is one part of a reply, to be sent.
type Part struct {
	To   Address
	Text string

	// ID is the same for each try to send this part, and no other part has it. A platform that
	// carries it says in an [Echo] or a [Report] which part that is, also if the answer to the
	// send was lost.
	ID string

	// Number is that of this part, from 0, and Of is how many there are.
	Number, Of int

	// Covers are the IDs of the messages that the reply answers, the newest last.
	Covers []string
}

// Sent is the platform's receipt.
type Sent struct {
	// ID is the platform's for the message, of at most 256 bytes. "": it tells none. It is
	// kept with the part: [Echo], [Report] and [TakeOver] refer to it.
	ID string
}

// MovedError says that a chat has another address from now on.
type MovedError struct {
	To  Address
	Err error
}

func (e *MovedError) Error() string { return "the chat has moved: " + e.Err.Error() }

// Unwrap returns Err.
func (e *MovedError) Unwrap() error { return e.Err }

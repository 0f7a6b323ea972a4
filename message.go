package onereply

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Message is a message that somebody wrote. One that exceeds a limit is refused with
// [CodeInvalid], and nothing of it is stored.
type Message struct {
	// ID is the channel's name for it, at most [MaxNameBytes]. A message with an ID
	// that its conversation has accepted before changes nothing, so a delivery may be
	// repeated as often as one likes. "": an ID is made, and no repeat is recognised.
	ID string

	// Text has at most [MaxTextBytes]. It may be blank only where there is an
	// attachment.
	Text string

	// Sender is who wrote it; the zero value: that is not known. [Bot].Names says
	// when names stand in the prompt.
	Sender Person

	// SentAt is when it was sent, by the sender's or the channel's clock. It orders
	// the prompt. Zero: the order in which messages are accepted counts.
	SentAt time.Time

	// ReplyTo is the message that it answers, as people do with the function of their
	// app; the prompt shows it. nil: none. Its ID, its Text and its Sender have the limits
	// of a message's, and each may be empty.
	ReplyTo *Quote

	// ForwardedFrom is who wrote it first, with the limits of a Sender; the prompt shows
	// it. The zero value: it was not forwarded.
	ForwardedFrom Person

	// Attachments are at most [MaxAttachments].
	Attachments []Attachment

	// Metadata is any JSON of at most [Limits].MetadataBytes. It is kept and handed on to
	// the responder; nothing else looks at it.
	Metadata json.RawMessage

	// Group is shared by the messages of one album. The quiet time after such a
	// message is at least the bot's GroupWait. "": it belongs to none.
	Group string

	// FromMe marks the bot's own message, come back from the channel: it is ignored.
	FromMe bool

	// Unaddressed marks a message of a group that is not meant for the bot: it is
	// ignored, or kept as context by a bot that observes ([Bot].Observe).
	Unaddressed bool

	// Context marks a message as context: it is kept, the prompt of the next reply shows
	// it, and it is never answered.
	Context bool
}

// Person is the author of a message. ID and Name together have at most [MaxSenderBytes];
// either may be empty.
type Person struct {
	ID   string `json:"id,omitempty"`   // tells people apart; "": the name does
	Name string `json:"name,omitempty"` // is shown, also to the model
	Bot  bool   `json:"bot,omitempty"`  // it is another bot: see [Bot].AnswerBots
}

// Quote is a message that another one answers, as far as the channel tells of it.
type Quote struct {
	ID     string `json:"id,omitempty"`
	Text   string `json:"text,omitempty"`
	Sender Person `json:"sender,omitzero"`
}

// Attachment is a file that comes with a message. Kind or URL must be given; all
// texts together have at most [MaxAttachmentBytes].
type Attachment struct {
	Kind     string `json:"kind,omitempty"` // such as "image" or "audio"; shown to the model
	URL      string `json:"url,omitempty"`
	MIMEType string `json:"mime_type,omitempty"`

	// Pending: it was announced, and is still being processed. The turn waits for the
	// edit that brings it, at most as long as the bot's MediaWait.
	Pending bool `json:"pending,omitempty"`
}

// bodyOf makes the stored form of a message.
func bodyOf(m Message) store.Body {
	b := store.Body{
		Text: m.Text, Sender: store.Sender(m.Sender), ForwardedFrom: store.Sender(m.ForwardedFrom),
		Attachments: storedAttachments(m.Attachments), Metadata: slices.Clone(m.Metadata),
	}
	if m.ReplyTo != nil && *m.ReplyTo != (Quote{}) {
		b.ReplyTo = &store.Quote{ID: m.ReplyTo.ID, Text: m.ReplyTo.Text, Sender: store.Sender(m.ReplyTo.Sender)}
	}
	if !m.SentAt.IsZero() {
		b.SentAt = turn.At(m.SentAt)
	}
	return b
}

// quoteOf is nil where a message answers no other.
func quoteOf(q *store.Quote) *Quote {
	if q == nil {
		return nil
	}
	return &Quote{ID: q.ID, Text: q.Text, Sender: Person(q.Sender)}
}

func attachmentsOf(stored []store.Attachment) []Attachment {
	var out []Attachment
	for _, a := range stored {
		out = append(out, Attachment(a))
	}
	return out
}

func storedAttachments(all []Attachment) []store.Attachment {
	var out []store.Attachment
	for _, a := range all {
		out = append(out, store.Attachment(a))
	}
	return out
}

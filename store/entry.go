package store

import (
	"encoding/json"

	"github.com/onereply/onereply/turn"
)

// Kind of an entry.
type Kind string

// The kinds.
const (
	Message Kind = "message"
	Reply   Kind = "reply"
	// Name says that another name leads to the conversation since then, which is the
	// text. Its status is that of a reply on its way, so that retention never removes it,
	// nor with it a conversation to which names lead.
	Name  Kind = "name"
	Reset Kind = "reset" // a mark: the history of prompts begins after it. It has no id and no status
	Early Kind = "early" // an edit of a message that has not come; nobody is shown it
)

// Entry is one line of the transcript. Its own fields are those that stores compare,
// index and change; all else is in the Body.
type Entry struct {
	Seq    int64       `json:"seq"` // its place in the transcript, given out once
	Kind   Kind        `json:"kind"`
	ID     string      `json:"id"`
	Status turn.Status `json:"status"`
	Reason string      `json:"reason,omitempty"` // why it has its status, or why there was a reset
	At     turn.Time   `json:"at"`               // when it was accepted, committed or set

	// Version of the last input that touched a message, 0 if it never came: its deletion
	// did; of a reply, the version that it answers.
	Version int64 `json:"version"`
	// ReplySeq is the reply that answered a message, 0 if none did.
	ReplySeq int64 `json:"reply_seq,omitempty"`

	Body
}

// IsClaim reports whether a message is nothing but the claim of an id, which nobody is
// shown: its deletion came before it, or the id is that of a reply from outside.
func (e Entry) IsClaim() bool {
	return e.Kind == Message && e.Status == turn.InputDeleted && e.Version == 0 && e.Reason == ""
}

// Body is the part of an entry that only people and responders read. Stores keep it as
// one JSON value and never look inside.
type Body struct {
	Text          string    `json:"text,omitempty"`
	Sender        Sender    `json:"sender,omitzero"`
	SentAt        turn.Time `json:"sent_at,omitempty"`
	ReplyTo       *Quote    `json:"reply_to,omitempty"`      // the message that it answers
	ForwardedFrom Sender    `json:"forwarded_from,omitzero"` // who wrote it first

	Attachments []Attachment    `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	EditedAt    turn.Time       `json:"edited_at,omitempty"`
	// Recorded: a message was edited when nobody waited for its answer any more.
	Recorded bool `json:"recorded,omitempty"`
	// ChannelEdit is when the message was edited last, as its channel said. An edit that
	// is older by that clock changes nothing.
	ChannelEdit turn.Time `json:"channel_edit,omitempty"`
	// Size is what a message counts for among those that wait: its Bytes when it was written
	// or edited. Neither a quote in it that is erased later nor an edit into a stop word
	// changes it.
	Size int `json:"size,omitempty"`
	// Edit is what an edit changes that is kept for a message.
	Edit *Edit `json:"edit,omitempty"`
	// Was is the message before the last edit, where an attempt may be running that
	// must still see it as it was.
	Was       *Was          `json:"was,omitempty"`
	Turn      int64         `json:"turn,omitempty"`
	Parts     []string      `json:"parts,omitempty"`
	Delivered int           `json:"delivered,omitempty"` // parts that certainly reached the person, of a reply that ended without all of them
	Receipts  turn.Receipts `json:"receipts,omitempty"`  // what the channel said of a reply's parts
	Covers    []string      `json:"covers,omitempty"`    // ids of the messages that a reply answers, in the order of its prompt
	Late      bool          `json:"late_input,omitempty"`
	Author    string        `json:"author,omitempty"` // of a reply: one of turn's Reply… kinds
	// Trace is what happened in the conversation since the entry before this one,
	// up to the step that appended this one: see [Log].
	Trace Trace `json:"trace,omitzero"`
}

// Bytes is the size of a message: its texts, the names in it, its attachments and its
// metadata.
func (b *Body) Bytes() int {
	n := len(b.Text) + len(b.Metadata) + b.Sender.bytes() + b.ForwardedFrom.bytes()
	if q := b.ReplyTo; q != nil {
		n += len(q.ID) + len(q.Text) + q.Sender.bytes()
	}
	for _, a := range b.Attachments {
		n += len(a.Kind) + len(a.URL) + len(a.MIMEType)
	}
	return n
}

// Was is an earlier state of a message.
type Was struct {
	Version     int64        `json:"version"`
	Text        string       `json:"text,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Edit is a change of a message. A nil field stays as it is.
type Edit struct {
	Text        *string       `json:"text,omitempty"`
	Attachments *[]Attachment `json:"attachments,omitempty"`
}

// Sender is the author of a message.
type Sender struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Bot  bool   `json:"bot,omitempty"` // it is another bot
}

func (s Sender) bytes() int { return len(s.ID) + len(s.Name) }

// Quote is a message that another one answers, as far as the channel told of it.
type Quote struct {
	ID     string `json:"id,omitempty"`
	Text   string `json:"text,omitempty"`
	Sender Sender `json:"sender,omitzero"`
}

// Attachment is a file that comes with a message.
type Attachment struct {
	Kind     string `json:"kind,omitempty"`
	URL      string `json:"url,omitempty"`
	MIMEType string `json:"mime_type,omitempty"`
	Pending  bool   `json:"pending,omitempty"` // announced, still being processed
}

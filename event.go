package onereply

import (
	"github.com/onereply/onereply/internal/engine"
)

// Event is something that happened in a conversation. A [Subscription] gives
// events as they happen; a [Timeline] gives those that were kept. Fields that do
// not apply to its type are zero.
//
// In a timeline the texts are not kept, a reason is cut after 160 bytes, and ID,
// Bot, Conversation and Covers are empty: the timeline names the conversation.
type Event struct {
	ID           string   `json:"id,omitempty"` // of the event; resumes a stream
	Type         string   `json:"type"`
	At           Time     `json:"at"`
	Node         string   `json:"node,omitempty"` // that tells it; of lease.lost: that held the lease
	Bot          string   `json:"bot,omitempty"`
	Conversation string   `json:"conversation,omitempty"`
	Turn         int64    `json:"turn,omitempty"`
	Token        int64    `json:"token,omitempty"`
	Attempt      int      `json:"attempt,omitempty"`
	Version      int64    `json:"version"`
	Through      int64    `json:"through,omitempty"`
	DueAt        Time     `json:"due_at,omitzero"`
	FirstByteAt  Time     `json:"first_byte_at,omitzero"` // of an attempt that streamed: reply.committed, reply.discarded, attempt.failed
	Seq          int64    `json:"seq,omitempty"`          // the entry in the transcript
	MessageID    string   `json:"message_id,omitempty"`   // message.*
	ReplyID      string   `json:"reply_id,omitempty"`     // reply.*, part.*, lease.lost
	Covers       []string `json:"covers,omitempty"`
	Text         string   `json:"text,omitempty"`          // of the message, the reply, or the delta
	TextLeftOut  bool     `json:"text_left_out,omitempty"` // with covers: the event came from another node, and was too large; see the transcript
	Part         int      `json:"part,omitempty"`
	Parts        int      `json:"parts,omitempty"`
	LateInput    bool     `json:"late_input,omitempty"`
	Reason       string   `json:"reason,omitempty"`
}

// eventOf is an event of the engine as the API shows it.
func eventOf(id string, e *engine.Event) Event {
	return Event{
		ID: id, Type: string(e.Kind), At: timeOf(e.At), Node: e.Node, Bot: e.Key.Bot, Conversation: e.Key.Conversation,
		Turn: e.Turn, Token: e.Token, Attempt: e.Attempt, Version: e.Version, Through: e.Through, DueAt: timeOf(e.Due),
		MessageID: e.MessageID, ReplyID: e.ReplyID, Covers: e.Covers, Text: e.Text, TextLeftOut: e.TextLeftOut,
		Part: e.Part, Parts: e.Parts, Reason: e.Reason, LateInput: e.Late, Seq: e.Seq, FirstByteAt: timeOf(e.FirstByte),
	}
}

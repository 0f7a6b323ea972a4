package onereply

import (
	"cmp"

	"github.com/onereply/onereply/internal/engine"
)

// Event is something that happened in a conversation. A [Subscription] gives
// events as they happen; a [Timeline] gives those that were kept. Fields that do
// not apply to its type are zero.
//
// In a timeline the texts are not kept, a reason is cut after 160 bytes, and ID,
// Bot, Conversation and Covers are empty: the timeline names the conversation.
type Event struct {
	// ID resumes a stream: see [EventQuery].After.
	ID string `json:"id,omitempty"`

	// Type is what happened, such as "message.accepted" or "reply.sent"; docs/api.md
	// lists them.
	Type string `json:"type"`

	At Time `json:"at"`

	// Node is the one that tells it; of lease.lost, the one that held the lease.
	Node string `json:"node,omitempty"`

	Bot          string `json:"bot,omitempty"`
	Conversation string `json:"conversation,omitempty"`

	// Turn, Token and Attempt are those of [Turn].
	Turn    int64 `json:"turn,omitempty"`
	Token   int64 `json:"token,omitempty"`
	Attempt int   `json:"attempt,omitempty"`

	// Version is the conversation's then; Through is the version that an attempt or a
	// reply has seen.
	Version int64 `json:"version"`
	Through int64 `json:"through,omitempty"`

	// DueAt is when the window ends, or ended; of a failure, the next try.
	DueAt Time `json:"due_at,omitzero"`

	// FirstByteAt is when an attempt streamed the first piece of its text.
	FirstByteAt Time `json:"first_byte_at,omitzero"`

	// Seq is the entry in the transcript that the event is about.
	Seq int64 `json:"seq,omitempty"`

	MessageID string   `json:"message_id,omitempty"` // of message.*
	ReplyID   string   `json:"reply_id,omitempty"`   // of reply.*, part.* and lease.lost
	Covers    []string `json:"covers,omitempty"`     // IDs of the messages that a reply answers

	// Text is that of the message or the reply, or the new piece of reply.delta.
	Text string `json:"text,omitempty"`

	// TextLeftOut: the event came from another node and was too large, so that Text and
	// Covers are missing. They are in the transcript.
	TextLeftOut bool `json:"text_left_out,omitempty"`

	// Part is how many parts of the reply were delivered; of part.failed and
	// part.unknown, the number of that part, from 1. Parts is how many there are.
	Part  int `json:"part,omitempty"`
	Parts int `json:"parts,omitempty"`

	// Early, of turn.started: the attempt began before its window ends, at DueAt.
	Early bool `json:"early,omitempty"`

	// LateInput: the reply was committed although newer input existed.
	LateInput bool `json:"late_input,omitempty"`

	// Reason says why.
	Reason string `json:"reason,omitempty"`
}

// eventOf is an event of the engine as the API shows it.
func eventOf(id string, e *engine.Event) Event {
	return Event{
		ID: id, Type: string(e.Kind), At: timeOf(e.At), Node: e.Node, Bot: e.Key.Bot, Conversation: cmp.Or(e.Name, e.Key.Conversation),
		Turn: e.Turn, Token: e.Token, Attempt: e.Attempt, Version: e.Version, Through: e.Through, DueAt: timeOf(e.Due),
		MessageID: e.MessageID, ReplyID: e.ReplyID, Covers: e.Covers, Text: e.Text, TextLeftOut: e.TextLeftOut,
		Part: e.Part, Parts: e.Parts, Reason: e.Reason, Early: e.Early, LateInput: e.Late, Seq: e.Seq, FirstByteAt: timeOf(e.FirstByte),
	}
}

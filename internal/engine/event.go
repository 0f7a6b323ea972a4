package engine

import (
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Event is a fact as the program passes it on inside itself. The core
// gives a [turn.Notice], which holds counters and times only, because a record
// holds no texts. The Event adds which conversation it happened in and the texts
// that belong to it. Counters, logs, watchers and the timeline all take it from
// here; the API has one shape of its own, made from this one in one place.
type Event struct {
	turn.Notice
	Key     store.Key
	Name    string   // by which the conversation is shown, where that is not its original name
	ReplyID string   // of a notice about a reply
	Covers  []string // ids of the messages that the reply answers, where this node knows them
	Text    string   // of the message or the reply, where this node knows it
	Author  string   // of a reply: one of turn's Reply… kinds

	Node        string // where it happened; of a lost lease: where that was held. The runtime sets it
	TextLeftOut bool   // the event came from another node without Text and Covers: it was too large
}

// Delta is the kind of an event that no write makes: a piece of a reply, as the
// responder gives it.
const Delta turn.Kind = "reply.delta"

// The kinds of events that no write makes.
const (
	EventsLost          turn.Kind = "events.lost"          // it tells a reader that it has missed some
	ConversationDeleted turn.Kind = "conversation.deleted" // all that is stored of the conversation was deleted
)

// NewEvent adds to a notice what follows from it without the transcript.
func NewEvent(key store.Key, notice turn.Notice) Event {
	e := Event{Notice: notice, Key: key}
	switch {
	case notice.Seq == 0, IsOfMessage(notice.Kind), notice.Kind == turn.KindMessageRepeated,
		notice.Kind == turn.KindConversationReset:
	default:
		e.ReplyID = ReplyID(key, notice.Turn)
	}
	return e
}

// IsOfMessage reports whether a notice is about the message that a request brings or
// changes.
func IsOfMessage(kind turn.Kind) bool {
	switch kind {
	case turn.KindMessageAccepted, turn.KindMessageErased, turn.KindMessageRecorded:
		return true
	}
	return false
}

// Erases reports whether the event is the deletion of a message or of a conversation: its
// texts must not be shown any more, by whoever keeps events.
func (e *Event) Erases() bool {
	return e.Kind == ConversationDeleted || e.Kind == turn.KindMessageErased || e.Kind == turn.KindMessageAccepted && e.Reason == turn.WasDeleted
}

// event adds to a notice the texts that this node knows: of the request that the
// notice is about, or of the reply that is being sent.
func (n *Node) event(c *conversation, t *task, notice turn.Notice) Event {
	e := NewEvent(c.key, notice)
	if IsOfMessage(notice.Kind) {
		e.MessageID = t.ID
		e.Text = t.body.Text
		if t.Text != nil {
			e.Text = *t.Text
		}
	}
	if reply := c.replyAt(notice.Seq, t); e.ReplyID != "" && reply != nil && showsText(notice.Kind) {
		e.Covers, e.Text, e.Author = reply.Covers, reply.Text, reply.Author
	}
	return e
}

// showsText reports whether a notice about a reply carries its text: one about a
// part of it does not.
func showsText(kind turn.Kind) bool {
	switch kind {
	case turn.KindReplyCommitted, turn.KindReplySent, turn.KindReplyFailed, turn.KindReplyDiscarded:
		return true
	}
	return false
}

// replyAt is the reply with the sequence, where this node knows its text.
func (c *conversation) replyAt(seq int64, t *task) *store.Entry {
	switch {
	case t.sending != nil && t.sending.Seq == seq:
		return t.sending
	case c.reply != nil && c.reply.Seq == seq:
		return c.reply
	}
	for i := range t.stored.replies {
		if t.stored.replies[i].Seq == seq {
			return &t.stored.replies[i]
		}
	}
	return nil
}

package onereply

import (
	"encoding/json"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Outcome is what became of an input.
type Outcome = turn.Outcome

// The outcomes of inputs.
const (
	OutcomeQueued    Outcome = "queued"
	OutcomeDuplicate Outcome = "duplicate"
	OutcomeIgnored   Outcome = "ignored"
	OutcomePaused    Outcome = "paused"
)

// Receipt acknowledges an input, once it is durable.
type Receipt struct {
	MessageID string  `json:"message_id"`
	Version   int64   `json:"version"`
	Duplicate bool    `json:"duplicate"`
	DueAt     Time    `json:"due_at"` // when the next turn starts; zero while paused, or while one runs
	Outcome   Outcome `json:"outcome"`
	Reason    string  `json:"reason,omitempty"`
}

// Edit is an edit of a message.
type Edit struct {
	Text        *string       // nil: as it was
	Attachments *[]Attachment // nil: as they were, but none of them pending any more where Text is given
}

// State is what is known of a conversation.
type State struct {
	Bot            string     `json:"bot"`
	Conversation   string     `json:"conversation"`
	Version        int64      `json:"version"`
	Answered       int64      `json:"answered"`
	Phase          turn.Phase `json:"phase"`
	Pending        int        `json:"pending"`
	Turn           int64      `json:"turn"`
	DueAt          Time       `json:"due_at"`
	FirstPendingAt Time       `json:"first_pending_at"`
	Lease          *Lease     `json:"lease"`
	Discards       int        `json:"discards"`
	Attempts       int        `json:"attempts"`
	LastError      string     `json:"last_error"`
	PauseReason    string     `json:"pause_reason,omitempty"`
	SetAside       int        `json:"set_aside,omitempty"`       // messages that brought down each worker that took them
	LastActivityAt Time       `json:"last_activity_at,omitzero"` // in lists
	LastInput      *LastInput `json:"last_input,omitempty"`      // in lists with a preview, where there is one
}

// Lease is who works on a conversation.
type Lease struct {
	Holder    string `json:"holder"`
	Token     int64  `json:"token"`
	ExpiresAt Time   `json:"expires_at"`
}

// Entry is one line of a transcript, as people and programs see it.
type Entry struct {
	Seq         int64           `json:"seq"`
	Kind        store.Kind      `json:"kind"`
	ID          string          `json:"id"`
	Text        string          `json:"text"`
	Sender      *Person         `json:"sender,omitempty"`
	At          Time            `json:"at"`
	SentAt      Time            `json:"sent_at,omitzero"`
	Status      turn.Status     `json:"status"`
	Reason      string          `json:"reason,omitempty"`
	Covers      []string        `json:"covers"`
	Version     int64           `json:"version"`
	Turn        int64           `json:"turn,omitempty"`
	Parts       []string        `json:"parts,omitempty"`
	LateInput   bool            `json:"late_input,omitempty"`
	Author      string          `json:"author,omitempty"` // of a reply: "human" or "fallback", else the responder
	EditedAt    Time            `json:"edited_at,omitzero"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
}

// ConversationQuery selects conversations.
type ConversationQuery struct {
	Bot    string     // "" means all
	Phase  turn.Phase // "" means all
	Cursor string
	Limit  int // 1 to 1000; 0 means 100

	// Attention selects those that need somebody: failed, or with a reply in trouble. A page may have fewer than
	// Limit although the list goes on.
	Attention bool

	// Search leaves out conversations whose name and whose last input's text both
	// lack it, in any case; at most 512 bytes. One page looks through 500
	// conversations, so it may have fewer than Limit, or none, and still go on.
	Search  string
	Preview bool // with each conversation's last input
}

func (q ConversationQuery) query() store.ListQuery {
	return store.ListQuery{Bot: q.Bot, Phase: q.Phase, Cursor: q.Cursor, Attention: q.Attention}
}

// ConversationPage is a page of conversations, newest activity first.
type ConversationPage struct {
	Conversations []State `json:"conversations"`
	Next          string  `json:"next"` // "" at the end
}

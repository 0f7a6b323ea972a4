package onereply

import "github.com/onereply/onereply/turn"

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

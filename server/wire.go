package server

import (
	"time"

	"github.com/onereply/onereply"
)

// What is sent: the library's types, with times as the API writes them, and
// empty lists as lists.

// instant is a time as the API writes it: RFC 3339, milliseconds, UTC.
type instant time.Time

const instantLayout = "2006-01-02T15:04:05.000Z"

// MarshalText makes JSON of it too.
func (t instant) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, instantLayout), nil
}

// instantOf gives nil, which is null, for the zero time.
func instantOf(t time.Time) *instant {
	if t.IsZero() {
		return nil
	}
	return (*instant)(&t)
}

type receipt struct {
	onereply.Receipt
	DueAt *instant `json:"due_at"`
}

func receiptOf(r onereply.Receipt) receipt {
	return receipt{Receipt: r, DueAt: instantOf(r.DueAt)}
}

type state struct {
	onereply.State
	DueAt          *instant `json:"due_at"`
	FirstPendingAt *instant `json:"first_pending_at"`
	Lease          *lease   `json:"lease"`
	LastActivityAt *instant `json:"last_activity_at,omitempty"`
	LastInput      *input   `json:"last_input,omitempty"`
}

// input is the last one of a conversation, in lists.
type input struct {
	onereply.LastInput
	At instant `json:"at"`
}

type lease struct {
	onereply.Lease
	ExpiresAt instant `json:"expires_at"`
}

func stateOf(s onereply.State) state {
	out := state{
		State:          s,
		DueAt:          (*instant)(s.DueAt),
		FirstPendingAt: (*instant)(s.FirstPendingAt),
		LastActivityAt: (*instant)(s.LastActivityAt),
	}
	if s.Lease != nil {
		out.Lease = &lease{Lease: *s.Lease, ExpiresAt: instant(s.Lease.ExpiresAt)}
	}
	if s.LastInput != nil {
		out.LastInput = &input{LastInput: *s.LastInput, At: instant(s.LastInput.At)}
	}
	return out
}

type entry struct {
	onereply.Entry
	At       instant  `json:"at"`
	SentAt   *instant `json:"sent_at,omitempty"`
	EditedAt *instant `json:"edited_at,omitempty"`
	Covers   []string `json:"covers"`
}

func entryOf(e onereply.Entry) entry {
	out := entry{
		Entry:    e,
		At:       instant(e.At),
		SentAt:   (*instant)(e.SentAt),
		EditedAt: (*instant)(e.EditedAt),
		Covers:   e.Covers,
	}
	if out.Covers == nil {
		out.Covers = []string{}
	}
	return out
}

type auditEntry struct {
	onereply.AuditEntry
	At instant `json:"at"`
}

func auditEntryOf(e onereply.AuditEntry) auditEntry {
	return auditEntry{AuditEntry: e, At: instant(e.At)}
}

type event struct {
	onereply.Event
	At          instant  `json:"at"`
	DueAt       *instant `json:"due_at,omitempty"`
	FirstByteAt *instant `json:"first_byte_at,omitempty"`
}

func eventOf(e onereply.Event) event {
	return event{Event: e, At: instant(e.At), DueAt: instantOf(e.DueAt), FirstByteAt: instantOf(e.FirstByteAt)}
}

type timeline struct {
	onereply.Timeline
	Now   instant        `json:"now"`
	Turns []timelineTurn `json:"turns"`
}

type timelineTurn struct {
	onereply.TimelineTurn
	Steps []step `json:"steps"`
}

type step struct {
	onereply.TimelineStep
	At          instant  `json:"at"`
	DueAt       *instant `json:"due_at,omitempty"`
	FirstByteAt *instant `json:"first_byte_at,omitempty"`
}

func timelineOf(t onereply.Timeline) timeline {
	out := timeline{Timeline: t, Now: instant(t.Now), Turns: make([]timelineTurn, 0, len(t.Turns))}
	for _, one := range t.Turns {
		turn := timelineTurn{TimelineTurn: one, Steps: make([]step, 0, len(one.Steps))}
		for _, s := range one.Steps {
			turn.Steps = append(turn.Steps, step{TimelineStep: s, At: instant(s.At), DueAt: instantOf(s.DueAt), FirstByteAt: instantOf(s.FirstByteAt)})
		}
		out.Turns = append(out.Turns, turn)
	}
	return out
}

package store

import (
	"unicode/utf8"

	"github.com/onereply/onereply/turn"
)

// Log is for people who look at a conversation: the steps in it, and the actions on it.
// It is written together with its record, so it is the same from every node and
// outlives each of them. Nothing is ever decided by it.
//
// A conversation's whole story is spread over its transcript. The engine adds
// the notices of each step to the trace of the record; a write that appends an
// entry moves what the record has gathered into that entry (see [Body]). So each
// notice is written once, a record stays small however long a burst is, and the
// traces of the entries, in their order, followed by that of the record, are
// what happened.
type Log struct {
	// Trace is what happened since the last entry was appended.
	Trace Trace `json:"trace,omitzero"`
	// Audit is who did what, oldest first: the last AuditKept actions.
	Audit []AuditEntry `json:"audit,omitempty"`
}

// The bounds of a [Log]: it is part of every write of the conversation.
const (
	MaxTrace      = 128 // steps of one trace, the last ones
	MaxTraceText  = 160 // bytes of each text of a step; longer ones are cut
	AuditKept     = 16  // actions, the last ones
	AuditTextMax  = 128 // bytes of each text of an action; longer ones are cut
	cutTextEnding = "…"
)

// Trace is what happened in a conversation, oldest first.
type Trace struct {
	Steps []turn.Notice `json:"steps,omitempty"`
	Lost  int           `json:"lost,omitempty"` // steps before the first that were dropped because of the bound
}

// Add returns the trace with more steps at its end. Nothing is shared with t:
// the write that t came from may still be under way. Since is left out, because
// the steps before tell it.
func (t Trace) Add(notices ...turn.Notice) Trace {
	steps := make([]turn.Notice, 0, len(t.Steps)+len(notices))
	steps = append(append(steps, t.Steps...), notices...)
	for i := len(t.Steps); i < len(steps); i++ {
		n := &steps[i]
		n.Since = 0
		n.Reason, n.Holder, n.MessageID = cut(n.Reason, MaxTraceText), cut(n.Holder, MaxTraceText), cut(n.MessageID, MaxTraceText)
	}
	if more := len(steps) - MaxTrace; more > 0 {
		steps, t.Lost = steps[more:], t.Lost+more
	}
	t.Steps = steps
	return t
}

// AuditEntry is something that a person or a program did to a conversation, as
// opposed to what happened in it: a pause, a reply by hand, a requeue.
type AuditEntry struct {
	At     turn.Time `json:"at"`
	Action string    `json:"action"`
	By     string    `json:"by,omitempty"`     // the label of who did it
	From   string    `json:"from,omitempty"`   // the address it came from
	Reason string    `json:"reason,omitempty"` // what was said to it
}

// Audited returns the log with one more action, and without the oldest where
// that makes too many. Nothing is shared with l.
func (l Log) Audited(e AuditEntry) Log {
	kept := l.Audit[max(0, len(l.Audit)-AuditKept+1):]
	l.Audit = append(append(make([]AuditEntry, 0, len(kept)+1), kept...), e.Cut())
	return l
}

// Cut returns the entry with its texts within their bound.
func (e AuditEntry) Cut() AuditEntry {
	for _, text := range []*string{&e.Action, &e.By, &e.From, &e.Reason} {
		*text = cut(*text, AuditTextMax)
	}
	return e
}

// cut shortens a text to a number of bytes, between two characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(cutTextEnding)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutTextEnding
}

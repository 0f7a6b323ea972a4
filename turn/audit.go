package turn

import "unicode/utf8"

// Bounds of a record's audit: it is part of every write of the conversation.
const (
	AuditKept       = 16  // entries, the last ones
	AuditTextMax    = 128 // bytes of each of their texts; longer ones are cut
	auditCutoffMark = "…"
)

// AuditEntry is something that a person or a program did to a conversation, as
// opposed to what happened in it: a pause, a reply by hand, a requeue.
type AuditEntry struct {
	At     Time   `json:"at"`
	Action string `json:"action"`
	By     string `json:"by,omitempty"`     // the label of who did it
	From   string `json:"from,omitempty"`   // the address it came from
	Reason string `json:"reason,omitempty"` // what was said to it
}

// Audited returns the record with one more entry in its audit, and the oldest
// dropped where that makes too many. It is no step: nothing is decided by it,
// and [Step] carries an audit along without looking at it.
func (r Record) Audited(e AuditEntry) Record {
	e.Action, e.By, e.From, e.Reason = shortened(e.Action), shortened(e.By), shortened(e.From), shortened(e.Reason)
	kept := r.Audit[max(0, len(r.Audit)-AuditKept+1):]
	r.Audit = append(append(make([]AuditEntry, 0, len(kept)+1), kept...), e)
	return r
}

// shortened cuts a text between two characters.
func shortened(text string) string {
	if len(text) <= AuditTextMax {
		return text
	}
	end := AuditTextMax - len(auditCutoffMark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + auditCutoffMark
}

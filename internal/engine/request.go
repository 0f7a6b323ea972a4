package engine

import (
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Op names the operation of a request.
type Op int

// The requests.
const (
	Receive Op = iota
	Edit
	Retract
	Typing
	Flush
	Pause
	Resume
	HumanReply
	Requeue
	Resend
	MarkSent
	Reset
	Report
	LeadName // of an alias: make it one
	FreeName // of an alias: free it
	ClaimName
	AdoptName
	DropName
	TakeDuty
	Seal
	Forget
	ownEvent // not a caller's: an event of this node's own
)

// Request is a call of the API. Only the fields that its Op needs are set.
type Request struct {
	Key    store.Key
	Ticket any // comes back with the Answer
	Op     Op

	ID          string              // Receive, Edit, Retract: of the message; HumanReply: of the reply, where its caller gave it one; Report: the channel's, of a part
	Body        store.Body          // Receive, HumanReply
	Group       bool                // Receive: the message belongs to a group
	Context     bool                // Receive: it is context, and never answered
	Unaddressed bool                // Receive: it is not meant for the bot
	Text        *string             // Edit; Report: the text under that ID, which tells a part that has no ID yet; nil: not known
	Attachments *[]store.Attachment // Edit
	EditedAt    turn.Time           // Edit: when, by the channel's clock; 0: it did not say
	For         time.Duration       // Typing, Pause, TakeDuty; HumanReply: the bot is silent for so long
	Beside      bool                // HumanReply: it settles nothing
	Sent        bool                // HumanReply: it was sent elsewhere
	Reason      string              // Pause, Reset
	Answer      bool                // Resume
	Token       int64               // Seal
	Turn        int64               // Resend, MarkSent, Report; 0: the ID says which reply it is about
	Part        int                 // Report: from 1; 0: all
	Receipt     turn.Receipt        // Report; Reason is that of a failure
	Name        string              // LeadName, FreeName: the conversation; ClaimName, AdoptName, DropName: the name; TakeDuty: the nonce
	Fresh       bool                // LeadName: the name must lead nowhere else
	Moves       bool                // AdoptName: it is the key from now on
	Audit       *store.AuditEntry   // noted where the request changes something; nil: not
}

// task is a caller's request, or an event of this node's own, on its way into the
// record. It waits in its conversation's queue, is applied to the record together
// with the tasks around it, and ends once that write is durable. Where the write
// was not applied, or nobody knows, the task goes back to the queue and is applied
// again to a newer record; earlier keeps what is known of the earlier writes.
type task struct {
	Request

	word wordKind // the text that the request brings is a word of the bot
	full bool     // it was refused because too much waits: see refuse

	// Of an event of this node's own.
	event    turn.Event
	reply    store.Body   // the responder's reply, of a result
	sending  *store.Entry // the reply that a send delivers
	endsWork bool         // the attempt or the send under way here ends with it
	asker    asker        // the attempt that waits for its outcome

	// Of a request under an alias; see names.go.
	via    string // the alias
	sure   bool   // the alias was read after the conversation did not list it
	unsure bool   // the alias has to be read: the conversation does not list it
	hops   int    // times that it was handed on

	stored  lookup
	body    store.Body // Receive: the message as it is accepted
	earlier earlierWrites
	result  Result // of the write under way
}

// lookup holds the entries of the transcript that a task needs. It is read just before
// the task is applied, and is out of date as soon as a write has come between.
type lookup struct {
	done    bool          // the fields below are up to date
	message *store.Entry  // the message with the request's id, nil: there is none
	replies []store.Entry // Report: those that it may be about
	early   []store.Entry // the edits that are kept for messages that have not come
	quoting []store.Entry // Retract: the messages that quote the request's
	waiting []store.Entry // the messages that wait, for a task that settles some of them
}

// refuse ends a task because too much waits. A repeat of a message is none of that, however
// full its conversation is: so the id is looked up first, and the task applied again.
func (t *task) refuse(err error) { t.full, t.result.Err = true, err }

// isOwn reports whether the task is an event of this node's own: nobody waits for
// its answer, and it is kept while the store is out of reach.
func (t *task) isOwn() bool { return t.Op == ownEvent }

// wakes reports whether the task is this node looking at the conversation.
func (t *task) wakes() bool {
	_, ok := t.event.(turn.Wake)
	return ok
}

// isSignCheck reports whether the task checks for a sign of life.
func (t *task) isSignCheck() bool {
	_, ok := t.event.(turn.CheckSign)
	return ok
}

// showsRecord reports whether the caller is shown the record afterwards. A message,
// which must be answered quickly, carries none.
func (t *task) showsRecord() bool {
	switch t.Op {
	case Flush, Pause, Resume, Requeue, Resend, MarkSent, Reset, LeadName, FreeName, ClaimName, AdoptName, DropName:
		return true
	}
	return false
}

// needsLookup reports whether the transcript must be read before the task is applied to
// a record.
func (t *task) needsLookup(r turn.Record) bool {
	return t.needsMessage(r) || t.needsWaiting(r) || t.Op == Report
}

// needsMessage reports whether the task needs the message with its id. A new message
// does where its id was claimed before, and it may be this very request that claimed it,
// or a deletion; where edits are kept for messages; and before it is refused.
func (t *task) needsMessage(r turn.Record) bool {
	switch t.Op {
	case Edit, Retract:
		return true
	case Receive:
		return len(r.Early) > 0 || r.Retracted && t.earlier.idClaimed || t.mayBeItsOwnRepeat() || t.full
	case HumanReply:
		return t.ID != ""
	}
	return false
}

// needsWaiting reports whether the task needs the messages that wait. A message for which
// an edit is kept may be a stop word by that.
func (t *task) needsWaiting(r turn.Record) bool {
	return t.Op == HumanReply || t.word.closes() || t.Op == Receive && len(r.Early) > 0
}

// messageID is the id under which the transcript has the task's message: of a reply from
// outside, that of the entry that claims its id.
func (t *task) messageID() string {
	if t.Op == HumanReply {
		return claimOf(t.ID)
	}
	return t.ID
}

// mayBeItsOwnRepeat reports whether the id was claimed before, perhaps by an earlier write
// of this very request.
func (t *task) mayBeItsOwnRepeat() bool {
	claimed := t.Op == Receive && t.earlier.idClaimed || t.Op == HumanReply
	return claimed && len(t.earlier.placements) > 0
}

// takeLookup takes the entries that the task needs out of the answer to its Load: the message
// with its id, or that there is none, and those that wait. A read that began before the
// task came says nothing about it.
func (t *task) takeLookup(asked Load, l LoadResult) {
	r := l.Snapshot.Record
	switch {
	case !t.needsLookup(r):
		return
	case t.Op == Report:
		t.lookForReply(asked, l)
		return
	case t.needsWaiting(r) && !asked.Pending,
		t.needsMessage(r) && (!slices.Contains(asked.IDs, t.messageID()) || len(r.Early) > 0 && !asked.Early),
		t.Op == Retract && !slices.Contains(asked.Quoting, t.ID): // it came during the read
		return
	}
	t.stored = lookup{done: true, early: l.Early}
	if t.needsWaiting(r) {
		t.stored.waiting = l.Pending
	}
	for i := range l.Messages {
		if t.needsMessage(r) && l.Messages[i].ID == t.messageID() {
			t.stored.message = &l.Messages[i]
		}
	}
	for _, e := range l.Quoting {
		if t.Op == Retract && e.ReplyTo.ID == t.ID {
			t.stored.quoting = append(t.stored.quoting, e)
		}
	}
}

// about is the parts of which one is what a report is about: the one that its caller says,
// or that the channel knows by the ID, or else those in doubt.
func (t *task) about(r turn.Record) []turn.SentPart {
	if t.Turn != 0 {
		return []turn.SentPart{{ID: t.ID, Turn: t.Turn, Part: t.Part}}
	}
	if known, ok := r.SentAs(t.ID); ok {
		return []turn.SentPart{known}
	}
	if t.Text == nil {
		return nil
	}
	return r.InDoubt()
}

// lookForReply notes the replies that the report may be about, as far as they are there.
func (t *task) lookForReply(asked Load, l LoadResult) {
	parts := t.about(l.Snapshot.Record)
	for _, part := range parts {
		if !slices.Contains(asked.Turns, part.Turn) {
			return // it is read next
		}
	}
	t.stored = lookup{done: true}
	for _, e := range l.Replies {
		if slices.ContainsFunc(parts, func(p turn.SentPart) bool { return p.Turn == e.Turn }) {
			t.stored.replies = append(t.stored.replies, e)
		}
	}
}

// coreEvent is the event of a request that needs nothing but its own fields.
func (t *task) coreEvent() turn.Event {
	switch t.Op {
	case Typing:
		return turn.Typing{For: t.For}
	case Flush:
		return turn.Flush{}
	case Pause:
		return turn.Pause{Reason: t.Reason, For: t.For}
	case Resume:
		return turn.Resume{Answer: t.Answer}
	case Requeue:
		return turn.Requeue{}
	case Resend:
		return turn.Resend{Turn: t.Turn}
	case MarkSent:
		return turn.MarkSent{Turn: t.Turn}
	case LeadName:
		return turn.LeadName{To: t.Name, Fresh: t.Fresh}
	case FreeName:
		return turn.FreeName{From: t.Name}
	case ClaimName:
		return turn.ClaimName{Name: t.Name}
	case DropName:
		return turn.DropName{Name: t.Name}
	case Reset:
		return turn.Reset{Reason: t.Reason}
	case Seal:
		return turn.Seal{Token: t.Token}
	}
	return t.event
}

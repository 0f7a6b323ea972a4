package engine

import (
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Output is something that a [Node] asks for. Each is carried out without
// blocking the node, and answered by the method that its comment names.
type Output interface{ output() }

// Load reads a conversation's record and then, in this order, the messages
// with the given ids, those that quote some of them, the replies of the given turns, the
// messages that wait, the reply under way, if parts of it were delivered, and the edits
// that are kept for messages. An entry may be newer than the record, never older, so a
// write that expects the record's Op is safe.
// Answered by Node.Loaded.
//
// A record that is not there is no error: it gives the zero Snapshot.
type Load struct {
	Key     store.Key
	IDs     []string // of messages
	Quoting []string // ids of messages: those that quote any of them
	Turns   []int64  // of replies
	Pending bool     // the messages that wait, too
	Early   bool     // the edits that the record keeps for messages that have not come, too
}

// Commit carries out a write. The node keeps the Write, so it must not be changed. At
// most one is under way for a conversation. An error leaves open whether it was applied,
// unless it wraps store.ErrNotApplied. Answered by Node.Committed.
type Commit struct{ Write *store.Write }

// Delete removes a conversation. Answered by Node.Deleted.
type Delete struct{ Key store.Key }

// Claim takes over due timers of these bots: their node died, or has no free slot.
// Other nodes do not see them for Hold. Answered by Node.Claimed.
type Claim struct {
	Limit int
	Hold  time.Duration
	Bots  []string
}

// Recover asks for the timers up to a moment, at the start on a store that no
// other process has open. Answered by Node.Recovered.
type Recover struct {
	Until turn.Time
	Limit int
}

// ReadPrompt reads what an attempt answers: the messages after AfterSeq that waited at the
// version Through, and the last entries of the transcript after FreshAfter. Its methods say
// how much of them a prompt of at most Bytes needs (0: no bound), so that no reader has all
// that waits, or a long history, in memory. Answered by Node.PromptRead.
type ReadPrompt struct {
	Key        store.Key
	Nonce      string
	AfterSeq   int64
	FreshAfter int64
	Through    int64
	Bytes      int
	History    int // how many of the last entries, 0: none
	Observe    int // how many messages besides that were not meant for the bot
}

// Start runs the responder. Answered by Node.Responded, once it has returned: not
// before, since the lease is kept until then.
type Start struct {
	Key          store.Key
	Conversation string // the key by which it is shown
	Address      string // the name under which it was last written to

	Lease   turn.Lease
	Turn    int64
	Attempt int   // number within the turn, from 1
	Early   bool  // it begins before the end of its window, and may be replaced
	Through int64 // the version that the prompt holds
	Prompt  Prompt

	NoSignalUntil turn.Time // the receiver asked for a pause until then: no signals before
}

// Stop ends the responder or the send that runs under the nonce. It is
// answered like what it stops.
type Stop struct {
	Key    store.Key
	Nonce  string
	Reason string
}

// Send delivers one part of a reply. It must begin before Until, and ends with a Stop. Where
// Entry is nil, it is read first. Answered by Node.SendEnded.
type Send struct {
	Key store.Key
	// Conversation is the key by which it is shown, Address the name under which it was
	// last written to.
	Conversation, Address string

	Lease turn.Lease
	Reply turn.Reply
	Entry *store.Entry
	Until turn.Time
}

// Hint tells the other nodes, as far as they can be reached, that a
// conversation changed under a lease that is not this node's.
type Hint struct{ Key store.Key }

// Answer ends a request. Each gets exactly one.
type Answer struct {
	Ticket any
	Result Result
}

// Tell passes an event on to watchers. The event is durable.
type Tell struct{ Event *Event }

// Show tells people that a reply takes longer. It is tried once, and not answered.
type Show struct {
	Key          store.Key
	Conversation string // the key by which it is shown
	Address      string // the name under which it was last written to

	Turn int64
	Sign turn.Sign
	Text string
}

// OverBudget tells the operator that a bot has used up its budget, once until a call is
// allowed again.
type OverBudget struct{ Bot, Text string }

func (Show) output()       {}
func (OverBudget) output() {}
func (Load) output()       {}
func (Commit) output()     {}
func (Delete) output()     {}
func (Claim) output()      {}
func (Recover) output()    {}
func (ReadPrompt) output() {}
func (Start) output()      {}
func (Stop) output()       {}
func (Send) output()       {}
func (Hint) output()       {}
func (Answer) output()     {}
func (Tell) output()       {}

// Result is the outcome of a request.
type Result struct {
	// Key is the conversation that it was applied to: of a request under an alias, the
	// one to which that leads.
	Key store.Key
	// Outcome is the core's, or Duplicate. Reason goes with an outcome that changed
	// nothing.
	Outcome turn.Outcome
	Reason  string
	// Duplicate: another delivery of the message was accepted before.
	Duplicate bool

	// At is when it was applied, Version what the conversation has after it.
	At      turn.Time
	Version int64
	// MessageID is that of the message, or of the reply that a person wrote.
	MessageID string
	// Due is when the next turn starts, as far as that is known: 0 while the
	// conversation is paused, and while a turn runs.
	Due turn.Time
	// Record is the record as it is now, of a control; nil of an input, and where Err
	// is set.
	Record *turn.Record

	// Err wraps ErrUnavailable, ErrOutcomeUnknown, ErrNotFound or ErrTooMany.
	Err error
}

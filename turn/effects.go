package turn

import "slices"

// Outcome is the result of an event, returned to its caller.
type Outcome string

// The outcomes.
const (
	Done      Outcome = "done"      // it was carried out
	Queued    Outcome = "queued"    // an input: it waits for the next reply
	OnPause   Outcome = "paused"    // an input: it is kept, and waits for a resume
	Closed    Outcome = "closed"    // an input: a stop word, which waits for nothing
	Emptied   Outcome = "withdrawn" // an input: a deletion after which nothing waits
	AsContext Outcome = "context"   // a message: it is kept as context, and is no input
	Erased    Outcome = "erased"    // the deletion of a message that is settled: its text is gone
	Recorded  Outcome = "recorded"  // the edit of a message that is settled: it is shown as edited
	CameEarly Outcome = "early"     // an edit or a deletion of a message that has not come: kept for it
	Ignored   Outcome = "ignored"   // it changed nothing, and Reason says why
	TooMuch   Outcome = "too_much"  // an input, or the edit of one that was set aside: more would wait than may, and nothing was changed
	Fenced    Outcome = "fenced"    // it came from a lease that is no longer the live one
	Committed Outcome = "committed" // an attempt: its reply is the conversation's
	Discarded Outcome = "discarded" // an attempt: its reply was thrown away
)

// Reasons that go with Ignored and with notices. They are part of the API.
const (
	NothingWaits   = "nothing_waits"    // there is nothing to do it to
	NotFailed      = "not_failed"       // only a failed turn, and what was set aside, can be tried again
	UnderWay       = "under_way"        // a turn or a reply is under way: what was set aside has to wait for its end
	Superseded     = "superseded"       // newer input exists
	NotDue         = "not_due"          // a wake-up that came too early
	Held           = "held"             // another worker has the lease
	NotAlone       = "not_alone"        // the attempt must run alone, and the worker has other work
	WasPaused      = "paused"           // a human has the conversation
	WasDeleted     = "deleted"          // nothing is left to answer; or the message was deleted, which is final
	TooManyEarly   = "too_many_early"   // too many edits are kept for messages that have not come
	ByHuman        = "closed_by_human"  // a human answered or closed what waited
	WasReset       = "reset"            // the conversation began afresh
	SessionIdle    = "session_idle"     // it did so because of a long silence
	NameTaken      = "name_taken"       // the name is a conversation's, or leads elsewhere
	TooManyNames   = "too_many_names"   // the conversation has as many as it can have
	OptedOut       = "opt_out"          // the person wants no more messages of the bot
	Stopped        = "stopped"          // a stop word closed what its sender had waiting
	Withdrawn      = "withdrawn"        // certainly not delivered, and overtaken
	UnknownOutcome = "unknown_outcome"  // nobody knows whether it was delivered
	Crashed        = "worker_lost"      // its holder's lease ran out
	HandedBack     = "handed_back"      // its holder gave the lease back, so that another node goes on
	Throttled      = "turns_per_minute" // the ceiling was reached
	Replaced       = "replaced"         // newer input came within the window of an attempt that was started early
	AtCap          = "max_wait"         // the window ends by its hard cap
	QueueFull      = "queue_full"       // too many replies wait to be sent
	WasEdited      = "edited"           // the input is the change of a message
	NotUnconfirmed = "not_unconfirmed"  // no reply of that turn is unconfirmed
	NotAddressed   = "not_addressed"    // the message is not meant for the bot
	TooOld         = "max_age"          // the message was sent too long ago
	FromBot        = "bot"              // another bot wrote the message
	NotSent        = "not_sent"         // the channel was not given the reply, or that part of it
	NothingNew     = "nothing_new"      // the channel said as much before
	ByChannel      = "by_channel"       // the channel reported it after it had taken the reply
	ByOperator     = "by_operator"      // an operator sent the reply again, or marked it as sent
	SentElsewhere  = "sent_elsewhere"   // a person sent the reply without us
	HumanReplied   = "human_reply"      // a person's reply asked for a pause
)

// Ending is the way in which a turn ended. It is the reason of its
// [KindTurnEnded].
type Ending string

// The endings.
const (
	EndedSent        Ending = "sent"        // its reply was delivered, all parts of it
	EndedSilent      Ending = "no_reply"    // the responder chose not to reply
	EndedClosed      Ending = "closed"      // a person settled its messages: nothing was sent
	EndedStopped     Ending = "stopped"     // a person cut its reply in the middle, which is partial
	EndedDeleted     Ending = "deleted"     // its messages were deleted by their authors, or the whole conversation was
	EndedReset       Ending = "reset"       // the conversation began afresh
	EndedFailed      Ending = "failed"      // it was given up
	EndedUndelivered Ending = "undelivered" // its reply did not certainly arrive as a whole, or was withdrawn
)

// Status is the state of an input or a reply in the transcript.
type Status string

// The statuses. The first eight are of messages, the others of replies.
const (
	InputPending   Status = "pending"
	InputAnswered  Status = "answered"
	InputClosed    Status = "closed"    // settled without a reply
	InputFailed    Status = "failed"    // set aside: see [SetAside]
	InputDismissed Status = "dismissed" // set aside, and then closed by a person: no prompt ever holds it
	InputDeleted   Status = "deleted"   // by its author; the text is gone
	InputContext   Status = "context"   // it is context: no input, and never answered
	InputEarly     Status = "early"     // an edit that is kept for a message: see [EarlyEdit]

	ReplyCommitted Status = "committed" // on its way
	ReplySent      Status = "sent"
	ReplyPartial   Status = "partial" // some parts were delivered, the rest was given up
	ReplyFailed    Status = "undelivered"
	ReplyUnknown   Status = "unknown"   // nobody knows
	ReplyWithdrawn Status = "withdrawn" // certainly not delivered, and overtaken
	ReplyNone      Status = "no_reply"  // the responder chose not to reply
)

// Settle marks the pending inputs with From < version <= Through, all of which
// have a sequence greater than AfterSeq. Reopen turns failed ones back into
// pending ones.
type Settle struct {
	AfterSeq, From, Through int64
	Status                  Status
	ReplySeq                int64 // the reply that answers them, 0 if none does
	Reopen                  bool
}

// Mark sets the status of a reply in the transcript.
type Mark struct {
	Seq    int64
	Status Status
	Reason string
}

// Progress is how far a reply has come, for its entry in the transcript.
type Progress struct {
	Seq       int64
	Delivered int      // parts that certainly reached the person, of a reply that ended without all of them
	Receipts  Receipts // that came while it was sent; of a settled reply, all
	Again     bool     // it was sent again: failures from before do not count
}

// Effects is what Step asks of its caller, besides storing the record. The caller
// first makes one write of the record and the fields that belong to it. Only when
// that write is durable does it carry out the actions and pass on the notices.
type Effects struct {
	Outcome Outcome
	Reason  string

	// Changed: the record must be written, and its wake-up set, even where it
	// equals the old one. Where it is false there is nothing to write.
	Changed bool

	// Part of the same write as the record.
	AppendInput   bool    // the message, at Record.Seq
	AppendContext bool    // the message, at Record.Seq, as context
	AppendReply   int64   // a reply, at this sequence; 0: none
	AppendReset   int64   // the mark of a reset, at this sequence; 0: none
	AppendEarly   int64   // an edit that is kept, or the claim of a deletion, at this sequence; 0: none
	DropEarly     []int64 // the texts of these kept edits are to be removed
	AppendClaim   int64   // what claims the id of a reply from outside, at this sequence; 0: none
	ResetReason   string
	AppendName    int64 // that a name was adopted, at this sequence; 0: none was
	Settles       []Settle
	Marks         []Mark
	Progress      []Progress

	// Work for the node that made the write. Actions are hints: a crash that loses
	// them loses time only, because the record's wake-up leads to them again.
	Actions []Action

	// What happened, for people and programs that watch.
	Notices []Notice
}

// Answers reports whether the reply that the step commits answers a message with this
// version: one that is settled with the commit.
func (e Effects) Answers(version int64) bool {
	return slices.ContainsFunc(e.Settles, func(s Settle) bool {
		return s.ReplySeq != 0 && s.ReplySeq == e.AppendReply && s.From < version && version <= s.Through
	})
}

// Action is an effect that is carried out after the write.
type Action interface{ action() }

// Run starts the responder on the inputs that wait.
type Run struct {
	Lease    Lease
	Turn     int64
	Attempt  int // number within the turn, from 1
	Early    bool
	Through  int64
	AfterSeq int64
	Part     Part
}

// Cancel ends the attempt that runs under the nonce, wherever it runs.
type Cancel struct {
	Nonce  string
	Reason string
}

// Send delivers one part of the current reply.
type Send struct {
	Lease Lease
	Reply Reply
}

// Show tells people that a reply takes longer. It is tried once.
type Show struct {
	Sign Sign
	Turn int64
}

func (Show) action()   {}
func (Run) action()    {}
func (Cancel) action() {}
func (Send) action()   {}

// Kind names a notice, in the past tense, as the event stream shows it.
type Kind string

// The kinds.
const (
	KindMessageAccepted     Kind = "message.accepted"
	KindMessageErased       Kind = "message.erased"   // its author deleted a message that waits for no answer
	KindMessageRecorded     Kind = "message.recorded" // its author edited one
	KindTurnScheduled       Kind = "turn.scheduled"
	KindTurnStarted         Kind = "turn.started"
	KindReplyDiscarded      Kind = "reply.discarded"
	KindReplyCommitted      Kind = "reply.committed"
	KindReplySent           Kind = "reply.sent"
	KindReplyFailed         Kind = "reply.failed"
	KindTurnFailed          Kind = "turn.failed"
	KindTurnEnded           Kind = "turn.ended" // told once for each turn; its reason is an [Ending]
	KindConversationPaused  Kind = "conversation.paused"
	KindConversationResumed Kind = "conversation.resumed"
	KindConversationReset   Kind = "conversation.reset"
	KindConversationMoved   Kind = "conversation.moved"

	// These do not occur in an ordinary turn.
	KindMessageRepeated Kind = "message.repeated" // a message was delivered again; whoever claims ids tells it, not Step
	KindAttemptFailed   Kind = "attempt.failed"   // an attempt gave no result
	KindPartSent        Kind = "part.sent"        // one of several parts was delivered
	KindPartFailed      Kind = "part.failed"      // a part was certainly not delivered
	KindPartUnknown     Kind = "part.unknown"     // nobody knows whether a part was delivered
	KindLeaseLost       Kind = "lease.lost"       // a holder was lost while it sent
	KindTurnRequeued    Kind = "turn.requeued"    // a failed turn is tried again
	KindReplyResent     Kind = "reply.resent"     // an operator has a reply sent again
	KindReplyMarked     Kind = "reply.marked"     // an operator marked a reply as sent
)

// Notice says what happened, in one line. It carries numbers and times but no
// texts of messages, so it can be kept beside the record for as long as people
// want to look back. Fields that do not apply are zero.
type Notice struct {
	Kind    Kind   `json:"kind"`
	At      Time   `json:"at"`
	Reason  string `json:"reason,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
	Token   int64  `json:"token,omitempty"`
	Version int64  `json:"version,omitempty"` // the conversation's, at that moment
	Through int64  `json:"through,omitempty"` // what the attempt or the reply had seen
	Due     Time   `json:"due,omitempty"`
	Seq     int64  `json:"seq,omitempty"` // the entry in the transcript
	Attempt int    `json:"attempt,omitempty"`
	Part    int    `json:"part,omitempty"`       // parts delivered so far; of a part that failed or is unknown: its number, from 1
	Parts   int    `json:"parts,omitempty"`      // of the reply; 0: the responder chose not to reply
	Since   Time   `json:"since,omitempty"`      // when the first input that waited was accepted
	Early   bool   `json:"early,omitempty"`      // of an attempt: it began before the end of its window
	Late    bool   `json:"late_input,omitempty"` // the reply was committed for what it saw, although newer input existed
	Holder  string `json:"holder,omitempty"`     // of a lease that was taken or lost

	MessageID string `json:"message_id,omitempty"` // of a message that was delivered again
	FirstByte Time   `json:"first_byte,omitempty"` // when the attempt gave the first piece of its text
}

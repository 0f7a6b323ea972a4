package turn

import "time"

// Event is something that happened: an input, an action of an operator, a wake-up,
// or the result of work that was done under a lease. Events of lease holders carry
// the nonce of their lease. If that is no longer the live one, the event changes
// nothing.
type Event interface{ event() }

// Message is a new message. Its id was never seen before in this conversation: the
// write that stores the record claims the id.
type Message struct {
	Quiet  time.Duration // quiet time to wait after it; 0 means the policy's debounce
	Media  bool          // it has an attachment that is still being processed
	Closes Ending        // it is a reset word: it settles all that waits, itself included, and the turn ends so
	Early  int64         // the edit that was kept for it: see [EarlyEdit]; 0: there is none

	// These may keep it from being answered: see context.go.
	SentAt      Time // when it was sent, 0: not known
	Context     bool // it is context, and never answered
	Unaddressed bool // it is not meant for the bot
	Bot         bool // another bot wrote it

	Bytes int // its size: see waiting_bytes.go

	Address string // the name under which it came, where that is not the conversation's key
}

// Edit is a change of a message's text or attachments. The caller has seen in the
// transcript that the message is pending; the record alone can't tell that for
// each message. The same holds for a Delete.
type Edit struct {
	Target   int64 // version of the last input that touched the message
	HadMedia bool  // it was waiting for an attachment
	HasMedia bool  // it still is
	Bot      bool  // another bot wrote it
	Bytes    int   // its size: see waiting_bytes.go
	Had      int   // its size before
	Seq      int64 // its entry in the transcript, for the notice only
}

// Delete is the deletion of a message.
type Delete struct {
	Target   int64 // version of the last input that touched the message
	HadMedia bool  // it was waiting for an attachment
	Had      int   // its size
	Seq      int64 // its entry in the transcript, for the notice only
}

// Early is the edit, or the deletion, of a message that has not come; the caller has
// seen that in the transcript.
type Early struct {
	Seq     int64 // the edit that is kept for the same message already; 0: there is none
	Deleted bool
	Bytes   int // the size of the edit, with what is kept of that one
}

// SetAsideChanged is the edit, or the deletion, of a message that was set aside;
// the caller has seen that in the transcript. It changes what a requeue brings
// back, and nothing that is to be answered now. So it is no input, and the version
// stays.
type SetAsideChanged struct {
	Target  int64 // version of the last input that touched the message
	Deleted bool
	Bytes   int   // its size; 0 where it is deleted
	Had     int   // its size before
	Seq     int64 // its entry in the transcript, for the notice only
}

// SettledChanged is the edit, or the deletion, of a message for whose answer nobody
// waits: it was answered or closed, or is context. The caller has seen that in the
// transcript. It changes what is shown and told from then on, and nothing that is to be
// answered. So it is no input: the version stays, no turn opens, and nothing under way
// learns of it.
type SettledChanged struct {
	Deleted bool
	Seq     int64 // its entry in the transcript, for the notice only
}

// StopWord is a message, or the edit of one, whose whole text is a stop word. It
// closes what its sender has waiting, itself first, and waits for no reply. The
// caller has read in the transcript what waits, and who sent it.
type StopWord struct {
	Edited int64     // version of the message that was edited; 0: it is a new message
	Seq    int64     // of an edited message: its entry, for the notice only
	Own    []Waiting // what its sender has waiting, in the order of versions; with an edited message
	Shared bool      // the attempt, or the reply, under way answers a message of somebody else
	OptOut bool      // it pauses the conversation too
	Early  int64     // of a new message: the edit that was kept for it: see [EarlyEdit]; 0: there is none
	SentAt Time      // of a new message: when it was sent, 0: not known

	Address string // of a new message: the name under which it came, where that is not the conversation's key
}

// Waiting is a message that waits for its answer.
type Waiting struct {
	Version int64 `json:"version"`         // of the last input that touched it
	Media   bool  `json:"media,omitempty"` // it waits for an attachment
	Bytes   int   `json:"bytes,omitempty"` // its size
}

// Typing says that the person is writing. It changes no version.
type Typing struct {
	For time.Duration // 0 means one debounce
}

// Flush ends the quiet time, and any back-off, now.
type Flush struct{}

// Pause hands the conversation to a human: nothing is generated or sent. A second
// one takes the place of the first.
type Pause struct {
	Reason string
	For    time.Duration // it ends by itself after so long; 0: it does not
}

// OptOut is a person who wants no more messages of the bot: a pause of its own, which
// stands beside one that people make.
type OptOut struct{}

// OptIn ends the pause of an opt-out, and only that.
type OptIn struct{}

// Resume gives the conversation back to the bot. Answer tells whether the messages
// that wait are still to be answered; otherwise they are closed.
type Resume struct{ Answer bool }

// HumanReply is a reply from outside: a person wrote it, or a program in their place. It
// is delivered, and settles the messages that wait up to now.
type HumanReply struct {
	Parts    int
	Beside   bool          // it settles nothing: a notification, say, beside the turns
	Sent     bool          // it was sent elsewhere, and is only recorded
	Claims   bool          // its caller gave it an id, which is claimed by an entry of its own
	PauseFor time.Duration // the bot is silent for so long; 0: it need not be
}

// Reset begins afresh: it closes all messages that wait, and prompts know nothing any
// more of what was said before.
type Reset struct{ Reason string }

// LeadName makes a name, whose record it is applied to, an alias of the conversation with
// the original name To. Fresh: the name must lead nowhere else.
type LeadName struct {
	To    string
	Fresh bool
}

// FreeName frees a name that leads to the conversation From.
type FreeName struct{ From string }

// ClaimName says that a move is about to make the name an alias; "" takes that back.
type ClaimName struct{ Name string }

// AdoptName says that the name leads here; "" stands for the original name. Key: it is the
// conversation's key from now on.
type AdoptName struct {
	Name string
	Key  bool
}

// DropName says that the name is about to lead here no more.
type DropName struct{ Name string }

// Requeue tries a failed turn again.
type Requeue struct{}

// Resend sends an unconfirmed reply again, under the same id, from the first part
// on that was not certainly delivered. It waits for the end of work under way. It
// goes out under a pause too; but if the pause keeps another reply, it waits
// behind that one for the resume.
type Resend struct{ Turn int64 }

// MarkSent says that an unconfirmed reply reached the person after all, or that
// nobody needs to care.
type MarkSent struct{ Turn int64 }

// Report is what a channel says of a reply that it has taken. The caller has found the
// reply in the transcript; the record knows more of one that is on its way.
type Report struct {
	Turn, Seq int64
	Texts     int // its parts
	Sends     int // how many sends it took: one for each part, or one for all
	Status    Status
	Receipts  Receipts // those that are known

	ID      string // the channel's, of the part; "": it did not say
	Part    int    // from 1; 0: all that were sent
	Receipt Receipt
	Reason  string // of a failure
}

// Seal says that an agent is about to do something irreversible: its attempt must
// not be discarded from here on.
type Seal struct{ Token int64 }

// Wake is a worker that looks at the conversation, because its timer fired. It may
// come too early, too late, or for nothing.
type Wake struct {
	Holder string // name of the worker's node
	Nonce  string // for the lease that it takes, if it takes one
	Alone  bool   // no other process can hold a lease: take a held one over at once
	Lone   bool   // nothing else runs on the node, nor begins there until an attempt that begins now has ended
	First  int64  // the least token to give out where none was given out before; 0 means 1
	Moved  bool   // the timer was moved by a claim: write it again, also where there is nothing to do
}

// CheckSign says that the moment of a sign of life has come: see sign.go. Anybody may check
// at any time. It takes no lease and begins no attempt, so it needs no free worker: where all
// are busy, people wait the longest.
type CheckSign struct{}

// Renew extends the lease.
type Renew struct{ Nonce string }

// HandBack gives the lease back before the work is done, so that another node
// goes on at once. It must not be used while a send is under way.
type HandBack struct {
	Nonce     string
	FirstByte Time
}

// Interrupted says that the holder ended its attempt because of newer input.
type Interrupted struct {
	Nonce     string
	FirstByte Time
}

// Generated is an attempt's result.
type Generated struct {
	Nonce     string
	Parts     int       // 0: the responder chose not to reply
	FirstByte Time      // when the responder gave the first piece of its text, 0 if it gave none; for the notice only
	Waiting   []Waiting // the messages that waited when it began, by version
}

// Fault is the kind of a failed attempt.
type Fault string

// The faults.
const (
	Outage   Fault = "outage"       // nobody was there to answer: waited out, uses up no attempt
	Failure  Fault = "failure"      // the call failed: uses up one attempt
	Rejected Fault = "rejected"     // the call can never succeed: uses up all attempts at once
	Refused  Fault = "refused"      // the model does not take what the prompt holds: see refused.go
	TooLarge Fault = "prompt_bytes" // the prompt has more bytes than it may, and the model was not asked: likewise
)

// GenerateFailed is an attempt that gave no result.
type GenerateFailed struct {
	Nonce  string
	Fault  Fault
	Text   string        // for people to read
	After  time.Duration // earliest retry that the responder asked for, 0 if none
	Jitter int           // 0 to 999, drawn evenly: spreads the back-off

	FirstByte Time
	Waiting   []Waiting // the messages that waited when it began, by version
	History   bool      // its prompt held a history
}

// Sent says that the current part was delivered.
type Sent struct {
	Nonce string
	Part  int           // which one, from 0
	ID    string        // the channel's; "": it gave none
	Pause time.Duration // before the next part, as long as a person would write at it
}

// SendFailed says that the current part was certainly not delivered.
type SendFailed struct {
	Nonce   string
	Part    int
	ForGood bool // trying again is pointless
	Text    string
	After   time.Duration // the pause that the receiver asked for, 0 if none
	Jitter  int
}

// SendUnknown says that nobody knows whether the current part was delivered.
type SendUnknown struct {
	Nonce  string
	Part   int
	Text   string
	Jitter int
}

func (Message) event()         {}
func (Edit) event()            {}
func (Delete) event()          {}
func (Early) event()           {}
func (SetAsideChanged) event() {}
func (SettledChanged) event()  {}
func (StopWord) event()        {}
func (Typing) event()          {}
func (Flush) event()           {}
func (Pause) event()           {}
func (OptOut) event()          {}
func (OptIn) event()           {}
func (Resume) event()          {}
func (HumanReply) event()      {}
func (Reset) event()           {}
func (LeadName) event()        {}
func (FreeName) event()        {}
func (ClaimName) event()       {}
func (AdoptName) event()       {}
func (DropName) event()        {}
func (TakeDuty) event()        {}
func (Spend) event()           {}
func (Requeue) event()         {}
func (Resend) event()          {}
func (MarkSent) event()        {}
func (Report) event()          {}
func (Seal) event()            {}
func (Wake) event()            {}
func (CheckSign) event()       {}
func (Renew) event()           {}
func (HandBack) event()        {}
func (Interrupted) event()     {}
func (Generated) event()       {}
func (GenerateFailed) event()  {}
func (Sent) event()            {}
func (SendFailed) event()      {}
func (SendUnknown) event()     {}

// Mode is what a newer input does to a running attempt.
type Mode string

// The modes.
const (
	Interrupt Mode = "interrupt" // ends the attempt as soon as its holder learns of the input
	Discard   Mode = "discard"   // lets it end, then discards it
	Finish    Mode = "finish"    // lets it end and sends it for what it saw
)

// Policy is a bot's settings, as far as they decide anything.
type Policy struct {
	Debounce       time.Duration // quiet time after the last input; 0 or more
	MaxWait        time.Duration // hard cap of the window, from the first waiting input; 0 or more
	OnNewInput     Mode          // "" means Interrupt
	MaxDiscards    int           // discards after which a reply is sent for what it saw; 0 or more
	Lease          time.Duration // how long a lease lasts unrenewed; more than 0
	MediaWait      time.Duration // longest wait for a message's attachments
	MaxAttempts    int           // failed attempts after which the turn fails; at least 1
	ResendUnknown  bool          // send again where the outcome is unknown; otherwise leave it
	RetryFor       time.Duration // how long certain send failures are tried again
	Fallback       bool          // a text stands in for a failed turn
	DelayAfter     time.Duration // people are told once that a reply takes longer than this; 0: never
	OutageAfter    time.Duration // they are told once that the model is out of reach for so long; 0: never
	Refusal        bool          // another one stands in where the model refused all that waited
	EarlyAttempts  int           // attempts of a turn that may start before the end of its window; 0: none
	NoSendUntil    Time          // the receiver asked for a pause that holds for the whole bot; 0: it did not
	SessionIdle    time.Duration // a message after so long a silence begins afresh; 0: never
	WaitingBytes   int           // bytes that may wait; 0: no bound
	PromptBytes    int           // bytes of the messages of one prompt, but for a single larger one; 0: no bound
	Daily          DailyBudget   // what it may use up in a day: see daily_budget.go
	TurnsPerMinute int           // attempts that may start in a minute, after which it rests for one; 0: no ceiling
	Observe        bool          // messages that are not meant for the bot are kept as context
	MaxAge         time.Duration // older messages are context; 0: no limit
	MaxBotTurns    int           // replies that other bots get until a person writes; 0: none
}

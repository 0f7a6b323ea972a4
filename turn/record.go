package turn

import (
	"slices"
	"time"
)

// Schema is the version of the [Record] layout that this package writes. A program
// must refuse a record with a newer one.
const Schema = 1

// Time is an instant of the store's clock, in milliseconds since the Unix
// epoch. Zero means "not set".
type Time int64

// At converts t to a Time, dropping what is finer than a millisecond.
func At(t time.Time) Time { return Time(t.UnixMilli()) }

// Add returns t moved by d, in whole milliseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// Go converts t to a time.Time in UTC; the zero Time gives the zero time.Time.
func (t Time) Go() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Phase is where a conversation stands between two replies.
type Phase string

// The phases. Paused is never stored: it is what [Record.Shown] reports while
// a pause covers one of the others.
const (
	Idle       Phase = "idle"       // nothing waits
	Collecting Phase = "collecting" // inputs wait for the end of the debounce window, or for the next try
	Generating Phase = "generating" // a worker runs the responder under a lease
	Sending    Phase = "sending"    // a committed reply is on its way
	Failed     Phase = "failed"     // the turn was given up; the next input or a requeue starts again
	Paused     Phase = "paused"     // shown while a human has the conversation
	Alias      Phase = "alias"      // no conversation, but a name that leads to one
)

// Lease is the right to work on one conversation. It is taken with the attempt and
// kept until the reply is sent. Only the nonce gives that right: a worker whose
// nonce is not the one in the record changes nothing and sends nothing, even if it
// wakes up an hour later. The expiry only tells others when they may take over;
// safety never rests on a clock.
type Lease struct {
	Holder  string `json:"holder,omitempty"`  // the node, for people to read
	Nonce   string `json:"nonce,omitempty"`   // unique for each lease ever taken
	Token   int64  `json:"token,omitempty"`   // grows with each lease of the conversation
	Expires Time   `json:"expires,omitempty"` // when others may take over
	Lone    bool   `json:"lone,omitempty"`    // of an attempt: nothing else runs on its node: see culprit.go
}

// Lost counts workers whose lease ran out over the same work, in a row. The count bounds
// how often that work is tried again; of attempts only the lone ones do. Holder and At are
// for people: they look for the cause on the node that was lost last.
type Lost struct {
	Count  int    `json:"count,omitempty"`
	Lone   int    `json:"lone,omitempty"`   // of attempts: those of them that ran alone
	Holder string `json:"holder,omitempty"` // of the last lease that ran out
	At     Time   `json:"at,omitempty"`     // when another worker found that
}

// more is l with one more worker.
func (l Lost) more(holder string, at Time) Lost {
	return Lost{Count: l.Count + 1, Lone: l.Lone, Holder: holder, At: at}
}

// Reply is a committed reply that is not settled yet. Its text is in the
// transcript, under Seq.
//
// If the reply is taken back, its inputs are answered afresh, except where people
// decided otherwise meanwhile: with Settled all of them are closed, and with Stopped
// those in it.
type Reply struct {
	Turn       int64  `json:"turn"`                  // the reply's id is conversation/turn
	Seq        int64  `json:"seq"`                   // its entry in the transcript
	Through    int64  `json:"through"`               // the version that it answers; of a reply beside the turns, the version that attempts had seen before it
	From       int64  `json:"from,omitempty"`        // the version answered before it
	AfterSeq   int64  `json:"after_seq,omitempty"`   // the inputs that it answers have a greater sequence
	ThroughSeq int64  `json:"through_seq,omitempty"` // the last sequence in use when its prompt was read
	Rest       int64  `json:"rest,omitempty"`        // of a reply to a part of what waited: the version then
	Parts      int    `json:"parts"`                 // how many sends it takes, at least 1
	Done       int    `json:"done,omitempty"`        // how many of them are certainly delivered
	Kind       string `json:"kind,omitempty"`        // one of the Reply… constants
	Sealed     bool   `json:"sealed,omitempty"`      // must not be withdrawn: something irreversible was done
	Late       bool   `json:"late,omitempty"`        // committed for what it saw, although newer input existed
	Cut        string `json:"cut,omitempty"`         // why the part that is on its way is the last; "": it is not
	Unsure     bool   `json:"unsure,omitempty"`      // a send of the current part has an unknown outcome
	Settled    int64  `json:"settled,omitempty"`     // people settled all other inputs up to this version; 0: they did not
	Fresh      bool   `json:"fresh,omitempty"`       // it is sent again although its channel took it before: no repeat
	Tries      int    `json:"tries,omitempty"`       // failed sends since the last delivered part
	Lost       Lost   `json:"lost,omitzero"`         // workers that were lost while they sent the current part
	Since      Time   `json:"since,omitempty"`       // when the reply was committed
	RetryAt    Time   `json:"retry_at,omitempty"`    // when to send next, where no lease is held

	Stopped  []Waiting `json:"stopped,omitempty"`  // those of its inputs whose sender said a stop word
	Receipts Receipts  `json:"receipts,omitempty"` // the channel's reports about its parts, so far
	Failure  string    `json:"failure,omitempty"`  // why a part failed, as the channel said
}

// What a reply is.
const (
	ReplyAnswer   = ""         // from the responder
	ReplyHuman    = "human"    // from a person; it is sent also while the conversation is paused
	ReplyFallback = "fallback" // the text that stands in for a failed turn; it answers nothing
	ReplyRefusal  = "refusal"  // the same, for a turn all of whose messages the model refused
	ReplyBeside   = "beside"   // from a person, beside the turns: it settles nothing; it too is sent under a pause
	ReplyResend   = "resend"   // an unconfirmed reply that an operator has sent again; it goes out under a pause too, and answers nothing anew
)

// DespitePause reports whether the reply goes out under a pause too: only a reply
// that a human wrote, or has sent again, does.
func (r Reply) DespitePause() bool { return r.Kind == ReplyHuman || r.beside() }

// beside reports whether the reply stands beside the turns: it settles nothing, and the
// window, or the failed turn, that it interrupts goes on afterwards.
func (r Reply) beside() bool { return r.Kind == ReplyBeside || r.Kind == ReplyResend }

// answers reports whether the reply is the responder's, to an input of this version.
func (r Reply) answers(version int64) bool {
	return r.Kind == ReplyAnswer && r.From < version && version <= r.Through
}

// standsIn reports whether the reply stands in for one that a turn did not give.
func (r Reply) standsIn() bool { return r.Kind == ReplyFallback || r.Kind == ReplyRefusal }

// clone copies what a Record shares with its copies.
func (r Record) clone() Record {
	if r.Reply != nil {
		reply := *r.Reply
		reply.Stopped = append([]Waiting(nil), reply.Stopped...)
		r.Reply = &reply
	}
	if r.SetAside != nil {
		setAside := *r.SetAside
		r.SetAside = &setAside
	}
	r.Queue = append([]Reply(nil), r.Queue...)
	r.Unconfirmed = append([]Unconfirmed(nil), r.Unconfirmed...)
	r.Names.Aliases = append([]string(nil), r.Names.Aliases...)
	r.Early = append([]EarlyEdit(nil), r.Early...)
	r.Names.Dropped = append([]string(nil), r.Names.Dropped...)
	return r
}

// Record is all that is remembered of a conversation, except its texts, which
// are in the transcript. The zero Record is a conversation of which nothing was
// ever received.
//
// Versions count inputs. Each input that is accepted makes Version one greater;
// Answered is the version up to which inputs are settled; what lies between is
// pending. Sequences number the entries of the transcript, messages and replies
// alike. Versions decide; sequences only tell where to read.
//
// A turn goes through the parts of the record from top to bottom. Inputs open
// the Window. When it ends, a worker takes the Lease, and the Attempt notes what
// its prompt held. Tries counts what went wrong, so that a turn ends one way or
// another. The attempt's text becomes the Reply, which is sent under the same lease.
// Replies and inputs that need a person are kept in Unconfirmed and SetAside.
type Record struct {
	Schema      int    `json:"schema"`
	Phase       Phase  `json:"phase"`
	PauseReason string `json:"pause_reason,omitempty"`
	OnHold      bool   `json:"on_hold,omitempty"` // paused: nothing is generated, nothing of the responder is sent

	// The two reasons for a pause. They end separately: that of people by a person or when
	// its time is over, an opt-out by an opt-in word. A resume ends both.
	WithPeople  bool `json:"with_people,omitempty"`
	OptedOut    bool `json:"opted_out,omitempty"`
	PausedUntil Time `json:"paused_until,omitempty"` // when the pause of people ends by itself; 0: it does not

	Version  int64 `json:"version"`             // inputs accepted so far
	Answered int64 `json:"answered"`            // the version up to which inputs are settled
	Pending  int   `json:"pending,omitempty"`   // messages that the next prompt would hold
	Turn     int64 `json:"turn,omitempty"`      // number of the current turn, or of the last one
	Beside   int64 `json:"beside,omitempty"`    // how many numbers after that were given to replies beside the turns
	Seq      int64 `json:"seq,omitempty"`       // the last sequence given out
	AfterSeq int64 `json:"after_seq,omitempty"` // every pending input has a greater sequence

	FreshAfter int64 `json:"fresh_after,omitempty"` // the history of prompts begins after this sequence, which is that of the last reset
	SaidAt     Time  `json:"said_at,omitempty"`     // when somebody said something last, where the policy has a SessionIdle

	PendingBytes int `json:"pending_bytes,omitempty"` // the size of the pending messages: see waiting_bytes.go

	Window  Window      `json:"window,omitzero"`
	Lease   Lease       `json:"lease,omitzero"`
	Token   int64       `json:"token,omitempty"` // the last one given out
	Attempt Attempt     `json:"attempt,omitzero"`
	Tries   Tries       `json:"tries,omitzero"`
	Minute  MinuteCount `json:"minute,omitzero"`
	Bots    BotTurns    `json:"bots,omitzero"`

	Reply       *Reply        `json:"reply,omitempty"`         // it is being sent
	NoSendUntil Time          `json:"no_send_until,omitempty"` // the receiver asked for a pause: nothing is sent before
	Queue       []Reply       `json:"queue,omitempty"`         // replies of people, which wait until nothing else is under way
	StoodIn     bool          `json:"stood_in,omitempty"`      // a text stood in for a reply, and no turn has succeeded since
	Signs       Signs         `json:"signs,omitzero"`          // which signs of life people were given
	Unconfirmed []Unconfirmed `json:"unconfirmed,omitempty"`   // replies that need somebody, oldest first
	SetAside    *SetAside     `json:"set_aside,omitempty"`     // inputs that need somebody
	SentParts   []SentPart    `json:"sent_parts,omitempty"`    // the last ones to which the channel gave an id: see sent_part.go

	Duty      Duty        `json:"duty,omitzero"`       // see duty.go
	Spent     Spent       `json:"spent,omitzero"`      // see daily_budget.go
	LeadsTo   string      `json:"leads_to,omitempty"`  // of an alias: the original name of the conversation to which it leads
	Names     Names       `json:"names,omitzero"`      // see names.go
	Early     []EarlyEdit `json:"early,omitempty"`     // edits that are kept for messages that have not come
	Retracted bool        `json:"retracted,omitempty"` // a deletion has claimed the id of a message that had not come
}

// Window is the debounce window: how long pending inputs wait for more before an
// attempt answers them together. Due is computed from the rest whenever one of
// them changes; see schedule.
type Window struct {
	WaitingSince Time `json:"waiting_since,omitempty"` // when the first pending input was accepted; the hard cap counts from here
	Start        Time `json:"start,omitempty"`         // of this window: the same, or the end of what came before it, such as a discard
	QuietUntil   Time `json:"quiet_until,omitempty"`   // the last input + its quiet time
	MediaUntil   Time `json:"media_until,omitempty"`   // longest wait for announced attachments
	NotBefore    Time `json:"not_before,omitempty"`    // the end of a back-off
	Due          Time `json:"due,omitempty"`           // when the window ends
	Early        Time `json:"early,omitempty"`         // when an attempt is to begin before that: see early_start.go; 0: none is
	SignAt       Time `json:"sign_at,omitempty"`       // when to look whether people are to be told that it takes longer
	Media        int  `json:"media,omitempty"`         // pending messages with an attachment still being processed
}

// Attempt is what an attempt has seen and what came after it. While a reply is
// being sent it is the same for that reply: its prompt was read at Through.
type Attempt struct {
	Through    int64 `json:"through,omitempty"`     // the version when it began: its prompt holds the inputs up to it
	ThroughSeq int64 `json:"through_seq,omitempty"` // the last sequence then
	Newer      int   `json:"newer,omitempty"`       // pending messages that it has not seen as they are
	NewerBytes int   `json:"newer_bytes,omitempty"` // the size of these
	NewerSince Time  `json:"newer_since,omitempty"` // when the first of these was accepted
	Edited     bool  `json:"edited,omitempty"`      // a message of its prompt was edited since
	Early      bool  `json:"early,omitempty"`       // it began before the end of its window, and is not committed before it
	Sealed     bool  `json:"sealed,omitempty"`      // it must not be discarded: something irreversible was done
	Part       Part  `json:"part,omitzero"`         // which of the waiting messages its prompt held
	Outdated   bool  `json:"outdated,omitempty"`    // a message that waited was edited or deleted since
}

// over is what stays of an attempt when it has ended: how far it had seen.
func (a Attempt) over() Attempt { return Attempt{Through: a.Through, ThroughSeq: a.ThroughSeq} }

// Tries counts how the attempts of a turn ended. Each count has a bound in the
// [Policy], so that no turn goes on for ever.
type Tries struct {
	Discards  int    `json:"discards,omitempty"` // attempts discarded because of newer input
	Runs      int    `json:"runs,omitempty"`     // attempts started
	Early     int    `json:"early,omitempty"`    // those of them that were started early
	Attempts  int    `json:"attempts,omitempty"` // attempts that failed, or are running
	Lost      Lost   `json:"lost,omitzero"`      // workers that were lost over it
	Outages   int    `json:"outages,omitempty"`  // times in a row that the model could not be reached
	LastError string `json:"last_error,omitempty"`
	Search    Search `json:"search,omitzero"` // for a message that the model refuses
}

// MinuteCount counts the attempts of a conversation for the ceiling on turns per
// minute.
type MinuteCount struct {
	Start Time `json:"start,omitempty"`
	Runs  int  `json:"runs,omitempty"`
}

// Exists reports whether anything was ever received.
func (r Record) Exists() bool { return r.Schema != 0 }

// Shown is the phase as people see it.
func (r Record) Shown() Phase {
	switch {
	case r.OnHold:
		return Paused
	case r.Phase == "":
		return Idle
	}
	return r.Phase
}

// Leased reports whether somebody holds the conversation at the time now. A
// lease without an expiry is invalid and counts as expired.
func (r Record) Leased(now Time) bool { return r.Lease.Nonce != "" && now < r.Lease.Expires }

// Wake is the next moment at which a worker must look at the conversation: the
// end of the window, or an early start before it, the expiry of a lease, the next try, or
// the end of a pause. This one timer serves debounce, take-over after a crash, and retry
// alike. It reports false where there is nothing to do until somebody writes.
func (r Record) Wake() (Time, bool) {
	at, wakes := r.wakeForWork()
	if r.PausedUntil != 0 && (!wakes || r.PausedUntil < at) {
		return r.PausedUntil, true
	}
	return at, wakes
}

func (r Record) wakeForWork() (Time, bool) {
	switch {
	case r.Lease.Nonce != "":
		return r.Lease.Expires, true
	case r.Reply != nil && r.mayBeSent():
		return r.NextSend(), true
	case r.Phase == Collecting && !r.OnHold:
		return earliest(r.Window.begins(), r.NextSign()), true
	}
	return 0, false
}

// NextSign is when people may have to be told that it takes longer, 0: never. An attempt
// need not begin then.
func (r Record) NextSign() Time {
	if r.Phase != Collecting || r.OnHold {
		return 0
	}
	return r.Window.SignAt
}

// NextSend is when the current reply is sent next, where no lease is held: after
// its own back-off, and after the pause that the receiver asked for. That pause is
// the receiver's and not the reply's: it outlives a reply that is withdrawn.
func (r Record) NextSend() Time { return max(r.Reply.RetryAt, r.NoSendUntil) }

// LastTurn is the greatest number of a turn that was given out.
func (r Record) LastTurn() int64 { return r.Turn + r.Beside }

// TurnOpen reports whether the turn with a number has begun and not ended. Besides the
// turn of the current window, attempt or reply, the replies of people that wait to be
// sent are turns of their own. A reply that is sent again is not: its turn ended before.
func (r Record) TurnOpen(number int64) bool {
	for _, queued := range r.Queue {
		if queued.Turn == number {
			return true
		}
	}
	if r.Reply != nil && r.Reply.Turn == number && r.Reply.Kind != ReplyResend {
		return true
	}
	return number == r.Turn && r.turnWaits()
}

// OpenTurns is the numbers of the turns that have begun and not ended, in order.
func (r Record) OpenTurns() []int64 {
	candidates := []int64{r.Turn}
	if r.Reply != nil {
		candidates = append(candidates, r.Reply.Turn)
	}
	for _, queued := range r.Queue {
		candidates = append(candidates, queued.Turn)
	}
	slices.Sort(candidates)
	return slices.DeleteFunc(slices.Compact(candidates), func(number int64) bool { return !r.TurnOpen(number) })
}

// turnWaits reports whether the last turn waits for its attempt, or for the end of one.
func (r Record) turnWaits() bool {
	return r.Phase == Collecting || r.Phase == Generating || r.windowInterrupted()
}

// windowInterrupted reports whether a reply beside the turns is being sent while a window
// is open, which goes on afterwards. Only a window has a start.
func (r Record) windowInterrupted() bool {
	return r.Reply != nil && r.Reply.beside() && r.Window.Start != 0
}

// answersQueued reports whether a reply waits to be sent that a person gave to what
// waited.
func (r Record) answersQueued() bool {
	return slices.ContainsFunc(r.Queue, func(reply Reply) bool { return reply.Kind == ReplyHuman })
}

// mayBeSent reports whether the current reply goes out now: under a pause only what
// people want sent does.
func (r Record) mayBeSent() bool { return !r.OnHold || r.Reply.DespitePause() }

// hasNewerInput reports whether inputs were accepted that the attempt has not seen.
func (r Record) hasNewerInput() bool { return r.Version != r.Attempt.Through }

package explore

import (
	"errors"
	"slices"
	"time"

	"github.com/onereply/onereply/turn"
)

// Tick is the unit of time of the explored world, unless its scope says
// otherwise. It is the shortest back-off of the core, so that each of its times
// is a whole number of ticks, and each moment has one before and one after it.
const Tick = 500 * time.Millisecond

// StepFunc is the signature of [turn.Step].
type StepFunc func(turn.Record, turn.Event, turn.Time, turn.Policy) (turn.Record, turn.Effects)

// Budget is how often each thing may happen on one path. Faults counts all
// faults together; the kinds in [Scope.Faults] are allowed.
type Budget struct {
	Inputs      int8 // messages, edits and deletions
	Redelivered int8 // repeats of a message id
	Pauses      int8
	Humans      int8 // replies by a person
	Stops       int8 // stop words, new or by an edit
	Nudges      int8 // flush, typing, requeue
	Seals       int8
	Deletions   int8 // of the whole conversation
	Resends     int8 // a reply in trouble is sent again, or marked as sent
	Resets      int8 // the conversation begins afresh
	Mentions    int8 // messages that are context
	Reports     int8 // the channel says what became of a reply
	Calls       int8 // a name is given, or taken away; only with Names
	Faults      int8
}

// Faults are the kinds of faults that may happen.
type Faults struct {
	Store  bool // a write is slow, or its answer is late, or its outcome unknown
	Worker bool // crash, freeze, hand-back, a claim that dies
	Model  bool // a failure, a rejection, an outage
	Send   bool // a send fails, for now or for good, or nobody knows
	Pause  bool // the receiver asks for a pause, in this conversation or for the whole bot
}

// Scope is one exploration.
type Scope struct {
	Name     string
	Policy   turn.Policy
	Budget   Budget
	Faults   Faults
	Edits    bool // inputs may be edits and deletions
	Early    bool // edits and deletions may come before their message; only with Edits
	Settled  bool // edits and deletions may be of messages that are settled, or context; only with Edits
	Group    bool // two people write
	Holds    bool // a pause ends by itself, and people opt out and in
	Words    bool // messages may be reset words
	Outside  bool // a person's reply may close nothing, be sent elsewhere, or pause the bot
	Media    bool // messages come with an attachment that is still being processed
	MaxParts int  // a reply has 1 to so many parts
	Silence  bool // the responder may choose not to reply
	Bots     bool // a message may be another bot's
	Names    bool // names are explored, and no turn: see names.go
	Duty     bool // a duty is explored, and no turn: see duty.go
	Suspects bool // two conversations are explored, of which one brings down its workers: see suspects.go

	Pace  time.Duration // pause before each further part of a reply
	Alone bool          // there is one worker, and no other process can open the store

	// The model refuses each prompt that holds m2 as it was first written, or more messages
	// than Room (0: any number).
	Refuses bool
	Room    int

	// Tick replaces [Tick] where a minute must be few moments. There must be no
	// back-off then, and nobody who types: neither is a whole number of ticks.
	Tick time.Duration

	Step StepFunc // nil means turn.Step

	flaws flaws
}

// flaws are the ways in which the world around the core can be broken on
// purpose, to show that the checks see it. The zero value is the world as it
// should be.
type flaws struct {
	plainWrite       bool          // the store writes without comparing
	dedupeAfterBump  bool          // a repeated id is found after the version grew
	timerCleared     bool          // the end of a turn overwrites the timer
	timerKept        bool          // a renewal leaves the timer where it was
	renewalAssumed   bool          // a holder takes a renewal for done before it is
	staleFireClears  bool          // a wake-up that comes too early deletes the timer
	timerLate        turn.Phase    // the timer is set a while too late in this phase
	timerInMemory    bool          // only memory holds timers: the store's one is never claimed
	promptReadLate   bool          // the prompt is read at the end of the attempt, whatever the version then
	coversAtCommit   bool          // what a reply covers is computed at commit, not from its prompt
	localClock       time.Duration // the second worker's clock is ahead by so much
	sendUnchecked    bool          // a worker sends without looking at its lease
	unknownIsFailure bool          // a send that timed out is reported as failed
	unknownIsOK      bool          // a write of unknown outcome is taken for applied
	ackBeforeWrite   bool          // the caller is answered before the write
	resendDelivered  bool          // a send always starts with the first part
	lastPartFirst    bool          // a send starts with the last part
	claimsForgotten  bool          // a deletion that comes before its message claims no id
	tokensAnew       bool          // a conversation that was deleted gives out its tokens again
	idsAnew          bool          // a conversation that began afresh forgets the ids of its messages
	namesTrusted     bool          // a node does not look again where a name leads that the conversation does not list
	claimsTrusted    bool          // a claim counts as a name that leads here
	droppedAdopted   bool          // a name that was taken away is listed again with the next request
	doneBeforeStored bool          // a platform is told that updates are done before they are stored
	dutyUnbounded    bool          // a node polls until it is told that the duty is another's
}

// validate reports a scope whose times are no whole numbers of ticks.
func (s *Scope) validate() error {
	if s.Tick != 0 && (s.Faults.Model || s.Faults.Send || s.Budget.Nudges > 0) {
		return errors.New("a scope with a tick of its own must have no back-offs")
	}
	return nil
}

// begin is the first state.
func (s *Scope) begin() state {
	if s.Names {
		return newNameWorld(s)
	}
	if s.Duty {
		return &dutyWorld{scope: s, now: epoch, left: s.Budget}
	}
	if s.Suspects {
		return newSuspectWorld(s)
	}
	return newWorld(s)
}

func (s *Scope) tick() time.Duration {
	if s.Tick != 0 {
		return s.Tick
	}
	return Tick
}

// hold is how far a claim pushes the store's timer.
func (s *Scope) hold() time.Duration { return 2 * s.tick() }

func base(mode turn.Mode) turn.Policy { return baseOf(mode, Tick) }

func baseOf(mode turn.Mode, tick time.Duration) turn.Policy {
	return turn.Policy{
		Debounce: 2 * tick, MaxWait: 3 * tick, OnNewInput: mode, MaxDiscards: 1, Lease: 3 * tick,
		MediaWait: 4 * tick, MaxAttempts: 2, ResendUnknown: true, RetryFor: 3 * tick,
	}
}

// held leaves a send of unknown outcome to an operator.
func held() turn.Policy {
	p := base(turn.Interrupt)
	p.ResendUnknown = false
	return p
}

// observing keeps what is not meant for the bot.
func observing() turn.Policy {
	p := base(turn.Interrupt)
	p.Observe = true
	return p
}

// timely answers nothing that comes too late.
func timely() turn.Policy {
	p := base(turn.Interrupt)
	p.MaxAge = time.Hour
	return p
}

// chatty answers other bots, once until a person writes.
func chatty() turn.Policy {
	p := base(turn.Interrupt)
	p.MaxBotTurns = 1
	return p
}

// fragile sets inputs aside with the first worker that is lost.
func fragile() turn.Policy {
	p := base(turn.Interrupt)
	p.MaxAttempts = 1
	return p
}

// tight lets two messages wait, or one that was edited once: see bytesOf.
func tight() turn.Policy {
	p := base(turn.Interrupt)
	p.WaitingBytes = 2
	return p
}

// small lets a prompt have two messages, or one that was edited: see bytesOf.
func small(mode turn.Mode) turn.Policy {
	p := base(mode)
	p.PromptBytes = 2
	return p
}

// tightFragile is tight, and sets inputs aside with the first worker that is lost.
func tightFragile() turn.Policy {
	p := fragile()
	p.WaitingBytes = 2
	return p
}

// restless is for a person who never stops typing: the cap of the turn can come
// after two debounces, so that what it counts from shows.
func restless() turn.Policy {
	p := base(turn.Discard)
	p.Debounce = Tick
	return p
}

// forgetful begins afresh with a message that comes two quiet times after the last word.
func forgetful() turn.Policy {
	p := base(turn.Interrupt)
	p.SessionIdle = 4 * Tick
	return p
}

// early starts attempts before the end of their window, so many a turn.
func early(mode turn.Mode, attempts int) turn.Policy {
	p := base(mode)
	p.EarlyAttempts = attempts
	return p
}

// patient tells people that it takes longer.
func patient() turn.Policy {
	p := base(turn.Interrupt)
	p.DelayAfter, p.OutageAfter = 4*Tick, Tick
	return p
}

// suspects is a culprit and a bystander on one node.
func suspects() Scope {
	p := base(turn.Interrupt)
	p.Debounce = 0
	return Scope{Name: "a culprit and a bystander on one node", Policy: p, Suspects: true, Tick: time.Second, Budget: Budget{Faults: 4}}
}

// policies are the settings that are explored apart: each changes what is
// allowed, and so what must be checked.
func policies() []Scope {
	eager := base(turn.Interrupt)
	eager.Debounce = 0
	strict := base(turn.Discard)
	strict.MaxDiscards = 0
	return []Scope{
		{Name: "interrupt, 1 discard", Policy: base(turn.Interrupt)},
		{Name: "discard, 1 discard", Policy: base(turn.Discard)},
		{Name: "discard, 0 discards", Policy: strict},
		{Name: "finish", Policy: base(turn.Finish)},
		{Name: "debounce 0", Policy: eager},
		{Name: "unknown sends are held", Policy: held()},
	}
}

// everything allows each kind of fault.
func everything() Faults { return Faults{Store: true, Worker: true, Model: true, Send: true} }

// under gives each policy a budget, and a name that says so.
func under(name string, scope Scope) []Scope {
	list := policies()
	for i, policy := range list {
		list[i] = scope
		list[i].Policy, list[i].Name = policy.Policy, policy.Name+": "+name
	}
	return list
}

// Tiny is what fits into an ordinary test run: every policy with two inputs
// and no fault, and with one input and any one fault.
func Tiny() []Scope {
	return slices.Concat(
		under("2 inputs, no fault", Scope{Budget: Budget{Inputs: 2, Redelivered: 1}, Edits: true}),
		under("1 input, 1 fault", Scope{Budget: Budget{Inputs: 1, Faults: 1}, Faults: everything()}),
		[]Scope{
			{Name: "an early start: 2 inputs, no fault", Policy: early(turn.Interrupt, 1), Budget: Budget{Inputs: 2}, Edits: true},
			{Name: "an early start: 1 input, 1 fault", Policy: early(turn.Interrupt, 1), Budget: Budget{Inputs: 1, Faults: 1}, Faults: everything()},
		})
}

// minute is the settings under which a conversation rests after a turn, and the
// tick that makes a minute four moments.
func minute(scope Scope) Scope {
	scope.Tick = 15 * time.Second
	scope.Policy = baseOf(turn.Interrupt, scope.Tick)
	scope.Policy.TurnsPerMinute = 1
	return scope
}

// overtaken is the settings under which edits and deletions come before their message, and
// the tick that makes the time for which an edit is kept two moments.
func overtaken(scope Scope) Scope {
	scope.Tick = turn.EarlyFor / 2
	scope.Policy = baseOf(turn.Interrupt, scope.Tick)
	scope.Edits, scope.Early = true, true
	return scope
}

// Stated is what docs/proof.md states: each kind of event and of fault, in
// scopes that a person waits for.
func Stated() []Scope {
	first := base(turn.Interrupt)
	spare := base(turn.Interrupt)
	spare.Fallback = true
	slow := patient()
	refused := base(turn.Interrupt)
	refused.Refusal = true
	brittle := fragile()
	brittle.Fallback = true
	return append(
		under("2 inputs, 1 fault", Scope{Budget: Budget{Inputs: 2, Faults: 1}, Faults: everything()}),
		Scope{Name: "3 inputs with edits", Policy: first, Budget: Budget{Inputs: 3, Redelivered: 1}, Edits: true},
		Scope{Name: "no more may wait", Policy: tight(), Budget: Budget{Inputs: 3, Stops: 1}, Edits: true},
		Scope{Name: "no more fits into a prompt", Policy: small(turn.Discard), Budget: Budget{Inputs: 3}, Edits: true},
		Scope{Name: "announced attachments", Policy: first, Budget: Budget{Inputs: 3}, Edits: true, Media: true},
		suspects(),
		Scope{Name: "2 faults of workers", Policy: first, Budget: Budget{Inputs: 2, Faults: 2}, Faults: Faults{Worker: true}},
		Scope{Name: "2 faults of model and channel", Policy: spare, Budget: Budget{Inputs: 2, Faults: 2}, Faults: Faults{Model: true, Send: true}, MaxParts: 2, Silence: true},
		Scope{Name: "the receiver asks for a pause", Policy: first, Budget: Budget{Inputs: 2, Nudges: 1, Faults: 1}, Faults: Faults{Pause: true}, MaxParts: 2},
		Scope{Name: "people are told that it takes longer", Policy: slow, Budget: Budget{Inputs: 2, Faults: 2}, Faults: Faults{Model: true}, Edits: true},
		Scope{Name: "the model refuses a message", Policy: refused, Refuses: true, Budget: Budget{Inputs: 3, Nudges: 1}},
		Scope{Name: "the model refuses a message amid a fault", Policy: refused, Refuses: true, Budget: Budget{Inputs: 2, Faults: 1}, Faults: Faults{Worker: true, Model: true}, Edits: true},
		Scope{Name: "the model takes one message, and no more", Policy: base(turn.Discard), Room: 1, Budget: Budget{Inputs: 2, Faults: 1}, Faults: Faults{Worker: true}, Edits: true},
		Scope{Name: "the responder stays silent", Policy: first, Silence: true, Budget: Budget{Inputs: 2, Faults: 1}, Faults: Faults{Worker: true}, Edits: true},
		Scope{Name: "a human steps in", Policy: first, Budget: Budget{Inputs: 2, Pauses: 1}, MaxParts: 2},
		Scope{Name: "a channel reports afterwards", Policy: held(), Budget: Budget{Inputs: 2, Reports: 2, Faults: 1}, Faults: Faults{Worker: true, Send: true}},
		Scope{Name: "a channel reports a part in doubt", Policy: first, Budget: Budget{Inputs: 1, Reports: 1, Faults: 1}, Faults: Faults{Worker: true, Send: true}, MaxParts: 2},
		Scope{Name: "parts with a pause between them", Policy: first, Budget: Budget{Inputs: 2, Faults: 1}, Faults: Faults{Worker: true, Send: true}, MaxParts: 2, Pace: 2 * Tick},
		Scope{Name: "reset words and deletions end turns", Policy: first, Budget: Budget{Inputs: 3}, Edits: true, Words: true},
		overtaken(Scope{Name: "edits and deletions before their message", Budget: Budget{Inputs: 3, Redelivered: 1}}),
		Scope{Name: "edits and deletions of settled messages", Policy: first, Budget: Budget{Inputs: 3}, Edits: true, Settled: true},
		Scope{Name: "a pause ends by itself, beside an opt-out", Policy: first, Budget: Budget{Inputs: 1, Pauses: 2}, Holds: true, MaxParts: 2},
		Scope{Name: "a person opts in again under a pause of people", Policy: first, Budget: Budget{Inputs: 1, Pauses: 3}, Holds: true},
		Scope{Name: "a pause ends by itself amid a fault", Policy: first, Budget: Budget{Inputs: 1, Pauses: 1, Seals: 1, Faults: 1}, Faults: Faults{Worker: true, Send: true}, Holds: true},
		Scope{Name: "people step in, and a message is edited or deleted", Policy: first, Budget: Budget{Inputs: 2, Humans: 1}, Edits: true, MaxParts: 2},
		Scope{Name: "a fresh start, and a message is edited or deleted, amid a fault", Policy: first, Budget: Budget{Inputs: 2, Resets: 1, Faults: 1}, Faults: Faults{Send: true}, Edits: true},
		Scope{Name: "a human replies", Policy: first, Budget: Budget{Inputs: 2, Humans: 1}},
		Scope{Name: "a human replies between two parts", Policy: first, Budget: Budget{Inputs: 1, Humans: 1, Faults: 1}, Faults: Faults{Worker: true, Send: true}, Outside: true, MaxParts: 2},
		Scope{Name: "a reply beside the turns, or sent elsewhere", Policy: first, Budget: Budget{Inputs: 2, Humans: 1}, Outside: true},
		Scope{Name: "a reply from outside amid a fault", Policy: held(), Budget: Budget{Inputs: 1, Humans: 1, Seals: 1, Resends: 1, Faults: 1}, Faults: Faults{Worker: true, Model: true, Send: true}, Outside: true},
		Scope{Name: "a reply from outside while an attachment is awaited", Policy: first, Budget: Budget{Inputs: 2, Humans: 1}, Outside: true, Edits: true, Media: true},
		Scope{Name: "a reply from outside under a pause", Policy: first, Budget: Budget{Inputs: 1, Humans: 1, Pauses: 1, Seals: 1}, Outside: true, Holds: true},
		Scope{Name: "one of two people says stop", Policy: first, Budget: Budget{Inputs: 2, Stops: 1}, Group: true, MaxParts: 2},
		Scope{Name: "one of two people says stop, and a part fails", Policy: first, Budget: Budget{Inputs: 2, Stops: 1, Faults: 1}, Faults: Faults{Send: true}, Group: true, Edits: true},
		Scope{Name: "a stop word amid a fault", Policy: base(turn.Discard), Budget: Budget{Inputs: 1, Stops: 1, Seals: 1, Faults: 1}, Faults: Faults{Worker: true, Send: true}, Edits: true, MaxParts: 2},
		Scope{Name: "an agent seals", Policy: first, Budget: Budget{Inputs: 2, Seals: 1, Faults: 1}, Faults: Faults{Worker: true}},
		Scope{Name: "a reply in trouble is sent again", Policy: held(), Budget: Budget{Inputs: 2, Resends: 1, Faults: 1}, Faults: Faults{Worker: true, Send: true}, MaxParts: 2},
		Scope{Name: "flush, typing, requeue", Policy: first, Budget: Budget{Inputs: 2, Nudges: 1, Faults: 1}, Faults: Faults{Model: true}},
		Scope{Name: "what was set aside is requeued", Policy: brittle, Budget: Budget{Inputs: 2, Nudges: 1, Faults: 2}, Faults: Faults{Worker: true}},
		Scope{Name: "a process alone", Policy: first, Alone: true, Budget: Budget{Inputs: 2, Faults: 1}, Faults: everything()},
		minute(Scope{Name: "1 turn a minute", Budget: Budget{Inputs: 3}}),
		Scope{Name: "a person never stops typing", Policy: restless(), Budget: Budget{Inputs: 4}},
		Scope{Name: "a conversation begins afresh", Policy: first, Budget: Budget{Inputs: 2, Redelivered: 1, Resets: 1, Faults: 1}, Faults: Faults{Worker: true}},
		Scope{Name: "a talk ends by itself", Policy: forgetful(), Budget: Budget{Inputs: 2}, MaxParts: 2},
		Scope{Name: "context beside an input", Policy: first, Budget: Budget{Inputs: 1, Mentions: 1, Redelivered: 1, Faults: 1}, Faults: Faults{Store: true}},
		Scope{Name: "what is not meant for the bot", Policy: observing(), Budget: Budget{Inputs: 1, Mentions: 1, Redelivered: 1}},
		Scope{Name: "what comes too late", Policy: timely(), Budget: Budget{Inputs: 1, Mentions: 1, Redelivered: 1}},
		Scope{Name: "names are given and taken away", Policy: first, Names: true, Budget: Budget{Inputs: 2, Calls: 2, Faults: 1}},
		Scope{Name: "one node at a time polls", Policy: first, Duty: true, Budget: Budget{Inputs: 1, Faults: 2}, Faults: Faults{Store: true, Worker: true}},
		Scope{Name: "other bots get one reply", Policy: chatty(), Budget: Budget{Inputs: 3}, Bots: true},
		Scope{Name: "an early start", Policy: early(turn.Interrupt, 2), Budget: Budget{Inputs: 3}, Edits: true},
		Scope{Name: "an early start amid a fault", Policy: early(turn.Finish, 1), Budget: Budget{Inputs: 2, Faults: 1}, Faults: everything()},
		Scope{Name: "an early start, sealed or stopped by a human", Policy: early(turn.Interrupt, 1), Budget: Budget{Inputs: 2, Seals: 1, Pauses: 1}},
		Scope{Name: "a conversation is deleted", Policy: first, Budget: Budget{Inputs: 2, Redelivered: 1, Deletions: 1, Seals: 1}},
	)
}

// Larger is more of each: four inputs, three with a fault, two faults at once
// under every policy, and people amid faults.
func Larger() []Scope {
	first := base(turn.Interrupt)
	eager := base(turn.Interrupt)
	eager.Debounce = 0
	sent := fragile()
	sent.ResendUnknown, sent.Fallback = false, true
	return append(
		under("1 input, any 2 faults", Scope{Budget: Budget{Inputs: 1, Faults: 2}, Faults: everything()}),
		Scope{Name: "4 inputs with edits", Policy: first, Budget: Budget{Inputs: 4}, Edits: true},
		Scope{Name: "3 inputs, 1 fault of the store", Policy: first, Budget: Budget{Inputs: 3, Faults: 1}, Faults: Faults{Store: true}},
		Scope{Name: "3 inputs, 1 other fault, with edits", Policy: base(turn.Discard), Budget: Budget{Inputs: 3, Faults: 1}, Faults: Faults{Worker: true, Model: true, Send: true}, Edits: true},
		Scope{Name: "2 inputs, 2 faults but of the store", Policy: first, Budget: Budget{Inputs: 2, Faults: 2}, Faults: Faults{Worker: true, Model: true, Send: true}},
		Scope{Name: "2 inputs, 3 faults of model and channel", Policy: first, Budget: Budget{Inputs: 2, Faults: 3}, Faults: Faults{Model: true, Send: true}, MaxParts: 2},
		Scope{Name: "a human steps in amid a fault", Policy: first, Budget: Budget{Inputs: 2, Pauses: 1, Faults: 1}, Faults: Faults{Worker: true, Send: true}},
		Scope{Name: "a human steps in between parts", Policy: first, Budget: Budget{Inputs: 1, Pauses: 1, Humans: 1, Nudges: 1}, MaxParts: 2, Pace: 2 * Tick},
		Scope{Name: "a human replies under a pause", Policy: first, Budget: Budget{Inputs: 2, Pauses: 1, Humans: 1}},
		Scope{Name: "an agent seals, and a human steps in", Policy: first, Budget: Budget{Inputs: 2, Seals: 1, Pauses: 1}, MaxParts: 2},
		Scope{Name: "the receiver asks for two pauses amid people", Policy: first, Budget: Budget{Inputs: 1, Humans: 1, Faults: 2}, Faults: Faults{Pause: true}, MaxParts: 2},
		Scope{Name: "the model refuses a message, and people step in", Policy: first, Refuses: true, Budget: Budget{Inputs: 3, Humans: 1}, Edits: true},
		Scope{Name: "the model takes two messages, and no more", Policy: base(turn.Discard), Room: 2, Budget: Budget{Inputs: 3, Faults: 1}, Faults: Faults{Worker: true}},
		Scope{Name: "one of two people says stop after a reset", Policy: first, Budget: Budget{Inputs: 2, Stops: 1, Resets: 1, Faults: 1}, Faults: Faults{Send: true}, Group: true},
		Scope{Name: "a human replies under a pause amid a fault", Policy: first, Budget: Budget{Inputs: 1, Pauses: 1, Humans: 1, Seals: 1, Faults: 1}, Faults: Faults{Worker: true, Send: true}},
		Scope{Name: "sent again under a pause", Policy: first, Budget: Budget{Inputs: 1, Pauses: 1, Resends: 2, Faults: 1}, Faults: Faults{Send: true}, MaxParts: 2},
		Scope{Name: "names are given and taken away, 3 calls", Policy: first, Names: true, Budget: Budget{Inputs: 2, Calls: 3, Faults: 1}},
		Scope{Name: "one node at a time polls, 3 faults", Policy: first, Duty: true, Budget: Budget{Inputs: 2, Faults: 3}, Faults: Faults{Store: true, Worker: true}},
		Scope{Name: "a channel reports, and a reply is sent again", Policy: held(), Budget: Budget{Inputs: 1, Reports: 3, Resends: 1, Faults: 1}, Faults: Faults{Send: true}, MaxParts: 2},
		Scope{Name: "a channel reports, and a reply is sent again twice amid faults", Policy: held(), Budget: Budget{Inputs: 1, Reports: 3, Resends: 2, Faults: 2}, Faults: Faults{Worker: true, Send: true}},
		Scope{Name: "sent again twice amid faults", Policy: held(), Budget: Budget{Inputs: 1, Resends: 2, Faults: 2}, Faults: Faults{Worker: true, Send: true}, MaxParts: 2},
		Scope{Name: "what was set aside beside a reply in trouble", Policy: sent, Budget: Budget{Inputs: 2, Resends: 1, Faults: 2}, Faults: Faults{Worker: true, Send: true}},
		Scope{Name: "what was set aside is edited, requeued twice, or closed", Policy: fragile(), Budget: Budget{Inputs: 2, Nudges: 2, Humans: 1, Faults: 1}, Faults: Faults{Worker: true}, Edits: true},
		Scope{Name: "no more fits into a prompt, 1 fault", Policy: small(turn.Interrupt), Budget: Budget{Inputs: 3, Faults: 1}, Faults: Faults{Worker: true, Send: true}},
		Scope{Name: "no more may wait, and a human replies", Policy: tight(), Budget: Budget{Inputs: 3, Humans: 1}, Edits: true},
		Scope{Name: "no more may wait, and what was set aside", Policy: tightFragile(), Budget: Budget{Inputs: 3, Nudges: 1, Faults: 1}, Faults: Faults{Worker: true}, Edits: true},
		Scope{Name: "no more may wait, 1 fault of a worker", Policy: tight(), Budget: Budget{Inputs: 3, Faults: 1}, Faults: Faults{Worker: true}, Edits: true},
		Scope{Name: "a process alone, 3 inputs, 2 faults", Policy: first, Alone: true, Budget: Budget{Inputs: 3, Faults: 2}, Faults: everything()},
		minute(Scope{Name: "1 turn a minute, 1 fault", Budget: Budget{Inputs: 2, Faults: 1}, Faults: Faults{Store: true, Worker: true}}),
		overtaken(Scope{Name: "edits and deletions before their message, 1 fault", Budget: Budget{Inputs: 2, Faults: 1}, Faults: Faults{Store: true}}),
		Scope{Name: "an early start, flush and typing amid a fault", Policy: early(turn.Finish, 1), Budget: Budget{Inputs: 2, Nudges: 1, Faults: 1}, Faults: everything()},
		Scope{Name: "replies beside the turns, or sent elsewhere", Policy: first, Budget: Budget{Inputs: 2, Humans: 2}, Outside: true},
		Scope{Name: "deleted amid a fault of a worker", Policy: first, Budget: Budget{Inputs: 2, Deletions: 1, Seals: 1, Faults: 1}, Faults: Faults{Worker: true}},
		Scope{Name: "deleted amid a fault of the store", Policy: eager, Budget: Budget{Inputs: 2, Deletions: 1, Faults: 1}, Faults: Faults{Store: true}},
	)
}

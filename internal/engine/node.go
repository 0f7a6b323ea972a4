package engine

import (
	"container/list"
	"errors"
	"time"

	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Errors of a [Result].
var (
	// ErrUnavailable leaves open whether the request was stored. A message can be
	// sent again in any case, since it has an id.
	ErrUnavailable = errors.New("the store is out of reach; try again later")
	// ErrNotFound is for a report about a reply that never was.
	ErrNotFound = errors.New("no such reply")
	// ErrTooMany is for a conversation that is full. Nothing was stored.
	ErrTooMany = errors.New("too many inputs wait, or are kept, in this conversation; try again later")
	// ErrOutcomeUnknown is for a reply that a person wrote: it has no id by which a
	// repeat could be told.
	ErrOutcomeUnknown = errors.New("nobody knows whether the reply was stored; look at the transcript before you send it again")

	errNamesChange = errors.New("the names of the conversation change all the time")
	errNotWritten  = errors.New("it does not take writes")
)

// Limits of what is held in memory, and of one write.
const (
	maxBatch = 256    // requests that one write applies
	maxQueue = 10_000 // requests of one conversation that wait for a write

	// MaxPending is how many messages wait in one conversation at most. Further ones are
	// refused with ErrTooMany.
	MaxPending = 10_000

	// Conversations in which nothing happens are remembered, because the next message
	// of one then needs no read: so many, for so long.
	maxIdle = 4096
	idleAge = time.Minute
)

// Times of a node that looks for work.
const (
	// horizon is how far ahead a node arms a timer itself. The store keeps all others.
	horizon = time.Minute
	// pollEvery is how often a node looks for due timers that nobody acts on.
	pollEvery = 400 * time.Millisecond
	// claimHold is how long a claimed timer is out of the others' sight. A node that
	// dies with it delays the conversation by so much.
	claimHold = 5 * time.Second
	// recoverMax is how many timers a start takes up at once. The rest is claimed.
	recoverMax = 10_000
)

// Bot is the engine's part of a bot. All of it is asked anew at each step, so that
// a change holds from the next step on.
type Bot struct {
	// Policy is what the core decides by.
	Policy turn.Policy
	// Fallback is the text that stands in for a turn that failed, Refusal for one whose
	// messages the model refused; "": none.
	Fallback string
	Refusal  string
	// DelayText and OutageText are what people are told with a sign of that kind.
	DelayText  string
	OutageText string
	// History is how many entries of the transcript a prompt shows of earlier turns, and
	// Observe how many messages besides that were not meant for the bot.
	History int
	Observe int

	// A message of a group is followed by the rest of its album, and one of at least
	// SplitAt characters by the rest of a text that the client cut in two. Such a
	// message has a longer quiet time. SplitAt 0 means never.
	GroupWait time.Duration
	SplitAt   int
	SplitWait time.Duration

	// A message that is a stop word closes what its sender has waiting, without a reply;
	// an opt-out word pauses the conversation too, until an opt-in word. A reset word
	// begins afresh.
	StopWords   words.List
	OptOutWords words.List
	OptInWords  words.List
	ResetWords  words.List

	// Split cuts a reply into parts that the channel takes; nil: there is one part.
	// Whole: one send carries all parts.
	Split func(text string) []string
	Whole bool
	// Pace is the pause before each further part.
	Pace Pace

	// Channels are the chat platforms on which the bot answers. A conversation belongs to
	// the one by whose name its own begins.
	Channels []Channel
}

// Options are the settings of a node.
type Options struct {
	// Name is the holder of its leases, for people. Instance tells this process from
	// another one of that name; "": there is none.
	Name     string
	Instance string

	// Bots are those that this node serves. Timers of other bots are left alone.
	Bots map[string]Bot
	// MaxGenerations is how many attempts run at once, of all bots.
	MaxGenerations int
	// Alone: no other process has the store open. What was under way when this one
	// started is nobody's, and reads cost no round trip.
	Alone bool

	// NewOp gives the id of the next write. It is unique among all nodes and times:
	// whether a write was applied is told by it.
	NewOp func() store.Op
	// Random is for what is spread evenly, such as the jitter of a back-off.
	Random func() uint64
	// Step is turn.Step where it is nil. The proof puts faults in here.
	Step Step
}

// Step is the signature of turn.Step.
type Step func(turn.Record, turn.Event, turn.Time, turn.Policy) (turn.Record, turn.Effects)

// Node is one node's decisions. It is not safe for concurrent use.
type Node struct {
	options Options
	now     turn.Time // as the last call said
	out     []Output  // what was asked for since the last Take

	// all is every conversation in memory. Each is either in use (something waits or
	// runs), or in timers, or in idle, which is what evict takes from: least recently
	// used first.
	all    map[store.Key]*conversation
	timers timers
	idle   *list.List
	ready  ready // conversations that wait for a slot
	lone   lone  // those that wait until nothing else runs

	// pauses has the receivers that asked for a pause that holds for all conversations that
	// they serve, each with its end. Only this node knows: the others learn of it from
	// their own sends.
	pauses map[receiver]turn.Time

	// Looking for timers that nobody acts on.
	pollAt  turn.Time // when next, 0: never
	polling bool      // a claim is under way
	polls   uint64    // claims so far
	more    bool      // the last claim found timers: there may be more

	draining bool // no turn is taken any more
	leaving  bool // what runs here is handed back
	working  int  // attempts and sends under way here

	// Counters count the work of this node. They may be read between two calls.
	Counters Counters
}

// New returns a node that has done nothing yet.
func New(o Options) *Node {
	names := make([]string, 0, len(o.Bots))
	for name := range o.Bots {
		names = append(names, name)
	}
	if o.Step == nil {
		o.Step = turn.Step
	}
	return &Node{
		options:  o,
		all:      map[store.Key]*conversation{},
		idle:     list.New(),
		ready:    newReady(names, o.MaxGenerations),
		pauses:   map[receiver]turn.Time{},
		Counters: newCounters(),
	}
}

// Take returns the outputs since the last call.
func (n *Node) Take() []Output {
	out := n.out
	n.out = nil
	return out
}

// emit asks the runtime for something. It is carried out after the call that asked.
func (n *Node) emit(o Output) { n.out = append(n.out, o) }

// Submit takes a request in. It is answered once its effect is durable.
func (n *Node) Submit(now turn.Time, r *Request) {
	n.setTime(now)
	c := n.get(r.Key)
	if len(c.queue) >= maxQueue {
		n.emit(Answer{Ticket: r.Ticket, Result: Result{Err: ErrTooMany}})
		return
	}
	if c.call == noCall && (r.Op == TakeDuty || r.Op == Report && r.Turn == 0 && !n.holds(c)) {
		c.knows = nothing // what is remembered may be old, and the answer may be that nothing changes: no write would find out
	}
	c.queue = append(c.queue, &task{Request: *r, word: n.bot(c).wordOf(r, r.text())})
	n.pump(c)
}

// submitOwn queues an event of this node's own. Work that has ended needs no alarm for
// its lease any more. An alarm in the past must not stay in the heap while the write is
// under way: it would hide the alarms of all others.
func (n *Node) submitOwn(c *conversation, t *task) {
	t.Key, t.Op = c.key, ownEvent
	c.queue = append(c.queue, t)
	n.arm(c)
	n.pump(c)
}

// Start begins to look at timers.
func (n *Node) Start(now turn.Time) {
	n.setTime(now)
	n.pollAt, n.lone.calmSince = now, now
	if n.options.Alone {
		n.emit(Recover{Until: now.Add(n.longestLease()), Limit: recoverMax})
	}
}

// longestLease is how far ahead a lease of a process that is gone can end.
func (n *Node) longestLease() time.Duration {
	var longest time.Duration
	for _, bot := range n.options.Bots {
		longest = max(longest, bot.Policy.Lease)
	}
	return longest
}

// Drain stops taking turns. What runs here goes on; inputs are still accepted.
func (n *Node) Drain(now turn.Time) {
	n.setTime(now)
	n.draining, n.more, n.pollAt = true, false, 0
}

// HandBack drains, ends the work here, and gives its leases back, also between two parts
// of a reply, and for a lease that is granted only after this call. A sealed attempt goes
// on: another node would do the irreversible once more.
func (n *Node) HandBack(now turn.Time) {
	n.Drain(now)
	n.leaving = true
	for _, c := range n.sorted() {
		if c.run != nil && !c.snap.Record.Attempt.Sealed {
			n.stopRun(c, turn.HandedBack)
		}
	}
}

// Working reports how many attempts and sends are under way here.
func (n *Node) Working() int { return n.working }

// Generating reports how many attempts are under way here.
func (n *Node) Generating() int { return n.ready.used }

// Remembered reports how many conversations are in memory.
func (n *Node) Remembered() int { return len(n.all) }

// Quiet reports whether nothing of this node's own is under way: no attempt, no
// send, and no wake-up that could become one.
func (n *Node) Quiet() bool {
	for _, c := range n.all {
		if c.waking || n.holds(c) {
			return false
		}
	}
	return true
}

// Writing reports how many conversations wait for the store.
func (n *Node) Writing() int {
	count := 0
	for _, c := range n.all {
		if c.call != noCall || len(c.queue) > 0 {
			count++
		}
	}
	return count
}

// ChangeBot changes the settings of a bot that this node serves. They hold for each step
// from now on, as after a restart with them: what was decided before is in the record.
func (n *Node) ChangeBot(name string, change func(*Bot)) {
	if bot, ok := n.options.Bots[name]; ok {
		change(&bot)
		n.options.Bots[name] = bot
	}
}

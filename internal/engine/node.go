package engine

import (
	"container/list"
	"errors"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Errors of a [Result].
var (
	ErrUnavailable = errors.New("the store is out of reach; try again later")
	ErrNotFound    = errors.New("no such message")
	ErrTooMany     = errors.New("too many inputs wait in this conversation; try again later")
	// ErrOutcomeUnknown is for a reply that a person wrote: it has no id by which a
	// repeat could be told.
	ErrOutcomeUnknown = errors.New("nobody knows whether the reply was stored; look at the transcript before you send it again")

	errNotWritten = errors.New("it does not take writes")
)

// Limits.
const (
	maxBatch   = 256    // requests that one write applies
	maxQueue   = 10_000 // requests of one conversation that wait for a write
	maxPending = 10_000 // messages that wait in one conversation
	maxIdle    = 4096   // conversations remembered although nothing happens in them
	idleAge    = time.Minute
	horizon    = time.Minute // timers further ahead are left to the store
	claimHold  = 5 * time.Second
	pollEvery  = 400 * time.Millisecond
	recoverMax = 10_000
)

// Bot is what the engine knows of a bot.
type Bot struct {
	Policy      turn.Policy
	Fallback    string
	History     int
	GroupWait   time.Duration
	SplitAt     int // in characters; 0: never
	SplitWait   time.Duration
	StopWords   []string
	OptOutWords []string
	Split       func(text string) []string // of a reply into sends; nil: one
	Whole       bool                       // one send carries all parts
}

// Options are the settings of a node.
type Options struct {
	Name           string // holder of its leases
	Life           string // tells it from others of that name, "": there are none
	Bots           map[string]Bot
	MaxGenerations int
	Alone          bool            // no other process has the store open
	NewOp          func() store.Op // unique among all nodes
	Step           Step            // nil: turn.Step; the proof puts faults in here
	Random         func() uint64   // for jitter
}

// Step is the signature of turn.Step.
type Step func(turn.Record, turn.Event, turn.Time, turn.Policy) (turn.Record, turn.Effects)

// Node is one node's decisions. It is not safe for concurrent use.
type Node struct {
	options  Options
	now      turn.Time
	out      []Output
	all      map[store.Key]*conversation
	timers   timers
	idle     *list.List // of *conversation, least recently used first
	ready    ready
	pollAt   turn.Time
	polling  bool
	polls    uint64
	more     bool // the last claim found timers: there may be more
	draining bool
	leaving  bool // what runs here is handed back
	working  int  // attempts and sends under way here
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
		Counters: newCounters(),
	}
}

// Take returns what the node asks for since the last call.
func (n *Node) Take() []Output {
	out := n.out
	n.out = nil
	return out
}

func (n *Node) emit(o Output) { n.out = append(n.out, o) }

// Submit takes a request in. It is answered once what it asks for is durable.
func (n *Node) Submit(now turn.Time, r *Request) {
	n.setTime(now)
	c := n.get(r.Key)
	if len(c.queue) >= maxQueue {
		n.emit(Answer{Ticket: r.Ticket, Result: Result{Err: ErrTooMany}})
		return
	}
	c.queue = append(c.queue, &task{Request: *r})
	n.pump(c)
}

// submitOwn queues an event of this node's own. What has ended needs no alarm for its
// lease any more, and one that is over must not stay in the heap while the
// write is under way: it would hide the alarms of all others.
func (n *Node) submitOwn(c *conversation, t *task) {
	t.Key, t.Op = c.key, ownEvent
	c.queue = append(c.queue, t)
	n.arm(c)
	n.pump(c)
}

// Start begins to look at timers.
func (n *Node) Start(now turn.Time) {
	n.setTime(now)
	n.pollAt = now
	if n.options.Alone {
		n.emit(Recover{Until: now.Add(n.longestLease()), Limit: recoverMax})
	}
}

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

// HandBack drains, ends what runs here, and gives its leases back: also of what only
// now learns that it got one, and between two parts of a reply. A sealed
// attempt goes on: another node would do the irreversible once more.
func (n *Node) HandBack(now turn.Time) {
	n.Drain(now)
	n.leaving = true
	for _, c := range n.sorted() {
		if c.run != nil && !c.snap.Record.Sealed {
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

// ChangePolicy puts another policy in the place of a bot's. It holds for each
// step from now on.
func (n *Node) ChangePolicy(name string, change func(turn.Policy) turn.Policy) {
	bot := n.options.Bots[name]
	bot.Policy = change(bot.Policy)
	n.options.Bots[name] = bot
}

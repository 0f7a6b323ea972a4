package engine

import (
	"container/list"
	"errors"
	"strings"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Errors of a [Result].
var (
	ErrUnavailable = errors.New("the store is out of reach; try again later")
	ErrNotFound    = errors.New("no such message")
	ErrTooMany     = errors.New("too many inputs wait in this conversation; try again later")
	// ErrMaybe is for what has no id by which a repeat could be told.
	ErrMaybe = errors.New("nobody knows whether the reply was stored; look at the transcript before you send it again")

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
	maxRepeats = 8   // repeats of one conversation's messages that wait to be told with its next write
	maxRepeat  = 128 // bytes of an id that is told
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

// Op is what a request asks for.
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
	Seal
	Forget
	internal // an event of this node's own
)

// Request asks for something. Only the fields that its Op needs are set.
type Request struct {
	Key    store.Key
	Ticket any // comes back with the Answer
	Op     Op

	ID          string              // Receive, Edit, Retract: of the message
	Body        store.Body          // Receive, HumanReply
	Group       bool                // Receive: the message belongs to a group
	Text        *string             // Edit
	Attachments *[]store.Attachment // Edit
	For         time.Duration       // Typing
	Reason      string              // Pause
	Answer      bool                // Resume
	Token       int64               // Seal
	Turn        int64               // Resend, MarkSent
	Audit       *turn.AuditEntry    // noted where the request changes something; nil: not

	event    turn.Event   // internal
	reply    store.Body   // internal: the responder's reply
	entry    *store.Entry // internal: the reply that was being sent
	ends     bool         // internal: the work under way here ends with it
	maybe    bool         // an earlier write of it may have been applied
	again    bool         // its id was claimed before
	doubted  bool         // a write of it was not there when this node looked, and may land yet,
	expected store.Op     // for as long as the record is still the one with this Op
	trial    try          // what the write under way makes of it
	tried    []try        // the same of writes that may have been applied
	looked   bool         // found is up to date
	fresh    bool         // the record was read, or is being read, since it was asked for
	found    *store.Entry
	pending  []store.Entry
	result   Result
}

// Submit takes a request in. It is answered once what it asks for is durable.
func (n *Node) Submit(now turn.Time, r *Request) {
	n.at(now)
	c := n.get(r.Key)
	if len(c.queue) >= maxQueue {
		n.emit(Answer{Ticket: r.Ticket, Result: Result{Err: ErrTooMany}})
		return
	}
	c.queue = append(c.queue, r)
	n.pump(c)
}

// own queues an event of this node's own. What has ended needs no alarm for its
// lease any more, and one that is over must not stay in the heap while the
// write is under way: it would hide the alarms of all others.
func (n *Node) own(c *conversation, r *Request) {
	r.Key, r.Op = c.key, internal
	c.queue = append(c.queue, r)
	n.arm(c)
	n.pump(c)
}

// Start begins to look at timers.
func (n *Node) Start(now turn.Time) {
	n.at(now)
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
	n.at(now)
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
		if c.busy || len(c.queue) > 0 {
			count++
		}
	}
	return count
}

// word reports whether text is one of the words: the whole of it, in any case.
func word(text string, words []string) bool {
	text = strings.TrimSpace(text)
	for _, w := range words {
		if strings.EqualFold(text, w) {
			return true
		}
	}
	return false
}

// ChangePolicy puts another policy in the place of a bot's. It holds for each
// step from now on.
func (n *Node) ChangePolicy(name string, change func(turn.Policy) turn.Policy) {
	bot := n.options.Bots[name]
	bot.Policy = change(bot.Policy)
	n.options.Bots[name] = bot
}

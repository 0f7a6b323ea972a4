package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
)

// ErrClosed is the error of every call after the node stopped.
var ErrClosed = errors.New("this node is closing; send it to another, or again later")

// Options are the settings of a node. All are required but Step.
type Options struct {
	Name           string // holder of its leases
	Instance       string // tells it from other starts of a node of that name
	Bots           map[string]Bot
	MaxGenerations int
	Retention      time.Duration // of transcripts, and of message ids if it is longer than minIDs: above 0
	Log            *slog.Logger
	Step           engine.Step // nil: turn.Step

	// Tell takes an event. Hint takes a conversation that changed here while another node
	// holds its lease. The loop calls both, so neither may block.
	Tell func(*engine.Event)
	Hint func(store.Key)
}

// Bot is the runtime's part of a bot.
type Bot struct {
	engine.Bot

	// Respond answers an attempt. It runs in a goroutine of its own, and should return
	// soon after ctx ends. The runtime fills in Key, Nonce, Tokens and FirstByte.
	Respond func(ctx context.Context, a *Attempt) engine.Response
	Timeout time.Duration // of one attempt, whole

	// Send delivers one part of a reply, whose Entry is set. nil: nothing is delivered,
	// and the reply counts as sent. The runtime fills in Key, Nonce, Part and Entry.
	Send        func(ctx context.Context, s engine.Send) engine.SendResult
	SendTimeout time.Duration

	// Signal shows people that a reply is on its way; nil: the channel can't. Typing: they
	// are shown that a turn is being written.
	Signal func(ctx context.Context, s Signal) error
	Typing bool
}

// Node runs an engine on a store. Its methods may be called from many goroutines.
//
// A Node goes through four states. It is made by [New], runs from [Node.Start] on,
// takes no more turns from [Node.Drain] on, and takes no more tasks once [Node.Stop]
// has returned.
type Node struct {
	options Options
	store   store.Store
	bots    atomic.Pointer[map[string]Bot] // never changed, only replaced
	clock   *Clock
	log     *slog.Logger

	// engine belongs to the loop: only a task may use it. Once the loop has ended
	// anybody may read it.
	engine *engine.Node

	tasks  tasks   // what the loop has to do
	loads  loads   // conversations that wait to be read
	work   running // attempts and sends under way
	health health  // what the store's answers say of it

	ctx  context.Context // ends the loop, and with it all that runs here
	stop context.CancelCauseFunc

	goroutines sync.WaitGroup // every goroutine that this node started
	drain      chan struct{}  // closed when draining begins
	ended      chan struct{}  // closed when the loop has ended
	draining   sync.Once      // closes drain
	stopping   sync.Once      // stops
}

// New returns a node that does nothing until it is started. The clock is that of
// the store.
func New(s store.Store, clock *Clock, o Options) *Node {
	n := &Node{
		options: o, store: s, clock: clock, log: o.Log,
		tasks: newTasks(), work: newRunning(),
		drain: make(chan struct{}), ended: make(chan struct{}),
	}
	n.bots.Store(&o.Bots)
	n.ctx, n.stop = context.WithCancelCause(context.Background())
	bots := make(map[string]engine.Bot, len(o.Bots))
	for name, bot := range o.Bots {
		bots[name] = bot.Bot
	}
	n.engine = engine.New(engine.Options{
		Name: o.Name, Instance: o.Instance, Bots: bots, MaxGenerations: o.MaxGenerations,
		Alone: s.Guarantees().Exclusive, NewOp: newOps(), Random: random, Step: o.Step,
	})
	return n
}

// Start begins to act on timers and to remove old transcripts. If other processes use
// the store too, the node follows the store's clock from here on.
func (n *Node) Start() {
	n.engine.Start(n.clock.Now())
	n.goroutines.Go(n.loop)
	n.goroutines.Go(n.maintain)
	if !n.store.Guarantees().Exclusive {
		n.goroutines.Go(func() { n.clock.follow(n.ctx, n.log) })
	}
}

// newOps makes ids of writes, which must differ from those of every other node: a
// random prefix for this start of the node, then a counter. Only the loop calls it.
func newOps() func() store.Op {
	var prefix [8]byte
	rand.Read(prefix[:])
	var count uint64
	return func() (op store.Op) {
		count++
		copy(op[:], prefix[:])
		binary.BigEndian.PutUint64(op[8:], count)
		return op
	}
}

// random is for the jitter of waits.
func random() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// logOf is a logger whose lines name the conversation.
func (n *Node) logOf(key store.Key) *slog.Logger {
	return n.log.With("bot", key.Bot, "conversation", key.Conversation)
}

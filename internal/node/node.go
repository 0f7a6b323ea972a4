package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// ErrClosed is the end of everything that a node was asked after it ended.
var ErrClosed = errors.New("this node is closing; send it to another, or again later")

// Options are the settings of a node. All are required but Step and Retention.
type Options struct {
	Name           string // holder of its leases
	Instance       string // tells it from other starts of a node of that name
	Bots           map[string]Bot
	MaxGenerations int
	Retention      time.Duration // of transcripts, and of message ids if it is longer than minIDs
	Log            *slog.Logger
	Step           engine.Step // nil: turn.Step

	// Tell takes what happened, Hint a conversation whose lease another node holds and
	// that changed here. The loop calls both, so neither may block.
	Tell func(*engine.Event)
	Hint func(store.Key)
}

// Bot is what the runtime needs of a bot.
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
}

// Node runs an engine on a store. Its methods may be called from many goroutines.
type Node struct {
	options Options
	store   store.Store
	clock   *Clock
	log     *slog.Logger
	engine  *engine.Node // of the loop only, until it has ended

	tasks  tasks
	loads  loads
	work   running
	health health

	ctx        context.Context // ends when the loop must
	stop       context.CancelCauseFunc
	goroutines sync.WaitGroup // all that this node started
	drain      chan struct{}  // closed when draining begins
	ended      chan struct{}  // closed when the loop has ended
	draining   sync.Once
	stopping   sync.Once
}

// New returns a node that does nothing until it is started. The clock is that of
// the store.
func New(s store.Store, clock *Clock, o Options) *Node {
	n := &Node{
		options: o, store: s, clock: clock, log: o.Log,
		tasks: newTasks(), work: newRunning(),
		drain: make(chan struct{}), ended: make(chan struct{}),
	}
	n.ctx, n.stop = context.WithCancelCause(context.Background())
	bots := make(map[string]engine.Bot, len(o.Bots))
	for name, bot := range o.Bots {
		bots[name] = bot.Bot
	}
	n.engine = engine.New(engine.Options{
		Name: o.Name, Life: o.Instance, Bots: bots, MaxGenerations: o.MaxGenerations,
		Alone: s.Guarantees().Exclusive, NewOp: newOps(), Random: random, Step: o.Step,
	})
	return n
}

// Start begins to act on timers and to remove what is too old.
func (n *Node) Start() {
	n.engine.Start(n.clock.Now())
	n.goroutines.Go(n.loop)
	n.goroutines.Go(n.maintain)
	if !n.store.Guarantees().Exclusive {
		n.goroutines.Go(func() { n.clock.follow(n.ctx, n.log) })
	}
}

// newOps makes ids of writes: a random prefix for this node, then a counter.
// The loop calls it only.
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

func random() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// Drain stops taking turns, lets what runs end until ctx does, and then hands its
// leases back so that another node goes on at once. Inputs are accepted until
// [Node.Stop]. It returns ctx's cause where something had to be cut off.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Do(func() { close(n.drain) })
	n.post(n.engine.Drain)
	if n.settle(ctx) {
		return nil
	}
	n.post(n.engine.HandBack)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackGrace)
	defer cancel()
	if !n.settle(grace) {
		n.log.Warn("leases could not be given back; they end by themselves")
	}
	return context.Cause(ctx)
}

const (
	// handBackGrace is how long responders may take to return when a drain cuts them
	// off, and the store to take their leases back.
	handBackGrace = 3 * time.Second
	settleEvery   = 10 * time.Millisecond // between two looks whether all is quiet
)

// settle waits until nothing is under way here, and reports whether that came
// before ctx ended. A node that has ended is quiet.
func (n *Node) settle(ctx context.Context) bool {
	for {
		quiet, err := ask(context.Background(), n, func(turn.Time) bool { return n.engine.Quiet() })
		if err != nil || quiet {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-n.ctx.Done():
			return true
		case <-time.After(settleEvery):
		}
	}
}

// Stop ends the node. What runs is cut off and its leases are handed back; call
// [Node.Drain] first to let it end. When Stop returns, the loop has ended and the
// status changes no more; responders that do not return may still run. It may be
// called more than once.
func (n *Node) Stop() {
	n.stopping.Do(func() {
		now, cancel := context.WithCancelCause(context.Background())
		cancel(ErrClosed)
		_ = n.Drain(now)
		n.stop(ErrClosed)
	})
	<-n.ended
}

// Wait waits for every goroutine of a node that was stopped: those of responders
// and senders too.
func (n *Node) Wait() { n.goroutines.Wait() }

// Ready reports why the node can't do its work, or nil.
func (n *Node) Ready(ctx context.Context) error {
	select {
	case <-n.drain:
		return errors.New("the node is draining")
	default:
	}
	if _, err := n.store.Now(ctx); err != nil {
		return fmt.Errorf("the store is out of reach: %w", err)
	}
	if err := n.health.writesFail(); err != nil {
		return fmt.Errorf("the store does not take writes: %w", err)
	}
	if err := n.health.claimsFail(); err != nil {
		return fmt.Errorf("due timers can't be claimed from the store: %w", err)
	}
	return nil
}

// logOf is a logger whose lines name the conversation.
func (n *Node) logOf(key store.Key) *slog.Logger {
	return n.log.With("bot", key.Bot, "conversation", key.Conversation)
}

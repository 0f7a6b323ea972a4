package onereply

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Options are the settings of a node. The zero value is usable.
type Options struct {
	Node           string        // names the node in leases and logs; default: host name and a random suffix
	MaxGenerations int           // responders that run at once on this node; default 64
	Retention      time.Duration // transcripts and seen ids are kept so long, ids at least 192h; default 720h
	Logger         *slog.Logger  // default slog.Default()
}

// App is a node: it accepts messages, watches timers, runs responders and
// sends replies. Its methods may be called from many goroutines.
type App struct {
	store   store.Store
	bots    map[string]Bot
	names   []string
	options Options
	log     *slog.Logger
	clock   *clock
	node    *engine.Node
	inbox   inbox
	watch   *broker
	peers   *peers

	ctx      context.Context // ends when the App closes
	stop     context.CancelCauseFunc
	work     sync.WaitGroup // all goroutines
	running  running
	reads    reads
	actions  actions
	health   health
	closing  sync.Once
	drain    chan struct{} // closed when draining begins
	ended    chan struct{} // closed when the loop has ended
	draining sync.Once
}

var errClosed = errors.New("this node is closing; send it to another, or again later")

// Open starts a node on a store. It reports every mistake in the bots at once.
// ctx bounds the opening only; [App.Close] ends the node. The store stays the
// caller's: close it after the App.
func Open(ctx context.Context, s store.Store, o Options, bots ...Bot) (*App, error) {
	return open(ctx, s, o, turn.Step, bots)
}

func open(ctx context.Context, s store.Store, o Options, step engine.Step, bots []Bot) (*App, error) {
	configured, names, err := configure(bots)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	clock, err := newClock(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("read the store's clock: %w", err)
	}
	a := &App{
		store: s, bots: configured, names: names, options: o, log: o.Logger, clock: clock,
		drain: make(chan struct{}), ended: make(chan struct{}),
	}
	a.peers = newPeers(a)
	a.watch = newBroker(func() { signal(a.peers.call) })
	a.inbox.signal = make(chan struct{}, 1)
	a.ctx, a.stop = context.WithCancelCause(context.Background())
	a.node = engine.New(engine.Options{
		Name: o.Node, Life: a.peers.life, Bots: engineBots(configured), MaxGenerations: o.MaxGenerations,
		Alone: s.Guarantees().Exclusive, NewOp: newOps(), Random: random, Step: step,
	})
	a.node.Start(clock.now())
	a.work.Go(a.loop)
	a.work.Go(a.maintain)
	a.work.Go(a.listen)
	if a.peers.out != nil {
		a.work.Go(a.peers.hear)
		a.work.Go(a.peers.speak)
	}
	if !s.Guarantees().Exclusive {
		a.work.Go(func() { a.clock.follow(a.ctx, a.log) })
	}
	return a, nil
}

func (o Options) withDefaults() Options {
	if o.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "node"
		}
		o.Node = host + "-" + shortID()
	}
	if o.MaxGenerations <= 0 {
		o.MaxGenerations = 64
	}
	if o.Retention <= 0 {
		o.Retention = 720 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func configure(bots []Bot) (map[string]Bot, []string, error) {
	configured := make(map[string]Bot, len(bots))
	var names []string
	var problems []error
	for _, b := range bots {
		full, err := b.withDefaults()
		if err != nil {
			problems = append(problems, err)
		}
		if _, ok := configured[b.Name]; ok {
			problems = append(problems, fmt.Errorf("bot %q is configured twice", b.Name))
		}
		configured[b.Name] = full
		names = append(names, b.Name)
	}
	if len(bots) == 0 {
		problems = append(problems, errors.New("at least one bot is needed"))
	}
	return configured, names, errors.Join(problems...)
}

func engineBots(bots map[string]Bot) map[string]engine.Bot {
	out := make(map[string]engine.Bot, len(bots))
	for name, b := range bots {
		can := capabilitiesOf(b.Sender)
		resend := b.UnknownSend == UnknownResend || b.UnknownSend == UnknownAuto && (can.RecognisesRepeats || b.Sender == nil)
		out[name] = engine.Bot{
			Policy: turn.Policy{
				Debounce: b.Debounce, MaxWait: b.MaxWait, OnNewInput: b.OnNewInput, MaxDiscards: b.MaxDiscards,
				Lease: b.Lease, MediaWait: b.MediaWait, MaxAttempts: b.Attempts, ResendUnknown: resend,
				RetryFor: b.RetryFor, Fallback: b.Fallback != "", TurnsPerMinute: b.TurnsPerMinute,
			},
			Fallback: b.Fallback, History: b.History, GroupWait: b.GroupWait, SplitAt: b.SplitAt, SplitWait: b.SplitWait,
			StopWords: b.StopWords, OptOutWords: b.OptOutWords, Split: can.Split, Whole: can.AllParts,
		}
	}
	return out
}

// newOps makes ids of writes: a random prefix for this node, then a counter.
// It is called by the loop only.
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

func shortID() string { return rand.Text()[:6] }

// Bots are the names of the configured bots.
func (a *App) Bots() []string { return append([]string(nil), a.names...) }

// Drain stops taking turns, lets what runs end until ctx does, and then gives
// its leases back so that another node goes on at once. Inputs are accepted
// until [App.Close]. It returns ctx's cause where something had to be cut off.
func (a *App) Drain(ctx context.Context) error {
	a.draining.Do(func() { close(a.drain) })
	a.do(a.node.Drain)
	if a.settle(ctx) {
		return nil
	}
	a.do(a.node.HandBack)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackGrace)
	defer cancel()
	if !a.settle(grace) {
		a.log.Warn("leases could not be given back; they end by themselves")
	}
	return context.Cause(ctx)
}

// handBackGrace is how long responders may take to return when a drain cuts
// them off, and the store to take their leases back.
const handBackGrace = 3 * time.Second

// settle waits until nothing is under way here, and reports whether that
// came before ctx ended.
func (a *App) settle(ctx context.Context) bool {
	for {
		quiet := make(chan bool, 1)
		if !a.do(func(turn.Time) { quiet <- a.node.Quiet() }) {
			return true
		}
		select {
		case q := <-quiet:
			if q {
				return true
			}
		case <-a.ctx.Done():
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-a.ctx.Done():
			return true
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Close ends the node. What runs is cut off and its leases are given back;
// call [App.Drain] first to let it end. Close waits until every responder and
// sender has returned. It may be called more than once.
func (a *App) Close() error {
	a.closing.Do(func() {
		now, cancel := context.WithCancelCause(context.Background())
		cancel(errClosed)
		_ = a.Drain(now)
		a.stop(errClosed)
		a.watch.close()
	})
	a.work.Wait()
	return nil
}

// Ready reports why the node can't do its work, or nil.
func (a *App) Ready(ctx context.Context) error {
	select {
	case <-a.drain:
		return errors.New("the node is draining")
	default:
	}
	if _, err := a.store.Now(ctx); err != nil {
		return fmt.Errorf("the store is out of reach: %w", err)
	}
	if err := a.health.problem(); err != nil {
		return fmt.Errorf("the store does not take writes: %w", err)
	}
	if err := a.health.blind(); err != nil {
		return fmt.Errorf("due timers can't be claimed from the store: %w", err)
	}
	return nil
}

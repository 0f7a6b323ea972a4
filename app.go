package onereply

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/internal/inspect"
	"github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Options are the settings of a node. The zero value is usable.
type Options struct {
	// Node names the node in leases, logs and the overview. Two nodes must not have
	// the same name. Default: the host's name and a random suffix.
	Node string

	// MaxGenerations is how many responders run at once on this node. Default 64.
	MaxGenerations int

	// Retention is how long transcripts and the IDs of messages are kept, IDs for at
	// least 192h: a repeat that comes later is a new message. Default 720h.
	Retention time.Duration

	// Limits are the budgets in bytes.
	Limits Limits

	// Logger gets what an operator should know. Default [slog.Default].
	Logger *slog.Logger
}

// App is a node: it accepts messages, watches timers, runs responders and
// sends replies. It is made by [Open]; the zero value can't be used. Its methods may
// be called from many goroutines.
type App struct {
	store   store.Store
	bots    atomic.Pointer[map[string]Bot] // never changed, only replaced
	names   []string
	options Options
	log     *slog.Logger
	clock   *node.Clock
	node    *node.Node
	fleet   *fleet.Fleet
	started turn.Time
	actions inspect.Actions

	reconfiguring sync.Mutex
}

// Open starts a node on a store. It reports every mistake in the bots at once.
// ctx bounds the opening only; [App.Close] ends the node. The store stays the
// caller's: close it after the App.
//
// A node works on the bots that it was opened with, and only on them. Conversations
// that another process left unfinished go on as soon as their leases have expired.
func Open(ctx context.Context, s store.Store, o Options, bots ...Bot) (*App, error) {
	return open(ctx, s, o, turn.Step, bots)
}

func open(ctx context.Context, s store.Store, o Options, step engine.Step, bots []Bot) (*App, error) {
	configured, names, err := configure(bots)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	clock, err := node.NewClock(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("read the store's clock: %w", err)
	}
	a := &App{store: s, names: names, options: o, log: o.Logger, clock: clock, started: clock.Now()}
	a.bots.Store(&configured)
	instance := shortID() + shortID()
	a.fleet = fleet.New(fleet.Options{
		Name: o.Node, Instance: instance, Store: s, Log: o.Logger, Now: clock.Now, Report: a.report, RingBytes: o.Limits.RingBytes,
		Hinted: func(key store.Key) { a.node.Hinted(key) },
	})
	a.node = node.New(s, clock, node.Options{
		Name: o.Node, Instance: instance, Bots: a.nodeBots(configured), MaxGenerations: o.MaxGenerations, Retention: o.Retention,
		Log: o.Logger, Step: step, Tell: a.fleet.Publish, Hint: a.fleet.Hint,
	})
	a.node.Start()
	a.fleet.Start()
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
	o.Limits = o.Limits.withDefaults()
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

func shortID() string { return rand.Text()[:6] }

// Bots returns the names of the bots, in the order in which they were given.
func (a *App) Bots() []string { return append([]string(nil), a.names...) }

// bot is a bot as it is configured now.
func (a *App) bot(name string) (Bot, bool) {
	b, ok := (*a.bots.Load())[name]
	return b, ok
}

// Reconfigure puts these bots in the place of those that the node was opened with, without a
// restart: their responders, senders, times and texts. They must have the same names. All of
// them are taken or, after an error, none, but for one of [CodeUnavailable] or of ctx. They
// hold from the next step on; a run of a responder, or a send, that is under way goes on as
// it began. What [App.SetPolicy] has set is gone.
func (a *App) Reconfigure(ctx context.Context, bots ...Bot) error {
	c := call{op: "reconfigure"}
	configured, names, err := configure(bots)
	switch {
	case err != nil:
		return c.fail(CodeInvalid, "bots", err)
	case !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(a.names))):
		return c.fail(CodeInvalid, "bots", fmt.Errorf("the node was opened with the bots %q: others need a restart", a.names))
	}
	a.reconfiguring.Lock()
	defer a.reconfiguring.Unlock()
	if err := a.node.ChangeBots(ctx, a.nodeBots(configured)); err != nil {
		return c.of(err)
	}
	a.bots.Store(&configured)
	return nil
}

// Drain stops taking turns and waits until running work has ended, or ctx does. Work
// that still runs then is cut off, and its leases are given back so that another node
// goes on at once. Inputs are accepted until [App.Close]. If something was cut off,
// Drain returns [context.Cause] of ctx; otherwise nil. There is no way back.
func (a *App) Drain(ctx context.Context) error { return a.node.Drain(ctx) }

// Close ends the node. Running work is cut off and its leases are given back;
// call [App.Drain] first to let it end. Close waits until every responder and
// sender has returned; it always returns nil. It may be called more than once. Calls
// that come later return an error with [CodeUnavailable].
func (a *App) Close() error {
	a.node.Stop()
	a.fleet.Close()
	a.node.Wait()
	return nil
}

// Ready reports why the node can't do its work, or nil: it drains, the store is out of
// reach, does not take writes, or due timers can't be claimed from it.
func (a *App) Ready(ctx context.Context) error { return a.node.Ready(ctx) }

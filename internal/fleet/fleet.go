package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/loglimit"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

const (
	reportEvery  = 5 * time.Second        // a node's report, and the renewal of what it watches
	silentAfter  = 3 * reportEvery        // without a report from it a node is silent
	gatherFor    = 100 * time.Millisecond // events of a node, after the first
	tellTimeout  = 10 * time.Second       // of one broadcast or hint
	farewellTime = time.Second            // for the last report of a node that closes
	missedEvery  = 10 * time.Second       // between two lines about events that watchers miss
	maxNameBytes = 512                    // of a node and of its instance
)

// Options are the settings of a node's part in a fleet. All are required.
type Options struct {
	Name     string // of the node
	Instance string // tells it from other starts of a node of that name
	Store    store.Store
	Log      *slog.Logger
	Now      func() turn.Time                         // the store's clock
	Report   func(ctx context.Context) (Report, bool) // this node as it is now; false: it can't tell
	Hinted   func(store.Key)                          // takes hints of other nodes
}

// Fleet is a node's part in what the nodes of a store tell each other. Its methods
// may be called from many goroutines.
type Fleet struct {
	*Broker
	options Options
	store   store.Store
	out     store.Broadcaster // nil: this node hears of no other
	log     *slog.Logger

	gathered gathering
	wake     chan struct{} // holds a value while events are gathered
	call     chan struct{} // holds a value when other nodes should hear at once how this one is

	// Of the goroutine speak.
	watching bool // what the others were told
	hearing  hearing
	crowded  loglimit.Limit // lines about broadcasts that the store refused
	missed   loglimit.Limit // lines about events that other nodes miss

	mu      sync.Mutex
	reports map[string]Report // the last of each other node, by instance
	warned  bool              // that another node has this one's name

	ctx        context.Context
	stop       context.CancelFunc
	goroutines sync.WaitGroup
}

// New returns a part in a fleet that does nothing until it is started. Events can be
// published before.
func New(o Options) *Fleet {
	f := &Fleet{
		options: o, store: o.Store, log: o.Log,
		wake: make(chan struct{}, 1), call: make(chan struct{}, 1), reports: map[string]Report{},
	}
	f.crowded.Every, f.missed.Every = missedEvery, missedEvery
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.Broker = newBroker(func() { signal(f.call) })
	f.gathered.others, f.gathered.deltas = map[string]interest{}, map[store.Key]int{}
	f.out, _ = o.Store.(store.Broadcaster)
	return f
}

// Start begins to listen to other nodes and to tell them what they want to know.
func (f *Fleet) Start() {
	if hinter, ok := f.store.(store.Hinter); ok {
		f.goroutines.Go(func() {
			f.listen("hints of other nodes do not arrive", func() error { return hinter.Hints(f.ctx, f.options.Hinted) })
		})
	}
	if f.out != nil {
		f.goroutines.Go(func() {
			f.listen("broadcasts of other nodes do not arrive", func() error { return f.out.Broadcasts(f.ctx, f.heard) })
		})
		f.goroutines.Go(f.speak)
	}
}

// Close ends all subscriptions, tells the other nodes that this one is gone, and
// waits for all goroutines. The node's report must be its last by now.
func (f *Fleet) Close() {
	f.close()
	f.stop()
	f.goroutines.Wait()
}

// Publish hands an event to who watches it, here and on other nodes. It does not
// block.
func (f *Fleet) Publish(e *engine.Event) {
	f.publish(e)
	if f.gathered.offer(e) {
		signal(f.wake)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it holds one
	}
}

// message is what one broadcast holds.
type message struct {
	Node     string            `json:"node"`
	Instance string            `json:"instance"`
	Watches  *[]Topic          `json:"watches,omitempty"` // all that the node watches; empty: nothing any more
	Events   []json.RawMessage `json:"events,omitempty"`
	Report   *Report           `json:"report,omitempty"`
	Ask      bool              `json:"ask,omitempty"` // the node was just started: it knows of no other
}

// speak tells the other nodes what they want to know, until the fleet ends.
func (f *Fleet) speak() {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	ask := true // twice: the first answers may come before this node listens
	f.tellAll(f.ctx, ask)
	for f.ctx.Err() == nil {
		select {
		case <-f.ctx.Done():
		case <-ticker.C:
			f.forget()
			f.tellAll(f.ctx, ask)
			ask = false
			f.checkHearing(f.ctx)
		case <-f.call:
			f.tellAll(f.ctx, false)
		case <-f.wake:
			f.tellEvents(f.ctx)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(gatherFor):
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), farewellTime)
	defer cancel()
	f.tellAll(last, false)
}

// tellAll tells how this node is, and what is watched here unless that is nothing
// and the others know it.
func (f *Fleet) tellAll(ctx context.Context, ask bool) {
	m := message{Ask: ask}
	if report, ok := f.options.Report(ctx); ok {
		m.Report = &report
	}
	if watched := f.watched(); len(watched) > 0 || f.watching {
		m.Watches, f.watching = &watched, len(watched) > 0
	}
	f.broadcast(ctx, m)
}

func (f *Fleet) tellEvents(ctx context.Context) {
	events, dropped := f.gathered.take()
	groups, tooLarge := packed(events)
	for _, group := range groups {
		f.broadcast(ctx, message{Events: group})
	}
	if count := f.missed.Add(time.Now(), uint64(dropped+tooLarge)); count > 0 {
		f.log.Warn("too many events at once, or too large ones: watchers on other nodes miss some", "missed", count)
	}
}

func (f *Fleet) broadcast(ctx context.Context, m message) {
	m.Node, m.Instance = f.options.Name, f.options.Instance
	payload, err := json.Marshal(m)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		err = f.out.Broadcast(ctx, payload)
	}
	switch {
	case err == nil:
		f.hearing.said(time.Now())
	case f.ctx.Err() != nil:
	case errors.Is(err, store.ErrCrowded):
		if count := f.crowded.Add(time.Now(), uint64(max(1, len(m.Events)))); count > 0 {
			f.log.Warn("the store carries less than this node has to tell: watchers on other nodes miss some", "missed", count, "err", err)
		}
	default:
		f.log.Debug("other nodes were not told", "err", err)
	}
}

// heard takes in a message. Whoever can reach the store's server may have sent it.
func (f *Fleet) heard(payload []byte) {
	var m message
	if json.Unmarshal(payload, &m) != nil || m.Instance == "" || m.Instance == f.options.Instance ||
		len(m.Instance) > maxNameBytes || len(m.Node) > maxNameBytes {
		return
	}
	if m.Watches != nil {
		f.gathered.setInterest(m.Instance, *m.Watches)
	}
	for _, text := range m.Events {
		var e engine.Event
		if json.Unmarshal(text, &e) == nil && named(&e) {
			f.relay(&e)
		}
	}
	if m.Report != nil {
		f.learn(m.Node, m.Instance, *m.Report)
	}
	if m.Ask {
		signal(f.call)
	}
}

// named reports whether an event has a type, and names no longer than any.
func named(e *engine.Event) bool {
	longest := max(len(e.Kind), len(e.Node), len(e.Key.Bot), len(e.Key.Conversation), len(e.MessageID), len(e.ReplyID))
	return e.Kind != "" && longest <= maxTopicBytes
}

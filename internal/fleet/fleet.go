package fleet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/loglimit"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// The times of a fleet. A node counts as silent after three reports that did not come,
// so one lost broadcast changes nothing.
const (
	reportEvery  = 5 * time.Second        // a node's report, and the renewal of what it watches
	silentAfter  = 3 * reportEvery        // without a report from it a node is silent
	gatherFor    = 100 * time.Millisecond // events of a node, after the first
	tellTimeout  = 10 * time.Second       // of one broadcast or hint
	farewellTime = time.Second            // for the last report of a node that closes
	missedEvery  = 10 * time.Second       // between two lines about events that watchers miss
	maxNameBytes = 512                    // of a node and of its instance
)

// Options are the settings of a node's part in a fleet. All are required. The functions
// are called by goroutines of the fleet; none of them may call the fleet.
type Options struct {
	Name     string // of the node
	Instance string // tells it from other starts of a node of that name
	Store    store.Store
	Log      *slog.Logger
	Now      func() turn.Time                         // the store's clock
	Report   func(ctx context.Context) (Report, bool) // this node as it is now; false: it can't tell
	Hinted   func(store.Key)                          // takes hints of other nodes

	RingBytes int // about what the events may take that are kept for readers who come back
}

// Fleet is a node's part in what the nodes of a store tell each other. Its methods
// may be called from many goroutines; none of them waits for another node.
//
// Three goroutines belong to it, as far as the store has the power that they need: one
// listens for hints, one listens for broadcasts, and one broadcasts (broadcastLoop). Each
// hint that is sent has one more for a moment. [Fleet.Close] waits for all of them.
//
// An event takes this way: [Fleet.Publish] hands it to the readers of this node and, if
// some other node watches its topic, puts it with the outgoing events. broadcastLoop sends
// these at most every 100 ms. On the other node heard checks them and hands them to the
// readers there. Every 5 s, and at once when a topic is new, broadcastLoop also sends the
// node's report and its watched topics. Other nodes forget topics that were not renewed
// for 15 s, and show a node without a report for 15 s as silent.
type Fleet struct {
	*Broker // of the events that this node's watchers see

	options Options
	store   store.Store
	out     store.Broadcaster // nil: this node tells others nothing, and hears nothing
	log     *slog.Logger

	outgoing   outgoing      // events that go out with the next broadcast
	eventsWait chan struct{} // holds a value while there are some
	tellNow    chan struct{} // holds a value when others should hear at once how this node is

	revoked revocations

	// The goroutine broadcastLoop alone uses these.
	reception reception
	crowded   loglimit.Limit // lines about broadcasts that the store refused
	missed    loglimit.Limit // lines about events that other nodes miss

	mu      sync.Mutex        // guards the fields below
	reports map[string]Report // the last one of each other node, by instance
	warned  bool              // it was logged that another node has this one's name

	ctx        context.Context // ends when the fleet does
	stop       context.CancelFunc
	goroutines sync.WaitGroup
}

// New returns a part in a fleet that does nothing until it is started. Events can be
// published before.
func New(o Options) *Fleet {
	f := &Fleet{
		options: o, store: o.Store, log: o.Log,
		eventsWait: make(chan struct{}, 1), tellNow: make(chan struct{}, 1), reports: map[string]Report{},
	}
	f.crowded.Every, f.missed.Every = missedEvery, missedEvery
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.Broker = newBroker(o.RingBytes, func() { signal(f.tellNow) })
	f.outgoing.others, f.outgoing.deltas = map[string]interest{}, map[store.Key]int{}
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
		f.goroutines.Go(f.broadcastLoop)
	}
}

// Close ends all subscriptions, tells the other nodes that this one is gone, and
// waits for all goroutines. The node's report must be its last by now, since broadcastLoop
// asks for it once more. The subscriptions end first, so that the last broadcast also says
// that nothing is watched here any more. That broadcast has one second.
func (f *Fleet) Close() {
	f.close()
	f.stop()
	f.goroutines.Wait()
}

// Publish hands an event to the watchers here and on other nodes. It does not block:
// the engine calls it, and must never wait for somebody who watches.
func (f *Fleet) Publish(e *engine.Event) {
	f.publish(e)
	if f.out != nil && f.outgoing.offer(e) {
		signal(f.eventsWait)
	}
}

// signal puts a value into a channel that holds one at most, for a goroutine that looks
// for itself what there is to do.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it holds one
	}
}

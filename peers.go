package onereply

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/loglimit"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

const (
	reportEvery  = 5 * time.Second        // a node's report, and the renewal of what it watches
	silentAfter  = 3 * reportEvery        // without a word from it
	listedFor    = 10 * time.Minute       // a silent node
	rememberFor  = time.Hour              // what a node that is gone had counted
	gatherFor    = 100 * time.Millisecond // events of a node, after the first
	maxPeers     = 256                    // other nodes, and those that are gone
	farewellTime = time.Second            // for the last report of a node that closes
)

// peers is what a node tells the others, and hears from them, where the store can
// carry it. All of it may be lost: no reply depends on it.
type peers struct {
	app     *App
	out     store.Broadcaster // nil: this node is alone, or can't know
	life    string            // of this node since it was opened
	started turn.Time
	gathering
	wake     chan struct{}  // events were gathered
	call     chan struct{}  // what this node watches changed, or another node asks
	watching bool           // what the others were told; of speak only
	echo     echo           // of speak only
	crowded  loglimit.Limit // lines about broadcasts that the store refused
	missed   loglimit.Limit // lines about events that other nodes miss
	reported uint64         // how often this node told of itself; of the loop only

	mu      sync.Mutex
	reports map[string]report // of other nodes, by life
	asked   bool

	namesakes namesakes // of hear only
}

// interest is what another node watches.
type interest struct {
	topics []topic
	until  time.Time
}

// bulletin is what one broadcast holds.
type bulletin struct {
	Node    string            `json:"node"`
	Life    string            `json:"life"`
	Watches *[]topic          `json:"watches,omitempty"` // all that the node watches; empty: nothing any more
	Events  []json.RawMessage `json:"events,omitempty"`
	Reports []report          `json:"reports,omitempty"` // its own, and of nodes that can't tell theirs any more
	Ask     bool              `json:"ask,omitempty"`     // a node that was just opened: it knows of no other
}

func newPeers(a *App) *peers {
	p := &peers{
		app: a, life: shortID() + shortID(), started: a.clock.now(),
		wake: make(chan struct{}, 1), call: make(chan struct{}, 1), reports: map[string]report{}, namesakes: namesakes{},
	}
	p.others, p.deltas = map[string]interest{}, map[store.Key]int{}
	p.crowded.Every, p.missed.Every = 10*time.Second, 10*time.Second
	p.out, _ = a.store.(store.Broadcaster)
	return p
}

// publish tells of an event, here and on every node where somebody watches.
func (a *App) publish(e *Event) {
	a.watch.publish(e)
	if a.peers.offer(e) {
		signal(a.peers.wake)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake
	}
}

// speak tells the other nodes what they want to know, until the App closes.
func (p *peers) speak() {
	ctx := p.app.ctx
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	p.say(ctx, bulletin{Ask: true, Watches: p.watches(), Reports: p.own(ctx)})
	again := true // the answers may have come before this node heard anything
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			p.forget()
			p.say(ctx, bulletin{Ask: again, Watches: p.watches(), Reports: p.own(ctx)})
			again = false
			p.listens(ctx)
		case <-p.call:
			p.answerCall(ctx)
		case <-p.wake:
			p.sayEvents(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(gatherFor):
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
	defer cancel()
	p.say(last, bulletin{Watches: &[]topic{}, Reports: []report{p.lastReport()}})
}

// watches is what to say of what this node watches, nil where the others need not
// be told: it watches nothing, and they know.
func (p *peers) watches() *[]topic {
	all := p.app.watch.current()
	if len(all) == 0 && !p.watching {
		return nil
	}
	p.watching = len(all) > 0
	return &all
}

// answerCall renews what this node watches, and answers a node that was just opened.
func (p *peers) answerCall(ctx context.Context) {
	p.mu.Lock()
	asked := p.asked
	p.asked = false
	p.mu.Unlock()
	b := bulletin{Watches: p.watches()}
	if asked {
		b.Reports = append(p.own(ctx), p.gone()...)
	}
	p.say(ctx, b)
}

func (p *peers) sayEvents(ctx context.Context) {
	events, dropped := p.take()
	groups, tooLarge := packed(events)
	for _, group := range groups {
		p.say(ctx, bulletin{Events: group})
	}
	if lost := p.missed.Add(time.Now(), dropped+uint64(tooLarge)); lost > 0 {
		p.app.log.Warn("too many events at once, or too large ones: watchers on other nodes miss some", "missed", lost)
	}
}

func (p *peers) say(ctx context.Context, b bulletin) {
	if b.Watches == nil && b.Events == nil && b.Reports == nil {
		return
	}
	b.Node, b.Life = p.app.options.Node, p.life
	payload, err := json.Marshal(b)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err = p.out.Broadcast(ctx, payload)
	}
	switch {
	case err == nil:
		p.echo.spoke(time.Now())
	case p.app.ctx.Err() != nil:
	case errors.Is(err, store.ErrCrowded):
		if lost := p.crowded.Add(time.Now(), uint64(max(1, len(b.Events)))); lost > 0 {
			p.app.log.Warn("the store carries less than this node has to tell: watchers on other nodes miss some", "missed", lost, "err", err)
		}
	default:
		p.app.log.Debug("other nodes were not told", "err", err)
	}
}

// hear takes in what other nodes tell, until the App closes.
func (p *peers) hear() {
	a := p.app
	for a.ctx.Err() == nil {
		if err := p.out.Broadcasts(a.ctx, p.heard); err != nil && a.ctx.Err() == nil {
			a.log.Debug("what other nodes tell does not arrive", "err", err)
		}
		select {
		case <-a.ctx.Done():
		case <-time.After(hintPause):
		}
	}
}

// heard takes in a bulletin. Whoever can reach the store's server may have sent it.
func (p *peers) heard(payload []byte) {
	var b bulletin
	if json.Unmarshal(payload, &b) != nil || b.Life == "" || b.Life == p.life || len(b.Life) > MaxNameBytes || len(b.Node) > MaxNameBytes {
		return
	}
	for _, r := range b.Reports {
		if r.Life == b.Life {
			p.meet(r)
		}
	}
	if b.Watches != nil {
		p.setInterest(b.Life, *b.Watches)
	}
	for _, text := range b.Events {
		var e Event
		if json.Unmarshal(text, &e) == nil && e.named() {
			p.app.watch.relay(&e)
		}
	}
	p.learn(b)
}

// named reports whether an event has a type, and names no longer than any.
func (e *Event) named() bool {
	longest := max(len(e.Type), len(e.Node), len(e.Bot), len(e.Conversation), len(e.MessageID), len(e.ReplyID))
	return e.Type != "" && longest <= maxTopicBytes
}

func (p *peers) setInterest(life string, all []topic) {
	p.gathering.mu.Lock()
	defer p.gathering.mu.Unlock()
	switch {
	case len(all) == 0:
		delete(p.others, life)
	case len(all) > maxTopics || bytesOf(all) > maxTopicBytes:
		all = []topic{{}}
		fallthrough
	default:
		if _, known := p.others[life]; known || len(p.others) < maxPeers {
			p.others[life] = interest{topics: all, until: time.Now().Add(silentAfter)}
		}
	}
	p.wanted.Store(len(p.others) > 0)
}

// forget drops what was not renewed.
func (p *peers) forget() {
	p.gathering.mu.Lock()
	for life, other := range p.others {
		if time.Now().After(other.until) {
			delete(p.others, life)
		}
	}
	p.wanted.Store(len(p.others) > 0)
	p.gathering.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.app.clock.now()
	for life, r := range p.reports {
		switch {
		case now.Sub(r.At) > rememberFor:
			delete(p.reports, life)
		case r.At > now: // the store's clock was set back
			r.At = now
			p.reports[life] = r
		}
	}
}

package engine

import (
	"container/heap"
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// timers is a heap of conversations by when they must be looked at next. Only
// those in which this node has something to do soon are in it.
type timers []*conversation

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].alarm() < t[j].alarm() }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}
func (t *timers) Push(x any) {
	c := x.(*conversation)
	c.index = len(*t)
	*t = append(*t, c)
}
func (t *timers) Pop() any {
	old := *t
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	c.index = -1
	return c
}

// alarm is when this node must look at the conversation, 0: never.
func (c *conversation) alarm() turn.Time {
	at := c.wakeAt
	for _, other := range []turn.Time{c.retryAt, c.leaseAlarm()} {
		if other != 0 && (at == 0 || other < at) {
			at = other
		}
	}
	return at
}

// arm notes when the record wants to be looked at, and keeps the heap in
// order.
func (n *Node) arm(c *conversation) {
	if c.known && !c.waking && !c.queued {
		c.wakeAt = 0
		if at, ok := c.snap.Record.Wake(); ok && !n.holds(c) && at < n.now.Add(horizon) && !n.draining {
			c.wakeAt = max(at, 1)
		}
	}
	switch at := c.alarm(); {
	case at == 0 && c.index >= 0:
		heap.Remove(&n.timers, c.index)
	case at != 0 && c.index < 0:
		heap.Push(&n.timers, c)
	case at != 0:
		heap.Fix(&n.timers, c.index)
	}
}

// at notes the time. Where the store's clock was set back by more than a look at the
// timers takes, what this node does by itself is set back too: it would come so much
// too late. When a record is due is the store's time, and stays.
func (n *Node) at(now turn.Time) {
	if back := n.now.Sub(now); back > pollEvery {
		n.setBack(-back)
	}
	n.now = now
}

func (n *Node) setBack(by time.Duration) {
	move := func(at *turn.Time) {
		if *at != 0 {
			*at = at.Add(by)
		}
	}
	move(&n.pollAt)
	for _, c := range n.timers {
		move(&c.retryAt)
		if c.run != nil {
			move(&c.run.renewAt)
		}
		if c.send != nil {
			move(&c.send.renewAt)
		}
	}
	heap.Init(&n.timers)
}

// NextTick is when Tick must be called at the latest.
func (n *Node) NextTick() turn.Time {
	next := n.pollAt
	if len(n.timers) > 0 {
		if at := n.timers[0].alarm(); next == 0 || at < next {
			next = at
		}
	}
	return next
}

// Tick says that time passed.
func (n *Node) Tick(now turn.Time) {
	n.at(now)
	for len(n.timers) > 0 && n.timers[0].alarm() <= now {
		c := n.timers[0]
		n.tick(c)
		n.arm(c)
		n.pump(c)
	}
	n.serve()
	n.poll()
	n.evict()
}

func (n *Node) tick(c *conversation) {
	if c.retryAt != 0 && c.retryAt <= n.now {
		c.retryAt = 0
	}
	n.tickLease(c)
	if c.wakeAt != 0 && c.wakeAt <= n.now {
		at := c.wakeAt
		c.wakeAt = 0
		n.due(c, at)
	}
}

// due is a conversation whose time has come. Generating needs a place; all
// else goes on at once.
func (n *Node) due(c *conversation, at turn.Time) {
	switch {
	case n.draining || c.waking || c.queued || n.holds(c):
	case c.known && c.snap.Record.Phase == turn.Sending:
		n.wake(c)
	default:
		c.queued = true
		n.ready.push(c, at)
	}
}

// serve lets as many generate as may.
func (n *Node) serve() {
	for !n.draining {
		c := n.ready.pop()
		if c == nil {
			return
		}
		c.queued, c.slot = false, true
		n.wake(c)
	}
}

// wake looks at a conversation. The nonce is made once, so that the event can
// be applied again where the outcome of its write is unknown.
func (n *Node) wake(c *conversation) {
	c.waking = true
	n.own(c, &Request{event: turn.Wake{
		Holder: n.options.Name, Nonce: n.options.NewOp().String(), Alone: n.options.Alone,
		First: int64(n.now), Moved: c.claimed,
	}})
	c.claimed = false
}

// freeSlot gives a conversation's generation to the next.
func (n *Node) freeSlot(c *conversation) {
	if !c.slot {
		return
	}
	c.slot = false
	n.ready.release(c.key.Bot)
	n.serve()
	if n.more && n.ready.free() > 0 {
		n.more, n.pollAt = false, n.now
	}
}

// poll asks the store for timers that nobody acts on, as many as could be
// served at once.
func (n *Node) poll() {
	if n.draining || n.pollAt == 0 || n.now < n.pollAt {
		return
	}
	n.pollAt = n.now.Add(n.pollPause())
	if n.polling {
		return
	}
	if bots, count := n.ready.room(); count > 0 {
		n.polling = true
		n.emit(Claim{Limit: count, Hold: claimHold, Bots: bots})
	}
}

// pollPause is three to five quarters of pollEvery, another one each time: nodes
// that were started together do not look in step, where the first would take all
// and the others nothing. It is drawn from the name and the life, which differ, and
// not from the randomness that a simulation replays.
func (n *Node) pollPause() time.Duration {
	n.polls++
	hash := fnv.New32a()
	_, _ = hash.Write(binary.BigEndian.AppendUint64([]byte(n.options.Name+n.options.Life), n.polls)) // it never fails
	return pollEvery*3/4 + time.Duration(hash.Sum32()%1000)*pollEvery/2000
}

// Claimed takes the answer to a Claim.
func (n *Node) Claimed(now turn.Time, claimed []store.Timer, err error) {
	n.at(now)
	n.polling = false
	ours := 0
	for _, t := range claimed {
		if n.claimed(t.Key, t.At) {
			ours++
		}
	}
	n.serve()
	n.more = ours > 0 && err == nil && !n.draining
	if n.more {
		n.pollAt = now
	}
}

// claimed takes over a timer, and reports whether it is of a bot that this node
// has; others are configured elsewhere, or no more.
func (n *Node) claimed(key store.Key, at turn.Time) bool {
	if _, ok := n.options.Bots[key.Bot]; !ok {
		return false
	}
	c := n.get(key)
	if c.waking || c.queued || n.holds(c) || c.busy {
		n.settleDown(c)
		return true
	}
	c.claimed = true
	c.wakeAt = 0
	n.due(c, at)
	n.arm(c)
	n.settleDown(c)
	return true
}

// Recovered takes the answer to a Recover. No other process has the store
// open, so whoever holds a lease now is gone.
func (n *Node) Recovered(now turn.Time, found []store.Timer, err error) {
	n.at(now)
	for _, t := range found {
		if _, ok := n.options.Bots[t.Key.Bot]; !ok {
			continue
		}
		c := n.get(t.Key)
		if !c.known && !c.busy && len(c.queue) == 0 {
			c.recovers, c.busy = true, true
			n.emit(Load{Key: t.Key})
		}
	}
}

// recover takes over what a process that is gone had under way, and arms the
// timers of the rest.
func (n *Node) recover(c *conversation) {
	if c.snap.Record.Lease.Nonce != "" && !n.holds(c) {
		n.due(c, c.snap.Record.Due)
		n.serve()
	}
}

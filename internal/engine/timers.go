package engine

import (
	"container/heap"
	"time"

	"github.com/onereply/onereply/turn"
)

// timers is a heap of conversations by their next alarm. It holds only those in which
// this node has something to do soon. It is a convenience: the store has a timer of each
// conversation in which there is work, and any node finds it there. With this heap the
// node that wrote a record acts on it at the very moment, without asking the store.
type timers []*conversation

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].alarm() < t[j].alarm() }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timerIndex, t[j].timerIndex = i, j
}
func (t *timers) Push(x any) {
	c := x.(*conversation)
	c.timerIndex = len(*t)
	*t = append(*t, c)
}
func (t *timers) Pop() any {
	old := *t
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	c.timerIndex = -1
	return c
}

// alarm is when this node must look at the conversation, 0: never.
func (c *conversation) alarm() turn.Time {
	at := c.wakeAt
	for _, other := range []turn.Time{c.retryAt, c.leaseAlarm(), c.resultAlarm()} {
		if other != 0 && (at == 0 || other < at) {
			at = other
		}
	}
	return at
}

// resultAlarm is when a kept result is to be offered, 0: there is none.
func (c *conversation) resultAlarm() turn.Time {
	if c.run == nil || c.run.kept == nil {
		return 0
	}
	return c.run.offerAt
}

// arm notes the record's wake-up time, and keeps the heap in order. It is called
// whenever one of the times of alarm may have changed. Only a record that was seen
// arms anything: a guess or a hint may be wrong.
func (n *Node) arm(c *conversation) {
	if c.knows == seen && !c.waking && !c.checkingSign {
		c.wakeAt = 0
		at, ok := c.snap.Record.Wake()
		if c.slot == waitsForSlot {
			at = c.snap.Record.NextSign()
			ok = at != 0
		}
		if sign := c.snap.Record.NextSign(); ok && (sign == 0 || at < sign) {
			at = max(at, n.mayRunAlone(c))
		}
		if ok && !n.holds(c) && at < n.now.Add(horizon) && !n.draining {
			c.wakeAt = max(at, 1) // a lease without an expiry has ended
		}
	}
	if c.knows == seen && c.run != nil {
		c.run.offerAt = c.snap.Record.Window.Due
	}
	switch at := c.alarm(); {
	case at == 0 && c.timerIndex >= 0:
		heap.Remove(&n.timers, c.timerIndex)
	case at != 0 && c.timerIndex < 0:
		heap.Push(&n.timers, c)
	case at != 0:
		heap.Fix(&n.timers, c.timerIndex)
	}
}

// setTime notes the time. If the store's clock was set back by more than a look at the
// timers takes, this node's own alarms are set back too, or they would come too late by
// as much. The due time of a record is the store's time, and stays.
func (n *Node) setTime(now turn.Time) {
	if back := n.now.Sub(now); back > pollEvery {
		n.setBack(-back)
	}
	n.now = now
}

// setBack moves the alarms that this node set for itself.
func (n *Node) setBack(by time.Duration) {
	move := func(at *turn.Time) {
		if *at != 0 {
			*at = at.Add(by)
		}
	}
	for _, at := range []*turn.Time{&n.pollAt, &n.lone.heldSince, &n.lone.othersTo, &n.lone.calmSince} {
		move(at)
	}
	for bot, until := range n.pauses {
		n.pauses[bot] = until.Add(by)
	}
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
	n.setTime(now)
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

// tick carries out the due retry, renewal or wake-up of one conversation.
func (n *Node) tick(c *conversation) {
	if c.retryAt != 0 && c.retryAt <= n.now {
		c.retryAt = 0
	}
	n.tickLease(c)
	n.tickResult(c)
	if c.wakeAt != 0 && c.wakeAt <= n.now {
		at := c.wakeAt
		c.wakeAt = 0
		n.due(c, at)
	}
}

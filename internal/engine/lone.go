package engine

import (
	"container/heap"

	"github.com/onereply/onereply/turn"
)

// lone is this node's part in finding the message that brings down its workers: see
// turn/culprit.go. An attempt that must run alone begins when no other one runs here, and
// none begins beside it until its result is written.
//
// So the others have to be held back, at first until those that run have ended, each by
// its own time limit. This node gives that half of its time at most: after a lone attempt
// the others go first, for as long as they were held back for it. Where none of them
// waits, nothing is lost, and the next lone attempt begins at once. As the others are
// always held back again in the end, a lone attempt waits no longer than they do.
type lone struct {
	waiting   queue     // conversations whose next attempt must run alone, and may begin now
	runs      bool      // one of them does
	heldSince turn.Time // when others were first held back for it, 0: they are not
	othersTo  turn.Time // the others go first until then
	calmSince turn.Time // no worker of this node was lost since
}

// holdsBack reports whether no other attempt may begin.
func (l *lone) holdsBack() bool { return l.heldSince != 0 }

// mayRunAlone is when this node may begin the next attempt of a conversation, which must
// run alone; 0: it need not. Before that the node has not been calm for long enough: with a
// node that is lost again and again a lost worker proves nothing.
func (n *Node) mayRunAlone(c *conversation) turn.Time {
	r := &c.snap.Record
	calm, alone := r.MustRunAlone()
	if !alone || c.knows != seen || r.Phase != turn.Collecting || r.OnHold {
		return 0
	}
	return max(n.lone.calmSince.Add(calm), 1)
}

// waitToRunAlone has a due conversation wait until nothing else runs here, or until the node has
// been calm for long enough.
func (n *Node) waitToRunAlone(c *conversation, due turn.Time) {
	if at := n.mayRunAlone(c); at > n.now {
		c.wakeAt = at
		return
	}
	c.slot = waitsForSlot
	n.ready.count++
	heap.Push(&n.lone.waiting, waiter{due: due, order: n.ready.count, conversation: c})
}

// nextLone gives the next conversation that runs alone, and counts it as running. If others
// run still, it holds back those that wait.
func (n *Node) nextLone() *conversation {
	l := &n.lone
	for !l.runs && len(l.waiting) > 0 {
		busy := n.ready.used > 0
		if n.now < l.othersTo && (busy || n.ready.waiting() > 0) {
			return nil
		}
		c := l.waiting[0].conversation
		if at := n.mayRunAlone(c); at > n.now { // a worker was lost meanwhile
			heap.Pop(&l.waiting)
			c.slot = noSlot
			n.arm(c)
			continue
		}
		if l.heldSince == 0 {
			l.heldSince = n.now
		}
		if busy {
			return nil
		}
		heap.Pop(&l.waiting)
		n.ready.take(c.key.Bot)
		l.runs, c.slot = true, hasNode
		return c
	}
	if !l.runs {
		l.heldSince = 0
	}
	return nil
}

// ended follows a lone attempt, or one that turned out to have nothing to do.
func (l *lone) ended(now turn.Time) {
	l.othersTo = now.Add(now.Sub(l.heldSince))
	l.runs, l.heldSince = false, 0
}

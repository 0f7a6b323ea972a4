package engine

import "github.com/onereply/onereply/turn"

// A conversation whose time has come goes through three steps. It waits for a slot to
// generate in (due, serve). It is woken: a Wake is written, and takes the lease if the
// core says so (wake). Its attempt runs, or there turns out to be nothing to do; either
// way its slot is free again at the end (freeSlot).

// due is a conversation whose time has come. Generating needs a slot. A send needs
// none: it takes no model, and a reply that is written should not wait for others.
func (n *Node) due(c *conversation, at turn.Time) {
	switch {
	case n.draining || c.waking || c.checkingSign || n.holds(c):
	case n.signIsDue(c):
		c.checkingSign = true
		n.submitOwn(c, &task{event: turn.CheckSign{}})
	case c.slot == waitsForSlot:
	case c.knows == seen && c.snap.Record.Phase == turn.Sending:
		n.wake(c)
	case n.mayRunAlone(c) != 0:
		n.waitToRunAlone(c, at)
	default:
		if c.knows == seen {
			at = max(at, c.snap.Record.Window.Due) // an early start waits behind all that is due
		}
		c.slot = waitsForSlot
		n.ready.push(c, at)
	}
}

// signIsDue reports whether people may have to be told that it takes longer. That needs no
// slot, and comes before the wait for one. A claimed timer has to be written anew in any
// case, which a wake-up does: it comes first, or at the end of the wait for a slot.
func (n *Node) signIsDue(c *conversation) bool {
	if c.knows != seen || c.claimed && c.slot != waitsForSlot {
		return false
	}
	at := c.snap.Record.NextSign()
	return at != 0 && at <= n.now
}

// serve gives free slots to the conversations that wait for one, or the whole node to one
// that must run alone.
func (n *Node) serve() {
	for !n.draining {
		c := n.nextLone()
		if c == nil && !n.lone.holdsBack() {
			if c = n.ready.pop(); c != nil {
				c.slot = hasSlot
			}
		}
		if c == nil {
			return
		}
		n.wake(c)
	}
}

// wake looks at a conversation. The nonce is made once, so that the event can
// be applied again where the outcome of its write is unknown.
func (n *Node) wake(c *conversation) {
	c.waking = true
	n.submitOwn(c, &task{event: turn.Wake{
		Holder: n.options.Name, Nonce: n.options.NewOp().String(), Alone: n.options.Alone, Lone: c.slot == hasNode,
		First: int64(n.now), Moved: c.claimed,
	}})
	c.claimed = false
}

// freeSlot gives a conversation's slot to the next one that waits.
func (n *Node) freeSlot(c *conversation) {
	switch c.slot {
	case hasSlot:
	case hasNode:
		n.lone.ended(n.now)
	default:
		return
	}
	c.slot = noSlot
	n.ready.release(c.key.Bot)
	n.serve()
	if n.more && n.ready.free() > 0 {
		n.more, n.pollAt = false, n.now
	}
}

package engine

import "github.com/onereply/onereply/turn"

// holds reports whether this node works on the conversation.
func (n *Node) holds(c *conversation) bool { return c.run != nil || c.send != nil }

// carryOut carries out the core's actions, as far as they still hold after the whole
// batch.
func (n *Node) carryOut(c *conversation, b *batch) {
	woken := false
	for _, t := range b.tasks {
		woken = woken || t.wakes()
		c.checkingSign = c.checkingSign && !t.isSignCheck()
	}
	n.endWork(c, b)
	for _, action := range b.actions {
		switch a := action.(type) {
		case turn.Run:
			n.startRun(c, a)
		case turn.Cancel:
			if c.run != nil && c.run.lease.Nonce == a.Nonce {
				n.stopRun(c, a.Reason)
			}
		case turn.Send:
			n.startSend(c, a)
		case turn.Show:
			record := c.snap.Record
			if record.Pending == 0 || record.OnHold { // nobody waits for the bot any more
				continue
			}
			n.emit(Show{
				Key: c.key, Conversation: record.Name(c.key.Conversation), Address: addressOf(c.key.Conversation, record),
				Turn: a.Turn, Sign: a.Sign, Text: n.bot(c).signText(a.Sign),
			})
		}
	}
	n.keepLease(c)
	if woken {
		c.waking = false
	}
	if c.run == nil && !c.waking {
		n.freeSlot(c)
	}
}

// endWork forgets an attempt or a send that has returned, once its result is settled.
func (n *Node) endWork(c *conversation, b *batch) {
	for _, t := range b.tasks {
		switch {
		case !t.endsWork:
		case c.run != nil && c.run.ended && t.result.Reason == turn.NotDue:
			n.keepResult(c, t)
		case c.run != nil && c.run.ended:
			if t.result.Outcome != turn.Committed {
				n.discardTokens(c.run.tokens)
			}
			n.dropRun(c)
		case c.send != nil && c.send.ended:
			n.dropSend(c)
		}
	}
}

// keepLease compares the work here with the lease in the record: it notes a renewal, and
// stops the work if the lease is no longer this node's. A record known from a hint may be
// older than the lease, and says nothing.
func (n *Node) keepLease(c *conversation) {
	if c.knows != seen {
		return
	}
	live := c.snap.Record.Lease
	if r := c.run; r != nil && !r.ended {
		if live.Nonce == r.lease.Nonce {
			r.lease.Expires = live.Expires
		} else {
			n.stopRun(c, stopLost)
		}
	}
	if s := c.send; s != nil && !s.ended {
		if live.Nonce == s.lease.Nonce {
			s.lease.Expires = live.Expires
		} else {
			n.stopSend(c, stopLost)
		}
	}
}

// stopWork ends the attempt and the send here without writing anything.
func (n *Node) stopWork(c *conversation, reason string) {
	if c.run != nil {
		n.stopRun(c, reason)
	}
	if c.send != nil {
		n.stopSend(c, reason)
	}
}

// Why work is stopped, besides the reasons of package turn.
const (
	stopLost    = "lease_lost"
	stopDeleted = "conversation_deleted"
)

// leaseIsGone reports whether work that was stopped for this reason has no lease any
// more, so that its end changes nothing.
func leaseIsGone(reason string) bool {
	switch reason {
	case stopLost, stopDeleted, turn.Replaced, turn.WasPaused, turn.WasDeleted, turn.ByHuman, turn.Stopped, turn.WasReset, turn.Crashed:
		return true
	}
	return false
}

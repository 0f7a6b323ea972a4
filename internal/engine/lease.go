package engine

import (
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A lease is the right to work on a conversation. It lives in the record, and only
// its nonce gives the right. Times are for courtesy between nodes: the holder renews
// after a third of the length, and stops itself a tenth before the end, so that the
// next holder finds nothing running. A holder that misses both is fenced by the nonce.
//
//	taken         renewed                       stops itself   others may take over
//	  |--------------|--------------|---------------|--------|
//	  0             1/3            2/3             9/10      1

// isLive reports whether a lease is the one that the record has.
func (n *Node) isLive(c *conversation, lease turn.Lease) bool {
	return c.snap.Record.Lease.Nonce == lease.Nonce
}

// renewal is when a lease is to be renewed: a third of it after the last time.
func (n *Node) renewal(c *conversation, lease turn.Lease) turn.Time {
	return lease.Expires.Add(-n.bot(c).Policy.Lease * 2 / 3)
}

// deadline is when this node stops itself, a tenth of a lease before others may take
// over. It is a courtesy: safety rests on the nonce alone.
func (n *Node) deadline(c *conversation, lease turn.Lease) turn.Time {
	return lease.Expires.Add(-n.bot(c).Policy.Lease / 10)
}

// leaseAlarm is when a lease held here needs attention, 0: never.
func (c *conversation) leaseAlarm() turn.Time {
	switch {
	case c.run != nil && !c.run.ended && !leaseIsGone(c.run.stopped):
		return c.run.renewAt
	case c.send != nil && !c.send.ended && !leaseIsGone(c.send.stopped):
		return c.send.renewAt
	}
	return 0
}

// tickLease renews the lease of the work here, or stops the work if the renewal did not
// succeed in time.
func (n *Node) tickLease(c *conversation) {
	at := c.leaseAlarm()
	if at == 0 || n.now < at {
		return
	}
	lease, next := n.currentLease(c)
	if n.now >= n.deadline(c, lease) {
		n.lone.calmSince = n.now
		n.stopWork(c, stopLost)
		return
	}
	*next = min(n.now.Add(n.bot(c).Policy.Lease/3), n.deadline(c, lease))
	n.submitOwn(c, &task{event: turn.Renew{Nonce: lease.Nonce}})
}

// currentLease is the lease of the work here, and when it is renewed next.
func (n *Node) currentLease(c *conversation) (turn.Lease, *turn.Time) {
	if c.run != nil && !c.run.ended {
		return c.run.lease, &c.run.renewAt
	}
	return c.send.lease, &c.send.renewAt
}

// Hinted takes a hint of another node. An attempt that runs here renews its
// lease at once, and learns with that whether it was overtaken or fenced.
func (n *Node) Hinted(now turn.Time, key store.Key) {
	n.setTime(now)
	c := n.all[key]
	if c == nil || c.run == nil || c.run.ended || leaseIsGone(c.run.stopped) {
		return
	}
	n.submitOwn(c, &task{event: turn.Renew{Nonce: c.run.lease.Nonce}})
}

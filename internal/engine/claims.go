package engine

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

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
	if bots, count := n.ready.room(); count > 0 && !n.lone.holdsBack() {
		n.polling = true
		n.emit(Claim{Limit: count, Hold: claimHold, Bots: bots})
	}
}

// pollPause is three to five quarters of pollEvery, another one each time. Nodes that
// were started together must not look at the same moments: the first would take all
// timers, and the others none. It is drawn from the name and the instance, which differ, and
// not from the randomness that a simulation replays.
func (n *Node) pollPause() time.Duration {
	n.polls++
	hash := fnv.New32a()
	_, _ = hash.Write(binary.BigEndian.AppendUint64([]byte(n.options.Name+n.options.Instance), n.polls)) // it never fails
	return pollEvery*3/4 + time.Duration(hash.Sum32()%1000)*pollEvery/2000
}

// Claimed takes the answer to a Claim.
func (n *Node) Claimed(now turn.Time, claimed []store.Timer, err error) {
	n.setTime(now)
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

// claimed takes over a timer, and reports whether this node has its bot; other bots are
// configured elsewhere, or no more. If this node works on the conversation already, the
// claim is superfluous: that work sets the timer.
func (n *Node) claimed(key store.Key, at turn.Time) bool {
	if _, ok := n.options.Bots[key.Bot]; !ok {
		return false
	}
	c := n.get(key)
	if c.waking || c.slot == waitsForSlot || n.holds(c) || c.call != noCall {
		n.release(c)
		return true
	}
	c.claimed = true
	c.wakeAt = 0
	n.due(c, at)
	n.arm(c)
	n.release(c)
	return true
}

// Recovered takes the answer to a Recover: conversations whose next moment a process that
// is gone may have held. They are read, and what follows is takeUpOrphaned's.
func (n *Node) Recovered(now turn.Time, found []store.Timer, err error) {
	n.setTime(now)
	for _, t := range found {
		if _, ok := n.options.Bots[t.Key.Bot]; !ok {
			continue
		}
		c := n.get(t.Key)
		if c.knows != seen && c.call == noCall && len(c.queue) == 0 {
			c.call = reading
			n.emit(Load{Key: t.Key})
		}
	}
}

// takeUpOrphaned takes over a conversation on which a process was working that is gone. No other
// one has the store open, so a lease that is not this node's is nobody's.
func (n *Node) takeUpOrphaned(c *conversation) {
	if n.options.Alone && c.snap.Record.Lease.Nonce != "" && !n.holds(c) {
		n.due(c, c.snap.Record.Window.Due)
		n.serve()
	}
}

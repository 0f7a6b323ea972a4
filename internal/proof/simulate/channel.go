package simulate

import (
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// startSend delivers a part of a reply, which is read first where the engine
// does not know it.
func (n *node) startSend(o engine.Send) {
	if n.seeded.flaws.sendsWait {
		d, life := roll(n.Seed, "flawed queue", int64(n.now), int64(n.index)), n.life
		wait := d.span(0, 3*n.policy.Lease)
		if n.ledger.faultless() {
			wait = 0
		}
		n.after(wait, func() { n.tell(life, func(turn.Time) { n.deliver(o, o.Entry) }) })
		return
	}
	if o.Entry != nil {
		n.deliver(o, o.Entry)
		return
	}
	var found []store.Entry
	n.read("entry", o.Key.Conversation, func() {
		found = n.entries(o.Key, store.EntryQuery{After: o.Reply.Seq - 1, Before: o.Reply.Seq + 1, Limit: 1})
	}, func(now turn.Time, err error) {
		if err != nil || len(found) == 0 {
			n.engine.SendEnded(now, engine.SendResult{Key: o.Key, Nonce: o.Lease.Nonce, Part: o.Reply.Done, NotSent: true})
			return
		}
		n.deliver(o, &found[0])
	})
}

// deliver hands a part to the channel, if there is time left for it.
func (n *node) deliver(o engine.Send, entry *store.Entry) {
	result := engine.SendResult{Key: o.Key, Nonce: o.Lease.Nonce, Part: o.Reply.Done, Entry: entry}
	left := o.Until.Sub(n.clock())
	if left <= 0 && !n.seeded.flaws.sendsWait {
		result.NotSent = true
		life := n.life
		n.after(0, func() { n.tell(life, func(now turn.Time) { n.engine.SendEnded(now, result) }) })
		return
	}
	if entry == nil {
		entry = &n.entries(o.Key, store.EntryQuery{After: o.Reply.Seq - 1, Limit: 1})[0]
		result.Entry = entry
	}
	limit := min(n.sendTimeout, left)
	if n.seeded.flaws.deadlineIgnored {
		limit = time.Hour
	}
	n.handOver(o, *entry, result, limit)
}

// handOver is the channel's side of a send.
func (n *node) handOver(o engine.Send, entry store.Entry, result engine.SendResult, limit time.Duration) {
	d := roll(n.Seed, "channel"+o.Key.Conversation, o.Reply.Seq, int64(o.Reply.Done), o.Lease.Token)
	took := d.span(5*time.Millisecond, slowestSend)
	if n.strikes(sendSlow, n.index, d, 60) {
		took += d.span(0, n.sendTimeout*6)
	}
	arrives, known := true, true
	switch {
	case n.strikes(sendFails, n.index, d, 70):
		arrives, result.Err, result.Certain = false, "busy", true
		result.After = pick(d, 0, 0, 2*time.Second)
	case n.strikes(sendRefused, n.index, d, 60):
		arrives, result.Err, result.Certain, result.ForGood = false, "refused", true, true
	case n.strikes(sendUnsureYes, n.index, d, 60):
		known, result.Err = false, "no answer in time"
		known, result.Certain = n.seeded.flaws.timeoutIsCertain, n.seeded.flaws.timeoutIsCertain
	case n.strikes(sendUnsureNo, n.index, d, 60):
		arrives, known, result.Err = false, false, "no answer in time"
	}
	s := n.ledger.sendBegins(n, o, entry, arrives)
	if s.reply != nil {
		s.reply.refused = s.reply.refused || result.ForGood
	}
	n.flight(o, s, result, took, limit, known)
}

// flight lets a send arrive, and its answer come back. One that takes too
// long is cut off by the process, if that is there and awake to do it.
func (n *node) flight(o engine.Send, s *sending, result engine.SendResult, took, limit time.Duration, known bool) {
	life, nonce := n.life, o.Lease.Nonce
	unsure := result
	unsure.Err, unsure.Certain, unsure.ForGood = "cut off", false, false
	w := &work{}
	cut := func() {
		if w.over {
			return
		}
		s.cutOff()
		n.end(nonce, w, life, func(now turn.Time) { n.engine.SendEnded(now, unsure) })
	}
	w.stop = func() {
		if !n.seeded.flaws.deadlineIgnored {
			n.after(time.Millisecond, cut)
		}
	}
	w.orphan = func() { s.orphaned(roll(n.Seed, "orphan", int64(n.now)).chance(50)) }
	n.begin(nonce, w)
	n.after(took*7/10, func() { s.arrive(n, life) })
	n.after(took, func() {
		if w.over {
			return
		}
		if known {
			s.known(result.Err == "")
		}
		n.end(nonce, w, life, func(now turn.Time) { n.engine.SendEnded(now, result) })
	})
	if limit < took {
		n.cutAfter(limit, life, cut)
	}
	if n.seeded.flaws.retriesBlindly && result.Err != "" && !known {
		n.after(took, func() { n.ledger.sendBegins(n, o, *result.Entry, true).arrive(n, life) })
	}
}

// cutAfter cuts a send off in time, or as soon as the process is awake.
func (n *node) cutAfter(limit time.Duration, life int, cut func()) {
	n.after(limit, func() {
		n.tell(life, func(turn.Time) { cut() })
	})
}

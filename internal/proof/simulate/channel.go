package simulate

import (
	"context"
	"time"

	"github.com/onereply/onereply/internal/engine"
	shipped "github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// startSend delivers a part of a reply, as the runtime does.
func (n *node) startSend(o engine.Send) {
	if n.clock() < n.told {
		n.fail("P7 receiver", "%s sends reply %d %v before the end of a pause that its receiver asked for", n.name, o.Reply.Turn, n.told.Sub(n.clock()))
	}
	if n.seeded.flaws.sendsWait {
		n.sendLater(o)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	reading := &work{stop: cancel, orphan: cancel}
	n.begin(o.Lease.Nonce, reading)
	var result engine.SendResult
	n.play(func(s remote) {
		result = shipped.Deliver(ctx, s, o, n.clock, func(o engine.Send) (got engine.SendResult, err error) {
			err = s.wait(func(resume func(now turn.Time)) {
				n.handOver(o, func(now turn.Time, r engine.SendResult) {
					got = r
					resume(now)
				})
			})
			return got, err
		})
	}, func(now turn.Time) {
		if cancel(); n.running[o.Lease.Nonce] == reading {
			delete(n.running, o.Lease.Nonce)
		}
		if result.WholeBot {
			n.told = max(n.told, now.Add(min(result.After, n.policy.RetryFor)))
			result.WholeBot = !n.seeded.flaws.pauseOfOne
		}
		n.engine.SendEnded(now, result)
	})
}

// sendLater is a flawed runtime: sends wait in a queue, and nobody looks at the
// lease again.
func (n *node) sendLater(o engine.Send) {
	d, life := roll(n.Seed, "flawed queue", int64(n.now), int64(n.index)), n.life
	wait := d.span(0, 3*n.policy.Lease)
	if n.ledger.faultless() {
		wait = 0
	}
	n.after(wait, func() {
		n.tell(life, func(turn.Time) {
			if o.Entry == nil {
				o.Entry = &n.entries(o.Key, store.EntryQuery{After: o.Reply.Seq - 1, Limit: 1})[0]
			}
			n.handOver(o, func(now turn.Time, result engine.SendResult) {
				result.Key, result.Nonce, result.Part, result.Entry = o.Key, o.Lease.Nonce, o.Reply.Done, o.Entry
				n.engine.SendEnded(now, result)
			})
		})
	})
}

// handOver is the channel's side of a send, which the process cuts off in the end.
func (n *node) handOver(o engine.Send, end func(now turn.Time, result engine.SendResult)) {
	limit := n.sendTimeout
	if n.seeded.flaws.deadlineIgnored {
		limit = time.Hour
	}
	var result engine.SendResult
	d := roll(n.Seed, "channel"+o.Key.Conversation, o.Reply.Seq, int64(o.Reply.Done), o.Lease.Token)
	took := d.span(5*time.Millisecond, n.slowestSend)
	if n.strikes(sendSlow, n.index, d, 60) {
		took += d.span(0, 60*time.Second)
	}
	arrives, known := true, true
	switch {
	case n.strikes(sendFails, n.index, d, 70):
		arrives, result.Err, result.Certain = false, "busy", true
		result.After = pick(d, 0, 0, 2*time.Second)
	case n.strikes(sendPauses, n.index, d, 60):
		arrives, result.Err, result.Certain = false, "too many", true
		result.After, result.WholeBot = d.span(time.Second, 30*time.Second), d.chance(40)
	case n.strikes(sendRefused, n.index, d, 60):
		arrives, result.Err, result.Certain, result.ForGood = false, "refused", true, true
	case n.strikes(sendUnsureYes, n.index, d, 60):
		known, result.Err = false, "no answer in time"
		known, result.Certain = n.seeded.flaws.timeoutIsCertain, n.seeded.flaws.timeoutIsCertain
	case n.strikes(sendUnsureNo, n.index, d, 60):
		arrives, known, result.Err = false, false, "no answer in time"
	}
	s := n.ledger.sendBegins(n, o, *o.Entry, arrives)
	if s.reply != nil {
		s.reply.refused = s.reply.refused || result.ForGood
	}
	n.flight(o, s, result, took, limit, known, end)
}

// flight lets a send arrive, and its answer come back. One that takes too
// long is cut off by the process, if that is there and awake to do it.
func (n *node) flight(o engine.Send, s *sending, result engine.SendResult, took, limit time.Duration, known bool,
	end func(now turn.Time, result engine.SendResult),
) {
	life, nonce := n.life, o.Lease.Nonce
	unsure := result
	unsure.Err, unsure.Certain, unsure.ForGood = "cut off", false, false
	w := &work{}
	cut := func() {
		if w.over {
			return
		}
		s.cutOff()
		n.end(nonce, w, life, func(now turn.Time) { end(now, unsure) })
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
			s.known(result.Err == "", result.After)
		}
		if result.Err == "" {
			result.ID = s.mark()
		}
		n.end(nonce, w, life, func(now turn.Time) { end(now, result) })
	})
	if limit < took {
		n.cutAfter(limit, life, cut)
	}
	if n.seeded.flaws.retriesBlindly && result.Err != "" && !known {
		n.after(took, func() { n.ledger.sendBegins(n, o, *o.Entry, true).arrive(n, life) })
	}
}

// cutAfter cuts a send off in time, or as soon as the process is awake.
func (n *node) cutAfter(limit time.Duration, life int, cut func()) {
	n.after(limit, func() {
		n.tell(life, func(turn.Time) { cut() })
	})
}

package simulate

import (
	"errors"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A platform that is polled.
//
// In some runs a part of the messages waits at a platform, which forgets those that it is
// told are done. One node at a time has the duty to fetch them. What channel/poll.go and a
// channel do is said once more here; [turn.TakeDuty] and [turn.KeepsDuty] decide.

// dutyLasts is how long a node may poll before it has to ask again.
const dutyLasts = 3 * time.Second

// dutyKey is where the store keeps who polls.
var dutyKey = store.Key{Bot: botName, Conversation: "platform:"}

// platform keeps what it has to tell.
type platform struct {
	updates []*waitingUpdate // those that are not done
	told    int
}

// waitingUpdate is a message that waits there.
type waitingUpdate struct {
	Event
	number  int
	settled bool // a node was told that it is stored, or that it is refused
}

// isPolled reports whether a message comes through the platform.
func (w *world) isPolled(e Event) bool {
	return w.polled && e.What == send && e.Aim == "" && e.Name == "" && roll(w.Seed, "polled message", int64(e.ID)).chance(60)
}

// tells has the platform keep a message for whoever polls.
func (w *world) tells(e Event) {
	w.platform.told++
	w.platform.updates = append(w.platform.updates, &waitingUpdate{Event: e, number: w.platform.told})
	w.log("people", "%s waits at the platform", e.Message)
}

// fetched is the platform's side of a poll: it forgets what is done, and gives the rest.
func (w *world) fetched(done int) []*waitingUpdate {
	for p := &w.platform; len(p.updates) > 0 && p.updates[0].number <= done; p.updates = p.updates[1:] {
		if !p.updates[0].settled {
			w.fail("P4 polled", "%s is said to be done, and nobody was told that it is stored", p.updates[0].Message)
		}
	}
	return append([]*waitingUpdate(nil), w.platform.updates...)
}

// poller is what a process does about the platform, from its start on.
type poller struct {
	*node
	life   int
	closed bool
	polls  bool
	round  int       // of polling: results of an earlier one are void
	since  turn.Time // it polls: when it asked for the time that it has
}

func (p *poller) nonce() string { return p.name + string(rune('0'+p.life)) }

// later does something in this life of the process.
func (p *poller) later(d time.Duration, f func()) {
	p.after(d, func() { p.tell(p.life, func(turn.Time) { f() }) })
}

// take asks the store for the duty, or gives it back. hear takes the answer.
func (p *poller) take(d time.Duration, hear func(engine.Result)) {
	r := &engine.Request{Key: dutyKey, Op: engine.TakeDuty, Name: p.nonce(), For: d, Ticket: hear}
	p.tell(p.life, func(now turn.Time) { p.engine.Submit(now, r) })
}

// ask asks for the duty, again and again.
func (p *poller) ask() {
	if p.closed {
		return
	}
	began, heard := p.now, false
	hear := func(taken, told bool) {
		if !heard && !p.closed {
			heard = true
			p.heard(began, taken, told)
			p.later(dutyLasts/3, p.ask)
		}
	}
	p.take(dutyLasts, func(r engine.Result) { hear(r.Err == nil && r.Outcome == turn.Done, r.Err == nil) })
	end := began.Add(dutyLasts)
	if p.polls {
		end = p.since.Add(dutyLasts)
	}
	p.later(max(end.Sub(p.now), 0), func() { hear(false, false) })
}

// heard takes in the answer.
func (p *poller) heard(began turn.Time, taken, told bool) {
	had := p.now.Sub(p.since)
	if taken {
		p.since = began
	}
	switch {
	case !p.polls && taken && p.now.Sub(began) < dutyLasts:
		p.log(p.name, "polls the platform")
		p.judgeDuty()
		p.polls = true
		p.round++
		p.fetch(0)
	case p.polls && !turn.KeepsDuty(taken, told, had, dutyLasts):
		p.stop()
	}
}

// judgeDuty checks that no other process polls that is awake and within its time.
func (p *poller) judgeDuty() {
	for _, n := range p.nodes {
		if q := n.poller; n != p.node && n.up() && !n.frozen && q.polls && p.now.Add(slack) < q.since.Add(dutyLasts) {
			p.fail("P5 duty", "%s begins to poll while %s polls, whose time is over in %v", p.name, n.name, q.since.Add(dutyLasts).Sub(p.now))
		}
	}
}

// stop ends polling, and gives the duty back.
func (p *poller) stop() {
	p.log(p.name, "polls no more")
	p.polls = false
	p.round++
	p.take(0, func(engine.Result) {})
}

// close is for a process that ends in order.
func (p *poller) close() {
	if p.closed = true; p.polls {
		p.stop()
	}
}

// inRound does something later, unless polling has ended by then, or begun anew.
func (p *poller) inRound(d time.Duration, f func()) {
	round := p.round
	p.later(d, func() {
		if p.round == round && p.polls {
			f()
		}
	})
}

// fetch says what is done, and asks for the rest.
func (p *poller) fetch(done int) {
	d, round := roll(p.Seed, "poll", int64(p.index), int64(p.now)), p.round
	p.after(d.span(time.Millisecond, 30*time.Millisecond), func() {
		updates := p.fetched(done)
		if p.round != round {
			return
		}
		p.inRound(d.span(time.Millisecond, 30*time.Millisecond), func() {
			if len(updates) == 0 {
				p.inRound(500*time.Millisecond, func() { p.fetch(done) })
				return
			}
			if p.seeded.flaws.doneBeforeStored {
				p.fetch(updates[len(updates)-1].number)
			}
			p.store(updates)
		})
	})
}

// store hands updates over, one after the other. After a failure all are asked for again.
func (p *poller) store(updates []*waitingUpdate) {
	u := updates[0]
	a := &ask{Event: u.Event, key: p.key(u.Conversation), node: p.node}
	r, round := a.request(), p.round
	p.underName(u.Event, r)
	p.log("people", "%s to %s, which polled it", words(a.What, a.Message, a.text), p.name)
	a.ends = func(result engine.Result) {
		settled := result.Err == nil || errors.Is(result.Err, engine.ErrTooMany)
		u.settled = u.settled || settled
		switch {
		case p.round != round || !p.polls:
		case !settled:
			p.inRound(time.Second, func() { p.fetch(0) })
		case len(updates) > 1:
			p.store(updates[1:])
		default:
			p.fetch(u.number)
		}
	}
	p.ledger.asks(a)
	p.submit(a, r)
}

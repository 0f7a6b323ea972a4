package explore

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/onereply/onereply/turn"
)

// The exploration of a duty: a job that one node at a time does.
//
// A platform keeps updates until whoever polls it says that they are done. Two nodes ask the
// store who of them is to poll. The one that has the duty fetches what waits, stores one
// update after the other, and says with its next poll that they are done. A node may die,
// stand still, or lose the answer of the store at any moment, and what it asked of the
// store may take long.
//
// [turn.Step] decides who has the duty, and [turn.KeepsDuty] when a node that hears nothing
// gives it up. What channel/poll.go and a channel do around them is said once more, in few
// lines. An update is known by its id, so that of two that store the same one the second
// changes nothing.

// dutyLasts is how long a duty lasts: three moments.
const dutyLasts = 3 * Tick

// updates is a set of updates, by number from 0.
type updates uint8

// dutyAsk is what a node asks of the store. A node's questions are carried out in the order
// in which it asks them.
type dutyAsk struct {
	at      turn.Time
	back    bool // it gives the duty back
	unheard bool // the node does not wait for the answer any more
}

// dutyAnswer is what became of the last question that the node waits for.
type dutyAnswer uint8

const (
	noAnswer dutyAnswer = iota
	saidYes
	saidNo
	saidNothing // none will come
)

// dutyNode is a process.
type dutyNode struct {
	frozen bool
	woke   bool // it goes on after a freeze, and has not looked at its clock yet
	life   int
	polls  bool
	since  turn.Time  // it polls: when it asked for the time that it has
	wire   []dutyAsk  // on their way for long
	heard  dutyAnswer // that it has not taken in
	asked  turn.Time  // when it asked for that

	next    uint8   // the first update that is not done, as the node would say
	fetched updates // and not stored yet
}

// dutyWorld is a state.
type dutyWorld struct {
	scope  *Scope
	now    turn.Time
	record turn.Record
	nodes  [2]dutyNode
	told   uint8   // updates that the platform had to tell
	done   uint8   // of them it has forgotten so many, the oldest ones
	stored updates // in the store
	left   Budget
	verdict
}

func (w *dutyWorld) copy() state {
	c := *w
	for i := range c.nodes {
		c.nodes[i].wire = slices.Clone(w.nodes[i].wire)
	}
	return &c
}

// nonce tells the node from the other one, and from its earlier lives.
func (w *dutyWorld) nonce(i int) string { return fmt.Sprintf("node%d/%d", i+1, w.nodes[i].life) }

// isOver reports whether the time is over for which the node has the duty, by its own clock.
func (w *dutyWorld) isOver(n *dutyNode) bool { return w.now >= n.since.Add(dutyLasts) }

// waits reports whether the node waits for the answer to a question.
func (n *dutyNode) waits() bool {
	return n.heard != noAnswer || slices.ContainsFunc(n.wire, func(a dutyAsk) bool { return !a.unheard })
}

// moves implements [state].
func (w *dutyWorld) moves(list []move) []move {
	if w.mayTick() {
		list = append(list, move{action: tick})
	}
	if w.left.Inputs > 0 {
		list = append(list, move{action: people})
	}
	for i := range w.nodes {
		list = w.nodeMoves(list, i)
	}
	return list
}

// mayTick reports whether nothing must happen first: a node that is awake stops when its
// time is over, and no question is on its way for longer than a duty.
func (w *dutyWorld) mayTick() bool {
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.frozen {
			continue
		}
		if n.polls && w.isOver(n) && !w.scope.flaws.dutyUnbounded || len(n.wire) > 0 && w.now >= n.wire[0].at.Add(dutyLasts) {
			return false
		}
	}
	return true
}

func (w *dutyWorld) nodeMoves(list []move, i int) []move {
	n, m := &w.nodes[i], move{worker: uint8(i)}
	with := func(a action, faults ...answer) {
		m.action, m.answer = a, applied
		list = append(list, m)
		for _, m.answer = range faults {
			if w.left.Faults > 0 && w.scope.Faults.Store {
				list = append(list, m)
			}
		}
	}
	if len(n.wire) > 0 {
		with(land)
	}
	if n.frozen {
		with(thaw)
		return list
	}
	switch {
	case n.heard != noAnswer:
		with(hear)
	case !n.waits() && len(n.wire) < 2 && !(n.polls && w.now == n.since):
		with(keep, slow, unknownApplied, unknownLost)
	}
	if n.polls {
		switch {
		case n.fetched != 0:
			with(deliver, unknownApplied, unknownLost)
		case n.next > w.done || n.next < w.told:
			with(lookClaimed)
		}
		if w.isOver(n) {
			with(dropJob, slow)
		}
	}
	if w.left.Faults > 0 && w.scope.Faults.Worker && (n.polls || len(n.wire) > 0 || n.heard != noAnswer) {
		with(crash)
		with(freeze)
	}
	return list
}

// onward implements [state]: somebody polls until the platform has nothing more to tell. A
// node that stands still stays so, unless the other one does too.
func (w *dutyWorld) onward() (move, bool) {
	if w.done == w.told {
		return move{}, false
	}
	for i := range w.nodes {
		n, m := &w.nodes[i], move{worker: uint8(i)}
		switch {
		case len(n.wire) > 0:
			m.action = land
		case n.frozen:
			continue
		case n.heard != noAnswer:
			m.action = hear
		case n.polls && w.isOver(n):
			m.action = dropJob
		case n.polls && n.fetched != 0:
			m.action = deliver
		case n.polls:
			m.action = lookClaimed
		case w.mayTake(i):
			m.action = keep
		default:
			continue
		}
		return m, true
	}
	if w.nodes[0].frozen && w.nodes[1].frozen {
		return move{action: thaw}, true
	}
	return move{action: tick}, true
}

// mayTake reports whether the duty is free for a node.
func (w *dutyWorld) mayTake(i int) bool {
	d := w.record.Duty
	return d.Nonce == "" || d.Nonce == w.nonce(i) || w.now >= d.Until
}

// do implements [state].
func (w *dutyWorld) do(m move) {
	i := int(m.worker)
	n := &w.nodes[i]
	if m.answer != applied {
		w.left.Faults--
	}
	switch m.action {
	case tick:
		w.now = w.now.Add(Tick)
		w.nodes[0].woke, w.nodes[1].woke = false, false
	case people:
		w.left.Inputs--
		w.told++
	case keep:
		w.ask(i, dutyAsk{at: w.now}, m.answer)
	case land:
		first := n.wire[0]
		n.wire = slices.Delete(n.wire, 0, 1)
		w.decide(i, first, applied)
	case hear:
		w.hear(i)
	case dropJob:
		w.stop(i, m.answer)
	case lookClaimed:
		w.poll(n)
	case deliver:
		w.store(n, m.answer)
	case thaw:
		n.frozen, n.woke = false, true
	case freeze:
		w.left.Faults--
		n.frozen = true
	case crash:
		w.left.Faults--
		*n = dutyNode{life: n.life + 1}
	}
	if err := turn.Check(w.record); err != nil {
		w.breaks(violated("turn.Check", "%v", err))
	}
}

// ask brings a question to the store: behind those that are on their way.
func (w *dutyWorld) ask(i int, q dutyAsk, a answer) {
	if n := &w.nodes[i]; a == slow || len(n.wire) > 0 {
		n.wire = append(n.wire, q)
		return
	}
	w.decide(i, q, a)
}

// decide is the store's side of a question.
func (w *dutyWorld) decide(i int, q dutyAsk, a answer) {
	outcome := saidNothing
	if a != unknownLost {
		outcome = w.step(i, q)
	}
	if a != applied {
		outcome = saidNothing
	}
	n := &w.nodes[i]
	if q.unheard {
		return
	}
	n.heard, n.asked = outcome, q.at
	if outcome != saidNothing && !n.frozen {
		w.hear(i)
	}
}

// step has the core decide, and judges that.
func (w *dutyWorld) step(i int, asked dutyAsk) dutyAnswer {
	event := turn.TakeDuty{Holder: fmt.Sprint(i), Nonce: w.nonce(i), For: dutyLasts}
	if asked.back {
		event.For = 0
	}
	was := w.record.Duty
	record, effects := w.scope.Step(w.record, event, w.now, w.scope.Policy)
	w.record = record
	if effects.Outcome != turn.Done {
		return saidNo
	}
	if asked.back {
		return saidYes
	}
	if was.Nonce != "" && was.Nonce != event.Nonce && w.now < was.Until {
		w.breaks(violated("P5 duty", "%s takes a duty that %s has for %v", event.Nonce, was.Nonce, was.Until.Sub(w.now)))
	}
	other := &w.nodes[1-i]
	end := other.since.Add(dutyLasts)
	if other.polls && !other.frozen && (w.now < end || w.now > end && !other.woke) {
		w.breaks(violated("P5 duty", "%s takes a duty, and the other node, which is awake, polls", event.Nonce))
	}
	return saidYes
}

// hear has the node take in the answer: at once, unless there is none, or it stands still.
func (w *dutyWorld) hear(i int) {
	n := &w.nodes[i]
	taken, told := n.heard == saidYes, n.heard != saidNothing
	n.heard = noAnswer
	had := w.now.Sub(n.since)
	if taken {
		n.since = n.asked
	}
	switch {
	case !n.polls && taken && !w.isOver(n):
		n.polls, n.next, n.fetched = true, 0, 0
	case n.polls && !turn.KeepsDuty(taken, told, had, dutyLasts) && (told || !w.scope.flaws.dutyUnbounded):
		w.stop(i, applied)
	}
}

// stop ends the job and gives the duty back.
func (w *dutyWorld) stop(i int, a answer) {
	n := &w.nodes[i]
	n.polls, n.fetched, n.next, n.heard = false, 0, 0, noAnswer
	for k := range n.wire {
		n.wire[k].unheard = true
	}
	w.ask(i, dutyAsk{at: w.now, back: true, unheard: true}, a)
}

// poll tells the platform what is done, and fetches the rest.
func (w *dutyWorld) poll(n *dutyNode) {
	for w.done < n.next {
		if w.stored&(1<<w.done) == 0 {
			w.breaks(violated("P4 polled", "update %d is said to be done, and is not stored", w.done+1))
		}
		w.done++
	}
	n.fetched = updates(1<<w.told-1) &^ updates(1<<w.done-1)
	if w.scope.flaws.doneBeforeStored && n.fetched != 0 {
		n.next = w.told
	}
}

// store stores the next update that was fetched. If nobody knows whether that succeeded, the
// node asks the platform again from the start.
func (w *dutyWorld) store(n *dutyNode, a answer) {
	number := uint8(bits.TrailingZeros8(uint8(n.fetched)))
	if a != unknownLost {
		w.stored |= 1 << number
	}
	n.fetched &^= 1 << number
	switch {
	case a != applied:
		n.fetched = 0
		if !w.scope.flaws.doneBeforeStored {
			n.next = 0
		}
	case n.fetched == 0:
		n.next = number + 1
	}
}

// checkQuiescence implements [state]: whatever is at rest was judged before.
func (w *dutyWorld) checkQuiescence() {}

// digest implements [state]. Of times only those matter that are not over.
func (w *dutyWorld) digest(e *encoder) digest {
	e.out = e.out[:0]
	ago := func(t turn.Time) int { return int(min(w.now.Sub(t), dutyLasts+Tick) / Tick) }
	holder, left := 0, 0
	if d := w.record.Duty; d.Nonce != "" {
		holder, left = 3, int(max(d.Until.Sub(w.now), 0)/time.Millisecond)
		for i := range w.nodes {
			if d.Nonce == w.nonce(i) {
				holder = i + 1
			}
		}
	}
	e.small(int(w.left.Inputs), int(w.left.Faults), int(w.told), int(w.done), int(w.stored), holder, left/int(Tick/time.Millisecond))
	for i := range w.nodes {
		n := &w.nodes[i]
		e.flag(n.frozen)
		e.flag(n.woke)
		e.flag(n.polls)
		since := 0
		if n.polls {
			since = ago(n.since)
		}
		if n.heard == saidYes {
			e.small(ago(n.asked))
		}
		e.small(since, int(n.heard), int(n.next), int(n.fetched), len(n.wire))
		for _, a := range n.wire {
			e.small(ago(a.at))
			e.flag(a.back)
			e.flag(a.unheard)
		}
	}
	return e.sum()
}

// describe implements [state].
func (w *dutyWorld) describe(m move) string {
	if m.action == tick {
		return "time passes"
	}
	if m.action == people {
		return "the platform has one more update"
	}
	what := map[action]string{
		keep: "asks for the duty", land: "its slow question reaches the store", hear: "hears the answer", dropJob: "stops and gives the duty back",
		lookClaimed: "polls", deliver: "stores an update", thaw: "goes on after a freeze", freeze: "freezes", crash: "crashes and starts again",
	}[m.action]
	return fmt.Sprintf("node %d: %s%s", m.worker+1, what, answerNames[m.answer])
}

// summary implements [state].
func (w *dutyWorld) summary() string {
	text := fmt.Sprintf("%d updates, %d done, stored %b; the duty is %q's until %+v", w.told, w.done, w.stored, w.record.Duty.Nonce, w.record.Duty.Until.Sub(w.now))
	for i, n := range w.nodes {
		if n.polls {
			text += fmt.Sprintf("; node %d polls from %d on, %b fetched", i+1, n.next, n.fetched)
		}
	}
	return text
}

package explore

import "github.com/onereply/onereply/turn"

// Outcomes of a send.
const (
	delivered       = iota // the person sees it, and the worker knows
	lostKnown              // certainly not delivered
	refused                // the same, for good
	deliveredUnsure        // the person sees it, and the worker does not know
	lostUnsure             // not delivered, and the worker does not know
	paused                 // certainly not delivered, and the receiver asks for a pause
)

var outcomeNames = [...]string{"delivered", "fails", "is refused for good", "delivered but unknown", "lost but unknown", "fails, and the receiver asks for a pause"}

// askedPause is how many ticks long a pause is that the receiver asks for: longer than
// RetryFor, which bounds it.
const askedPause = 5

// jobMoves are what can become of the work that worker i runs.
func (w *world) jobMoves(list []move, i, k uint8) []move {
	j := w.workers[i].jobs[k]
	m := move{action: finish, worker: i, index: k}
	if w.stops(i, j) {
		list = append(list, move{action: dropJob, worker: i, index: k})
	}
	if j.send {
		list = w.sendMoves(list, i, k)
	} else {
		list = w.attemptMoves(list, m, j)
	}
	renewable := j.expires < w.now.Add(w.scope.Policy.Lease)
	if renewable && !w.pendingRenewal(i) {
		m.action = keep
		list = w.answers(list, m)
	}
	return list
}

// stops reports whether the holder gives up: its lease has ended by its own
// clock, and it can't renew.
func (w *world) stops(i uint8, j job) bool {
	return j.expires <= w.now && (j.nonce != w.store.record.Lease.Nonce || w.pendingRenewal(i))
}

func (w *world) pendingRenewal(i uint8) bool {
	for _, t := range w.workers[i].tasks {
		if t.request.kind == renew {
			return true
		}
	}
	return false
}

func (w *world) attemptMoves(list []move, m move, j job) []move {
	add := func(result kind, parts int) {
		m.choice = uint8(result) | uint8(parts)<<6
		list = w.answers(list, m)
	}
	if j.tooLarge {
		add(promptTooLarge, 0)
		return w.faultyResults(list, m)
	}
	if j.refused {
		add(modelRefused, 0)
	}
	for parts := 1; parts <= w.scope.MaxParts && !j.refused; parts++ {
		add(generated, parts)
	}
	if w.scope.Silence {
		add(generated, 0)
	}
	if j.cancelled {
		add(interrupted, 0)
	}
	if w.left.Seals > 0 {
		add(seal, 0)
	}
	return w.faultyResults(list, m)
}

func (w *world) faultyResults(list []move, m move) []move {
	add := func(result kind) {
		m.choice = uint8(result)
		list = w.answersAfter(list, m, 1)
	}
	if w.scope.Faults.Model {
		add(modelFailed)
		add(modelRejected)
		add(modelOut)
	}
	if w.scope.Faults.Worker {
		add(handBack)
	}
	return list
}

// sendMoves are the outcomes of a send. A worker starts no send after its
// lease ended by its own clock; one that froze in the middle of the call can't
// take it back.
func (w *world) sendMoves(list []move, i, k uint8) []move {
	j := w.workers[i].jobs[k]
	m := move{action: deliver, worker: i, index: k}
	if w.now >= j.expires && !j.begun && !w.scope.flaws.sendUnchecked {
		return list
	}
	list = w.answers(list, m)
	if w.left.Faults == 0 {
		return list
	}
	if w.scope.Faults.Pause {
		m.choice = paused
		list = append(list, m)
	}
	if !w.scope.Faults.Send {
		return list
	}
	for m.choice = lostKnown; m.choice <= lostUnsure; m.choice++ {
		list = append(list, m)
	}
	return list
}

// result is an attempt's end, or a word from its holder before that.
func (w *world) result(m move) {
	i, k := int(m.worker), int(m.index)
	j := w.workers[i].jobs[k]
	q := request{kind: kind(m.choice & 63), parts: int(m.choice >> 6), nonce: j.nonce, token: j.token, covers: j.saw, waited: j.waited, history: j.history}
	if m.action == keep {
		q.kind = renew
		if w.scope.flaws.renewalAssumed {
			w.workers[i].jobs[k].expires = w.now.Add(w.scope.Policy.Lease)
		}
	}
	if q.kind == generated && w.mustWait(i, q) {
		return
	}
	switch q.kind {
	case renew:
	case seal:
		w.left.Seals--
	case modelFailed, modelRejected, modelOut, handBack:
		w.left.Faults--
		fallthrough
	default:
		w.takeJob(i, k)
	}
	if w.scope.flaws.promptReadLate {
		q.covers = w.store.waiting()
	}
	w.apply(i, q, m.answer)
}

// mustWait reports whether the result of an early attempt comes before the end of its
// window. The worker keeps it, and may offer it again.
func (w *world) mustWait(i int, q request) bool {
	if w.scope.Policy.EarlyAttempts == 0 {
		return false
	}
	x := w.prepare(i, q)
	return !x.effects.Changed && x.effects.Reason == turn.NotDue
}

// deliver is a send with its outcome.
func (w *world) deliver(m move) {
	j := w.takeJob(int(m.worker), int(m.index))
	q := request{nonce: j.nonce, part: j.part, pause: w.scope.Pace}
	reached := m.choice == delivered || m.choice == deliveredUnsure
	if m.choice != delivered {
		w.left.Faults--
	}
	r := &reply{} // of a conversation that was deleted: nobody can tell
	if j.life == w.life {
		r = w.store.reply(j.seq)
	}
	if (reached || m.choice == lostUnsure) && j.nonce == w.store.record.Lease.Nonce { // of a send that froze nobody learns any more
		r.refuted &^= 1 << j.part
	}
	if reached && j.life == w.life {
		w.judgeDelivered(j, r)
	}
	switch m.choice {
	case delivered:
		q.kind = sent
	case lostKnown, paused:
		q.kind, q.pauses = sendFailed, m.choice == paused
	case refused:
		q.kind = sendRefused
	default:
		q.kind = sendUnknown
		if w.scope.flaws.unknownIsFailure {
			q.kind = sendFailed
		} else {
			r.doubtful |= 1 << j.part
		}
	}
	w.apply(int(m.worker), q, m.answer)
}

// wakeMoves are timers: one in the worker's memory, which may fire at any
// time, also for nothing, and the store's, which can be claimed once it is
// due. That the first may be lost needs no move: it need not fire.
func (w *world) wakeMoves(list []move, i uint8) []move {
	for _, t := range w.workers[i].tasks {
		if t.request.kind == wake || t.request.kind == claim {
			return list // it looks already
		}
	}
	if w.scope.Alone && !w.workers[i].idle() {
		return list // what it holds is its own, and it knows
	}
	list = w.lookMoves(list, i)
	if at := w.store.record.NextSign(); at != 0 && at <= w.now {
		list = w.answers(list, move{action: lookForSign, worker: i})
	}
	if w.store.timer == 0 || w.store.timer > w.now || w.scope.flaws.timerInMemory {
		return list
	}
	list = w.answers(list, move{action: lookClaimed, worker: i})
	if w.scope.Faults.Worker && w.left.Faults > 0 {
		list = append(list, move{action: claimAndDie, worker: i})
	}
	return list
}

// lookMoves lets a timer in memory fire. Where there is nothing to look at,
// only the plain answer is of interest: nothing is written.
func (w *world) lookMoves(list []move, i uint8) []move {
	at, wakes := w.store.record.Wake()
	if !wakes || at > w.now {
		return append(list, move{action: look, worker: i})
	}
	return w.answers(list, move{action: look, worker: i})
}

func (w *world) look(m move) {
	q := request{kind: wake}
	if m.action != look {
		q.kind = claim
		w.store.timer, w.store.claimed = w.now.Add(w.scope.hold()), true
	}
	if m.action == claimAndDie {
		w.left.Faults--
		return
	}
	q.nonce = w.nonce()
	w.apply(int(m.worker), q, m.answer)
}

// faultMoves are what can befall a worker. One with nothing in its memory has
// nothing to lose.
func (w *world) faultMoves(list []move, i uint8) []move {
	if !w.scope.Faults.Worker || w.left.Faults == 0 || w.workers[i].idle() {
		return list
	}
	list = append(list, move{action: crash, worker: i}, move{action: freeze, worker: i})
	for _, j := range w.workers[i].jobs {
		if j.send && w.now < j.expires {
			return append(list, move{action: freezeSend, worker: i})
		}
	}
	return list
}

func (w *world) fault(m move) {
	memory := &w.workers[m.worker]
	switch m.action {
	case crash:
		w.left.Faults--
		w.crash(memory)
	case freeze, freezeSend:
		w.left.Faults--
		memory.frozen = true
		for k := range memory.jobs {
			j := &memory.jobs[k]
			j.begun = m.action == freezeSend && j.send && w.now < j.expires
		}
	case thaw:
		memory.frozen = false
	}
}

// crash loses all memory. Only what is on the wire already may still land. If
// a part was delivered and that was not recorded, nobody knows any more.
func (w *world) crash(memory *worker) {
	for _, t := range memory.tasks {
		if t.request.kind == sent && w.store.record.Reply != nil {
			w.store.reply(w.store.record.Reply.Seq).doubtful |= 1 << t.request.part
		}
		if t.stage == onWire && !w.scope.Alone { // where it is alone, the file is closed
			w.orphans = append(w.orphans, t)
		}
	}
	*memory = worker{}
}

package explore

import "github.com/onereply/onereply/turn"

// answer is how a write ends.
type answer uint8

const (
	applied        answer = iota
	slow                  // it is on the wire, and lands or meets a conflict later
	late                  // applied, and the answer arrives after other things
	unknownApplied        // applied, and the worker does not know
	unknownLost           // not applied, and the worker does not know
)

var answerNames = [...]string{
	"", ", the write is slow", ", the answer is late", ", applied but the outcome is unknown", ", lost but the outcome is unknown",
}

// apply carries out a request as a worker does: load, Step, commit.
func (w *world) apply(i int, q request, a answer) {
	w.prepareFlaws(i, &q)
	m, change := w.store.message(q.message), q.kind == edit || q.kind == remove
	q.early, q.settled = change && m == nil, change && w.scope.Settled && m != nil && m.settled()
	if q.known(&w.store) && !q.repeated {
		w.acknowledge(q)
		return
	}
	if (q.kind == wake || q.kind == claim) && !w.store.record.Exists() {
		return // it was deleted, and must not come back
	}
	x := w.prepare(i, q)
	w.judgeUntold(q, x)
	if (change || q.kind == stopEditing) && !x.effects.Changed && x.effects.Outcome != turn.TooMuch {
		w.fail("P4 change", "the %v of m%d changes nothing (%s), and the message is %s", q.kind, q.message, x.effects.Reason, m.status)
	}
	if !x.effects.Changed {
		w.nothingWritten(q)
		w.carryOut(i, q, x)
		return
	}
	switch {
	case a == applied || a == late || a == unknownApplied:
		w.commit(q, x)
	case w.scope.flaws.unknownIsOK && a == unknownLost:
		a = applied
	}
	switch a {
	case applied:
		w.carryOut(i, q, x)
	case slow:
		w.hold(i, task{request: q, stage: onWire, write: x})
	case late:
		w.hold(i, task{request: q, stage: answered, write: x})
	case unknownApplied, unknownLost:
		w.hold(i, task{request: q, stage: unsure, write: x})
	}
}

func (w *world) prepareFlaws(i int, q *request) {
	flaws := w.scope.flaws
	q.repeated = flaws.dedupeAfterBump && q.kind == receive && q.known(&w.store)
	if flaws.ackBeforeWrite {
		w.acknowledge(*q)
	}
	if flaws.coversAtCommit && q.kind == generated {
		q.covers = w.store.waiting()
	}
}

// nothingWritten is where a wake-up for nothing must leave the timer alone.
func (w *world) nothingWritten(q request) {
	if w.scope.flaws.staleFireClears && q.kind == wake {
		w.store.timer = 0
	}
}

// prepare loads and steps.
func (w *world) prepare(i int, q request) write {
	w.store.ops++
	x := write{expect: w.store.op, op: w.store.ops, at: w.clock(i), real: w.now, told: w.workers[i].told, life: w.life}
	if q.kind == receive || q.early {
		x.early = w.store.kept(q.message, x.at)
	}
	policy := w.scope.Policy
	policy.NoSendUntil = x.told
	x.record, x.effects = w.scope.Step(w.store.record, w.event(q, x.early), x.at, policy)
	return x
}

func (w *world) hold(i int, t task) { w.workers[i].tasks = append(w.workers[i].tasks, t) }

// land is a slow write that reaches the store.
func (w *world) land(i, k int) {
	t := w.takeTask(i, k)
	frozen := w.workers[i].frozen
	fits := t.write.expect == w.store.op || w.scope.flaws.plainWrite
	switch {
	case fits && frozen:
		w.commit(t.request, t.write)
		t.stage = answered
		w.hold(i, t)
	case fits:
		w.commit(t.request, t.write)
		w.carryOut(i, t.request, t.write)
	case frozen:
		t.stage = unsure // on a conflict, too, it reads again
		w.hold(i, t)
	default:
		w.apply(i, t.request, applied)
	}
}

// landOrphan is the same for a worker that is gone.
func (w *world) landOrphan(k int) {
	t := w.orphans[k]
	w.orphans = append(w.orphans[:k:k], w.orphans[k+1:]...)
	if t.write.expect == w.store.op || w.scope.flaws.plainWrite {
		w.commit(t.request, t.write)
	}
}

// resolve is a worker that reads again after an unknown outcome.
func (w *world) resolve(i, k int, a answer) {
	t := w.takeTask(i, k)
	if t.write.op == w.store.op {
		w.carryOut(i, t.request, t.write)
		return
	}
	w.apply(i, t.request, a)
}

func (w *world) takeTask(i, k int) task {
	worker := &w.workers[i]
	t := worker.tasks[k]
	worker.tasks = append(worker.tasks[:k:k], worker.tasks[k+1:]...)
	return t
}

func (w *world) takeJob(i, k int) job {
	worker := &w.workers[i]
	j := worker.jobs[k]
	worker.jobs = append(worker.jobs[:k:k], worker.jobs[k+1:]...)
	return j
}

// carryOut carries out the actions of a committed step.
func (w *world) carryOut(i int, q request, x write) {
	if x.life == w.life && x.effects.Outcome != turn.Ignored && x.effects.Outcome != turn.TooMuch {
		w.acknowledge(q)
	}
	if q.kind == renew {
		w.renewed(i, q, x)
	}
	for _, action := range x.effects.Actions {
		switch a := action.(type) {
		case turn.Run:
			saw := w.store.prompt(a.Through, a.Part)
			w.workers[i].jobs = append(w.workers[i].jobs, job{
				nonce: a.Lease.Nonce, token: a.Lease.Token, expires: a.Lease.Expires,
				through: a.Through, saw: saw, waited: w.store.prompt(a.Through, turn.Part{}),
				history: !a.Part.NoHistory && w.store.hasHistory(), refused: w.refuses(saw), tooLarge: w.tooLarge(saw), life: x.life,
			})
		case turn.Send:
			w.startSend(i, a, x.life)
		case turn.Cancel:
			w.cancel(i, a)
		}
	}
}

func (w *world) startSend(i int, a turn.Send, life int) {
	part := a.Reply.Done
	switch {
	case w.scope.flaws.resendDelivered:
		part = 0
	case w.scope.flaws.lastPartFirst:
		part = a.Reply.Parts - 1
	}
	if r := w.store.reply(a.Reply.Seq); life == w.life && r != nil && part < len(r.reported) && r.reported[part] == turn.ReceiptDelivered && !r.asked {
		w.fail("P7 settled", "part %d of reply %d is sent again, and the channel had said that it has arrived", part+1, r.seq)
	}
	w.workers[i].jobs = append(w.workers[i].jobs, job{
		send: true, nonce: a.Lease.Nonce, expires: a.Lease.Expires, seq: a.Reply.Seq, part: part, life: life,
	})
}

// renewed is a holder that learns how its lease stands.
func (w *world) renewed(i int, q request, x write) {
	jobs := w.workers[i].jobs[:0]
	for _, j := range w.workers[i].jobs {
		switch {
		case j.nonce != q.nonce:
		case x.effects.Outcome == turn.Fenced:
			continue
		default:
			j.expires = max(j.expires, x.record.Lease.Expires)
		}
		jobs = append(jobs, j)
	}
	w.workers[i].jobs = jobs
}

// cancel ends an attempt, where it runs here. For newer input the worker says
// that it stopped; for everything else there is nothing left to say.
func (w *world) cancel(i int, a turn.Cancel) {
	jobs := w.workers[i].jobs[:0]
	for _, j := range w.workers[i].jobs {
		if !j.send && j.nonce == a.Nonce {
			if a.Reason != turn.Superseded {
				continue
			}
			j.cancelled = true
		}
		jobs = append(jobs, j)
	}
	w.workers[i].jobs = jobs
}

// acknowledge tells the sender of a message that it is durable.
func (w *world) acknowledge(q request) {
	if q.kind == receive || q.kind == resetWord || q.kind == stopping || q.kind == mention {
		w.ledger.acknowledged |= 1 << q.message
	}
}

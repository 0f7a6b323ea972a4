package explore

import "fmt"

// action is a kind of move.
type action uint8

const (
	tick action = iota
	land
	landOrphan
	hear    // a late answer arrives
	resolve // read again after an unknown outcome
	people  // somebody outside asks for something
	forget  // the conversation is deleted
	look    // a timer fires, rightly or not
	lookClaimed
	claimAndDie
	lookForSign
	finish     // a result of the responder; choice is a kind
	keep       // renew
	deliver    // a send with an outcome
	dropJob    // a holder whose lease ended stops
	hearPause  // the receiver asks for a pause for the whole bot, over another conversation
	crash      // all memory is lost
	freeze     // nothing goes on here
	freezeSend // the same, in the middle of a send
	thaw
)

// move is one thing that can happen. What index and choice mean depends on
// the action.
type move struct {
	action action
	worker uint8
	index  uint8
	choice uint8
	answer answer
}

// moves lists all that can happen in this state.
func (w *world) moves(list []move) []move {
	list = w.tickMove(list)
	for k := range w.orphans {
		list = append(list, move{action: landOrphan, index: uint8(k)})
	}
	for i := range w.all() {
		if i == 1 && w.alike() {
			break // what worker 2 can do, worker 1 can do
		}
		list = w.workerMoves(list, uint8(i))
	}
	return list
}

// tickMove lets time pass, unless something must happen first.
func (w *world) tickMove(list []move) []move {
	if w.mayTick() {
		list = append(list, move{action: tick})
	}
	return list
}

func (w *world) mayTick() bool {
	if w.overdue(w.orphans) {
		return false
	}
	for i := range w.workers {
		if w.overdue(w.workers[i].tasks) || w.mustAct(&w.workers[i]) {
			return false
		}
	}
	return true
}

// overdue reports whether a write was on the wire for longer than a lease: by
// then it has arrived, or never will.
func (w *world) overdue(tasks []task) bool {
	oldest := w.now.Add(-w.scope.Policy.Lease - w.scope.tick())
	for _, t := range tasks {
		if t.stage == onWire && t.write.real <= oldest {
			return true
		}
	}
	return false
}

// mustAct reports whether a worker that is not frozen works under a lease that
// has ended by its own clock: it ends its work, renews, or stops.
func (w *world) mustAct(k *worker) bool {
	for _, j := range k.jobs {
		if !k.frozen && j.expires <= w.now {
			return true
		}
	}
	return false
}

func (w *world) workerMoves(list []move, i uint8) []move {
	worker := &w.workers[i]
	for k, t := range worker.tasks {
		if t.stage == onWire {
			list = append(list, move{action: land, worker: i, index: uint8(k)})
		}
	}
	if worker.frozen {
		return append(list, move{action: thaw, worker: i})
	}
	for k, t := range worker.tasks {
		switch t.stage {
		case answered:
			list = append(list, move{action: hear, worker: i, index: uint8(k)})
		case unsure:
			list = w.answers(list, move{action: resolve, worker: i, index: uint8(k)})
		}
	}
	for k := range worker.jobs {
		list = w.jobMoves(list, i, uint8(k))
	}
	list = w.wakeMoves(list, i)
	if w.scope.Faults.Pause && w.left.Faults > 0 {
		list = append(list, move{action: hearPause, worker: i})
	}
	list = w.faultMoves(list, i)
	return w.peopleMoves(list, i)
}

// answers adds m with each answer that the store may give.
func (w *world) answers(list []move, m move) []move {
	return w.answersAfter(list, m, 0)
}

// answersAfter is answers, for a move that is so many faults in itself.
func (w *world) answersAfter(list []move, m move, faults int8) []move {
	if w.left.Faults < faults {
		return list
	}
	list = append(list, m)
	if !w.scope.Faults.Store || w.left.Faults == faults {
		return list
	}
	for a := slow; a <= unknownLost; a++ {
		m.answer = a
		list = append(list, m)
	}
	return list
}

// carry carries out a move on w itself.
func (w *world) carry(m move) {
	i, k := int(m.worker), int(m.index)
	if m.answer != applied {
		w.left.Faults--
	}
	switch m.action {
	case tick:
		w.now = w.now.Add(w.scope.tick())
	case land:
		w.land(i, k)
	case landOrphan:
		w.landOrphan(k)
	case hear:
		t := w.takeTask(i, k)
		w.carryOut(i, t.request, t.write)
	case resolve:
		w.resolve(i, k, m.answer)
	case people:
		w.ask(m)
	case forget:
		w.forget(i)
	case look, lookClaimed, claimAndDie:
		w.look(m)
	case lookForSign:
		w.apply(i, request{kind: glance}, m.answer)
	case finish, keep:
		w.result(m)
	case deliver:
		w.deliver(m)
	case dropJob:
		w.takeJob(i, k)
	case hearPause:
		w.left.Faults--
		w.workers[i].told = w.now.Add(2 * w.scope.tick())
	default:
		w.fault(m)
	}
}

// describe says what m does in this state, for people to read.
func (w *world) describe(m move) string {
	text := w.describeAction(m) + answerNames[m.answer]
	if m.action == tick {
		return text
	}
	return fmt.Sprintf("worker %d: %s", m.worker+1, text)
}

func (w *world) describeAction(m move) string {
	worker := &w.workers[m.worker]
	switch m.action {
	case tick:
		return "time passes"
	case land:
		return fmt.Sprintf("its slow write (%v) lands", worker.tasks[m.index].request.kind)
	case landOrphan:
		return fmt.Sprintf("a slow write (%v) of a worker that is gone lands", w.orphans[m.index].request.kind)
	case hear:
		return fmt.Sprintf("the late answer (%v) arrives", worker.tasks[m.index].request.kind)
	case resolve:
		return fmt.Sprintf("reads again to learn what became of its write (%v)", worker.tasks[m.index].request.kind)
	case people:
		return w.describeRequest(m)
	case forget:
		return "the conversation is deleted"
	case look:
		return "its timer fires"
	case lookClaimed:
		return "claims the store's timer"
	case claimAndDie:
		return "claims the store's timer and is lost before it looks"
	case lookForSign:
		return "looks whether people are to be told that it takes longer"
	case finish:
		return fmt.Sprintf("%v (%s, prompt %v)", kind(m.choice&63), worker.jobs[m.index].nonce, worker.jobs[m.index].saw)
	case keep:
		return fmt.Sprintf("renews %s", worker.jobs[m.index].nonce)
	case deliver:
		j := worker.jobs[m.index]
		return fmt.Sprintf("sends part %d of reply %d: %s", j.part+1, j.seq, outcomeNames[m.choice])
	case dropJob:
		return "its lease ended by its own clock, and it stops"
	case hearPause:
		return "is asked for a pause for the whole bot, over another conversation"
	case crash:
		return "crashes and starts again"
	case freeze:
		return "freezes"
	case freezeSend:
		return "freezes in the middle of a send"
	}
	return "goes on after a freeze"
}

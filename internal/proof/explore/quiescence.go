package explore

// onward is the next thing that happens when faults stop and nobody asks for
// anything: it reports false at rest. It is deterministic, so that following
// it from any state either comes to rest or shows a state that never will.
//
// Timers in memory never fire here: the store's ones alone must do. A frozen
// worker stays frozen, unless nobody else is there.
func (w *world) onward() (move, bool) {
	if len(w.orphans) > 0 {
		return move{action: landOrphan}, true
	}
	waits := false
	for i := range w.all() {
		m, ok := w.workOn(uint8(i))
		if ok && m.action != tick {
			return m, true
		}
		waits = waits || ok
	}
	if waits {
		return move{action: tick}, true
	}
	for i := range w.all() {
		if w.workers[i].frozen {
			continue
		}
		switch {
		case w.store.timer == 0:
			return move{}, false
		case w.store.timer <= w.now && !w.scope.flaws.timerInMemory:
			return move{action: lookClaimed, worker: uint8(i)}, true
		}
		return move{action: tick}, true
	}
	return move{action: thaw}, true
}

// workOn is the next thing that worker i does, where no fault hits it.
func (w *world) workOn(i uint8) (move, bool) {
	worker := &w.workers[i]
	for k, t := range worker.tasks {
		switch m := (move{worker: i, index: uint8(k)}); {
		case t.stage == onWire:
			m.action = land
			return m, true
		case worker.frozen:
		case t.stage == answered:
			m.action = hear
			return m, true
		default:
			m.action = resolve
			return m, true
		}
	}
	if worker.frozen || len(worker.jobs) == 0 {
		return move{}, false
	}
	for k, j := range worker.jobs {
		if !w.keeps(j) || j.expires <= w.now {
			return w.workOnJob(i, uint8(k)), true
		}
	}
	return move{action: tick}, true
}

func (w *world) workOnJob(i, k uint8) move {
	j := w.workers[i].jobs[k]
	m := move{worker: i, index: k}
	switch {
	case w.stops(i, j):
		m.action = dropJob
	case !j.send && j.cancelled:
		m.action, m.choice = finish, uint8(interrupted)
	case !j.send && j.tooLarge:
		m.action, m.choice = finish, uint8(promptTooLarge)
	case !j.send && j.refused:
		m.action, m.choice = finish, uint8(modelRefused)
	case w.keeps(j):
		m.action = keep
	case !j.send:
		m.action, m.choice = finish, uint8(generated)|1<<6
	case w.now >= j.expires && !j.begun && !w.scope.flaws.sendUnchecked:
		m.action = keep
	default:
		m.action = deliver
	}
	return m
}

// keeps reports whether the worker has to keep the result of an early attempt until the
// window ends.
func (w *world) keeps(j job) bool {
	r := w.store.record
	return !j.send && !j.tooLarge && r.Lease.Nonce == j.nonce && r.Attempt.Early && w.now < r.Window.Due
}

// checkQuiescence judges a state in which nothing is left to do. That nothing waits
// then, unless its turn was given up with a cause, follows from the other
// checks: no timer, so no work, so nothing that the record counts, and the
// record counts what waits. A reply that a pause keeps holds up those after it.
func (w *world) checkQuiescence() {
	kept := w.store.record.OnHold && w.store.record.Reply != nil
	for _, r := range w.store.replies {
		if r.again && !kept {
			w.fail("P7 forgotten", "an operator was told that reply %d is sent again, and it is not", r.seq)
		}
	}
}

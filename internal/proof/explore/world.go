package explore

import (
	"slices"

	"github.com/onereply/onereply/turn"
)

// epoch is when the world begins. It is far from zero, which means "not set".
const epoch = turn.Time(1_000_000)

// inputs is a set of inputs, each by the version that it made. A message whose
// text is edited becomes another input, with the version of the edit.
type inputs uint32

func input(version int64) inputs { return 1 << version }

func (s inputs) has(version int64) bool { return s&input(version) != 0 }

// versions lists the inputs, in order.
func (s inputs) versions() []int64 {
	var list []int64
	for version := int64(0); s != 0 && version < 32; version++ {
		if s.has(version) {
			list = append(list, version)
		}
	}
	return list
}

// world is one state.
type world struct {
	scope   *Scope
	now     turn.Time
	store   storage
	workers [2]worker
	orphans []task // writes on the wire whose worker is gone
	left    Budget
	ledger  ledger
	given   int // nonces given out
	life    int // how often the conversation was deleted
	verdict
	untold *Violation // what is wrong with what was told of turns: see judgeTurns
}

func newWorld(scope *Scope) *world {
	return &world{scope: scope, now: epoch, left: scope.Budget}
}

// clone copies all that a move may change in place.
func (w *world) clone() *world {
	c := *w
	c.store.messages = slices.Clone(w.store.messages)
	c.store.replies = slices.Clone(w.store.replies)
	c.store.early = slices.Clone(w.store.early)
	for i := range c.workers {
		c.workers[i].tasks = slices.Clone(w.workers[i].tasks)
		c.workers[i].jobs = slices.Clone(w.workers[i].jobs)
	}
	c.orphans = slices.Clone(w.orphans)
	return &c
}

// The methods of [state].

func (w *world) copy() state { return w.clone() }

func (w *world) do(m move) {
	w.carry(m)
	w.check()
}

func (w *world) digest(e *encoder) digest { return e.digest(w) }

// all are the workers that there are.
func (w *world) all() []worker {
	if w.scope.Alone {
		return w.workers[:1]
	}
	return w.workers[:]
}

// worker is the memory of one process.
type worker struct {
	frozen bool
	told   turn.Time // the end of a pause that the receiver asked of the whole bot, over another conversation
	tasks  []task    // requests whose write is not settled
	jobs   []job     // attempts and sends that it runs
}

// idle reports whether the worker has nothing that a fault could hit.
func (k *worker) idle() bool { return len(k.tasks) == 0 && len(k.jobs) == 0 }

// stage is how far a task is.
type stage uint8

const (
	onWire   stage = iota // the write is on its way to the store
	answered              // applied, and the answer is on its way back
	unsure                // the outcome is unknown: read again
)

// task is a request whose write is not settled.
type task struct {
	request request
	stage   stage
	write   write
}

// job is work under a lease: an attempt, or the send of one part.
type job struct {
	send      bool
	nonce     string
	token     int64
	expires   turn.Time // the lease's end, as far as the worker knows
	through   int64
	saw       inputs // an attempt: what its prompt holds
	waited    inputs // an attempt: what waited when its prompt was read
	history   bool   // an attempt: its prompt has a history
	refused   bool   // an attempt: the model refuses it
	tooLarge  bool   // an attempt: its prompt has more bytes than it may, and the model is not asked
	cancelled bool   // an attempt: the worker learned of newer input
	life      int    // of the conversation that it is for
	seq       int64  // a send: the reply
	part      int    // a send: which part
	begun     bool   // a send: the worker froze in the middle of the call
}

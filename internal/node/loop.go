package node

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// tasks is the queue of the loop, in order of arrival. A task is a call or two of the
// engine, and never blocks. The queue has no bound of its own: each task belongs to a
// caller that waits, or to a call of the store, a responder or a sender that ended, and
// the engine bounds how many of those there are.
type tasks struct {
	mu      sync.Mutex
	waiting []func(now turn.Time)
	closed  bool
	arrived chan struct{} // holds a value while something may wait
}

func newTasks() tasks { return tasks{arrived: make(chan struct{}, 1)} }

// add queues a task. It reports false, and drops the task, once the queue is closed.
func (t *tasks) add(task func(now turn.Time)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.waiting = append(t.waiting, task)
	select {
	case t.arrived <- struct{}{}:
	default:
	}
	return true
}

// takeAll removes all waiting tasks, and may close the queue for good.
func (t *tasks) takeAll(closes bool) []func(now turn.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.waiting
	t.waiting, t.closed = nil, closes
	return all
}

// post has the loop run a task, which has the engine to itself meanwhile. It
// reports false where the loop has ended; then the task never runs.
func (n *Node) post(task func(now turn.Time)) bool { return n.tasks.add(task) }

// loop owns the engine until the node stops. It sleeps until tasks arrive or the
// engine's next timer fires, runs all tasks that wait, lets the engine act on timers
// that are due, and performs what the engine asks for. Tasks that arrive while it is
// busy are run together, so that inputs of one conversation share a write.
func (n *Node) loop() {
	defer close(n.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	armed := turn.Time(0) // when the timer fires, 0: it does not
	for {
		select {
		case <-n.ctx.Done():
			n.refuse()
			return
		case <-n.tasks.arrived:
			// Goroutines that are ready to run are likely to bring tasks too. Letting them
			// run first saves a switch for each of them.
			runtime.Gosched()
		case <-timer.C:
			armed = 0
		}
		for _, task := range n.tasks.takeAll(false) {
			task(n.clock.Now())
		}
		n.engine.Tick(n.clock.Now())
		for _, output := range n.engine.Take() {
			n.perform(output)
		}
		// A timer that fires although nothing is due any more does no harm.
		if next := n.engine.NextTick(); next != 0 && next != armed {
			timer.Reset(max(0, next.Sub(n.clock.Now())))
			armed = next
		}
	}
}

// refuse runs the last tasks and answers their requests. Other outputs of the engine are
// not carried out any more.
func (n *Node) refuse() {
	for _, task := range n.tasks.takeAll(true) {
		task(n.clock.Now())
	}
	for _, output := range n.engine.Take() {
		if answer, ok := output.(engine.Answer); ok {
			n.perform(answer)
		}
	}
}

// perform carries out an output of the engine. It must not block: Answer, Tell, Hint
// and Stop are done at once, everything else goes to another goroutine, which posts the
// result as a task.
func (n *Node) perform(output engine.Output) {
	switch o := output.(type) {
	case engine.Answer:
		o.Ticket.(chan engine.Result) <- o.Result // it has room for one
	case engine.Tell:
		n.tell(o.Event)
	case engine.Show:
		n.show(o)
	case engine.OverBudget:
		n.log.Warn(o.Text, "bot", o.Bot)
	case engine.Hint:
		n.options.Hint(o.Key)
	case engine.Commit:
		n.commit(o.Write)
	case engine.Load:
		n.queueLoad(o)
	case engine.Delete:
		n.goroutines.Go(func() { n.remove(o) })
	case engine.Claim:
		n.goroutines.Go(func() { n.claim(o) })
	case engine.Recover:
		n.goroutines.Go(func() { n.readOrphaned(o) })
	case engine.ReadPrompt:
		n.goroutines.Go(func() { n.readPrompt(o) })
	case engine.Start:
		n.startAttempt(o)
	case engine.Send:
		n.startSend(o)
	case engine.Stop:
		n.work.stop(o.Nonce, errors.New(o.Reason))
	}
}

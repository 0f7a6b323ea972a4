package scenario

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/onereply/onereply/server/config"
	"github.com/onereply/onereply/turn"
)

// Outcome is how a story ended on one stage.
type Outcome struct {
	Problems []string // what is not as it should be; none: it passed
	Trace    []string // what happened, to explain a problem
	Note     string   // what readers of a table should know
}

// Play plays a story on a stage. open opens an empty store, and later what is in
// it; with a nil one all nodes share a store in memory. It must be called in a
// testing/synctest bubble.
func Play(s Scenario, stage Stage, open Opener) Outcome {
	settings, err := s.settings()
	var refused config.Problems
	if errors.As(err, &refused) {
		// No node starts, so nothing can have happened.
		problems := s.Expect.check(newLedger(s))
		return Outcome{Problems: problems, Trace: []string{err.Error()}, Note: "refused at start"}
	}
	if err != nil {
		return Outcome{Problems: []string{err.Error()}}
	}
	w := newWorld(s, stage, settings, open)
	ledger := w.run()
	problems := append(w.problems, s.Expect.check(ledger)...)
	problems = append(problems, ledger.breaches()...)
	return Outcome{Problems: problems, Trace: w.trace}
}

// run plays the story and gives back what was seen.
func (w *world) run() *Ledger {
	defer w.end()
	events := w.timeline()
	w.opening()
	w.play(events)
	w.rest()
	for _, missed := range w.hooks.missed() {
		w.problem("the moment %q never came, so %s was not played", missed.Hook, missed.Type)
	}
	for _, unused := range w.rules.unused() {
		w.problem("the %s from %d ms on never struck", unused.Type, unused.AtMS)
	}
	return w.ledger()
}

// opening has the workers up, unless the story begins with work that is
// overdue because all were down.
func (w *world) opening() {
	for _, e := range w.scenario.Events {
		if e.Type == "seed_overdue" {
			w.overdue(e.Conversations)
			time.Sleep(-w.now())
			return
		}
	}
	for _, name := range w.names() {
		w.start(name)
		time.Sleep(between)
	}
	time.Sleep(-w.now())
}

// How long everything may take to come to rest after the last event, and how
// long it is watched then, for what comes too late or twice.
const (
	settleWithin = 30 * time.Minute
	watchFor     = 2 * time.Minute
)

// rest waits until nothing is left to do.
func (w *world) rest() {
	for began := w.now(); !w.atRest(); {
		if w.now()-began > settleWithin {
			w.problem("there is still something to do %v after the last event", settleWithin)
			return
		}
		time.Sleep(time.Second)
	}
	time.Sleep(watchFor)
}

// atRest reports whether no conversation has a timer and no call runs.
func (w *world) atRest() bool {
	kept := w.kept()
	if kept == nil {
		return w.scenario.Config.AutoRestartMS == 0
	}
	due, err := kept.Due(context.Background(), turn.Time(math.MaxInt64/2), 1)
	if err != nil {
		return false // it was closed in this instant
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	for _, c := range w.model.calls {
		if c.Running {
			return false
		}
	}
	return len(due) == 0
}

// ledger reads everything back, through the API of a node that is up.
func (w *world) ledger() *Ledger {
	l := newLedger(w.scenario)
	l.Conversations = w.conversations()
	for i := range l.Conversations {
		c := &l.Conversations[i]
		for j := range c.Entries {
			e := &c.Entries[j]
			e.Covers = w.labels(c.Conversation, e.Covers)
			if e.Kind == "message" {
				e.ID = w.label(c.Conversation, e.ID)
			}
		}
	}
	w.model.mu.Lock()
	for _, c := range w.model.calls {
		l.Calls = append(l.Calls, *c)
	}
	l.Tools = w.model.tools
	w.model.mu.Unlock()
	w.receiver.mu.Lock()
	l.Posts, l.Signals = w.receiver.posts, w.receiver.signals
	w.receiver.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	l.Answers, l.Frozen, l.Stream, l.Measured = w.answers, w.frozen, w.stream, w.measured
	l.nameByKeys()
	return l
}

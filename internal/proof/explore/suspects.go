package explore

import (
	"fmt"
	"time"

	"github.com/onereply/onereply/turn"
)

// The exploration of suspects.
//
// Two conversations wait on one node, each with one message. That of the culprit brings down
// the process each time that it is answered; the other one is a bystander. The process may
// also be killed for another reason, and is started again at once. Each order of their
// attempts, their ends and the kills is walked.
//
// [turn.Step] decides on each record. What internal/engine does around it is said once more,
// in few lines: which attempts may run beside each other. That a node must be calm first is
// left out, so that the pauses of the record show.

// The conversations.
const (
	culprit = iota
	bystander
)

var suspectNames = [...]string{"the culprit", "the bystander"}

// suspectRun is an attempt under way.
type suspectRun struct {
	nonce string // "": none runs
	lone  bool   // the node runs nothing else
	met   bool   // the other one ran meanwhile
}

// suspectWorld is a state.
type suspectWorld struct {
	scope   *Scope
	now     turn.Time
	records [2]turn.Record
	runs    [2]suspectRun
	left    Budget
	given   int // nonces

	// The workers that were lost over a conversation since one lived to the end of its
	// attempt: all, those that ran nothing else, and those that had to run nothing else.
	lost, lone, proven [2]int
	lostAt             [2]turn.Time // the last of all
	verdict
}

func newSuspectWorld(scope *Scope) *suspectWorld {
	w := &suspectWorld{scope: scope, now: epoch, left: scope.Budget}
	for i := range w.records {
		w.apply(i, turn.Message{})
	}
	return w
}

func (w *suspectWorld) copy() state { c := *w; return &c }

func (w *suspectWorld) apply(i int, event turn.Event) turn.Effects {
	was := w.records[i]
	is, effects := w.scope.Step(was, event, w.now, w.scope.Policy)
	w.records[i] = is
	if err := turn.Check(is); err != nil {
		w.breaks(violated("turn.Check", "%v", err))
	}
	if is.SetAside != nil && was.SetAside == nil && w.lone[i] < w.scope.Policy.MaxAttempts {
		w.breaks(violated("P3 aside", "%s was set aside after %d of %d lone attempts", suspectNames[i], w.lone[i], w.scope.Policy.MaxAttempts))
	}
	return effects
}

// due is when the node looks at a conversation, and whether it begins a lone attempt then.
func (w *suspectWorld) due(i int) (at turn.Time, lone, waits bool) {
	r := w.records[i]
	at, waits = r.Wake()
	if _, alone := r.MustRunAlone(); alone && r.Phase == turn.Collecting {
		return at, true, waits
	}
	if r.Phase == turn.Generating { // of the process before this one
		at = w.now
	}
	return at, false, waits && w.runs[i].nonce == ""
}

// mayLook reports whether the node may look at a conversation, with a lone attempt in mind.
func (w *suspectWorld) mayLook(i int, lone bool) bool {
	other := w.runs[1-i]
	if w.runs[i].nonce != "" || other.nonce != "" && (lone || other.lone) {
		return false
	}
	at, must, waits := w.due(i)
	return waits && at <= w.now && (must || !lone)
}

// moves implements [state]. A node that takes a suspect for anything else looks at it too:
// the core refuses.
func (w *suspectWorld) moves(list []move) []move {
	if w.waitsForTime() {
		list = append(list, move{action: tick})
	}
	for i := range w.records {
		for choice := range uint8(2) {
			if w.mayLook(i, choice == 1) {
				list = append(list, move{action: look, index: uint8(i), choice: choice})
			}
		}
		if w.runs[i].nonce != "" {
			list = append(list, move{action: finish, index: uint8(i)})
		}
	}
	if w.left.Faults > 0 && w.runs != [2]suspectRun{} {
		list = append(list, move{action: crash})
	}
	return list
}

// waitsForTime reports whether a conversation is due later.
func (w *suspectWorld) waitsForTime() bool {
	for i := range w.records {
		if at, _, waits := w.due(i); waits && at > w.now && w.records[i].Phase == turn.Collecting {
			return true
		}
	}
	return false
}

// onward implements [state].
func (w *suspectWorld) onward() (move, bool) {
	for _, i := range []int{bystander, culprit} {
		if w.runs[i].nonce != "" {
			return move{action: finish, index: uint8(i)}, true
		}
	}
	for i := range w.records {
		if _, lone, _ := w.due(i); w.mayLook(i, lone) {
			m := move{action: look, index: uint8(i)}
			if lone {
				m.choice = 1
			}
			return m, true
		}
	}
	return move{action: tick}, w.waitsForTime()
}

// do implements [state].
func (w *suspectWorld) do(m move) {
	i := int(m.index)
	switch m.action {
	case tick:
		w.now = w.now.Add(w.scope.tick())
	case look:
		w.look(i, m.choice == 1)
	case crash:
		w.left.Faults--
		w.die()
	default:
		if i == culprit {
			w.die()
			return
		}
		w.apply(i, turn.Generated{Nonce: w.runs[i].nonce})
		w.runs[i] = suspectRun{}
		w.lost[i], w.lone[i], w.proven[i] = 0, 0, 0
	}
}

// look looks at a conversation, and begins its attempt where the core says so.
func (w *suspectWorld) look(i int, lone bool) {
	w.given++
	nonce := fmt.Sprint(w.given)
	effects := w.apply(i, turn.Wake{Nonce: nonce, Alone: true, Lone: lone})
	for _, action := range effects.Actions {
		if _, begins := action.(turn.Run); begins {
			w.runs[i] = suspectRun{nonce: nonce, lone: lone}
			w.judgeBegin(i)
		}
	}
}

// besideBefore is how many workers a conversation may lose before it must run alone.
const besideBefore = 2

// judgeBegin is P3 for an attempt that begins after workers were lost.
func (w *suspectWorld) judgeBegin(i int) {
	if w.runs[1-i].nonce != "" {
		w.runs[i].met, w.runs[1-i].met = true, true
	}
	lost := w.lost[i]
	if lost < besideBefore {
		return
	}
	if w.runs[i].met {
		w.breaks(violated("P3 alone", "%s runs beside %s, and has lost %d workers", suspectNames[i], suspectNames[1-i], lost))
	}
	if rested, want := w.now.Sub(w.lostAt[i]), time.Second<<(2*(lost-besideBefore)); rested < want {
		w.breaks(violated("P3 calm", "%s runs alone %v after a worker was lost, and %v are to pass after %d of them", suspectNames[i], rested, want, lost))
	}
	if w.proven[i] >= w.scope.Policy.MaxAttempts {
		w.breaks(violated("P3 attempts", "%s runs once more after %d lone attempts", suspectNames[i], w.proven[i]))
	}
}

// die is the end of the process, and the start of the next one.
func (w *suspectWorld) die() {
	for i, r := range w.runs {
		if r.nonce == "" {
			continue
		}
		if !r.met {
			w.lone[i]++
			if w.lost[i] >= besideBefore {
				w.proven[i]++
			}
		}
		w.lost[i]++
		w.lostAt[i] = w.now
	}
	w.runs = [2]suspectRun{}
}

// checkQuiescence implements [state]: the culprit is set aside. That nobody waits follows
// from the wake-ups.
func (w *suspectWorld) checkQuiescence() {
	if r := w.records[culprit]; r.SetAside == nil || r.Pending > 0 {
		w.breaks(violated("P3 rest", "the culprit is %s at rest, and nothing is set aside", r.Phase))
	}
}

// longestPause is longer than any pause of this scope.
const longestPause = 20 * time.Second

// digest implements [state]. Times count from now.
func (w *suspectWorld) digest(e *encoder) digest {
	e.out = e.out[:0]
	e.small(int(w.left.Faults))
	ticks := func(t turn.Time) { e.small(int(min(max(t.Sub(w.now), -longestPause), longestPause) / w.scope.tick())) }
	for i, r := range w.records {
		e.text(string(r.Phase))
		e.small(r.Pending, r.Tries.Attempts, r.Tries.Lost.Count, r.Tries.Lost.Lone, w.lost[i], w.lone[i], w.proven[i])
		e.flag(r.Lease.Lone)
		e.flag(r.SetAside != nil)
		e.flag(w.runs[i].nonce != "")
		e.flag(w.runs[i].lone)
		e.flag(w.runs[i].met)
		ticks(w.lostAt[i])
		ticks(max(r.Window.Due, w.now))
	}
	return e.sum()
}

// describe implements [state].
func (w *suspectWorld) describe(m move) string {
	switch m.action {
	case tick:
		return "time passes"
	case crash:
		return "the process is killed"
	case finish:
		if m.index == culprit {
			return "the culprit brings down the process"
		}
		return "the attempt of the bystander ends"
	}
	return fmt.Sprintf("%s is looked at, alone: %v", suspectNames[m.index], m.choice == 1)
}

// summary implements [state].
func (w *suspectWorld) summary() string {
	text := fmt.Sprintf("after %v", w.now.Sub(epoch))
	for i, r := range w.records {
		text += fmt.Sprintf("; %s %s, runs %v, lost %d, alone %d", suspectNames[i], r.Phase, w.runs[i].nonce != "", r.Tries.Lost.Count, r.Tries.Lost.Lone)
	}
	return text
}

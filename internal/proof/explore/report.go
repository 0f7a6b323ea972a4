package explore

import (
	"fmt"
	"math/bits"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/onereply/onereply/turn"
)

// Report says how much was explored.
type Report struct {
	Scope       string
	States      int           // different ones
	Transitions int           // moves that were tried
	Depth       int           // moves on the longest of the shortest paths
	Rest        int           // most moves from any state to rest, once faults stop
	Elapsed     time.Duration // real time
}

// String is one line.
func (r Report) String() string {
	return fmt.Sprintf("%-50s %7d states %10d transitions, depth %d, at rest within %d moves, %v",
		r.Scope, r.States, r.Transitions, r.Depth, r.Rest, r.Elapsed.Round(10*time.Millisecond))
}

// Violation is a broken promise, with the shortest sequence that leads to it.
type Violation struct {
	Scope string
	Check string // the name of the check that saw it
	Text  string
	Trace []string // one line a move, with the conversation after it
	site  string   // where in the code
}

// Error is the whole story.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s: %s: %s\n  %s", v.Scope, v.Check, v.Text, strings.Join(v.Trace, "\n  "))
}

// violated notes what was seen, and where in the code.
func violated(check, format string, arguments ...any) *Violation {
	_, file, line, _ := runtime.Caller(1)
	return &Violation{Check: check, Text: fmt.Sprintf(format, arguments...), site: fmt.Sprintf("%s:%d", filepath.Base(file), line)}
}

// violation walks the shortest sequence to node n again, and last after it.
func (s *search) violation(n uint32, last *move, v *Violation) error {
	var moves []move
	for ; n != 0; n = s.nodes[n].parent {
		moves = append([]move{s.nodes[n].move}, moves...)
	}
	if last != nil {
		moves = append(moves, *last)
	}
	w := s.scope.begin()
	for i, m := range moves {
		text := w.describe(m)
		w.do(m)
		v.Trace = append(v.Trace, fmt.Sprintf("%2d. %-58s %s", i+1, text, w.summary()))
	}
	v.Scope = s.scope.Name
	return v
}

// summary is where the conversation stands.
func (w *world) summary() string {
	r, tick := w.store.record, w.scope.tick()
	text := fmt.Sprintf("t=%d %s v%d/%d", w.now.Sub(epoch)/tick, r.Shown(), r.Answered, r.Version)
	if r.OnHold {
		text += " (" + string(r.Phase) + ")"
	}
	if r.Lease.Nonce != "" {
		text += fmt.Sprintf(" lease %s until %d", r.Lease.Nonce, r.Lease.Expires.Sub(epoch)/tick)
	}
	if w.store.timer != 0 {
		text += fmt.Sprintf(" timer %d", w.store.timer.Sub(epoch)/tick)
	}
	if r.Phase == turn.Collecting {
		text += fmt.Sprintf(" due %d", r.Window.Due.Sub(epoch)/tick)
	}
	return text
}

// String names the inputs by their versions.
func (s inputs) String() string {
	var names []string
	for rest := uint32(s); rest != 0; rest &= rest - 1 {
		names = append(names, fmt.Sprintf("v%d", bits.TrailingZeros32(rest)))
	}
	return "{" + strings.Join(names, " ") + "}"
}

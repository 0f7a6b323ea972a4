package explore

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/onereply/onereply/turn"
)

// node is a state that was found: how it was reached, and where it goes when
// faults stop.
type node struct {
	parent uint32
	onward uint32 // itself: at rest
	move   move
}

// state is one state of what a scope explores: a conversation with the processes that
// work on it ([world]), names ([nameWorld]), a duty ([dutyWorld]), or a conversation that
// brings down its workers ([suspectWorld]).
type state interface {
	moves(list []move) []move     // adds all that can happen
	onward() (m move, moves bool) // what happens next where faults stop; false: it is at rest
	copy() state
	do(m move) // carries out a move on the state itself, and judges it
	checkQuiescence()
	violation() *Violation // what is wrong, nil: nothing
	digest(e *encoder) digest
	describe(m move) string // for people, before the move
	summary() string        // the same, after it
}

// verdict is the part of a state that says which promise it breaks.
type verdict struct {
	broken *Violation // the first one, nil: none
}

func (v *verdict) violation() *Violation { return v.broken }

// breaks notes a broken promise; the first one counts.
func (v *verdict) breaks(found *Violation) {
	if v.broken == nil {
		v.broken = found
	}
}

// search is one walk.
type search struct {
	scope  Scope
	nodes  []node
	seen   map[digest]uint32
	level  []state // the states of one depth
	first  uint32  // the node of the first of these
	next   []state
	report Report
	encode encoder
	moves  []move
}

// Run explores a scope to the end, or to the first violation, which it returns
// as an error of type [*Violation]. It prints a line on progress now and then;
// a nil progress prints nothing. It uses about 100 bytes a state, and some
// kilobytes for each state of the depth that it is at.
func Run(ctx context.Context, scope Scope, progress io.Writer) (Report, error) {
	if err := scope.validate(); err != nil {
		return Report{}, err
	}
	if scope.Step == nil {
		scope.Step = turn.Step
	}
	if scope.MaxParts == 0 {
		scope.MaxParts = 1
	}
	if progress == nil {
		progress = io.Discard
	}
	s := &search{scope: scope, seen: make(map[digest]uint32)}
	began := time.Now()
	err := s.walk(ctx, progress, began)
	s.report.Scope, s.report.States, s.report.Elapsed = scope.Name, len(s.nodes), time.Since(began)
	return s.report, err
}

func (s *search) walk(ctx context.Context, progress io.Writer, began time.Time) error {
	s.find(s.scope.begin(), 0, move{})
	told := began
	for len(s.next) > 0 {
		s.first = uint32(len(s.nodes) - len(s.next))
		s.level, s.next = s.next, nil
		for i, w := range s.level {
			s.level[i] = nil
			if err := s.expand(w, s.first+uint32(i)); err != nil {
				return err
			}
			if i%1024 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if len(s.next) > 0 {
			s.report.Depth++
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			fmt.Fprintf(progress, "%s: depth %d, %d states, %d at the frontier\n", s.scope.Name, s.report.Depth, len(s.nodes), len(s.next))
		}
	}
	return s.checkAllQuiescence()
}

// find returns the node of a state, and queues it where it is new.
func (s *search) find(w state, parent uint32, m move) uint32 {
	d := w.digest(&s.encode)
	if n, ok := s.seen[d]; ok {
		return n
	}
	n := uint32(len(s.nodes))
	s.seen[d] = n
	s.nodes = append(s.nodes, node{parent: parent, onward: n, move: m})
	s.next = append(s.next, w)
	return n
}

// expand tries all that can happen in w.
func (s *search) expand(w state, n uint32) error {
	onward, moves := w.onward()
	if !moves {
		w.checkQuiescence()
		if broken := w.violation(); broken != nil {
			return s.violation(n, nil, broken)
		}
	}
	s.moves = w.moves(s.moves[:0])
	for _, m := range s.moves {
		next := w.copy()
		next.do(m)
		s.report.Transitions++
		if broken := next.violation(); broken != nil {
			return s.violation(n, &m, broken)
		}
		found := s.find(next, n, m)
		if moves && m == onward {
			s.nodes[n].onward = found
		}
	}
	if moves && s.nodes[n].onward == n {
		return s.violation(n, nil, violated("P3 rest", "nothing leads on from here, and it is not at rest"))
	}
	return nil
}

// checkAllQuiescence follows each state to its rest. All states on the way are known,
// with how far it is from each.
func (s *search) checkAllQuiescence() error {
	const unknown = ^uint32(0)
	far := make([]uint32, len(s.nodes))
	for n := range far {
		far[n] = unknown
	}
	var path []uint32
	for n := range s.nodes {
		at := uint32(n)
		path = path[:0]
		for far[at] == unknown {
			if s.nodes[at].onward == at {
				far[at] = 0
				break
			}
			path = append(path, at)
			at = s.nodes[at].onward
			if len(path) > len(s.nodes) {
				return s.violation(uint32(n), nil, violated("P3 rest", "without any fault it goes round in circles from here"))
			}
		}
		steps := far[at]
		for i := len(path) - 1; i >= 0; i-- {
			steps++
			far[path[i]] = steps
		}
		s.report.Rest = max(s.report.Rest, int(far[n]))
	}
	return nil
}

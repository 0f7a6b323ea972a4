package explore

import (
	"testing"

	"github.com/onereply/onereply/turn"
)

// TestOneDigestOneFuture checks that two states with one digest lead to the
// same states, so that leaving one of them out leaves nothing unseen.
func TestOneDigestOneFuture(t *testing.T) {
	first := base(turn.Interrupt)
	scopes := []Scope{
		{Name: "edits", Policy: first, Budget: Budget{Inputs: 2, Redelivered: 1}, Edits: true, Media: true},
		{Name: "faults", Policy: first, Budget: Budget{Inputs: 1, Faults: 1}, Faults: everything(), MaxParts: 2, Silence: true},
		{Name: "discards", Policy: base(turn.Discard), Budget: Budget{Inputs: 3}},
		{Name: "people", Policy: first, Budget: Budget{Inputs: 1, Pauses: 1, Humans: 1}},
		{Name: "deletions", Policy: first, Budget: Budget{Inputs: 2, Deletions: 1, Seals: 1}},
		minute(Scope{Name: "minutes", Budget: Budget{Inputs: 2}}),
		{Name: "alone", Policy: first, Alone: true, Budget: Budget{Inputs: 2, Faults: 1}, Faults: everything()},
		{Name: "nudges", Policy: first, Budget: Budget{Inputs: 1, Nudges: 1, Faults: 1}, Faults: Faults{Model: true}},
		{Name: "the receiver's pauses", Policy: first, Budget: Budget{Inputs: 1, Nudges: 1, Faults: 2}, Faults: Faults{Pause: true}},
		{Name: "refusals", Policy: first, Refuses: true, Budget: Budget{Inputs: 2, Nudges: 1}, Edits: true},
		{Name: "signs", Policy: patient(), Budget: Budget{Inputs: 1, Faults: 2}, Faults: Faults{Model: true}},
		{Name: "in trouble", Policy: held(), Budget: Budget{Inputs: 1, Resends: 1, Faults: 1}, Faults: Faults{Send: true}, MaxParts: 2},
	}
	for _, scope := range scopes {
		t.Run(scope.Name, func(t *testing.T) {
			scope.Step, scope.MaxParts = turn.Step, max(scope.MaxParts, 1)
			compareFutures(t, &scope)
		})
	}
}

func compareFutures(t *testing.T, scope *Scope) {
	var e encoder
	start := newWorld(scope)
	first := map[digest]*world{e.digest(start): start}
	compared := 0
	for queue := []*world{start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range successors(queue[0]) {
			d := e.digest(next)
			known, seen := first[d]
			if !seen {
				first[d] = next
				queue = append(queue, next)
				continue
			}
			compared++
			a, b := futures(&e, known), futures(&e, next)
			if len(only(a, b))+len(only(b, a)) > 0 {
				t.Fatalf("one digest and two futures:\n%s %+v\nmoves %q\n%s %+v\nmoves %q", known.summary(), known.store, only(a, b), next.summary(), next.store, only(b, a))
			}
		}
	}
	t.Logf("%d states, %d pairs compared", len(first), compared)
}

// futures is the set of states that follow, with a move that leads to each.
func futures(e *encoder, w *world) map[digest]string {
	set := make(map[digest]string)
	for _, m := range w.moves(nil) {
		next := w.clone()
		next.do(m)
		set[e.digest(next)] = w.describe(m)
	}
	return set
}

// only lists the moves of a that lead to where none of b does.
func only(a, b map[digest]string) []string {
	var moves []string
	for d, move := range a {
		if _, both := b[d]; !both {
			moves = append(moves, move)
		}
	}
	return moves
}

func successors(w *world) []*world {
	var list []*world
	for _, m := range w.moves(nil) {
		next := w.clone()
		next.do(m)
		list = append(list, next)
	}
	return list
}

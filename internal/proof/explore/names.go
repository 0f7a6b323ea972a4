package explore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/onereply/onereply/turn"
)

// The exploration of names.
//
// A conversation lies in the place of the name under which it began. Another name leads
// there by a record of its own, and no write changes both. So where a message lands that
// comes under such a name depends on what a node reads first, what it remembers, and what
// others write in between. Here two nodes take messages, and carry out the calls that give
// a name or take it away, write by write. A node may stand still between any two steps, or
// die there. It remembers for ever where a name once led.
//
// [turn.Step] decides on each record. What internal/engine and the calls of the API do
// around it is said once more, in few lines. Time stands still and no turn begins: that
// names change nothing else is a law of the core (turn/laws_test.go).

// place is a name, and what lies in the store under it.
type place uint8

const (
	home  place = iota // a conversation
	other              // a second one, which nobody knows by its own name
	alias              // a name that leads to one of them, or is free
	nowhere
)

var placeNames = [...]string{"home", "other", "alias", ""}

func (p place) name() string { return placeNames[p] }

// placeOf is the place with a name.
func placeOf(name string) place { return place(max(0, slices.Index(placeNames[:], name))) }

// The requests. Those after the first two are calls of the API, of which there is one at
// a time: two people who give and take one name at once are outside.
const (
	sayToHome  uint8 = iota // a message under the name of the conversation
	sayToAlias              // a message under the alias
	leadToHome
	leadToOther
	moveHome // to the alias, which becomes its key
	freeAlias
)

var nameRequests = [...]string{
	"message to home", "message to the alias", "the alias is to lead to home", "the alias is to lead to other", "home is to move to the alias", "the alias is to be freed",
}

// nameRequest is a request under way at a node.
type nameRequest struct {
	what uint8
	step uint8 // of a call: what it does next

	// Of a message.
	id    uint8
	at    place // where it waits to be taken in
	looks bool  // at the alias: its record has to be read again
	sure  bool  // at a conversation: it was
	could uint8 // a bit for each place to which its name has led since the message came

	// Of a call.
	from   place // the conversation from which the name is taken away
	to     place // the one that it is about
	claims bool  // that one has a claim, and the alias leads there: a move that nobody lived to finish
}

// calls reports whether the request is a call of the API.
func (q nameRequest) calls() bool { return q.what > sayToAlias }

// nameNode is a process.
type nameNode struct {
	leads    place // where it remembers that the alias leads
	requests []nameRequest
}

// nameStore is what the store has of a place.
type nameStore struct {
	record   turn.Record
	messages uint8 // by id
}

// nameWorld is a state.
type nameWorld struct {
	scope    *Scope
	stores   [3]nameStore
	nodes    [2]nameNode
	left     Budget
	messages uint8 // ids given out
	verdict
}

func newNameWorld(scope *Scope) *nameWorld {
	w := &nameWorld{scope: scope, left: scope.Budget}
	for i := range w.nodes {
		w.nodes[i].leads = nowhere
	}
	return w
}

func (w *nameWorld) copy() state {
	c := *w
	for i := range c.nodes {
		c.nodes[i].requests = slices.Clone(w.nodes[i].requests)
	}
	return &c
}

// leads is where the alias leads.
func (w *nameWorld) leads() place {
	if to := w.stores[alias].record.LeadsTo; to != "" {
		return placeOf(to)
	}
	return nowhere
}

func (w *nameWorld) names(p place) turn.Names { return w.stores[p].record.Names }

// lists reports whether a conversation takes in what comes under the alias, as far as it
// knows by itself.
func (w *nameWorld) lists(p place) bool {
	trusted := w.scope.flaws.namesTrusted || w.scope.flaws.claimsTrusted && w.names(p).Claim == alias.name()
	return trusted || w.names(p).Lists(alias.name())
}

// moves implements [state]. Nodes are interchangeable, so of two with empty memories one
// is enough.
func (w *nameWorld) moves(list []move) []move {
	calling := slices.ContainsFunc(w.nodes[:], func(n nameNode) bool { return slices.ContainsFunc(n.requests, nameRequest.calls) })
	for i, n := range w.nodes {
		if i == 1 && len(n.requests) == 0 && len(w.nodes[0].requests) == 0 && n.leads == w.nodes[0].leads {
			break
		}
		m := move{worker: uint8(i)}
		for k := range n.requests {
			m.action, m.index = land, uint8(k)
			list = append(list, m)
		}
		m.action, m.index = people, 0
		for what := sayToHome; what <= freeAlias; what++ {
			asks := nameRequest{what: what}.calls()
			if asks && w.left.Calls > 0 && !calling || !asks && w.left.Inputs > 0 {
				m.choice = what
				list = append(list, m)
			}
		}
		if m.action = crash; w.left.Faults > 0 && len(n.requests) > 0 {
			m.choice = 0
			list = append(list, m)
		}
	}
	return list
}

// onward implements [state].
func (w *nameWorld) onward() (move, bool) {
	for i, n := range w.nodes {
		if len(n.requests) > 0 {
			return move{action: land, worker: uint8(i)}, true
		}
	}
	return move{}, false
}

// do implements [state].
func (w *nameWorld) do(m move) {
	n := &w.nodes[m.worker]
	switch m.action {
	case people:
		w.ask(n, m.choice)
	case crash:
		w.left.Faults--
		n.leads, n.requests = nowhere, nil
	default:
		q := n.requests[m.index]
		if w.step(n, &q) {
			n.requests = slices.Delete(n.requests, int(m.index), int(m.index)+1)
		} else {
			n.requests[m.index] = q
		}
	}
	w.check()
}

// ask begins a request at a node.
func (w *nameWorld) ask(n *nameNode, what uint8) {
	q := nameRequest{what: what, from: nowhere, to: nowhere}
	switch {
	case q.calls():
		w.left.Calls--
	default:
		w.left.Inputs--
		w.messages++
		q.id = w.messages
		if what == sayToAlias {
			q.at = alias
		}
		q.could = 1 << w.target(q.at)
	}
	n.requests = append(n.requests, q)
}

// target is the place to which a name leads.
func (w *nameWorld) target(p place) place {
	if to := w.leads(); p == alias && to != nowhere {
		return to
	}
	return p
}

// step takes the next step of a request, and reports whether it has ended.
func (w *nameWorld) step(n *nameNode, q *nameRequest) bool {
	switch q.what {
	case sayToHome, sayToAlias:
		return w.sayOn(n, q)
	case leadToHome:
		return w.leadOn(q, home)
	case leadToOther:
		return w.leadOn(q, other)
	case moveHome:
		return w.moveOn(q)
	}
	return w.freeOn(q)
}

// sayOn takes a message in, or hands it on between the alias and the conversation to which
// that leads, as far as the node knows.
func (w *nameWorld) sayOn(n *nameNode, q *nameRequest) bool {
	switch {
	case q.at == alias:
		if (q.looks || n.leads == nowhere) && w.takeIn(q) {
			n.leads = nowhere
			return true
		}
		if q.looks || n.leads == nowhere {
			n.leads = w.leads()
		}
		q.at, q.sure, q.looks = n.leads, q.looks, false
		return false
	case q.what == sayToAlias && !q.sure && !w.lists(q.at):
		q.at, q.looks = alias, true
		return false
	}
	return w.takeIn(q)
}

// takeIn takes a message in at its place, by one write, unless that is an alias. The
// conversation takes the name over if its maker did not live to tell.
func (w *nameWorld) takeIn(q *nameRequest) bool {
	names := w.names(q.at)
	dropped := slices.Contains(names.Dropped, alias.name()) && !w.scope.flaws.droppedAdopted
	if q.what == sayToAlias && q.at != alias && !names.Lists(alias.name()) && !dropped {
		w.write(q.at, turn.AdoptName{Name: alias.name(), Key: names.Claim == alias.name()})
	}
	if w.refused(q.at, turn.Message{}) {
		return false
	}
	w.stores[q.at].messages |= 1 << q.id
	if q.could&(1<<q.at) == 0 {
		w.breaks(violated("P1 names", "m%d was taken in as a message to %s, and its name has not led there since it came", q.id, q.at.name()))
	}
	return true
}

// leadOn has the alias lead to a conversation: the one to which it leads now takes it away
// first.
func (w *nameWorld) leadOn(q *nameRequest, to place) bool {
	q.step++
	switch q.step {
	case 1:
		q.from = w.leads()
		w.locate(q, to)
	case 2:
		w.finishMove(q)
	case 3:
		return q.from != nowhere && q.from != to && w.refused(q.from, turn.DropName{Name: alias.name()})
	case 4:
		return w.refused(alias, turn.LeadName{To: to.name()})
	default:
		w.write(to, turn.AdoptName{Name: alias.name()})
		w.judgeLed(to)
		return true
	}
	return false
}

// moveOn gives a conversation the alias as its key.
func (w *nameWorld) moveOn(q *nameRequest) bool {
	q.step++
	switch q.step {
	case 1:
		w.locate(q, home)
		return w.stores[home].record.Empty()
	case 2:
		w.finishMove(q)
	case 3:
		if w.names(home).Lists(alias.name()) {
			q.step = 5
			return false
		}
		w.write(home, turn.ClaimName{Name: alias.name()})
	case 4:
		if !w.refused(alias, turn.LeadName{To: home.name(), Fresh: true}) {
			q.step = 5
		}
	case 5:
		w.write(home, turn.ClaimName{})
		return true
	default:
		w.write(home, turn.AdoptName{Name: alias.name(), Key: true})
		w.judgeLed(home)
		if key := w.names(home).Key; key != alias.name() {
			w.breaks(violated("P4 names", "home was moved to the alias, and its key is %q", key))
		}
		return true
	}
	return false
}

// freeOn frees the alias, unless it is the key of its conversation.
func (w *nameWorld) freeOn(q *nameRequest) bool {
	q.step++
	switch q.step {
	case 1:
		q.from = w.leads()
		if q.from == nowhere {
			return true
		}
		w.locate(q, q.from)
	case 2:
		w.finishMove(q)
	case 3:
		return w.refused(q.from, turn.DropName{Name: alias.name()})
	default:
		w.write(alias, turn.FreeName{From: q.from.name()})
		if w.leads() != nowhere || w.names(q.from).Lists(alias.name()) {
			w.breaks(violated("P4 names", "the alias was freed, and it still leads to %s", q.from.name()))
		}
		return true
	}
	return false
}

// locate reads a conversation, and whether somebody has begun to move it and did not live
// to finish that.
func (w *nameWorld) locate(q *nameRequest, p place) {
	q.to, q.claims = p, w.names(p).Claim == alias.name() && w.leads() == p
}

// finishMove finishes such a move.
func (w *nameWorld) finishMove(q *nameRequest) {
	if q.claims {
		w.write(q.to, turn.AdoptName{Name: alias.name(), Key: true})
	}
}

// refused writes, and reports whether the name is taken.
func (w *nameWorld) refused(p place, event turn.Event) bool {
	return w.write(p, event).Reason == turn.NameTaken
}

// write applies an event to the record of a place.
func (w *nameWorld) write(p place, event turn.Event) turn.Effects {
	record, effects := w.scope.Step(w.stores[p].record, event, epoch, w.scope.Policy)
	w.stores[p].record = record
	for i := range w.nodes {
		for k := range w.nodes[i].requests {
			if q := &w.nodes[i].requests[k]; q.what == sayToAlias {
				q.could |= 1 << w.target(alias)
			}
		}
	}
	return effects
}

// judgeLed checks that the alias leads where its caller is told that it does.
func (w *nameWorld) judgeLed(to place) {
	if w.leads() != to || !w.names(to).Lists(alias.name()) {
		w.breaks(violated("P4 names", "the alias was given to %s, and leads to %q; %s lists it: %v", to.name(), w.leads().name(), to.name(), w.names(to).Lists(alias.name())))
	}
}

// check judges the state as such: a name is a conversation or an alias, and a conversation
// lists no name that leads elsewhere.
func (w *nameWorld) check() {
	for p, s := range w.stores {
		if err := turn.Check(s.record); err != nil {
			w.breaks(violated("turn.Check", "%v", err))
		}
		if p := place(p); p != alias && w.names(p).Lists(alias.name()) && w.leads() != p {
			w.breaks(violated("P1 names", "%s lists the alias, which leads to %q", p.name(), w.leads().name()))
		}
	}
	if w.leads() != nowhere && w.stores[alias].messages != 0 {
		w.breaks(violated("P1 names", "the alias leads to %s, and is a conversation itself", w.leads().name()))
	}
}

// checkQuiescence implements [state]: whatever is at rest was judged before.
func (w *nameWorld) checkQuiescence() {}

// digest implements [state]. Which messages a place has does not matter, but whether it
// has any.
func (w *nameWorld) digest(e *encoder) digest {
	e.out = e.out[:0]
	e.small(int(w.left.Inputs), int(w.left.Calls), int(w.left.Faults))
	for _, s := range w.stores {
		n := s.record.Names
		e.text(s.record.LeadsTo)
		e.text(strings.Join(append([]string{n.Key, n.Claim, strings.Join(n.Aliases, " ")}, n.Dropped...), ","))
		e.flag(s.record.Empty())
	}
	e.out = append(e.out, w.digestNodes()...)
	return e.sum()
}

// digestNodes writes the nodes, which are interchangeable.
func (w *nameWorld) digestNodes() []byte {
	var e [2]encoder
	for i, n := range w.nodes {
		e[i].small(int(n.leads), len(n.requests))
		for _, q := range n.requests {
			e[i].small(int(q.what), int(q.step), int(q.at), int(q.could), int(q.from), int(q.to))
			e[i].flag(q.looks)
			e[i].flag(q.sure)
			e[i].flag(q.claims)
		}
	}
	if bytes.Compare(e[0].out, e[1].out) > 0 {
		e[0], e[1] = e[1], e[0]
	}
	return append(e[0].out, e[1].out...)
}

// describe implements [state].
func (w *nameWorld) describe(m move) string {
	switch m.action {
	case people:
		return fmt.Sprintf("node %d: %s", m.worker+1, nameRequests[m.choice])
	case crash:
		return fmt.Sprintf("node %d: crashes and starts again", m.worker+1)
	}
	return fmt.Sprintf("node %d: %s goes on", m.worker+1, nameRequests[w.nodes[m.worker].requests[m.index].what])
}

// summary implements [state].
func (w *nameWorld) summary() string {
	text := fmt.Sprintf("alias → %q", w.leads().name())
	for p, s := range w.stores {
		if s.record.Exists() {
			n := s.record.Names
			text += fmt.Sprintf("; %s: messages %b, names %v, key %q, claim %q, dropped %v", place(p).name(), s.messages, n.Aliases, n.Key, n.Claim, n.Dropped)
		}
	}
	return text
}

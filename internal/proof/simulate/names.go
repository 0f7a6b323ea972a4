package simulate

import (
	"slices"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// What gives a conversation another name: an alias, or another key.
const (
	alias What = "alias"
	move  What = "move"
)

// giveNames draws which names a conversation gets, and when. It has dice of its own.
func (p *Plan) giveNames(conversation int) {
	d := roll(p.Seed, "names", int64(conversation))
	if !d.chance(30) {
		return
	}
	for number := range d.between(1, 3) {
		e := Event{At: d.span(0, p.traffic), What: pick(d, alias, move), Node: d.below(p.nodes), Conversation: conversation}
		e.Message = p.key(conversation).Conversation + string(rune('1'+number))
		if d.chance(50) {
			e.Aim, e.Offset = instants[d.below(len(instants))], d.between(-1, 1)
		}
		p.add(e)
	}
}

// giveName makes the writes of an alias or a move one after the other, as the calls of
// the API do. If the process dies in between, nobody makes the rest.
func (n *node) giveName(e Event) {
	key, name := n.key(e.Conversation), store.Key{Bot: botName, Conversation: e.Message}
	moves := e.What == move
	steps := []engine.Request{
		{Key: key, Op: engine.ClaimName, Name: e.Message},
		{Key: name, Op: engine.LeadName, Name: key.Conversation, Fresh: moves},
		{Key: key, Op: engine.AdoptName, Name: e.Message, Moves: moves},
	}
	if !moves {
		steps = steps[1:]
	}
	n.log("people", "%s %s of %s to %s", e.What, e.Message, key.Conversation, n.name)
	n.takeStep(e, key, steps)
}

func (n *node) takeStep(e Event, key store.Key, steps []engine.Request) {
	r := steps[0]
	a := &ask{Event: e, key: key, node: n, op: r.Op}
	a.then = func(result engine.Result) {
		if result.Outcome == turn.Ignored {
			return
		}
		n.ledger.named(key, r)
		if len(steps) > 1 {
			n.takeStep(e, key, steps[1:])
		}
	}
	n.ledger.asks(a)
	n.submit(a, &r)
	if r.Op == engine.LeadName {
		n.writeAtOnce(e, r.Key)
	}
}

// writeAtOnce has somebody write under a name in the instant in which it is made one, at the
// same node: one batch may hold both. The dice are of their own.
func (n *node) writeAtOnce(e Event, name store.Key) {
	d := roll(n.Seed, "at once", int64(e.ID))
	if !d.chance(50) {
		return
	}
	a := &ask{Event: Event{ID: e.ID, What: send, Conversation: e.Conversation, Message: "n" + e.Message[len(e.Message)-1:]}, key: n.key(e.Conversation), node: n}
	r := a.request()
	r.Key = name
	n.log("people", "%s to %s, under %s", words(a.What, a.Message, a.text), n.name, name.Conversation)
	n.ledger.asks(a)
	n.submit(a, r)
}

// named takes in that a step of a name was acknowledged.
func (l *ledger) named(key store.Key, r engine.Request) {
	names := l.snapshot(key).Record.Names
	switch {
	case r.Op == engine.LeadName:
		l.names[key] = append(l.names[key], r.Key.Conversation)
	case r.Op == engine.AdoptName && l.gone[key] == 0 && !slices.Contains(names.Aliases, r.Name):
		l.fail("P4 lost", "the name %s was acknowledged, and %s does not know it", r.Name, key.Conversation)
	}
}

// underName gives a request one of the names of its conversation.
func (w *world) underName(e Event, r *engine.Request) {
	names := w.ledger.names[w.key(e.Conversation)]
	d := roll(w.Seed, "under name", int64(e.ID))
	if len(names) == 0 || e.What == forget || !d.chance(60) {
		return
	}
	r.Key = store.Key{Bot: botName, Conversation: names[d.below(len(names))]}
	if w.seeded.flaws.idsOfName && r.ID != "" {
		r.ID = r.Key.Conversation + "." + r.ID
	}
}

// isName reports whether a key is another name of a conversation.
func (w *world) isName(key store.Key) bool {
	for conversation := range w.conversations {
		if w.key(conversation) == key {
			return false
		}
	}
	return true
}

// judgeName is P1 for names: nothing is ever taken in at one that leads to a conversation.
func (l *ledger) judgeName(write store.Write) {
	if len(write.Append) > 0 {
		l.fail("P1 names", "%s is taken in under the name %s, as a conversation of its own", write.Append[0].ID, write.Key.Conversation)
	}
}

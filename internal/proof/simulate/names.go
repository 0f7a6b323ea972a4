package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Changes of a conversation's names.
const (
	alias   What = "alias"      // it gets one more
	move    What = "move"       // it gets another key
	unalias What = "freed name" // it loses one
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
	case r.Op == engine.LeadName && !l.willBeFreed(r.Key):
		l.names[key] = append(l.names[key], r.Key.Conversation)
	case r.Op == engine.FreeName:
		l.freed[r.Key] = freedName{asked: l.freed[r.Key].asked, done: l.now}
	case r.Op == engine.AdoptName && l.gone[key] == 0 && !slices.Contains(names.Aliases, r.Name):
		l.fail("P4 lost", "the name %s was acknowledged, and %s does not know it", r.Name, key.Conversation)
	}
	if r.Op == engine.AdoptName && !r.Moves && l.gone[key] == 0 {
		l.given[nameKey(r.Name)] = true
	}
}

// underName gives a request one of the names of its conversation. A name that is to be
// freed is used only by messages that say so.
func (w *world) underName(e Event, r *engine.Request) {
	if e.Name != "" {
		if w.ledger.given[nameKey(e.Name)] {
			r.Key = nameKey(e.Name)
		}
		return
	}
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

func nameKey(name string) store.Key { return store.Key{Bot: botName, Conversation: name} }

// owner is the letter of the conversation to which a name leads, or led.
func owner(key store.Key) string { return key.Conversation[:1] }

// freedName is a name that was taken away from a conversation.
type freedName struct{ asked, done turn.Time }

// freeNames draws which names a conversation loses again, and messages under these before,
// meanwhile and afterwards. It has dice of its own.
func (p *Plan) freeNames(conversation int) {
	d := roll(p.Seed, "freed names", int64(conversation))
	number := 0
	for _, e := range slices.Clone(p.Events) {
		if e.What != alias || e.Conversation != conversation || !d.chance(60) {
			continue
		}
		name, at := e.Message, e.At+d.span(0, 10*time.Second)
		p.add(Event{At: at, What: unalias, Node: d.below(p.nodes), Conversation: conversation, Message: name})
		for range d.between(1, 4) {
			number++
			p.add(Event{
				At: max(0, at-time.Second) + d.span(0, 4*time.Second), What: send, Node: d.below(p.nodes), Conversation: conversation,
				Message: fmt.Sprintf("n%d", number), Name: name,
			})
		}
	}
}

// freeName takes a name away in two writes, as the call of the API does. If the process
// dies in between, nobody makes the second one. A name is not taken away while it is
// being given.
func (n *node) freeName(e Event) {
	key, name := n.key(e.Conversation), nameKey(e.Message)
	if !n.ledger.given[name] {
		n.log("people", "%s is no name yet", e.Message)
		return
	}
	n.ledger.freed[name] = freedName{asked: n.now}
	n.log("people", "%s %s of %s to %s", e.What, e.Message, key.Conversation, n.name)
	n.takeStep(e, key, []engine.Request{
		{Key: key, Op: engine.DropName, Name: e.Message},
		{Key: name, Op: engine.FreeName, Name: key.Conversation},
	})
}

// judgeWhere is P4 for names that are taken away: a message under one begins a conversation
// of its own if it comes afterwards, and may if it comes meanwhile.
func (l *ledger) judgeWhere(a *ask, result engine.Result) {
	freed := l.freed[nameKey(a.Name)]
	switch {
	case a.Name == "" || freed.asked == 0:
	case freed.done != 0 && freed.done < a.at && result.Key == a.key:
		l.fail("P4 names", "%s came under the name %s, which was freed, and is taken in by %s", a.Message, a.Name, a.key.Conversation)
	case result.Key == nameKey(a.Name):
		a.key = result.Key
	}
}

// willBeFreed reports whether a name is taken away in the course of the plan.
func (p *Plan) willBeFreed(name store.Key) bool {
	return slices.ContainsFunc(p.Events, func(e Event) bool { return e.What == unalias && e.Message == name.Conversation })
}

// toBeFreed is how many conversations the plan adds by names that are freed.
func (p *Plan) toBeFreed() int {
	count := 0
	for _, e := range p.Events {
		if e.What == unalias {
			count++
		}
	}
	return count
}

// keys are those of all conversations: of the plan, and under names that were freed.
func (w *world) keys() []store.Key {
	var keys []store.Key
	for conversation := range w.conversations {
		keys = append(keys, w.key(conversation))
	}
	for _, e := range w.Events {
		if e.What == unalias && w.ledger.freed[nameKey(e.Message)].asked != 0 {
			keys = append(keys, nameKey(e.Message))
		}
	}
	return keys
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

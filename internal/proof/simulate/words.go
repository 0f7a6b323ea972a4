package simulate

import (
	"fmt"
	"strings"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// startsOver is a message that is a reset word.
const startsOver What = "reset word"

// The bot's words.
const (
	stopText  = "stop"
	leaveText = "leave"
	backText  = "back"
	freshText = "afresh"
)

var wordOf = map[What]string{optsOut: leaveText, optsIn: backText, startsOver: freshText}

// closesOwn reports whether a text closes what its sender has waiting.
func closesOwn(text string) bool { return text == stopText || text == leaveText }

// isWord reports whether a message was sent as a reset, opt-out or opt-in word: the first
// letter of its id says which.
func isWord(e store.Entry) bool {
	switch e.Text {
	case freshText:
		return strings.HasPrefix(e.ID, "w")
	case leaveText:
		return strings.HasPrefix(e.ID, "q")
	case backText:
		return strings.HasPrefix(e.ID, "i")
	}
	return false
}

// sayWords draws people who begin afresh by a word, and people who opt out and in again,
// some of them under a pause that an operator made. It has dice of its own.
func (p *Plan) sayWords(conversation int) {
	d := roll(p.Seed, "words", int64(conversation))
	say := func(e Event) Event {
		e.Node, e.Conversation = d.below(p.nodes), conversation
		if d.chance(40) {
			e.Aim, e.Offset = instants[d.below(len(instants))], d.between(-1, 1)
		}
		p.add(e)
		return e
	}
	if d.chance(25) {
		for n := range d.between(1, 2) {
			e := say(Event{At: d.span(0, p.traffic), What: startsOver, Message: fmt.Sprintf("w%d", n+1)})
			if d.chance(30) { // the provider delivers it again
				e.At, e.Aim = e.At+d.span(0, p.traffic/4), ""
				p.add(e)
			}
		}
	}
	if !d.chance(15) {
		return
	}
	at := d.span(0, p.traffic)
	if d.chance(50) {
		p.add(Event{At: at, What: pause, Node: d.below(p.nodes), Conversation: conversation})
		p.add(Event{At: at + d.span(0, p.traffic/2), What: resume, Node: d.below(p.nodes), Conversation: conversation, Flag: true})
	}
	if d.chance(70) {
		say(Event{At: at + d.span(0, p.traffic/4), What: optsOut, Message: "q2"})
	}
	say(Event{At: at + d.span(0, p.traffic/3), What: optsIn, Message: "i2"})
}

// judgeOptIn is P4 for a person who has opted out and in again: where nobody else has
// paused the conversation, it is not paused any more.
func (l *ledger) judgeOptIn(t *conversation, a *ask) {
	others := l.askedFor(t.key, 0, pause, silences) || l.askedFor(t.key, a.at, optsOut)
	if l.snapshot(t.key).Record.OnHold && !others {
		l.fail("P4 lost", "the opt-in %s was acknowledged, and the conversation is paused still", a.Message)
	}
}

// judgeReset is P2 for a fresh start: once it is acknowledged, the talk before it has ended.
func (l *ledger) judgeReset(t *conversation, a *ask) {
	if t.freshAt < a.at {
		l.fail("P2 fresh", "the %s %s was acknowledged, and the talk goes on", a.What, a.Message)
	}
}

// judgeClosed is P3 for a request that closes messages: once it is acknowledged, none of
// them waits any more, except those that a reply on its way answers. A stop word closes those
// of its sender. A requeue may bring back messages that were set aside.
func (l *ledger) judgeClosed(t *conversation, a *ask) {
	own := a.What == stopWord || a.What == optsOut
	if l.askedFor(t.key, a.at, requeue) {
		return
	}
	under := l.snapshot(t.key).Record.Reply
	for _, e := range l.waiting(t.key) {
		m := t.messages[e.ID]
		others := own && senderOf(e.ID) != senderOf(a.Message)
		if m == nil || m.accepted >= a.at || others || under != nil && e.Version <= under.Through {
			continue
		}
		l.fail("P3 settled", "the %s %s was acknowledged, and %s, which came before it, waits still", a.What, a.Message, e.ID)
	}
}

// closesAll reports whether a request closes all that waits, or all of its sender.
func (a *ask) closesAll(outcome turn.Outcome) bool {
	switch a.What {
	case reset, humanSays, records, silences:
		return a.op == engine.Reset || a.op == engine.HumanReply
	case startsOver, stopWord, optsOut:
		return outcome == turn.Closed || outcome == turn.OnPause
	}
	return false
}

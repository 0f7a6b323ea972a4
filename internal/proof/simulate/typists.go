package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// typist writes into a plan for one conversation.
type typist struct {
	*Plan
	conversation int
	dice         *dice
	last         int // number of the last message
}

// write draws who writes in a conversation, and has them write.
func (p *Plan) write(conversation int) {
	t := &typist{Plan: p, conversation: conversation, dice: roll(p.Seed, "typist", int64(conversation))}
	ways := []func(){t.uniform, t.bursts, t.corrects, t.endless, t.twoPeople, t.aims}
	for range t.dice.between(1, 2) {
		ways[t.dice.below(len(ways))]()
	}
	if t.dice.chance(50) {
		t.repeats()
	}
}

func (t *typist) node() int { return t.dice.below(t.nodes) }

// say sends the next message.
func (t *typist) say(at time.Duration) string {
	return t.sayTo(at, t.node(), "", 0)
}

func (t *typist) sayTo(at time.Duration, node int, aim instant, offset int) string {
	t.last++
	id := messageID(t.last)
	t.add(Event{
		At: at, What: send, Node: node, Conversation: t.conversation, Message: id,
		Flag: t.dice.chance(5), Aim: aim, Offset: offset,
	})
	return id
}

// messageID is the same in all conversations: their ids are their own.
func messageID(number int) string { return fmt.Sprintf("m%d", number) }

// uniform spreads messages evenly.
func (t *typist) uniform() {
	for range t.dice.between(2, 10) {
		t.say(t.dice.span(0, t.traffic))
	}
}

// bursts is how people write: a few short messages, then nothing.
func (t *typist) bursts() {
	for range t.dice.between(1, 4) {
		at := t.dice.span(0, t.traffic)
		for range t.dice.between(2, 5) {
			t.say(at)
			at += t.dice.span(20*time.Millisecond, 900*time.Millisecond)
		}
	}
}

// corrects writes again, or edits, after the answer has begun.
func (t *typist) corrects() {
	at := t.dice.span(0, t.traffic/2)
	for range t.dice.between(1, 3) {
		id := t.say(at)
		after := at + t.policy.Debounce + t.dice.span(50*time.Millisecond, t.slowest)
		if t.dice.chance(50) {
			t.say(after)
		} else {
			t.add(Event{At: after, What: edit, Node: t.node(), Conversation: t.conversation, Message: id})
		}
		at = after + t.dice.span(0, 5*time.Second)
	}
}

// endless never stops typing for as long as a debounce.
func (t *typist) endless() {
	gap := max(t.policy.Debounce*2/3, 150*time.Millisecond)
	for at := t.dice.span(0, time.Second); at < min(t.traffic, 60*gap); at += gap {
		t.say(at)
	}
}

// twoPeople write at once, over different nodes.
func (t *typist) twoPeople() {
	at := t.dice.span(0, t.traffic/2)
	first, second := t.node(), t.node()
	for range t.dice.between(2, 6) {
		t.sayTo(at, first, "", 0)
		t.sayTo(at+t.dice.span(0, 3*time.Millisecond), second, "", 0)
		at += t.dice.span(10*time.Millisecond, 2*time.Second)
	}
}

// aims sends messages that arrive one tick before, at or after an instant.
func (t *typist) aims() {
	at := t.dice.span(0, t.traffic/2)
	for range t.dice.between(1, 4) {
		t.say(at)
		for range t.dice.between(1, 3) {
			t.sayTo(at, t.node(), instants[t.dice.below(len(instants))], t.dice.between(-1, 1))
		}
		at += t.dice.span(0, t.traffic/3)
	}
}

// mentions draws messages that are context, and repeats of them: as their sender says,
// because they are not meant for the bot, or because they come too late. It has dice of
// its own.
func (p *Plan) mentions(conversation int) {
	d := roll(p.Seed, "context", int64(conversation))
	if !d.chance(40) {
		return
	}
	kinds := roll(p.Seed, "kinds of context", int64(conversation))
	for number := range d.between(1, 5) {
		id := fmt.Sprintf("%c%d", contextKinds[kinds.below(len(contextKinds))], number+1)
		e := Event{At: d.span(0, p.traffic), What: mention, Node: d.below(p.nodes), Conversation: conversation, Message: id}
		if d.chance(40) {
			e.Aim, e.Offset = instants[d.below(len(instants))], d.between(-1, 1)
		}
		p.add(e)
		if d.chance(30) {
			e.At += pick(d, time.Millisecond, 2*time.Second)
			e.Node, e.Aim = d.below(p.nodes), ""
			p.add(e)
		}
	}
}

// contextKinds are the first letters of the ids of messages that are context: its sender
// says so, it is not meant for the bot, it is too old.
const contextKinds = "kut"

// mentioned reports whether a message is context, by its id.
func mentioned(id string) bool { return strings.IndexByte(contextKinds, id[0]) >= 0 }

// meant reports whether a message is meant for the bot, by its id.
func meant(id string) bool { return id[0] != contextKinds[1] }

// mention makes a request one of a message that is context.
func (a *ask) mention(r *engine.Request) {
	switch a.Message[0] {
	case contextKinds[0]:
		r.Context = true
	case contextKinds[1]:
		r.Unaddressed = true
	default:
		r.Body.SentAt = a.node.now.Add(-a.node.policy.MaxAge - time.Minute)
	}
}

// repeats has the provider deliver messages again: at once, to another node,
// or much later.
func (t *typist) repeats() {
	for _, e := range t.Events {
		if e.What != send || e.Conversation != t.conversation || e.Aim != "" || !t.dice.chance(30) {
			continue
		}
		delay := pick(t.dice, 0, time.Millisecond, 2*time.Second, 15*time.Second)
		t.add(Event{At: e.At + delay, What: again, Node: t.node(), Conversation: t.conversation, Message: e.Message, Flag: e.Flag})
	}
}

// stop draws who wants no answer any more: by a message that is a stop word, or by the
// edit of one. It has dice of its own.
func (p *Plan) stop(conversation int) {
	d := roll(p.Seed, "stop", int64(conversation))
	if !d.chance(30) {
		return
	}
	for n := range d.between(1, 3) {
		e := Event{At: d.span(0, p.traffic), What: stopWord, Node: d.below(p.nodes), Conversation: conversation, Message: fmt.Sprintf("s%d", n+1)}
		if d.chance(30) {
			e.Message = messageID(d.between(1, 6))
		}
		if d.chance(50) {
			e.Aim, e.Offset = instants[d.below(len(instants))], d.between(-1, 1)
		}
		p.add(e)
	}
}

// hold draws pauses that end by themselves, and a person who opts out and in again. It
// has dice of its own.
func (p *Plan) hold(conversation int) {
	d := roll(p.Seed, "hold", int64(conversation))
	if !d.chance(25) {
		return
	}
	add := func(at time.Duration, what What, id string, lasts time.Duration) {
		p.add(Event{At: at, What: what, Node: d.below(p.nodes), Conversation: conversation, Message: id, For: lasts})
	}
	for range d.between(1, 2) {
		add(d.span(0, p.traffic), pause, "", d.span(time.Second, 8*time.Second))
	}
	if d.chance(50) {
		at := d.span(0, p.traffic)
		add(at, optsOut, "q1", 0)
		add(at+d.span(0, 5*time.Second), optsIn, "i1", 0)
	}
}

// fromOutside draws replies that programs give: notifications, what a person has sent
// elsewhere, and replies with a pause after them. Many are given twice, with one id. It
// has dice of its own.
func (p *Plan) fromOutside(conversation int) {
	d := roll(p.Seed, "outside", int64(conversation))
	if !d.chance(30) {
		return
	}
	for n := range d.between(1, 3) {
		e := Event{At: d.span(0, p.traffic), What: pick(d, notifies, notifies, records, silences), Node: d.below(p.nodes), Conversation: conversation, Message: fmt.Sprintf("r%d", n+1)}
		if e.What == silences {
			e.For = d.span(time.Second, 8*time.Second)
		}
		if d.chance(30) {
			e.Aim, e.Offset = instants[d.below(len(instants))], d.between(-1, 1)
		}
		p.add(e)
		if d.chance(60) {
			e.At, e.Aim, e.Node = e.At+d.span(0, 3*time.Second), "", d.below(p.nodes)
			p.add(e)
		}
	}
}

// remedy draws what operators do about replies whose outcome is unknown. It has
// dice of its own.
func (p *Plan) remedy(conversation int) {
	d := roll(p.Seed, "remedy", int64(conversation))
	if !d.chance(30) {
		return
	}
	for range d.between(1, 2) {
		p.add(Event{At: d.span(p.traffic/3, p.traffic), What: pick(d, resend, resend, markSent), Node: d.below(p.nodes), Conversation: conversation})
	}
}

// beginAfresh draws who ends a talk, and when. It has dice of its own.
func (p *Plan) beginAfresh(conversation int) {
	d := roll(p.Seed, "afresh", int64(conversation))
	if !d.chance(30) {
		return
	}
	for range d.between(1, 2) {
		e := Event{At: d.span(0, p.traffic), What: reset, Node: d.below(p.nodes), Conversation: conversation}
		if d.chance(50) {
			e.Aim, e.Offset = instants[d.below(len(instants))], d.between(-1, 1)
		}
		p.add(e)
	}
}

// report draws what the channel says of replies that the person has seen. It has dice of
// its own.
func (p *Plan) report(conversation int) {
	d := roll(p.Seed, "reports", int64(conversation))
	if !d.chance(40) {
		return
	}
	for range d.between(1, 5) {
		p.add(Event{
			At: d.span(p.traffic/4, p.traffic), What: reports, Node: d.below(p.nodes), Conversation: conversation,
			Message: string(pick(d, turn.ReceiptFailed, turn.ReceiptFailed, turn.ReceiptDelivered, turn.ReceiptRead)),
		})
	}
}

// operate draws what operators and second thoughts do to a conversation.
func (p *Plan) operate(conversation int) {
	d := roll(p.Seed, "operator", int64(conversation))
	if d.chance(40) {
		return
	}
	anyMessage := func() string { return messageID(d.between(1, 6)) }
	for range d.between(1, 5) {
		e := Event{At: d.span(0, p.traffic), Node: d.below(p.nodes), Conversation: conversation}
		e.What = pick(d, edit, edit, retract, typing, flush, pause, humanSays, requeue, pause, humanSays, retract)
		if d.chance(2) {
			e.What = forget
		}
		switch e.What {
		case edit, retract:
			e.Message = anyMessage()
		case typing:
			e.For = d.span(0, 3*time.Second)
		case pause:
			p.add(Event{
				At: e.At + d.span(0, 8*time.Second), What: resume, Node: d.below(p.nodes), Conversation: conversation, Flag: d.chance(70),
			})
		}
		if e.What != forget && d.chance(30) {
			e.Aim, e.Offset = instants[d.below(len(instants))], d.between(-1, 1)
		}
		p.add(e)
	}
}

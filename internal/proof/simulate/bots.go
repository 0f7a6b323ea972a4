package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// botSays is a message of another bot.
const botSays What = "message of another bot"

// otherBots draws what another bot says, most of it in the moment in which it got a reply,
// as bots do. It has dice of its own.
func (p *Plan) otherBots(conversation int) {
	d := roll(p.Seed, "other bots", int64(conversation))
	if !d.chance(30) {
		return
	}
	for number := range d.between(2, 8) {
		e := Event{At: d.span(0, p.traffic), What: botSays, Node: d.below(p.nodes), Conversation: conversation, Message: fmt.Sprintf("b%d", number+1)}
		if d.chance(70) {
			e.Aim, e.Offset = pick(d, atRelease, atRelease, atCommit), d.between(-1, 1)
		}
		p.add(e)
	}
}

// byBot reports whether another bot wrote a message, by its id.
func byBot(id string) bool { return strings.HasPrefix(id, "b") }

// noteAuthor keeps how much people wrote: that starts the count anew of what other bots
// got. Where these get no answer, nothing of them is taken in.
func (l *ledger) noteAuthor(t *conversation, e store.Entry) {
	switch {
	case !byBot(e.ID):
		t.byPeople++
		t.botReplies = 0
	case l.policy.MaxBotTurns == 0:
		l.fail("P3 bots", "%s of another bot was taken in, and none of them gets an answer", e.ID)
	}
}

// noteReader keeps whether a reply is for other bots alone.
func (r *reply) noteReader(t *conversation, write store.Write) {
	person := func(id string) bool { return !byBot(id) }
	if ids := idsOf(r.seen); !slices.ContainsFunc(ids, person) && !r.entry.Late {
		r.toBots, r.people = true, t.byPeople
	}
	for _, e := range write.Append { // nobody can see whether that came before or after the reply
		r.toBots = r.toBots && !(e.Kind == store.Message && person(e.ID))
	}
}

// judgeBots is P3 for bots that answer each other: other bots get no more replies than
// they may until a person writes. It is not judged where a requeue brings back what they
// wrote, or where what they wrote is answered in parts since the model refuses a message, or a prompt has no room.
func (l *ledger) judgeBots(t *conversation, r *reply) {
	refuses := slices.ContainsFunc(l.Events, func(e Event) bool { return e.What == modelRefuses || e.What == modelCramped })
	if !r.toBots || r.people != t.byPeople || refuses || l.policy.PromptBytes > 0 || l.askedFor(t.key, 0, requeue) {
		return
	}
	if t.botReplies++; t.botReplies > l.policy.MaxBotTurns {
		l.fail("P3 bots", "other bots got %d replies since a person wrote, and at most %d are allowed", t.botReplies, l.policy.MaxBotTurns)
	}
}

// leftOut reports whether a message was not taken in, and for a reason: another bot wrote
// it, or it is not meant for a bot that observes nothing.
func leftOut(outcome turn.Outcome, reason string) bool {
	return outcome == turn.Ignored && (reason == turn.FromBot || reason == turn.NotAddressed)
}

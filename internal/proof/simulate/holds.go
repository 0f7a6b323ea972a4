package simulate

import (
	"slices"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// holds reports whether a request that was acknowledged pauses the conversation.
func (a *ask) holds(result engine.Result) bool {
	paused := a.What == pause || a.What == silences || a.What == optsOut
	return paused && !result.Duplicate && result.Outcome != turn.Ignored && result.Outcome != engine.Duplicate
}

// acknowledgedHold is P4 for a pause: once it is acknowledged, the conversation is paused,
// unless that pause is over already.
func (l *ledger) acknowledgedHold(t *conversation, a *ask) {
	t.holds = append(t.holds, a)
	if !l.snapshot(t.key).Record.OnHold && !l.mayBeOver(t.key, a) {
		l.fail("P4 lost", "the %s was acknowledged, and the conversation is not paused", a.What)
	}
}

// judgeHolds is P2 for pauses beside each other: a conversation that goes on has none left.
// A pause of people ends in its time, by a resume, or by another one that takes its place.
// That of a person who has opted out ends by a resume or an opt-in. Nothing else ends either.
func (l *ledger) judgeHolds(t *conversation) {
	for _, a := range t.holds {
		if !l.mayBeOver(t.key, a) {
			l.fail("P2 hold", "the conversation goes on, and nobody has ended the %s of %s", a.What, clock(a.at))
		}
	}
}

// mayBeOver reports whether a pause may have ended since it was asked for.
func (l *ledger) mayBeOver(key store.Key, a *ask) bool {
	if l.askedFor(key, a.at, resume, closes) {
		return true
	}
	if a.What == optsOut {
		return l.askedFor(key, a.at, optsIn)
	}
	over := func(other *ask) bool { return other.For > 0 && l.now.Add(slack) >= other.at.Add(other.For) }
	replaces := func(other *ask) bool {
		return other != a && other.What == pause && (other.done == 0 || other.done >= a.at) && over(other)
	}
	return over(a) || slices.ContainsFunc(l.timed[key], replaces)
}

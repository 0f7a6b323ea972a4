package explore

import (
	"time"

	"github.com/onereply/onereply/turn"
)

// settledFaults are in changes of messages for whose answer nobody waits.
func settledFaults() []seeded {
	settled := func(s *Scope) { s.Edits, s.Settled = true, true }
	return []seeded{
		{name: "the edit of a settled message opens a turn", check: "P2 settled", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.SettledChanged); ok {
				r.Turn++
			}
		}), change: settled},
	}
}

// overtakenFaults are in what is kept for messages that have not come.
func overtakenFaults() []seeded {
	before := func(s *Scope) {
		*s = overtaken(Scope{Name: s.Name, Step: s.Step, flaws: s.flaws, Budget: Budget{Inputs: 2}})
	}
	return []seeded{
		{name: "an edit that comes before its message is not kept", check: "P4 early", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Early); ok {
				r.Early = nil
			}
		}), change: before},
		{name: "an edit is kept for ever for its message", check: "P4 early", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, now turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Early); ok {
				if len(r.Early) > 0 {
					r.Early[0].Until = now.Add(24 * time.Hour)
				}
			}
		}), change: before},
		{name: "a deletion that comes before its message claims no id", check: "P4 early", flaws: flaws{claimsForgotten: true}, change: before},
		{name: "an edit that comes before its message counts as input", check: "P4 version", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Early); ok {
				r.Version, r.Answered = r.Version+1, r.Answered+1
			}
		}), change: before},
	}
}

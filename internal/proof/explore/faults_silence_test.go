package explore

import (
	"slices"

	"github.com/onereply/onereply/turn"
)

// silenceFaults are in replies of nothing.
func silenceFaults() []seeded {
	silent := func(s *Scope) { s.Silence, s.Budget, s.Faults = true, Budget{Inputs: 2}, Faults{} }
	// saying patches what a step does that a reply of nothing ends.
	saying := func(patch func(*turn.Effects)) StepFunc {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			if slices.ContainsFunc(effects.Marks, func(m turn.Mark) bool { return m.Status == turn.ReplyNone }) {
				patch(&effects)
			}
			return is, effects
		}
	}
	return []seeded{
		{name: "a reply of nothing counts as a failure", check: "P3 cause", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if g, ok := (*e).(turn.Generated); ok && g.Parts == 0 {
				*e = turn.GenerateFailed{Nonce: g.Nonce, Fault: turn.Failure}
			}
		}), change: func(s *Scope) { silent(s); s.Policy = fragile() }},
		{name: "a reply of nothing leaves its messages waiting", check: "P3 stranded", step: saying(func(e *turn.Effects) { e.Settles = nil }), change: silent},
		{name: "a reply of nothing answers its messages", check: "P3 answered", step: saying(func(e *turn.Effects) {
			for i := range e.Settles {
				e.Settles[i].Status = turn.InputAnswered
			}
		}), change: silent},
		{name: "a reply of nothing ends no turn", check: "P3 ended", step: saying(func(e *turn.Effects) {
			e.Notices = slices.DeleteFunc(e.Notices, func(n turn.Notice) bool { return n.Kind == turn.KindTurnEnded })
		}), change: silent},
		{name: "a reply of nothing is committed whatever came", check: "P3 closed", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if g, ok := (*e).(turn.Generated); ok && g.Parts == 0 {
				r.Attempt.Through, r.Attempt.ThroughSeq, r.Attempt.Newer = r.Version, r.Seq, 0
			}
		}), change: silent},
	}
}

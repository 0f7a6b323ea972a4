package explore

import "github.com/onereply/onereply/turn"

// dutyFaults are in who may do a job, and in who believes that it may.
func dutyFaults() []seeded {
	polled := func(s *Scope) {
		s.Duty, s.Budget, s.Faults = true, Budget{Inputs: 1, Faults: 2}, Faults{Store: true, Worker: true}
	}
	asked := func(patch func(d *turn.Duty, e *turn.TakeDuty, now turn.Time)) StepFunc {
		return before(func(r *turn.Record, e *turn.Event, now *turn.Time, _ *turn.Policy) {
			if take, ok := (*e).(turn.TakeDuty); ok {
				patch(&r.Duty, &take, *now)
				*e = take
			}
		})
	}
	return []seeded{
		{name: "a duty that another node has is taken", check: "P5 duty", step: asked(func(d *turn.Duty, _ *turn.TakeDuty, _ turn.Time) { *d = turn.Duty{} }), change: polled},
		{name: "a node gives back what another has", check: "P5 duty", step: asked(func(d *turn.Duty, e *turn.TakeDuty, _ turn.Time) {
			if e.For == 0 && d.Nonce != "" {
				e.Nonce = d.Nonce
			}
		}), change: polled},
		{name: "the duty of a node that is lost never ends", check: "P3 rest", step: asked(func(d *turn.Duty, _ *turn.TakeDuty, now turn.Time) { d.Until = max(d.Until, now+1) }), change: polled},
		{name: "a duty has no end", check: "turn.Check", step: after(func(_ turn.Record, r *turn.Record, _ turn.Event, _ turn.Time, _ turn.Policy) { r.Duty.Until = 0 }), change: polled},
		{name: "a node polls until it is told that the duty is another's", check: "P5 duty", flaws: flaws{dutyUnbounded: true}, change: polled},
		{name: "updates are said to be done before they are stored", check: "P4 polled", flaws: flaws{doneBeforeStored: true}, change: polled},
	}
}

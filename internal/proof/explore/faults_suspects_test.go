package explore

import "github.com/onereply/onereply/turn"

// suspectFaults are in who is taken for the one that brings down its workers.
func suspectFaults() []seeded {
	given := func(s *Scope) {
		from := suspects()
		from.Name, from.Step, from.flaws = s.Name, s.Step, s.flaws
		*s = from
	}
	// losing patches what a step does that takes over from a lost worker.
	losing := func(patch func(r *turn.Record)) StepFunc {
		return after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.Wake); ok && was.Phase == turn.Generating {
				patch(r)
			}
		})
	}
	looking := func(patch func(r *turn.Record, look *turn.Wake)) StepFunc {
		return before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if look, ok := (*e).(turn.Wake); ok {
				patch(r, &look)
				*e = look
			}
		})
	}
	return []seeded{
		{name: "a worker that was lost beside others counts", check: "P3 aside", step: looking(func(r *turn.Record, _ *turn.Wake) { r.Lease.Lone = r.Lease.Nonce != "" }), change: given},
		{name: "each attempt counts as a lone one", check: "P3 aside", step: looking(func(_ *turn.Record, look *turn.Wake) { look.Lone = true }), change: given},
		{name: "a suspect runs beside others", check: "P3 alone", step: looking(func(r *turn.Record, _ *turn.Wake) {
			if r.Phase == turn.Collecting {
				r.Tries.Lost.Count = min(r.Tries.Lost.Count, besideBefore-1)
			}
		}), change: given},
		{name: "there is no pause before a lone attempt", check: "P3 calm", step: losing(func(r *turn.Record) {
			if r.Phase == turn.Collecting {
				r.Window.NotBefore, r.Window.Due = 0, r.Window.Start
			}
		}), change: given},
		{name: "the pause before a lone attempt does not grow", check: "P3 calm", step: looking(func(r *turn.Record, _ *turn.Wake) {
			if r.Phase == turn.Generating {
				r.Tries.Lost.Count = min(r.Tries.Lost.Count, besideBefore-1)
			}
		}), change: given},
		{name: "a lone attempt whose worker is lost is not counted", check: "P3 attempts", step: losing(func(r *turn.Record) {
			r.Tries.Lost.Lone = 0
		}), change: given},
		{name: "a lost worker is counted as a failure that did not begin", check: "turn.Check", step: losing(func(r *turn.Record) { r.Tries.Attempts = -1 }), change: given},
		{name: "a culprit is forgotten instead of set aside", check: "P3 rest", step: losing(func(r *turn.Record) {
			if r.SetAside != nil {
				r.SetAside, r.Phase = nil, turn.Idle
			}
		}), change: given},
		{name: "a lone attempt is given to nobody", check: "P3 rest", step: looking(func(_ *turn.Record, look *turn.Wake) { look.Lone = false }), change: given},
	}
}

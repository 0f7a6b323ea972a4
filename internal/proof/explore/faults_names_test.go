package explore

import "github.com/onereply/onereply/turn"

// nameFaults are in what a name leads to, and in who believes that it does.
func nameFaults() []seeded {
	given := func(s *Scope) { s.Names, s.Budget = true, Budget{Inputs: 2, Calls: 2, Faults: 1} }
	unknown := func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		if _, ok := e.(turn.FreeName); ok {
			return r, turn.Effects{Outcome: turn.Done}
		}
		return turn.Step(r, e, now, p)
	}
	adopting := func(patch func(was turn.Record, r *turn.Record)) StepFunc {
		return after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.AdoptName); ok {
				patch(was, r)
			}
		})
	}
	return []seeded{
		{name: "a conversation becomes an alias", check: "P1 names", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.LeadName); ok {
				*r = turn.Record{}
			}
		}), change: given},
		{name: "a message under an alias begins a conversation", check: "P1 names", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.Message); ok && r.LeadsTo != "" {
				r.LeadsTo, r.Phase = "", turn.Idle
			}
		}), change: given},
		{name: "an alias looks like an idle conversation", check: "turn.Check", step: after(func(_ turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.LeadName); ok {
				r.Phase = turn.Idle
			}
		}), change: given},
		{name: "a conversation is not told of its alias", check: "P4 names", step: adopting(func(was turn.Record, r *turn.Record) { r.Names = was.Names }), change: given},
		{name: "a move leaves the key as it was", check: "P4 names", step: adopting(func(was turn.Record, r *turn.Record) { r.Names.Key = was.Names.Key }), change: given},
		{name: "an alias is said to be free, and is not", check: "P4 names", step: unknown, change: given},
		{name: "a name that the conversation does not list is not looked up again", check: "P1 names", flaws: flaws{namesTrusted: true}, change: given},
		{name: "a name that was taken away is listed again by a request that had looked before", check: "P1 names", flaws: flaws{droppedAdopted: true}, change: given},
		{name: "a name that is claimed is taken for one that leads here", check: "P1 names", flaws: flaws{claimsTrusted: true}, change: func(s *Scope) { given(s); s.Budget.Calls = 3 }},
	}
}

package explore

import "github.com/onereply/onereply/turn"

// wordFaults are in what the words of people do: stop words, and those by which a person
// opts out and in again.
func wordFaults() []seeded {
	group := func(s *Scope) {
		s.Group, s.MaxParts, s.Budget, s.Faults = true, 2, Budget{Inputs: 2, Stops: 1}, Faults{}
	}
	held := func(s *Scope) { s.Holds, s.Budget, s.Faults = true, Budget{Inputs: 1, Pauses: 3}, Faults{} }
	stopping := func(patch func(*turn.StopWord)) StepFunc {
		return before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if word, ok := (*e).(turn.StopWord); ok {
				patch(&word)
				*e = word
			}
		})
	}
	return []seeded{
		{name: "a stop word closes itself, and not what its sender has waiting", check: "P3 settled", step: stopping(func(s *turn.StopWord) { s.Own = nil }), change: group},
		{name: "a stop word cuts what others wait for", check: "P3 cause", step: stopping(func(s *turn.StopWord) { s.Shared = false }), change: group},
		{name: "an opt-out word pauses nothing", check: "P2 hold", step: said[turn.OptOut], change: held},
		{name: "an opt-in word ends nothing", check: "P3 pause", step: said[turn.OptIn], change: held},
		{name: "an opt-in word ends the pause that people made", check: "P2 hold", step: before(func(r *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if _, ok := (*e).(turn.OptIn); ok {
				r.WithPeople, r.PausedUntil = false, 0
			}
		}), change: held},
		{name: "a pause that comes with a reply is forgotten", check: "P2 hold", step: before(func(_ *turn.Record, e *turn.Event, _ *turn.Time, _ *turn.Policy) {
			if h, ok := (*e).(turn.HumanReply); ok {
				h.PauseFor = 0
				*e = h
			}
		}), change: outside},
	}
}

// said is the core, but that an event is said to be carried out, and is not.
func said[E turn.Event](r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
	if _, ok := e.(E); ok {
		return r, turn.Effects{Outcome: turn.Done, Changed: true}
	}
	return turn.Step(r, e, now, p)
}

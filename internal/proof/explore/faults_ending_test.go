package explore

import (
	"slices"

	"github.com/onereply/onereply/turn"
)

// endingFaults are in what is told of the end of a turn, and in what a reset word ends.
func endingFaults() []seeded {
	plain := func(s *Scope) { s.Budget, s.Faults, s.Edits, s.Words = Budget{Inputs: 2}, Faults{}, true, true }
	telling := func(patch func(turn.Event, []turn.Notice) []turn.Notice) StepFunc {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			effects.Notices = patch(e, effects.Notices)
			return is, effects
		}
	}
	ended := func(n turn.Notice) bool { return n.Kind == turn.KindTurnEnded }
	return []seeded{
		{name: "the end of a turn is not told after a deletion", check: "P3 ended", step: telling(func(e turn.Event, told []turn.Notice) []turn.Notice {
			if _, ok := e.(turn.Delete); ok {
				told = slices.DeleteFunc(told, ended)
			}
			return told
		}), change: plain},
		{name: "the end of a turn is told again with the next message", check: "P3 ended", step: telling(func(e turn.Event, told []turn.Notice) []turn.Notice {
			if _, ok := e.(turn.Message); ok && told[0].Turn > 1 {
				told = append(told, turn.Notice{Kind: turn.KindTurnEnded, Turn: told[0].Turn - 1, Reason: string(turn.EndedSent)})
			}
			return told
		}), change: plain},
		{name: "a turn whose messages were deleted is said to be answered", check: "P3 ended", step: telling(func(_ turn.Event, told []turn.Notice) []turn.Notice {
			for i := range told {
				if ended(told[i]) {
					told[i].Reason = string(turn.EndedSent)
				}
			}
			return told
		}), change: plain},
		{name: "a reset word closes itself, and not what waited before it", check: "P3 settled", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			if message, ok := e.(turn.Message); ok && message.Closes != "" {
				effects.Settles[0].From = effects.Settles[0].Through - 1
			}
			return is, effects
		}, change: plain},
	}
}

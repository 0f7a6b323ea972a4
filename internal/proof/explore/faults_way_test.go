package explore

import "github.com/onereply/onereply/turn"

// wayFaults are in what people do to the messages that a reply on its way answers.
func wayFaults() []seeded {
	stepsIn := func(s *Scope) {
		s.Edits, s.Budget, s.Faults = true, Budget{Inputs: 2, Humans: 1}, Faults{}
	}
	return []seeded{
		{name: "what a reply on its way answers is taken for settled after a person's reply", check: "P3 stranded", step: after(func(was turn.Record, r *turn.Record, e turn.Event, _ turn.Time, _ turn.Policy) {
			if _, ok := e.(turn.HumanReply); ok && was.Reply != nil && r.Reply != nil && r.Reply.Settled != 0 {
				r.Answered, r.AfterSeq, r.Pending, r.PendingBytes = r.Version, r.Seq, 0, 0
			}
		}), change: stepsIn},
		{name: "a change of what a reply on its way answers is dropped after a person's reply", check: "P4 change", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			_, edited := e.(turn.Edit)
			_, deleted := e.(turn.Delete)
			if (edited || deleted) && r.Reply != nil && r.Reply.Settled != 0 {
				return r, turn.Effects{Outcome: turn.Ignored, Reason: turn.NothingWaits}
			}
			return turn.Step(r, e, now, p)
		}, change: stepsIn},
		{name: "a stop word closes what a reply on its way covers", check: "P1 covers", step: func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := turn.Step(r, e, now, p)
			word, ok := e.(turn.StopWord)
			if !ok || is.Reply == nil || len(is.Reply.Stopped) == 0 {
				return is, effects
			}
			for _, m := range word.Own {
				effects.Settles = append(effects.Settles, turn.Settle{AfterSeq: is.AfterSeq, From: m.Version - 1, Through: m.Version, Status: turn.InputClosed})
				is.Pending--
			}
			return is, effects
		}, change: func(s *Scope) { s.Group, s.Budget, s.Faults = true, Budget{Inputs: 2, Stops: 1}, Faults{} }},
	}
}

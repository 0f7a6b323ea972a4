package simulate

import (
	"slices"
	"time"

	"github.com/onereply/onereply/turn"
)

func silenceFails(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if g, ok := e.(turn.Generated); ok && g.Parts == 0 {
		return turn.GenerateFailed{Nonce: g.Nonce, Fault: turn.Failure}
	}
	return e
}

// isSilent reports whether a step ended with a reply of nothing.
func isSilent(effects *turn.Effects) bool {
	return slices.ContainsFunc(effects.Marks, func(m turn.Mark) bool { return m.Status == turn.ReplyNone })
}

func silenceSettlesNothing(_, _ *turn.Record, _ turn.Event, effects *turn.Effects, _ turn.Time) {
	if isSilent(effects) {
		effects.Settles = nil
	}
}

func silenceAnswers(_, _ *turn.Record, _ turn.Event, effects *turn.Effects, _ turn.Time) {
	for i := range effects.Settles {
		if isSilent(effects) {
			effects.Settles[i].Status = turn.InputAnswered
		}
	}
}

func silenceUntold(_, _ *turn.Record, _ turn.Event, effects *turn.Effects, _ turn.Time) {
	effects.Notices = slices.DeleteFunc(effects.Notices, func(n turn.Notice) bool {
		return n.Kind == turn.KindTurnEnded && n.Reason == string(turn.EndedSilent)
	})
}

func silenceUnchecked(r *turn.Record, e turn.Event, now turn.Time, p *turn.Policy) turn.Event {
	if g, ok := e.(turn.Generated); ok && g.Parts == 0 {
		return commitUnchecked(r, e, now, p)
	}
	return e
}

func optOutIgnored(s *turn.StopWord) {
	s.OptOut = false
}

func optInResumes(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.OptIn); ok {
		return turn.Resume{Answer: true}
	}
	return e
}

func endEndsOptOut(r *turn.Record, e turn.Event, now turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Wake); ok && r.PausedUntil != 0 && now >= r.PausedUntil {
		r.OptedOut = false
	}
	return e
}

func silenceOfReplyForgotten(h *turn.HumanReply) {
	h.PauseFor = 0
}

func pauseShortened(_, is *turn.Record, e turn.Event, _ *turn.Effects, now turn.Time) {
	if h, ok := e.(turn.HumanReply); ok && h.PauseFor > 0 && is.WithPeople {
		is.PausedUntil = now.Add(h.PauseFor)
	}
}

func resetWordAlone(was, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if m, ok := e.(turn.Message); ok && m.Closes != "" && was.Phase == turn.Collecting {
		for i := range effects.Settles {
			effects.Settles[i].From = is.Version - 1
		}
	}
}

func resetByWordOnly(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if reset, ok := e.(turn.Reset); ok && reset.Reason == "reset_word" {
		r.FreshAfter = r.Seq // as if nothing had been said since the last one
	}
	return e
}

func stopsItself(s *turn.StopWord) {
	s.Own = nil
}

func stopsShared(s *turn.StopWord) {
	s.Shared = false
}

func partSettlesAll(was, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); !ok || was.Reply == nil || was.Reply.Rest == 0 {
		return
	}
	for i := range effects.Settles {
		if effects.Settles[i].Status == turn.InputAnswered {
			effects.Settles[i].Through = is.Version
		}
	}
}

func partNotLate(was, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Generated); ok && was.Attempt.Part.Answers > 0 && is.Reply != nil {
		is.Reply.Late = false
	}
	for i := range effects.Notices {
		if effects.Notices[i].Kind == turn.KindReplyCommitted && was.Attempt.Part.Answers > 0 {
			effects.Notices[i].Late = false
		}
	}
}

func standsInAgain(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	r.StoodIn = false
	return e
}

func toldAtOnce(p *turn.Policy) {
	p.DelayAfter = min(p.DelayAfter, 100*time.Millisecond)
}

package simulate

import (
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// changeInput is a fault that changes what the core is given.
func changeInput(f func(r *turn.Record, e turn.Event, now turn.Time, p *turn.Policy) turn.Event) func(engine.Step) engine.Step {
	return func(step engine.Step) engine.Step {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			changed := r
			if r.Reply != nil {
				reply := *r.Reply
				changed.Reply = &reply
			}
			e = f(&changed, e, now, &p)
			return step(changed, e, now, p)
		}
	}
}

// changeEvent is a fault that changes the events of one type.
func changeEvent[E turn.Event](f func(e *E)) func(engine.Step) engine.Step {
	return changeInput(func(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
		if changed, ok := e.(E); ok {
			f(&changed)
			return changed
		}
		return e
	})
}

// changePolicy is a fault that changes a setting.
func changePolicy(f func(p *turn.Policy)) func(engine.Step) engine.Step {
	return changeInput(func(_ *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
		f(p)
		return e
	})
}

// changeDecision is a fault that changes what the core decided.
func changeDecision(f func(was, is *turn.Record, e turn.Event, effects *turn.Effects, now turn.Time)) func(engine.Step) engine.Step {
	return func(step engine.Step) engine.Step {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			is, effects := step(r, e, now, p)
			f(&r, &is, e, &effects, now)
			return is, effects
		}
	}
}

func commitUnchecked(r *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
	if _, ok := e.(turn.Generated); ok {
		r.Attempt.Through, r.Attempt.Newer = r.Version, 0
	}
	return e
}

func resultsNotFenced(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if g, ok := e.(turn.Generated); ok && r.Phase == turn.Generating {
		g.Nonce = r.Lease.Nonce
		return g
	}
	return e
}

func renewalsNotFenced(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if g, ok := e.(turn.Renew); ok {
		g.Nonce = r.Lease.Nonce
		return g
	}
	return e
}

func oldReportsCount(report *turn.Report) {
	report.Receipts = nil
}

func partsNotPaced(s *turn.Sent) {
	s.Pause = 0
}

func sendsNotFenced(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	switch s := e.(type) {
	case turn.Sent:
		s.Nonce = r.Lease.Nonce
		return s
	case turn.SendUnknown:
		s.Nonce = r.Lease.Nonce
		return s
	}
	return e
}

func leaseIgnored(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if w, ok := e.(turn.Wake); ok && w.Nonce != r.Lease.Nonce {
		r.Lease.Expires = 0
	}
	return e
}

func earlyWakeActs(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Wake); ok && r.Phase == turn.Collecting {
		r.Window.Due = 1
	}
	return e
}

func noHardCap(p *turn.Policy) {
	p.MaxWait = time.Hour
}

func capRestarted(r *turn.Record, e turn.Event, now turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Message); ok && r.Phase == turn.Collecting && r.Tries.Discards > 0 {
		r.Window.Start = now
	}
	return e
}

func capFromDiscard(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Message); ok && r.Phase == turn.Collecting && r.Tries.Discards > 0 {
		r.Window.WaitingSince = r.Window.Start
	}
	return e
}

func earlyCommits(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Generated); ok {
		r.Attempt.Early = false
	}
	return e
}

func earlyUnbounded(p *turn.Policy) {
	if p.EarlyAttempts > 0 {
		p.EarlyAttempts = 1_000_000
	}
}

func boundNeverReached(p *turn.Policy) {
	p.MaxDiscards = 1_000_000
}

func boundAtOnce(p *turn.Policy) {
	p.MaxDiscards = 0
}

func timeoutIsFailure(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if u, ok := e.(turn.SendUnknown); ok {
		return turn.SendFailed{Nonce: u.Nonce, Part: u.Part, Text: u.Text, Jitter: u.Jitter}
	}
	return e
}

func leaseKept(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); ok && is.Phase == turn.Idle {
		is.Lease = was.Lease
	}
}

func editDoesNotBump(was, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Edit); ok && effects.Changed {
		is.Version = was.Version
	}
}

func quietNotRestarted(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Message); ok && was.Phase == turn.Collecting && is.Phase == turn.Collecting {
		is.Window.QuietUntil, is.Window.Due = was.Window.QuietUntil, was.Window.Due
	}
}

func withdrawnAfterUnknown(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if r.Reply != nil {
		r.Reply.Unsure = false
	}
	return e
}

func failedIsSent(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if f, ok := e.(turn.SendFailed); ok {
		return turn.Sent{Nonce: f.Nonce, Part: f.Part}
	}
	return e
}

func pauseIgnored(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Resume); !ok {
		r.OnHold = false
	}
	return e
}

func messageMarksAsSent(_, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Message); ok && effects.Changed && len(is.Unconfirmed) > 0 {
		effects.Marks = append(effects.Marks, turn.Mark{Seq: is.Unconfirmed[0].Seq, Status: turn.ReplySent, Reason: turn.ByOperator})
		is.Unconfirmed = is.Unconfirmed[1:]
	}
}

func sealForgotten(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Generated); ok {
		r.Attempt.Sealed = false
	}
	return e
}

func idleUnseen(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); ok && was.Phase == turn.Sending && is.Phase == turn.Collecting {
		is.Phase, is.Pending, is.Answered = turn.Idle, 0, is.Version
	}
}

func deletionsUnchecked(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Generated); ok && r.Attempt.Newer == 0 {
		r.Attempt.Through = r.Version
	}
	return e
}

func nextAfterFailed(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if f, ok := e.(turn.SendFailed); ok && r.Reply != nil && r.Reply.Done+1 < r.Reply.Parts {
		return turn.Sent{Nonce: f.Nonce, Part: f.Part}
	}
	return e
}

func pauseStartsAttempts(step engine.Step) engine.Step {
	return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		_, wakes := e.(turn.Wake)
		held := r.OnHold && wakes
		r.OnHold = r.OnHold && !wakes
		is, effects := step(r, e, now, p)
		is.OnHold = is.OnHold || held
		return is, effects
	}
}

func pauseEndsWithPart(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Sent); ok && r.Reply != nil && r.Reply.Done+1 < r.Reply.Parts {
		r.OnHold = false // the store is told otherwise: see changeAtStore
	}
	return e
}

func humanGoesFirst(_, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.HumanReply); ok && effects.Changed && is.Reply != nil && is.Lease.Nonce == "" && len(is.Queue) > 0 {
		queue := append([]turn.Reply(nil), is.Queue...)
		next := queue[0]
		queue[0] = *is.Reply
		is.Reply, is.Queue = &next, queue
	}
}

func endUnmarked(_, _ *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); ok {
		effects.Marks = nil
	}
}

func discardBacksOff(was, is *turn.Record, _ turn.Event, _ *turn.Effects, now turn.Time) {
	if is.Tries.Discards > was.Tries.Discards {
		is.Window.NotBefore = now.Add(time.Minute)
		is.Window.Due = max(is.Window.Due, is.Window.NotBefore)
	}
}

func discardRestsLonger(was, is *turn.Record, _ turn.Event, _ *turn.Effects, now turn.Time) {
	if is.Tries.Discards > was.Tries.Discards {
		is.Window.NotBefore = now.Add(2 * time.Minute)
		is.Window.Due = max(is.Window.Due, is.Window.NotBefore)
	}
}

func closedInstead(_, _ *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); ok {
		for i := range effects.Settles {
			effects.Settles[i].Status, effects.Settles[i].ReplySeq = turn.InputClosed, 0
		}
	}
}

func asideInstead(was, _ *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Sent); ok && was.Attempt.Newer > 0 {
		for i := range effects.Settles {
			effects.Settles[i].Status, effects.Settles[i].ReplySeq = turn.InputFailed, 0
		}
	}
}

func asideForgotten(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Message); ok && was.Phase == turn.Failed {
		is.SetAside = nil
	}
}

// marked has the transcript say another thing of replies.
func marked(from, to turn.Status) func(engine.Step) engine.Step {
	return changeDecision(func(_, _ *turn.Record, _ turn.Event, effects *turn.Effects, _ turn.Time) {
		for i := range effects.Marks {
			if effects.Marks[i].Status == from {
				effects.Marks[i].Status = to
			}
		}
	})
}

func unansweredSettles(was, _ *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.SendFailed); ok && was.Reply != nil && was.Reply.Kind == turn.ReplyAnswer {
		for _, mark := range effects.Marks {
			effects.Settles = append(effects.Settles, turn.Settle{
				AfterSeq: was.Reply.AfterSeq, From: was.Reply.From, Through: was.Reply.Through, Status: turn.InputAnswered, ReplySeq: mark.Seq,
			})
		}
	}
}

// takingOver is a fault that changes the record that a worker takes over.
func takingOver(r *turn.Record, e turn.Event, f func(r *turn.Record)) turn.Event {
	if _, ok := e.(turn.Wake); ok && r.Phase == turn.Generating {
		f(r)
	}
	return e
}

func loneNotCounted(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	return takingOver(r, e, func(r *turn.Record) { r.Tries.Lost.Lone = -9 })
}

func besideCounts(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	return takingOver(r, e, func(r *turn.Record) { r.Lease.Lone = true })
}

func pauseStays(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	return takingOver(r, e, func(r *turn.Record) { r.Tries.Lost.Count = min(r.Tries.Lost.Count, besideBefore-1) })
}

func alwaysLone(e *turn.Wake) { e.Lone = true }

func lostNotCounted(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Wake); ok && r.Phase == turn.Generating {
		r.Tries.Attempts, r.Tries.Lost = 0, turn.Lost{}
	}
	return e
}

// dropped is a fault that says of an event that it was carried out, and does
// not.
func dropped[E turn.Event](outcome turn.Outcome, when turn.Phase) func(engine.Step) engine.Step {
	return func(step engine.Step) engine.Step {
		return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
			if _, ok := e.(E); ok && (when == "" || r.Phase == when) {
				return r, turn.Effects{Outcome: outcome}
			}
			return step(r, e, now, p)
		}
	}
}

// onTheWayDropped is a fault that ignores what authors do to a message which a reply on its
// way answers, once people have settled the rest.
func onTheWayDropped(step engine.Step) engine.Step {
	return func(r turn.Record, e turn.Event, now turn.Time, p turn.Policy) (turn.Record, turn.Effects) {
		_, edited := e.(turn.Edit)
		_, deleted := e.(turn.Delete)
		if (edited || deleted) && r.Reply != nil && r.Reply.Settled != 0 {
			return r, turn.Effects{Outcome: turn.Ignored, Reason: turn.NothingWaits}
		}
		return step(r, e, now, p)
	}
}

func coveredClosed(_, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	word, ok := e.(turn.StopWord)
	if !ok || is.Reply == nil || len(is.Reply.Stopped) == 0 {
		return
	}
	for _, m := range word.Own {
		effects.Settles = append(effects.Settles, turn.Settle{AfterSeq: is.AfterSeq, From: m.Version - 1, Through: m.Version, Status: turn.InputClosed})
		is.Pending, is.PendingBytes = is.Pending-1, is.PendingBytes-m.Bytes
	}
}

func pausedByItself(_, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Message); ok && effects.Changed && is.Phase == turn.Collecting {
		is.OnHold = true
	}
}

func oldSealsCount(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if s, ok := e.(turn.Seal); ok && s.Token < r.Lease.Token {
		return turn.Seal{Token: r.Lease.Token}
	}
	return e
}

func lastPartDropped(_ *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if g, ok := e.(turn.Generated); ok && g.Parts > 1 {
		g.Parts--
		return g
	}
	return e
}

func againFromTheStart(was, is *turn.Record, _ turn.Event, _ *turn.Effects, _ turn.Time) {
	if is.Reply != nil && is.Reply.Kind == turn.ReplyResend && (was.Reply == nil || was.Reply.Seq != is.Reply.Seq) {
		is.Reply.Done = 0
	}
}

func spentForgotten(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Spend); ok {
		r.Spent = turn.Spent{}
	}
	return e
}

func outagesUseUp(f *turn.GenerateFailed) {
	f.Fault = turn.Failure
}

func triedOnce(_ *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
	if _, ok := e.(turn.SendFailed); ok {
		p.RetryFor = 0
	}
	return e
}

func lateAfterDiscards(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Generated); ok && is.Reply != nil && was.Tries.Discards > 0 {
		is.Reply.Late = true
	}
}

func pauseWithdrawn(was, is *turn.Record, _ turn.Event, _ *turn.Effects, _ turn.Time) {
	if was.Reply != nil && is.Reply == nil {
		is.NoSendUntil = 0
	}
}

func resetForgotten(was, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Reset); ok {
		is.FreshAfter = was.FreshAfter
	}
}

func turnsAnew(_, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Reset); ok && effects.Changed {
		is.Turn = 0
	}
}

func silenceUnseen(_ *turn.Record, e turn.Event, _ turn.Time, p *turn.Policy) turn.Event {
	if _, ok := e.(turn.Message); ok {
		p.SessionIdle = time.Hour
	}
	return e
}

func neighbourAside(_, _ *turn.Record, _ turn.Event, effects *turn.Effects, _ turn.Time) {
	for i := range effects.Settles {
		if s := &effects.Settles[i]; s.Status == turn.InputFailed && s.From > 0 {
			s.From, s.Through = s.From-1, s.Through-1
		}
	}
}

func searchBegunAgain(_, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if f, ok := e.(turn.GenerateFailed); ok && f.Fault == turn.Refused {
		is.Tries.Search = turn.Search{}
	}
}

func dismissedIsClosed(_, _ *turn.Record, _ turn.Event, effects *turn.Effects, _ turn.Time) {
	for i := range effects.Settles {
		if s := &effects.Settles[i]; s.Status == turn.InputDismissed {
			s.Status = turn.InputClosed
		}
	}
}

func partIsReply(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Generated); ok {
		r.Attempt.Part = turn.Part{}
	}
	return e
}

func endsEachTalk(p *turn.Policy) {
	p.SessionIdle = min(p.SessionIdle, time.Millisecond)
}

func toldAgain(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	r.Signs.Delay, r.Signs.Outage = 0, 0
	return e
}

func bytesUnbounded(p *turn.Policy) {
	p.WaitingBytes = 0
}

func promptOfOne(p *turn.Policy) {
	p.PromptBytes = min(p.PromptBytes, 1)
}

func bytesStay(d *turn.Delete) {
	d.Had = 0
}

func mediaIgnored(m *turn.Message) {
	m.Media = false
}

func endUntold(_, _ *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Delete); ok {
		effects.Notices = slices.DeleteFunc(effects.Notices, func(n turn.Notice) bool { return n.Kind == turn.KindTurnEnded })
	}
}

func contextAnswered(m *turn.Message) {
	m.Context = false
}

func closesEverybody(_, is *turn.Record, e turn.Event, effects *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.StopWord); ok && is.Phase == turn.Collecting {
		effects.Settles = append(effects.Settles, turn.Settle{AfterSeq: is.AfterSeq, From: is.Answered, Through: is.Version, Status: turn.InputClosed})
		is.Phase, is.Pending, is.Answered, is.AfterSeq, is.Window = turn.Idle, 0, is.Version, is.Seq, turn.Window{}
	}
}

func cutForgotten(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.Sent); ok && r.Reply != nil {
		r.Reply.Cut = ""
	}
	return e
}

func claimsNoID(h *turn.HumanReply) {
	h.Claims = false
}

func closesAll(h *turn.HumanReply) {
	h.Beside = false
}

func sendsAll(h *turn.HumanReply) {
	h.Sent = false
}

func contextCounted(_, is *turn.Record, _ turn.Event, effects *turn.Effects, _ turn.Time) {
	if effects.AppendContext && is.Phase == turn.Collecting {
		is.Version++
	}
}

func settledCounted(_, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.SettledChanged); ok && is.Phase == turn.Collecting {
		is.Version++
	}
}

func earlyForgotten(_, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Early); ok {
		is.Early = nil
	}
}

func unaddressedAnswered(m *turn.Message) {
	m.Unaddressed = false
}

func alwaysObserves(p *turn.Policy) {
	p.Observe = true
}

func noAge(p *turn.Policy) {
	p.MaxAge = 0
}

func botsWithoutEnd(p *turn.Policy) {
	if p.MaxBotTurns > 0 {
		p.MaxBotTurns = 1_000_000
	}
}

func botsLetIn(p *turn.Policy) {
	p.MaxBotTurns = max(p.MaxBotTurns, 1)
}

func pauseForGood(_, is *turn.Record, e turn.Event, _ *turn.Effects, _ turn.Time) {
	if _, ok := e.(turn.Pause); ok {
		is.PausedUntil = 0
	}
}

func dutyTaken(r *turn.Record, e turn.Event, _ turn.Time, _ *turn.Policy) turn.Event {
	if _, ok := e.(turn.TakeDuty); ok {
		r.Duty = turn.Duty{}
	}
	return e
}

func dutyForEver(r *turn.Record, e turn.Event, now turn.Time, _ *turn.Policy) turn.Event {
	if take, ok := e.(turn.TakeDuty); ok {
		r.Duty.Until = max(r.Duty.Until, now+1)
		take.Alone = false
		return take
	}
	return e
}

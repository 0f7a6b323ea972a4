package turn

import "time"

// step is one call of [Step] under way. It starts with a copy of the record, which
// its methods change in place, and collects the effects.
type step struct {
	Record
	Effects
	now       Time
	policy    Policy
	firstByte Time   // of the attempt whose result the event is
	settling  Ending // all that waits is about to be settled, and turns end so: see recallReply
}

// Step decides what event does to a conversation. It returns the record as it
// is to be stored, and what else is to be done. The arguments are not changed.
//
// What Step promises: it reads nothing but its arguments, so the same arguments
// give the same result; the record that it returns satisfies [Check]; and where
// Effects.Changed is false, the record is the one that was given.
//
// Step may be called again with the same event on a record that was read anew,
// because the first write met a conflict or its outcome is unknown: an event of
// a lease holder that was applied already is then fenced or has no further
// effect, and a message's id is claimed with its write.
func Step(record Record, event Event, now Time, policy Policy) (Record, Effects) {
	s := &step{Record: record.clone(), now: now, policy: policy}
	s.Schema = Schema
	if s.Phase == "" {
		s.Phase = Idle
	}
	s.Outcome = Done
	s.dispatch(event)
	if !s.Changed {
		return record, Effects{Outcome: s.Outcome, Reason: s.Reason, Actions: s.Actions}
	}
	s.startBeside()
	return s.Record, s.Effects
}

func (s *step) dispatch(event Event) {
	if s.aliasEvent(event) { // names.go
		return
	}
	switch e := event.(type) {
	// Inputs: window.go; those that come before their message: early_edit.go.
	case Message:
		s.acceptMessage(e)
	case Edit:
		s.editMessage(e)
	case Delete:
		s.deleteMessage(e)
	case Early:
		s.changeEarly(e)
	case SetAsideChanged:
		s.changeSetAside(e)
	case SettledChanged:
		s.changeSettled(e)
	case Typing:
		s.keepWindowOpen(e)
	case StopWord: // stop.go
		s.stopWord(e)
	// The attempt: early_start.go, attempt.go.
	case Wake:
		s.wake(e)
	case CheckSign: // sign.go
		s.checkSign()
	case Renew:
		s.underLease(e.Nonce, s.renewLease)
	case HandBack:
		s.firstByte = e.FirstByte
		s.underLease(e.Nonce, s.handBack)
	case Seal:
		s.seal(e)
	case GenerateFailed:
		s.firstByte = e.FirstByte
		s.attemptEnded(e.Nonce, func() { s.attemptFailed(e) })
	// Its end: commit.go.
	case Generated:
		s.firstByte = e.FirstByte
		s.attemptEnded(e.Nonce, func() { s.attemptGenerated(e) })
	case Interrupted:
		s.firstByte = e.FirstByte
		s.attemptEnded(e.Nonce, s.attemptInterrupted)
	// The reply: send.go.
	case Sent:
		s.sendEnded(e.Nonce, e.Part, func() { s.partSent(e) })
	case SendFailed:
		s.sendEnded(e.Nonce, e.Part, func() { s.partFailed(e) })
	case SendUnknown:
		s.sendEnded(e.Nonce, e.Part, func() { s.partUnknown(e) })
	// People: control.go.
	case Flush:
		s.endQuietTime()
	case Pause:
		s.pause(e)
	case OptOut:
		s.optOut()
	case OptIn:
		s.optIn()
	case Resume:
		s.resume(e)
	case HumanReply:
		s.humanReply(e)
	case ClaimName: // names.go
		s.claimName(e)
	case AdoptName:
		s.adoptName(e)
	case DropName:
		s.dropName(e)
	case TakeDuty: // duty.go
		s.takeDuty(e)
	case Spend: // daily_budget.go
		s.spend(e)
	case Reset: // reset.go
		s.reset(e)
	case Requeue:
		s.requeue()
	// Unconfirmed replies: unconfirmed.go.
	case Resend:
		s.askToResend(e.Turn)
	case MarkSent:
		s.markSent(e.Turn)
	// What channels say afterwards: receipt.go.
	case Report:
		s.report(e)
	}
}

// underLease runs f where nonce is the live lease. Any other caller is fenced: it
// has lost its lease, even if it does not know yet.
func (s *step) underLease(nonce string, f func()) {
	if nonce == "" || s.Lease.Nonce != nonce {
		s.Outcome = Fenced
		return
	}
	s.Changed = true
	f()
}

// attemptEnded is underLease for results of the responder. A result may come a
// second time, because the outcome of the first write was unknown; if that write was
// applied, the reply is being sent already, and the holder goes on with that.
func (s *step) attemptEnded(nonce string, f func()) {
	switch {
	case s.Phase == Generating:
		s.underLease(nonce, f)
	case s.Phase == Sending && nonce != "" && s.Lease.Nonce == nonce:
		s.Outcome = Committed
		s.startWork()
	default:
		s.Outcome = Fenced
	}
}

// sendEnded is underLease for results of sending the current part. A result that
// was recorded before goes on with the next part.
func (s *step) sendEnded(nonce string, part int, f func()) {
	switch {
	case s.Phase != Sending:
		s.Outcome = Fenced
	case s.Reply.Done == part:
		s.underLease(nonce, f)
	case s.Reply.Done == part+1 && nonce != "" && s.Lease.Nonce == nonce:
		s.startWork()
	default:
		s.Outcome = Fenced
	}
}

func (s *step) ignore(reason string) {
	s.Outcome, s.Reason, s.Changed = Ignored, reason, false
}

func (s *step) act(a Action) { s.Actions = append(s.Actions, a) }

// notify adds a notice, with the fields that all notices show.
func (s *step) notify(kind Kind, reason string) {
	if s.Notices == nil {
		s.Notices = make([]Notice, 0, 2) // as many as most steps tell
	}
	s.Notices = append(s.Notices, Notice{
		Kind: kind, At: s.now, Reason: reason, Turn: s.Turn, Token: s.Token,
		Version: s.Version, Through: s.Attempt.Through, Attempt: s.Tries.Runs, Since: s.Window.WaitingSince,
	})
	switch kind {
	case KindReplyCommitted, KindReplyDiscarded, KindAttemptFailed:
		s.Notices[len(s.Notices)-1].FirstByte = s.firstByte
	}
}

// endTurn tells that a turn is over, and how it ended. Each turn ends once: see
// [Record.TurnOpen].
func (s *step) endTurn(number int64, how Ending) {
	s.notify(KindTurnEnded, string(how))
	s.Notices[len(s.Notices)-1].Turn = number
}

// endOpenTurn ends the turn that waits for its attempt, or for the end of one. Where a
// reply is being sent again meanwhile, no window is left to return to.
func (s *step) endOpenTurn(how Ending) {
	if !s.turnWaits() {
		return
	}
	s.endTurn(s.Turn, how)
	if s.windowInterrupted() {
		s.Window = Window{}
	}
}

// backoff is how long to wait after the n-th failure in a row: exponential
// from one second, capped at one minute, with jitter over its upper half ("equal
// jitter", M. Brooker, "Exponential Backoff And Jitter", 2015), and never less
// than what the model asked for, up to an hour.
func backoff(n int, after time.Duration, jitter int) time.Duration {
	d := min(time.Second<<min(max(n-1, 0), 6), time.Minute)
	d = d/2 + d/2*time.Duration(jitter)/1000
	return max(d, min(after, time.Hour))
}

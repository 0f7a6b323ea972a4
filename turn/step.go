package turn

import "time"

// step is one call of [Step] under way: the record as it becomes, and the
// effects so far.
type step struct {
	Record
	Effects
	now       Time
	p         Policy
	firstByte Time // of the attempt whose result the event is
}

// Step decides what event does to a conversation. It returns the record as it
// is to be stored, and what else is to be done. The arguments are not changed.
//
// Step may be called again with the same event on a record that was read anew,
// because the first write met a conflict or its outcome is unknown: an event of
// a lease holder that was applied already is then fenced or has no further
// effect, and a message's id is claimed with its write.
func Step(record Record, event Event, now Time, policy Policy) (Record, Effects) {
	s := &step{Record: record.clone(), now: now, p: policy}
	s.Schema = Schema
	if s.Phase == "" {
		s.Phase = Idle
	}
	s.Outcome = Done
	s.dispatch(event)
	if !s.Changed {
		return record, Effects{Outcome: s.Outcome, Reason: s.Reason, Actions: s.Actions}
	}
	s.sendAgain()
	return s.Record, s.Effects
}

func (s *step) dispatch(event Event) {
	switch e := event.(type) {
	// Inputs: window.go.
	case Message:
		s.message(e)
	case Edit:
		s.edit(e)
	case Delete:
		s.delete(e)
	case Touch:
		s.touch(e)
	case Typing:
		s.typing(e)
	// The attempt: attempt.go.
	case Wake:
		s.wake(e)
	case Renew:
		s.held(e.Nonce, s.renew)
	case HandBack:
		s.firstByte = e.FirstByte
		s.held(e.Nonce, s.handBack)
	case Seal:
		s.seal(e)
	case GenerateFailed:
		s.firstByte = e.FirstByte
		s.attempt(e.Nonce, func() { s.generateFailed(e) })
	// Its end: commit.go.
	case Generated:
		s.firstByte = e.FirstByte
		s.attempt(e.Nonce, func() { s.generated(e) })
	case Interrupted:
		s.firstByte = e.FirstByte
		s.attempt(e.Nonce, s.interrupted)
	// The reply: send.go.
	case Sent:
		s.sending(e.Nonce, e.Part, s.sent)
	case SendFailed:
		s.sending(e.Nonce, e.Part, func() { s.sendFailed(e) })
	case SendUnknown:
		s.sending(e.Nonce, e.Part, func() { s.sendUnknown(e) })
	// People: control.go.
	case Flush:
		s.flush()
	case Pause:
		s.pause(e)
	case Resume:
		s.resume(e)
	case Close:
		s.closeWaiting()
	case HumanReply:
		s.humanReply(e)
	case Requeue:
		s.requeue()
	// What ended in trouble: trouble.go.
	case Resend:
		s.resend(e.Turn)
	case MarkSent:
		s.markSent(e.Turn)
	}
}

// held runs f where nonce is the live lease. Any other caller is fenced: it
// lost its lease, however sure it is of the opposite.
func (s *step) held(nonce string, f func()) {
	if nonce == "" || s.Lease.Nonce != nonce {
		s.Outcome = Fenced
		return
	}
	s.Changed = true
	f()
}

// attempt is held, for results of the responder. A result that was committed
// before, by a write whose outcome was unknown, goes on from there.
func (s *step) attempt(nonce string, f func()) {
	switch {
	case s.Phase == Generating:
		s.held(nonce, f)
	case s.Phase == Sending && nonce != "" && s.Lease.Nonce == nonce:
		s.Outcome = Committed
		s.proceed()
	default:
		s.Outcome = Fenced
	}
}

// sending is held, for results of sending the current part. One that was
// recorded before goes on with the next part.
func (s *step) sending(nonce string, part int, f func()) {
	switch {
	case s.Phase != Sending:
		s.Outcome = Fenced
	case s.Reply.Done == part:
		s.held(nonce, f)
	case s.Reply.Done == part+1 && nonce != "" && s.Lease.Nonce == nonce:
		s.proceed()
	default:
		s.Outcome = Fenced
	}
}

func (s *step) ignore(reason string) {
	s.Outcome, s.Reason, s.Changed = Ignored, reason, false
}

func (s *step) do(a Action) { s.Actions = append(s.Actions, a) }

// tell adds a notice with what all of them show.
func (s *step) tell(kind Kind, reason string) {
	if s.Notices == nil {
		s.Notices = make([]Notice, 0, 2) // as many as most steps tell
	}
	s.Notices = append(s.Notices, Notice{
		Kind: kind, At: s.now, Reason: reason, Turn: s.Turn, Token: s.Token,
		Version: s.Version, Through: s.Attempt.Through, Attempt: s.Tries.Runs, Since: s.Window.WaitingSince,
	})
	switch kind {
	case ReplyCommittedKind, ReplyDiscardedKind, AttemptFailed:
		s.Notices[len(s.Notices)-1].FirstByte = s.firstByte
	}
}

// backoff is how long to wait after the n-th failure in a row: exponential
// from one second, capped at one minute, with jitter over its upper half ("equal
// jitter", M. Brooker, "Exponential Backoff And Jitter", 2015), and never less
// than what the other side asked for, up to an hour.
func backoff(n int, after time.Duration, jitter int) time.Duration {
	d := min(time.Second<<min(max(n-1, 0), 6), time.Minute)
	d = d/2 + d/2*time.Duration(jitter)/1000
	return max(d, min(after, time.Hour))
}

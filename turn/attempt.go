package turn

import (
	"fmt"
	"time"
)

// wake is somebody looking at the conversation. One of those who look wins the
// compare-and-swap; the others find the lease held.
func (s *step) wake(e Wake) {
	switch {
	case e.Nonce != "" && s.Lease.Nonce == e.Nonce:
		s.proceed() // this very wake-up was applied before
	case s.Leased(s.now) && !e.Alone:
		s.ignore(Held) // its holder has set the timer after any claim
	case s.Phase == Generating:
		s.takeOver(e)
	case s.Phase == Sending:
		s.wakeSending(e)
	case s.Phase == Collecting && !s.OnHold:
		s.wakeCollecting(e)
	default:
		s.nothing(e, NothingWaits)
	}
}

// nothing ends a wake-up that came for nothing.
func (s *step) nothing(e Wake, reason string) {
	s.ignore(reason)
	s.Changed = e.Moved
}

// takeOver follows a holder that let its lease run out. Its attempt was
// counted when it began, so inputs that bring down each worker are set aside
// in the end.
func (s *step) takeOver(e Wake) {
	s.Changed = true
	holder := s.Lease.Holder
	s.do(Cancel{Nonce: s.Lease.Nonce, Reason: Crashed})
	s.tell(ReplyDiscardedKind, Crashed)
	if s.Pending == 0 {
		s.rest()
		return
	}
	s.Tries.Lost = s.Tries.Lost.more(holder, s.now)
	if s.usedUp() {
		return
	}
	start := s.Window.Start
	s.window(start)
	if !s.OnHold {
		s.wakeCollecting(e)
	}
}

// usedUp ends a turn whose attempts are used up by the loss of a worker, and
// reports whether it did. Inputs that cost as many workers their lives are set
// aside; where the model's failures had a part in it, the turn fails as it does
// for those.
func (s *step) usedUp() bool {
	lost := fmt.Sprintf("the workers of %d of %d attempts were lost", s.Tries.Lost.Count, max(s.Tries.Attempts, s.Tries.Lost.Count))
	switch {
	case s.Tries.Lost.Count >= s.p.MaxAttempts:
		s.Tries.LastError = lost
		s.setAside()
	case s.Tries.Attempts < s.p.MaxAttempts:
		return false
	case s.stale():
		s.Tries.Attempts = 0 // what waits now was never tried as it is
		return false
	default:
		s.Tries.LastError = lost
		s.fail()
	}
	return true
}

// wakeCollecting takes the lease at the end of the window.
func (s *step) wakeCollecting(e Wake) {
	switch {
	case s.now < s.Window.Due:
		s.Reason = NotDue
		if !s.Changed {
			s.nothing(e, NotDue)
		}
	case s.throttled():
		s.Changed = true
		s.Window.NotBefore = s.restStart().Add(time.Minute)
		s.schedule()
		s.Notices[len(s.Notices)-1].Reason = Throttled
	default:
		s.acquire(e)
		s.begin()
	}
}

// first is where tokens begin. A conversation that was deleted and written to
// again must not give out those of its former life: who still works for that
// one would be taken for the new holder.
func (e Wake) first(last int64) int64 {
	if last > 0 {
		return 0
	}
	return e.First
}

// acquire takes the lease.
func (s *step) acquire(e Wake) {
	s.Changed = true
	s.Token = max(s.Token+1, e.first(s.Token))
	s.Lease = Lease{Holder: e.Holder, Nonce: e.Nonce, Token: s.Token, Expires: s.now.Add(s.p.Lease)}
}

// proceed asks for the work that the lease was taken for.
func (s *step) proceed() {
	if s.Phase == Sending {
		s.do(Send{Lease: s.Lease, Reply: *s.Reply})
		return
	}
	s.do(Run{Lease: s.Lease, Turn: s.Turn, Attempt: s.Tries.Runs, Through: s.Attempt.Through, AfterSeq: s.AfterSeq})
}

// begin starts an attempt over all that waits. It is counted before the work
// starts.
func (s *step) begin() {
	s.Phase = Generating
	s.Attempt.Through, s.Attempt.ThroughSeq = s.Version, s.Seq
	s.Window.Media, s.Window.NotBefore = 0, 0
	s.Tries.Attempts++
	s.Tries.Runs++
	s.countMinute()
	s.proceed()
	s.tell(TurnStarted, "")
	n := &s.Notices[len(s.Notices)-1]
	n.Due, n.Holder = s.Window.Due, s.Lease.Holder
}

// throttled reports whether the ceiling on attempts per minute is reached. It
// counts in fixed minutes, the first of which starts with an attempt. Who
// reaches the ceiling rests for a minute: it is there to end loops.
func (s *step) throttled() bool {
	return s.p.TurnsPerMinute > 0 && s.now < s.Minute.Start.Add(time.Minute) && s.Minute.Runs >= s.p.TurnsPerMinute
}

// restStart is when the ceiling was met. Who looks again before the rest is over,
// such as after a flush, must not make it longer, so it is the start of a minute
// in which one more was asked for than there may be.
func (s *step) restStart() Time {
	if s.Minute.Runs <= s.p.TurnsPerMinute {
		s.Minute.Start, s.Minute.Runs = s.now, s.p.TurnsPerMinute+1
	}
	return s.Minute.Start
}

func (s *step) countMinute() {
	if s.p.TurnsPerMinute == 0 {
		return
	}
	if s.now >= s.Minute.Start.Add(time.Minute) {
		s.Minute.Start, s.Minute.Runs = s.now, 0
	}
	s.Minute.Runs++
}

// renew extends the lease. The holder learns of newer input with it, should
// nothing faster have told it.
func (s *step) renew() {
	s.Lease.Expires = s.now.Add(s.p.Lease)
	if s.Phase == Generating {
		s.cancelIfSuperseded()
	}
}

// handBack ends the attempt, or the pause between two sends, so that another
// node goes on at once.
func (s *step) handBack() {
	s.Lease = Lease{}
	switch {
	case s.Phase == Sending && !s.maySend() && !s.keeps():
		s.stop(WasPaused)
		return
	case s.Phase == Sending:
		s.Reply.RetryAt = s.now
		return
	}
	s.Tries.Attempts--
	s.tell(ReplyDiscardedKind, HandedBack)
	s.again()
}

// again opens a window for the next attempt of the same turn: with newer input
// a fresh one, otherwise one that is over at once.
func (s *step) again() {
	switch {
	case s.Pending == 0:
		s.rest()
	case s.stale():
		s.window(s.now)
	default:
		s.Window.QuietUntil = min(s.Window.QuietUntil, s.now)
		s.window(s.now)
	}
}

// drop ends the attempt under way at once, and its holder finds itself fenced.
func (s *step) drop(reason string) {
	if s.Phase != Generating {
		return
	}
	s.do(Cancel{Nonce: s.Lease.Nonce, Reason: reason})
	s.tell(ReplyDiscardedKind, reason)
	s.Tries.Attempts--
	s.Lease = Lease{}
}

// seal makes the attempt undiscardable, unless it is lost already.
func (s *step) seal(e Seal) {
	if s.Phase != Generating || e.Token != s.Lease.Token || s.superseded() {
		s.Outcome, s.Reason = Fenced, Superseded
		return
	}
	s.Changed = !s.Attempt.Sealed
	s.Attempt.Sealed = true
}

// generateFailed handles an attempt without a result: it is tried again after
// a back-off, or the turn fails.
func (s *step) generateFailed(e GenerateFailed) {
	s.Tries.LastError = e.Text
	s.tell(ReplyDiscardedKind, string(e.Fault))
	s.tell(AttemptFailed, string(e.Fault))
	failed := len(s.Notices) - 1
	failures := s.Tries.Attempts
	switch {
	case e.Fault == Outage:
		s.Tries.Attempts--
		s.Tries.Outages++
		failures = s.Tries.Outages
	case e.Fault == Rejected || s.Tries.Attempts >= s.p.MaxAttempts:
		s.Tries.Outages = 0
		if !s.stale() {
			s.fail()
			return
		}
		s.Tries.Attempts = 0 // what waits now was never tried as it is
	default:
		s.Tries.Outages = 0
	}
	s.Window.NotBefore = s.now.Add(backoff(failures, e.After, e.Jitter))
	s.again()
	if s.Phase == Collecting {
		s.Notices[failed].Due = s.Window.Due
	}
}

// fail gives the turn up. What waits stays pending: the next input, or a
// requeue, starts again with all of it.
func (s *step) fail() {
	s.Lease = Lease{}
	s.Attempt.Through, s.Attempt.Newer, s.Attempt.NewerSince, s.Attempt.Edited = s.Version, 0, 0, false
	s.tell(TurnFailed, s.Tries.LastError)
	s.Phase = Failed
	s.Window.Start, s.Window.QuietUntil, s.Window.NotBefore, s.Window.Due = 0, 0, 0, 0
	s.fallback()
}

// fallback sends the text that stands in for the failed turn's reply.
func (s *step) fallback() {
	if !s.p.Fallback || s.OnHold {
		return
	}
	s.Seq++
	s.AppendReply = s.Seq
	s.Reply = &Reply{
		Turn: s.Turn, Seq: s.Seq, Through: s.Answered, From: s.Answered, AfterSeq: s.AfterSeq,
		Parts: 1, Kind: ReplyFallback, Since: s.now, RetryAt: s.now,
	}
	s.Phase = Sending
	s.tellReply(ReplyCommittedKind, s.Reply, ReplyFallback)
}

// advance moves the mark that all pending inputs lie behind, unless one before
// it was edited meanwhile.
func (s *step) advance(seq int64) {
	if !s.Attempt.Edited {
		s.AfterSeq = max(s.AfterSeq, seq)
	}
}

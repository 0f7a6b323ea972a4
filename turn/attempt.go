package turn

// An attempt.
//
// When the window ends, every node may try to take the lease. Each does so by the
// same compare-and-swap, so one wins. That write also counts the attempt and fixes
// what its prompt holds: the inputs up to the version Through. Then the responder
// runs, for seconds or minutes, while its node renews the lease.
//
// An attempt ends in one of these ways:
//   - a result: commit.go decides whether it is still current;
//   - a failure of the model: it is tried again, or the turn fails;
//   - the model refuses what the prompt holds: refused.go looks for the message;
//   - the prompt is larger than it may be: the next one holds the first messages that fit;
//   - the lease runs out: another worker takes over, and the old one is fenced;
//   - newer input, a pause or a person makes it pointless: it is cancelled;
//   - its node leaves: it hands the lease back, which costs no attempt.
//
// A turn ends for certain, because each of them is bounded: discards, failures
// and lost workers by the policy, outages by the end of the outage.

import (
	"fmt"
	"time"
)

// wake is a worker that looks at the conversation because its timer fired. Many may look at
// once; one of them wins the compare-and-swap, and the others find the lease held. A pause
// whose time is over ends first, whoever holds the lease.
func (s *step) wake(e Wake) {
	ended := s.endPause()
	s.lookForWork(e)
	s.Changed = s.Changed || ended
}

func (s *step) lookForWork(e Wake) {
	switch {
	case e.Nonce != "" && s.Lease.Nonce == e.Nonce:
		s.startWork() // this very wake-up was applied before
	case s.Leased(s.now) && !e.Alone:
		s.ignore(Held) // its holder has set the timer after any claim
	case s.Phase == Generating:
		s.takeOver(e)
	case s.Phase == Sending:
		s.wakeSending(e)
	case s.Phase == Collecting && !s.OnHold:
		s.wakeCollecting(e)
	default:
		s.ignoreWake(e, NothingWaits)
	}
}

// ignoreWake ends a wake-up that finds nothing to do. Where a claim moved the
// timer, the record is written all the same, so that the timer is right again.
func (s *step) ignoreWake(e Wake, reason string) {
	s.ignore(reason)
	s.Changed = e.Moved
}

// takeOver follows a worker whose lease ran out while it generated. The attempt did not
// fail, so it is not counted as one. Lost workers have a count of their own: see
// culprit.go.
func (s *step) takeOver(e Wake) {
	s.Changed = true
	s.act(Cancel{Nonce: s.Lease.Nonce, Reason: Crashed})
	s.notify(KindReplyDiscarded, Crashed)
	if s.Pending == 0 {
		s.endOpenTurn(EndedDeleted)
		s.startNext()
		return
	}
	s.Tries.Attempts--
	s.countLost()
	if s.Tries.Lost.Lone >= s.policy.MaxAttempts {
		s.Tries.LastError = fmt.Sprintf("workers lost by attempts that ran alone: %d", s.Tries.Lost.Lone)
		s.setAsideInputs()
		return
	}
	if calm, alone := s.MustRunAlone(); alone {
		s.Window.NotBefore = s.now.Add(calm)
	}
	start := s.Window.Start
	s.openWindow(start)
	if !s.OnHold {
		s.wakeCollecting(e)
	}
}

// wakeCollecting takes the lease at the end of the window, or before it for an early
// attempt. If the settings allow none any more, the timer is set to the end. An attempt
// that must run alone is left to a node that has nothing else to do.
func (s *step) wakeCollecting(e Wake) {
	s.giveSigns()
	_, alone := s.MustRunAlone()
	switch {
	case s.now < s.Window.begins():
		s.Reason = NotDue
		if !s.Changed {
			s.ignoreWake(e, NotDue)
		}
	case s.now < s.Window.Due && s.earlyStart() == 0:
		s.Changed, s.Reason = true, NotDue
		s.schedule()
	case alone && !e.Lone:
		s.Reason = NotAlone
		if !s.Changed {
			s.ignoreWake(e, NotAlone)
		}
	case s.throttled():
		s.Changed = true
		s.Window.NotBefore = s.ceilingReached().Add(time.Minute)
		s.schedule()
		s.Notices[len(s.Notices)-1].Reason = Throttled
	default:
		s.acquire(e)
		s.Lease.Lone = e.Lone
		s.beginAttempt()
	}
}

// firstToken is the least token to give out where none was given out before. A
// conversation that was deleted and written to again must not give out the tokens
// of its former life: a worker of that life would be taken for the new holder.
func (e Wake) firstToken(last int64) int64 {
	if last > 0 {
		return 0
	}
	return e.First
}

// acquire takes the lease. Its token is greater than all before.
func (s *step) acquire(e Wake) {
	s.Changed = true
	s.Token = max(s.Token+1, e.firstToken(s.Token))
	s.Lease = Lease{Holder: e.Holder, Nonce: e.Nonce, Token: s.Token, Expires: s.now.Add(s.policy.Lease)}
}

// startWork asks for the work that the lease was taken for.
func (s *step) startWork() {
	if s.Phase == Sending {
		s.act(Send{Lease: s.Lease, Reply: *s.Reply})
		return
	}
	s.act(Run{Lease: s.Lease, Turn: s.Turn, Attempt: s.Tries.Runs, Early: s.Attempt.Early, Through: s.Attempt.Through, AfterSeq: s.AfterSeq, Part: s.Attempt.Part})
}

// beginAttempt starts an attempt over all that waits. It is counted in the write
// that takes the lease, before the work starts.
func (s *step) beginAttempt() {
	s.Phase = Generating
	s.Attempt.Through, s.Attempt.ThroughSeq = s.Version, s.Seq
	s.Attempt.Part, s.Attempt.Outdated = s.Tries.Search.Next, false
	if s.now < s.Window.Due {
		s.Attempt.Early = true
		s.Tries.Early++
	}
	s.Window.Media, s.Window.NotBefore, s.Window.Early, s.Window.SignAt = 0, 0, 0, 0
	s.Tries.Attempts++
	s.Tries.Runs++
	s.countMinute()
	s.startWork()
	s.notify(KindTurnStarted, "")
	n := &s.Notices[len(s.Notices)-1]
	n.Due, n.Holder, n.Early = s.Window.Due, s.Lease.Holder, s.Attempt.Early
}

// throttled reports whether the ceiling on attempts per minute is reached. The
// ceiling is there to end loops, so a conversation that reaches it rests for a whole
// minute. It counts in fixed minutes, the first of which starts with an attempt.
func (s *step) throttled() bool {
	return s.policy.TurnsPerMinute > 0 && s.now < s.Minute.Start.Add(time.Minute) && s.Minute.Runs >= s.policy.TurnsPerMinute
}

// ceilingReached is when the rest began. A flush may ask again before the rest is
// over, and must not make it longer. So the first time that one attempt more than
// allowed is asked for starts a new minute, and later ones keep it.
func (s *step) ceilingReached() Time {
	if s.Minute.Runs <= s.policy.TurnsPerMinute {
		s.Minute.Start, s.Minute.Runs = s.now, s.policy.TurnsPerMinute+1
	}
	return s.Minute.Start
}

func (s *step) countMinute() {
	if s.policy.TurnsPerMinute == 0 {
		return
	}
	if s.now >= s.Minute.Start.Add(time.Minute) {
		s.Minute.Start, s.Minute.Runs = s.now, 0
	}
	s.Minute.Runs++
}

// renewLease extends the lease. The answer also tells the holder about newer input,
// if no hint was faster.
func (s *step) renewLease() {
	s.Lease.Expires = s.now.Add(s.policy.Lease)
	if s.Phase == Generating {
		s.giveSigns()
		s.cancelIfSuperseded()
	}
}

// handBack ends an attempt, or the pause between two sends, without a result, so
// that another node goes on at once. It costs no attempt.
func (s *step) handBack() {
	s.Lease = Lease{}
	switch {
	case s.Phase == Sending && s.Reply.Cut != "" && !s.Reply.Unsure:
		s.stopReply(s.Reply.Cut)
		return
	case s.Phase == Sending && !s.mayBeSent() && !s.survivesPause():
		s.stopReply(WasPaused)
		return
	case s.Phase == Sending:
		s.Reply.RetryAt = s.now
		return
	}
	s.Tries.Attempts--
	s.notify(KindReplyDiscarded, HandedBack)
	if s.isEarly() {
		s.openWindow(s.Window.Start)
		return
	}
	s.openRetry()
}

// openRetry opens a window for the next attempt of the same turn. With newer
// input it is a full one; otherwise it is over at once, or after the back-off.
func (s *step) openRetry() {
	switch {
	case s.Pending == 0:
		s.endOpenTurn(EndedDeleted)
		s.startNext()
	case s.hasNewerInput():
		s.openWindow(s.now)
	default:
		s.Window.QuietUntil = min(s.Window.QuietUntil, s.now)
		s.openWindow(s.now)
	}
}

// cancelAttempt ends the attempt under way. Its holder finds itself fenced.
func (s *step) cancelAttempt(reason string) {
	if s.Phase != Generating {
		return
	}
	s.act(Cancel{Nonce: s.Lease.Nonce, Reason: reason})
	s.notify(KindReplyDiscarded, reason)
	s.Tries.Attempts--
	s.Lease = Lease{}
}

// seal makes the attempt undiscardable, unless it is lost already, or only a probe. An
// agent calls it before it does something irreversible.
func (s *step) seal(e Seal) {
	if s.Phase != Generating || e.Token != s.Lease.Token || s.superseded() || s.Attempt.Part.isProbe() {
		s.Outcome, s.Reason = Fenced, Superseded
		return
	}
	s.Changed = !s.Attempt.Sealed
	s.Attempt.Sealed = true
	if s.isEarly() {
		s.Window.Due = s.now // the reply need not wait any longer
	}
}

// attemptFailed handles an attempt without a result: it is tried again after a
// back-off, or the turn fails. An outage is waited out and uses up no attempt.
func (s *step) attemptFailed(e GenerateFailed) {
	if e.Fault == TooLarge {
		s.promptTooLarge(e)
		return
	}
	s.noteOutage(e.Fault == Outage)
	if e.Fault != Outage {
		s.clearSuspicion()
	}
	if e.Fault == Refused && !s.Attempt.Sealed && !s.isEarly() {
		s.attemptRefused(e)
		return
	}
	s.Tries.LastError = e.Text
	s.notify(KindReplyDiscarded, string(e.Fault))
	s.notify(KindAttemptFailed, string(e.Fault))
	failed := len(s.Notices) - 1
	if s.isEarly() {
		s.earlyFailed(e)
		s.Notices[failed].Due = s.Window.Due
		return
	}
	failures := s.Tries.Attempts
	switch {
	case e.Fault == Outage:
		s.Tries.Attempts--
		s.Tries.Outages++
		failures = s.Tries.Outages
	case e.Fault == Rejected || e.Fault == Refused || s.Tries.Attempts >= s.policy.MaxAttempts:
		s.Tries.Outages = 0
		if !s.hasNewerInput() {
			s.failTurn(EndedFailed)
			return
		}
		s.Tries.Attempts = 0 // these messages were never tried in this form
	default:
		s.Tries.Outages = 0
	}
	s.Window.NotBefore = s.now.Add(backoff(failures, e.After, e.Jitter))
	s.openRetry()
	if s.Phase == Collecting {
		s.Notices[failed].Due = s.Window.Due
	}
}

// failTurn gives the turn up. Its messages stay pending: the next input, or a
// requeue, starts again with all of them. The turn ends now, or once its fallback
// text is sent.
func (s *step) failTurn(how Ending) {
	s.Lease = Lease{}
	s.Attempt.Through = s.Version
	s.nothingNewer()
	s.notify(KindTurnFailed, s.Tries.LastError)
	s.Phase = Failed
	s.noteOutage(false)
	s.noDelaySign()
	s.Window.Start, s.Window.QuietUntil, s.Window.NotBefore, s.Window.Due = 0, 0, 0, 0
	s.endFailed(how, ReplyFallback)
}

// endFailed ends a turn that was given up, or has the text sent first that stands in
// for its reply: at most one until a turn succeeds. Where there is none for a refusal, it
// is that of a failure.
func (s *step) endFailed(how Ending, standIn string) {
	if standIn == ReplyRefusal && !s.policy.Refusal {
		standIn = ReplyFallback
	}
	if standIn == ReplyFallback && !s.policy.Fallback || s.OnHold || s.StoodIn {
		s.endTurn(s.Turn, how)
		return
	}
	s.Seq++
	s.AppendReply = s.Seq
	s.Reply = &Reply{
		Turn: s.Turn, Seq: s.Seq, Through: s.Answered, From: s.Answered, AfterSeq: s.AfterSeq,
		Parts: 1, Kind: standIn, Since: s.now, RetryAt: s.now,
	}
	s.Phase = Sending
	s.notifyReply(KindReplyCommitted, s.Reply, standIn)
}

// advanceAfterSeq moves the sequence that all pending messages lie behind. A
// message of the prompt that was edited since keeps it where it is.
func (s *step) advanceAfterSeq(seq int64) {
	if !s.Attempt.Edited {
		s.AfterSeq = max(s.AfterSeq, seq)
	}
}

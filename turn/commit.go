package turn

// The final check.
//
// A reply must be current: at the moment of its commit there must be no input that
// it does not cover. To read the version first and to write afterwards would leave
// a gap in which an input can slip in. So the check and the commit are one step:
// Step compares the version in the record with the one that the attempt saw, and
// the store writes the result only if the record is still the one that Step read.

// attemptGenerated is the final check, and it is the commit itself: the record
// that it returns is written by a compare-and-swap against the record that it read,
// so no input can slip in between. A deletion of everything, or a human who took
// over, has taken the lease away before, so such an attempt is fenced. The result of an
// attempt that was started early has to wait for the end of the window: its holder keeps
// it, and offers it again.
func (s *step) attemptGenerated(e Generated) {
	s.noteOutage(false)
	if s.isEarly() {
		s.ignore(NotDue)
		return
	}
	s.clearSuspicion()
	switch {
	case s.superseded():
		s.discardAttempt()
	case s.Attempt.Part.isProbe(), s.Attempt.Part.Answers > 0 && s.Attempt.Outdated:
		s.probeAccepted(e)
	default:
		s.commitReply(e)
	}
}

// attemptInterrupted ends an attempt whose holder stopped because of newer input.
func (s *step) attemptInterrupted() {
	if s.superseded() {
		s.discardAttempt()
		return
	}
	s.handBack()
}

// discardAttempt throws the attempt away. Its messages stay pending, and a new
// window starts now.
func (s *step) discardAttempt() {
	s.Outcome, s.Reason = Discarded, Superseded
	s.notify(KindReplyDiscarded, Superseded)
	s.Tries.Discards++
	s.Tries.Attempts--
	s.openWindow(s.now)
}

// commitReply makes the attempt's reply the conversation's. Under a pause, which
// only a sealed attempt outlives, the reply is kept until the resume; and where the
// receiver asked for a pause, until its end.
func (s *step) commitReply(e Generated) {
	s.Outcome = Committed
	rest := int64(0)
	if s.Attempt.Part.Answers > 0 {
		rest = s.Version
	}
	s.answersPart(e.Waiting)
	s.Seq++
	s.AppendReply = s.Seq
	s.Reply = &Reply{
		Turn: s.Turn, Seq: s.Seq, Through: s.Attempt.Through, From: s.Answered,
		AfterSeq: s.AfterSeq, ThroughSeq: s.Attempt.ThroughSeq, Rest: rest,
		Parts: e.Parts, Sealed: s.Attempt.Sealed, Late: s.hasNewerInput(), Since: s.now,
	}
	s.Phase = Sending
	s.Tries.LastError = ""
	s.notifyReply(KindReplyCommitted, s.Reply, "")
	s.Notices[len(s.Notices)-1].Late = s.Reply.Late
	switch {
	case e.Parts == 0:
		s.finishReply(ReplyNone, "")
	case s.OnHold:
		s.waitToSend()
	case s.receiverPaused():
		s.waitForReceiver()
	default:
		s.startWork()
	}
}

// notifyReply adds a notice about a reply.
func (s *step) notifyReply(kind Kind, r *Reply, reason string) {
	s.notify(kind, reason)
	n := &s.Notices[len(s.Notices)-1]
	n.Turn, n.Seq, n.Through, n.Part, n.Parts = r.Turn, r.Seq, r.Through, r.Done, r.Parts
}

// notifyPart adds a notice about the part of a reply with this number, from 1.
func (s *step) notifyPart(kind Kind, reason string, number int) {
	s.notifyReply(kind, s.Reply, reason)
	s.Notices[len(s.Notices)-1].Part = number
}

package turn

import "time"

// Sending a reply.
//
// A committed reply is sent part by part, under the same lease as its attempt, and
// its progress is recorded after each part. A part ends in one of three ways:
//   - it is delivered;
//   - it is certainly not delivered: it is tried again, for as long as RetryFor
//     allows. If nothing was delivered yet and newer input exists, the reply is
//     withdrawn instead, and everything is answered afresh. If the receiver asked for
//     a pause, nothing is sent before its end, whichever reply is then the next;
//   - nobody knows: the channel did not answer in time, or the worker was lost. If the
//     channel says by itself that it has taken the part, that settles it. Else the policy
//     decides, because no program can: to send again may show the part twice, not to send
//     it may lose it.
//
// Once the reply is settled, the messages that it covers are answered, and the
// conversation goes on with whatever came meanwhile.

// wakeSending starts the next try of a send, or takes over from a worker that was
// lost while it sent. Nobody knows what that one did, so the current part counts as
// unknown.
func (s *step) wakeSending(e Wake) {
	switch {
	case s.Lease.Nonce != "":
		s.Changed = true
		s.act(Cancel{Nonce: s.Lease.Nonce, Reason: Crashed})
		s.notifyReply(KindLeaseLost, s.Reply, "")
		s.Notices[len(s.Notices)-1].Holder = s.Lease.Holder
		s.Reply.Unsure, s.Reply.RetryAt = true, s.now
		s.Reply.Lost = s.Reply.Lost.more(s.Lease.Holder, s.now)
		s.Lease = Lease{}
		switch {
		case s.endDoubt():
			return
		case !s.policy.ResendUnknown || s.Reply.Lost.Count >= s.policy.MaxAttempts:
			s.finishReply(ReplyUnknown, Crashed)
			return
		case s.mayBeSent():
		case s.survivesPause():
			return // for the resume
		default:
			s.stopReply(WasPaused)
			return
		}
	case !s.mayBeSent():
		s.ignoreWake(e, WasPaused)
		return
	case s.now < s.NextSend():
		s.ignoreWake(e, NotDue)
		return
	case s.mayWithdraw():
		s.Changed = true
		s.withdrawReply()
		return
	}
	if s.endDoubt() { // the channel said so while a send was under way that was never made
		s.Changed = true
		return
	}
	if s.receiverPaused() {
		s.Changed = true
		s.waitForReceiver()
		return
	}
	s.acquire(e)
	s.Reply.tried()
	s.startWork()
}

// receiverPaused reports whether the receiver takes nothing now, because it asked for
// a pause. One that holds for the whole bot is noted in the record: the wake-up
// follows from there.
func (s *step) receiverPaused() bool {
	until := s.receiverPausedUntil()
	if s.now >= until {
		return false
	}
	s.NoSendUntil = until
	return true
}

// waitToSend gives the lease back, and leaves the reply to the next wake-up.
func (s *step) waitToSend() {
	s.Lease = Lease{}
	s.Reply.RetryAt = s.now
}

// waitForReceiver leaves the reply until the end of the pause that the receiver asked
// for.
func (s *step) waitForReceiver() {
	s.waitToSend()
	if s.Tries.LastError == "" {
		s.Tries.LastError = "the receiver asked for a pause"
	}
}

// partSent records a delivered part, and goes on with the next one.
func (s *step) partSent(e Sent) {
	sent := s.Reply.next()
	sent.ID = e.ID
	s.keepSentID(sent)
	switch {
	case s.partDone():
	case e.Pause > 0 && s.Reply.Kind != ReplyHuman && s.Reply.Kind != ReplyBeside: // a person wrote it: there is no typing to imitate
		s.pauseBeforePart(e.Pause)
	case s.receiverPaused():
		s.waitForReceiver()
	default:
		s.startWork()
	}
}

// partDone counts a part that has arrived, and reports whether the reply ends with it.
func (s *step) partDone() bool {
	s.Reply.Done++
	s.Reply.Unsure, s.Reply.Tries, s.Reply.Lost, s.Reply.Stopped = false, 0, Lost{}, nil
	s.noteSaid()
	if s.Reply.Parts > 1 {
		s.notifyPart(KindPartSent, "", s.Reply.Done)
	}
	switch {
	case s.Reply.Done == s.Reply.Parts:
		s.finishReply(ReplySent, "")
	case s.Reply.Cut != "":
		s.finishReply(ReplyPartial, s.Reply.Cut)
	case !s.mayBeSent():
		s.finishReply(ReplyPartial, WasPaused)
	default:
		return false
	}
	return true
}

// endDoubt goes on with the next part if the channel has said meanwhile that the one in
// doubt has arrived. It reports whether that is so.
func (s *step) endDoubt() bool {
	if r := s.Reply; !r.Unsure || r.Receipts.arrivedParts(r.Done, r.Parts) <= r.Done {
		return false
	}
	if !s.partDone() {
		s.waitToSend()
	}
	return true
}

// pauseBeforePart leaves the next part for later. Nobody needs a lease to wait: it is given
// back, and the end of the pause is the record's wake-up, as that of a back-off. So a
// worker that is lost meanwhile costs nothing.
func (s *step) pauseBeforePart(pause time.Duration) {
	s.Lease = Lease{}
	s.Reply.RetryAt = s.now.Add(pause)
}

// partFailed handles a part that was certainly not delivered: it is tried again
// after a back-off, within RetryFor, unless the reply is overtaken.
func (s *step) partFailed(e SendFailed) {
	s.Tries.LastError = e.Text
	s.Reply.Tries++
	if e.After > 0 {
		s.NoSendUntil = max(s.NoSendUntil, s.now.Add(min(e.After, s.policy.RetryFor)))
	}
	s.notifyPart(KindPartFailed, e.Text, s.Reply.Done+1)
	switch {
	case s.Reply.Cut != "":
		s.stopReply(s.Reply.Cut)
	case e.ForGood:
		s.giveUpReply(e.Text)
	case !s.mayBeSent() && !s.survivesPause():
		s.stopReply(WasPaused)
	case s.mayWithdraw():
		s.withdrawReply()
	case s.now.Sub(s.Reply.Since) >= s.policy.RetryFor:
		s.giveUpReply(e.Text)
	default:
		s.Lease = Lease{}
		s.Reply.RetryAt = s.now.Add(backoff(s.Reply.Tries, 0, e.Jitter))
		s.Notices[len(s.Notices)-1].Due = s.NextSend()
	}
}

// partUnknown handles a part whose outcome nobody knows. The policy decides: send
// it again, and risk that the person sees it twice, or leave it to an operator.
func (s *step) partUnknown(e SendUnknown) {
	s.Tries.LastError = e.Text
	s.Reply.Tries++
	s.Reply.Unsure = true
	s.notifyPart(KindPartUnknown, e.Text, s.Reply.Done+1)
	if s.endDoubt() {
		return
	}
	if !s.policy.ResendUnknown || s.now.Sub(s.Reply.Since) >= s.policy.RetryFor || !s.mayBeSent() && !s.survivesPause() {
		s.finishReply(ReplyUnknown, e.Text)
		return
	}
	s.Lease = Lease{}
	s.Reply.RetryAt = s.now.Add(backoff(s.Reply.Tries, 0, e.Jitter))
	s.Notices[len(s.Notices)-1].Due = s.NextSend()
}

// survivesPause reports whether the reply is kept under a pause instead of being
// ended. A sealed one is, because something irreversible stands behind it; and one
// that the person may have seen already and that is to be sent again. But where a
// human has replied meanwhile it is ended: that reply goes out under the pause and
// must not wait behind it.
func (s *step) survivesPause() bool {
	return !s.answersQueued() && (s.Reply.Sealed || s.Reply.Unsure && s.policy.ResendUnknown)
}

// unseen reports whether nothing of the reply can have reached anybody.
func (r *Reply) unseen() bool { return r.Done == 0 && !r.Unsure }

// mayWithdraw reports whether the reply is overtaken and can be taken back: nobody
// can have seen it, and nothing irreversible stands behind it.
func (s *step) mayWithdraw() bool {
	r := s.Reply
	return r.Kind == ReplyAnswer && r.unseen() && !r.Sealed && s.overtaken(r)
}

// overtaken reports whether inputs were accepted that the reply neither answers nor left to
// the next turn.
func (s *step) overtaken(r *Reply) bool { return s.Version != max(r.Through, r.Rest) }

// withdrawReply takes the reply back. Its messages are answered afresh.
func (s *step) withdrawReply() {
	s.Marks = append(s.Marks, Mark{Seq: s.Reply.Seq, Status: ReplyWithdrawn, Reason: Withdrawn})
	s.notifyReply(KindReplyDiscarded, s.Reply, Withdrawn)
	s.answerAfresh()
}

// answerAfresh ends the turn of a reply that reached nobody. Its messages are answered
// by the next turn, under another number, since the receiver may have seen this one. If
// a human has settled them meanwhile, or their sender wants no answer any more, they are
// closed.
func (s *step) answerAfresh() {
	reply := *s.Reply
	s.Reply = nil
	how := EndedUndelivered
	if reply.Settled != 0 || reply.Cut != "" {
		s.settleInputs(reply, InputClosed, 0)
		s.passInputs(reply)
	} else {
		s.closeStopped(reply)
	}
	switch {
	case s.settling != "":
		how = s.settling
	case reply.Settled != 0, reply.Cut != "", s.Pending == 0 && len(reply.Stopped) > 0:
		how = EndedClosed
	case s.Pending == 0:
		how = EndedDeleted
	}
	s.endTurn(reply.Turn, how)
	if how == EndedUndelivered {
		s.openTurn(s.now)
		return
	}
	s.startNext()
}

// giveUpReply ends a reply that can't be delivered. If nothing of it was delivered,
// the turn fails and its messages stay pending; otherwise they count as answered.
func (s *step) giveUpReply(reason string) {
	reply := s.Reply
	switch {
	case reply.Unsure:
		s.finishReply(ReplyUnknown, reason)
	case reply.Done > 0:
		s.finishReply(ReplyPartial, reason)
	case reply.Kind != ReplyAnswer:
		s.finishReply(ReplyFailed, reason)
	default:
		s.Marks = append(s.Marks, Mark{Seq: reply.Seq, Status: ReplyFailed, Reason: reason})
		s.notifyReply(KindReplyFailed, s.Reply, reason)
		if s.overtaken(reply) || reply.Settled != 0 {
			s.answerAfresh()
			return
		}
		s.Reply = nil
		s.policy.Fallback = false // the same channel would refuse it too
		s.failTurn(EndedUndelivered)
	}
}

// stopReply ends a reply before all of it is sent: because of a pause, a human, a stop word
// or a reset.
func (s *step) stopReply(reason string) {
	switch {
	case s.Reply.Unsure:
		s.finishReply(ReplyUnknown, reason)
	case s.Reply.Done > 0:
		s.finishReply(ReplyPartial, reason)
	case s.Reply.standsIn():
		s.finishReply(ReplyFailed, reason)
	default:
		s.Marks = append(s.Marks, Mark{Seq: s.Reply.Seq, Status: ReplyWithdrawn, Reason: reason})
		s.notifyReply(KindReplyDiscarded, s.Reply, reason)
		s.answerAfresh()
	}
}

// cutReply makes the part of the responder's reply that is on its way the last one,
// because a person has said something since. If none is on its way, the reply ends now.
// One that tells of something irreversible is told to its end.
func (s *step) cutReply(reason string) {
	if s.Phase != Sending || s.Reply.Kind != ReplyAnswer || s.Reply.Sealed {
		return
	}
	s.Reply.Cut = reason
	if s.Lease.Nonce == "" && s.Reply.Done > 0 && !s.Reply.Unsure {
		s.stopReply(reason)
	}
}

// finishReply settles the reply, gives the lease back, and goes on with the next
// work. Going idle is part of this write, so an arrival in the same instant is
// either counted here or meets an idle conversation: it can't be stranded.
func (s *step) finishReply(status Status, reason string) {
	switch status {
	case ReplySent, ReplyPartial, ReplyUnknown:
		s.noteSaid()
	}
	status, reason = s.Reply.statusByReceipts(status, reason)
	reply := *s.Reply
	s.tellProgress(reply, status)
	s.Marks = append(s.Marks, Mark{Seq: reply.Seq, Status: status, Reason: reason})
	switch status {
	case ReplySent:
		s.notifyReply(KindReplySent, s.Reply, s.Reply.resendReason())
	case ReplyNone:
	case ReplyUnknown:
		s.notifyReply(KindReplyFailed, s.Reply, UnknownOutcome)
	default:
		s.notifyReply(KindReplyFailed, s.Reply, reason)
	}
	s.addUnconfirmed(reply, status, reason)
	s.Reply = nil
	s.Lease = Lease{}
	settlesNothing := reply.standsIn() || reply.beside()
	failed := settlesNothing && (s.Pending > 0 || s.LastTurnSetAside())
	if status == ReplySent && !failed {
		s.Tries.LastError = ""
	}
	switch reply.Kind {
	case ReplyFallback, ReplyRefusal:
		s.StoodIn = s.StoodIn || status == ReplySent || status == ReplyUnknown
		s.endTurn(reply.Turn, EndedFailed)
		s.returnToFailure()
		return
	case ReplyResend:
		s.returnToInterrupted(reply)
		return
	case ReplyBeside:
		s.endTurn(reply.Turn, ending(status, reason))
		s.returnToInterrupted(reply)
		return
	case ReplyAnswer:
		s.StoodIn = false
		answered := InputAnswered
		if status == ReplyNone {
			answered = InputClosed
		} else {
			s.countBotTurn(reply)
		}
		s.settleInputs(reply, answered, reply.Seq)
		s.passInputs(reply)
	}
	s.endTurn(reply.Turn, ending(status, reason))
	s.startNext()
}

// ending is the way in which a turn ended whose reply has this status, for this reason.
func ending(status Status, reason string) Ending {
	switch {
	case status == ReplySent:
		return EndedSent
	case status == ReplyNone:
		return EndedSilent
	case status == ReplyPartial && (reason == WasPaused || reason == ByHuman || reason == Stopped):
		return EndedStopped
	}
	return EndedUndelivered
}

// tellProgress gives what the record knew of a reply to its entry.
func (s *step) tellProgress(reply Reply, status Status) {
	p := Progress{Seq: reply.Seq, Receipts: reply.Receipts, Again: reply.Kind == ReplyResend}
	if status == ReplyPartial || status == ReplyUnknown {
		p.Delivered = reply.Receipts.upToFailure(reply.Done)
	}
	if p.Delivered > 0 || p.Receipts != nil || p.Again {
		s.Progress = append(s.Progress, p)
	}
}

// passInputs goes on to the inputs that the reply has not seen.
func (s *step) passInputs(reply Reply) {
	s.Answered = max(s.Answered, reply.Through, reply.Settled)
	s.Pending, s.PendingBytes = s.Attempt.Newer, s.Attempt.NewerBytes
	s.advanceAfterSeq(reply.ThroughSeq)
}

// resendReason is the reason of a notice about a reply that was sent again.
func (r *Reply) resendReason() string {
	if r.Kind == ReplyResend {
		return ByOperator
	}
	return ""
}

func (s *step) settleInputs(reply Reply, status Status, by int64) {
	s.Settles = append(s.Settles, Settle{
		AfterSeq: reply.AfterSeq, From: reply.From, Through: reply.Through, Status: status, ReplySeq: by,
	})
}

// returnToFailure leaves the turn failed after its fallback text was sent, unless
// somebody wrote meanwhile.
func (s *step) returnToFailure() {
	switch {
	case s.answersQueued():
		s.startNext()
	case s.Pending > 0 && s.Version == s.Attempt.Through:
		s.Phase = Failed
	case s.Pending == 0 && s.LastTurnSetAside():
		s.startNext()
		s.Phase = Failed
	default:
		s.startNext()
	}
}

package turn

// wakeSending sends again, or takes over from a holder that was lost while it
// sent. What that one did is unknown.
func (s *step) wakeSending(e Wake) {
	switch {
	case s.Lease.Nonce != "":
		s.Changed = true
		s.do(Cancel{Nonce: s.Lease.Nonce, Reason: Crashed})
		s.tellReply(LeaseLost, s.Reply, "")
		s.Notices[len(s.Notices)-1].Holder = s.Lease.Holder
		s.Reply.Unsure, s.Reply.RetryAt = true, s.now
		s.Reply.Lost = s.Reply.Lost.more(s.Lease.Holder, s.now)
		s.Lease = Lease{}
		switch {
		case !s.p.ResendUnknown || s.Reply.Lost.Count >= s.p.MaxAttempts:
			s.finish(ReplyUnknown, Crashed)
			return
		case s.maySend():
		case s.keeps():
			return // for the resume
		default:
			s.stop(WasPaused)
			return
		}
	case !s.maySend():
		s.nothing(e, WasPaused)
		return
	case s.now < s.Reply.RetryAt:
		s.nothing(e, NotDue)
		return
	case s.mayWithdraw():
		s.Changed = true
		s.withdraw()
		return
	}
	s.acquire(e)
	s.proceed()
}

// sent records a delivered part, and goes on with the next.
func (s *step) sent() {
	s.Reply.Done++
	s.Reply.Unsure, s.Reply.Tries, s.Reply.Lost = false, 0, Lost{}
	if s.Reply.Parts > 1 {
		s.tellPart(PartSent, "", s.Reply.Done)
	}
	switch {
	case s.Reply.Done == s.Reply.Parts:
		s.finish(ReplySent, "")
	case !s.maySend():
		s.finish(ReplyPartial, WasPaused)
	default:
		s.proceed()
	}
}

// sendFailed handles a part that was certainly not delivered.
func (s *step) sendFailed(e SendFailed) {
	s.Tries.LastError = e.Text
	s.Reply.Tries++
	s.tellPart(PartFailed, e.Text, s.Reply.Done+1)
	switch {
	case e.ForGood:
		s.giveUp(e.Text)
	case !s.maySend() && !s.keeps():
		s.stop(WasPaused)
	case s.mayWithdraw():
		s.withdraw()
	case s.now.Sub(s.Reply.Since) >= s.p.RetryFor:
		s.giveUp(e.Text)
	default:
		s.Lease = Lease{}
		s.Reply.RetryAt = s.now.Add(backoff(s.Reply.Tries, e.After, e.Jitter))
		s.Notices[len(s.Notices)-1].Due = s.Reply.RetryAt
	}
}

// sendUnknown handles a part of which nobody knows whether it was delivered.
func (s *step) sendUnknown(e SendUnknown) {
	s.Tries.LastError = e.Text
	s.Reply.Tries++
	s.Reply.Unsure = true
	s.tellPart(PartUnknown, e.Text, s.Reply.Done+1)
	if !s.p.ResendUnknown || s.now.Sub(s.Reply.Since) >= s.p.RetryFor || !s.maySend() && !s.keeps() {
		s.finish(ReplyUnknown, e.Text)
		return
	}
	s.Lease = Lease{}
	s.Reply.RetryAt = s.now.Add(backoff(s.Reply.Tries, 0, e.Jitter))
	s.Notices[len(s.Notices)-1].Due = s.Reply.RetryAt
}

// keeps reports whether the reply outlives a pause: one that something
// irreversible stands behind, and one that a person may have seen already and
// that is to be sent again; but not where a human has replied since, whose words
// go out under the pause and would wait behind it.
func (s *step) keeps() bool {
	return len(s.Queue) == 0 && (s.Reply.Sealed || s.Reply.Unsure && s.p.ResendUnknown)
}

// untouched reports whether nothing of the reply can have reached anybody.
func (r *Reply) untouched() bool { return r.Done == 0 && !r.Unsure }

// mayWithdraw reports whether the reply is stale and can be taken back: nobody
// can have seen it, and nothing irreversible stands behind it.
func (s *step) mayWithdraw() bool {
	r := s.Reply
	overtaken := s.Version != r.Through
	return r.Kind == ReplyAnswer && r.untouched() && !r.Sealed && overtaken
}

// withdraw takes the reply back. What it answered is answered afresh, unless a
// human has settled that meanwhile.
func (s *step) withdraw() {
	s.Marks = append(s.Marks, Mark{Seq: s.Reply.Seq, Status: ReplyWithdrawn, Reason: Withdrawn})
	s.tellReply(ReplyDiscardedKind, s.Reply, Withdrawn)
	s.reopen()
}

// reopen goes back to collecting after a reply that reached nobody.
func (s *step) reopen() {
	reply := *s.Reply
	s.Reply = nil
	if s.Answered >= reply.Through {
		s.settle(reply, InputClosed, 0)
	} else if s.Pending > 0 && len(s.Queue) == 0 {
		s.open(s.now)
		return
	}
	s.rest()
}

// giveUp ends a reply that can't be delivered. What it answered stays pending,
// in a failed turn, unless part of it was delivered.
func (s *step) giveUp(reason string) {
	reply := s.Reply
	switch {
	case reply.Unsure:
		s.finish(ReplyUnknown, reason)
	case reply.Done > 0:
		s.finish(ReplyPartial, reason)
	case reply.Kind != ReplyAnswer:
		s.finish(ReplyFailed, reason)
	default:
		s.Marks = append(s.Marks, Mark{Seq: reply.Seq, Status: ReplyFailed, Reason: reason})
		s.tellReply(ReplyFailedKind, s.Reply, reason)
		if s.Version != reply.Through || s.Answered >= reply.Through {
			s.reopen()
			return
		}
		s.Reply = nil
		s.p.Fallback = false // the same channel would refuse it too
		s.fail()
	}
}

// stop ends a reply of the responder because a human took over.
func (s *step) stop(reason string) {
	switch {
	case s.Reply.Unsure:
		s.finish(ReplyUnknown, reason)
	case s.Reply.Done > 0:
		s.finish(ReplyPartial, reason)
	case s.Reply.Kind == ReplyFallback:
		s.finish(ReplyFailed, reason)
	default:
		s.Marks = append(s.Marks, Mark{Seq: s.Reply.Seq, Status: ReplyWithdrawn, Reason: reason})
		s.tellReply(ReplyDiscardedKind, s.Reply, reason)
		s.reopen()
	}
}

// finish settles the reply, gives the lease back, and goes on. Going idle is
// part of this write, so an arrival in the same instant is either counted here
// or meets an idle conversation: it can't be stranded.
func (s *step) finish(status Status, reason string) {
	reply := *s.Reply
	s.Marks = append(s.Marks, Mark{Seq: reply.Seq, Status: status, Reason: reason})
	switch status {
	case ReplySent:
		s.tellReply(ReplySentKind, s.Reply, s.Reply.again())
	case ReplyNone:
	case ReplyUnknown:
		s.tellReply(ReplyFailedKind, s.Reply, UnknownOutcome)
	default:
		s.tellReply(ReplyFailedKind, s.Reply, reason)
	}
	s.troubled(reply, status)
	s.Reply = nil
	s.Lease = Lease{}
	beside := reply.Kind == ReplyFallback || reply.Kind == ReplyAgain
	failed := beside && (s.Pending > 0 || s.FailedAside())
	if status == ReplySent && !failed {
		s.Tries.LastError = ""
	}
	switch reply.Kind {
	case ReplyFallback:
		s.restAfterFallback()
		return
	case ReplyAgain:
		s.restAfterAgain()
		return
	case ReplyAnswer:
		answered := InputAnswered
		if status == ReplyNone {
			answered = InputClosed
		}
		s.settle(reply, answered, reply.Seq)
		s.Answered = max(s.Answered, reply.Through)
		s.Pending = s.Attempt.Newer
		s.advance(reply.ThroughSeq)
	}
	s.rest()
}

// again is the reason that tells a reply that was sent again.
func (r *Reply) again() string {
	if r.Kind == ReplyAgain {
		return ByOperator
	}
	return ""
}

func (s *step) settle(reply Reply, status Status, by int64) {
	s.Settles = append(s.Settles, Settle{
		AfterSeq: reply.AfterSeq, From: reply.From, Through: reply.Through, Status: status, ReplySeq: by,
	})
}

// restAfterFallback leaves the turn failed, unless somebody wrote meanwhile.
func (s *step) restAfterFallback() {
	switch {
	case len(s.Queue) == 0 && s.Pending > 0 && s.Version == s.Attempt.Through:
		s.Phase = Failed
	case len(s.Queue) == 0 && s.Pending == 0 && s.FailedAside():
		s.rest()
		s.Phase = Failed
	default:
		s.rest()
	}
}

package turn

// maxQueue bounds the replies of people that wait to be sent.
const maxQueue = 100

// flush ends the quiet time now.
func (s *step) flush() {
	switch {
	case s.Phase == Collecting:
		s.Window.QuietUntil, s.Window.NotBefore = min(s.Window.QuietUntil, s.now), 0
		s.Window.MediaUntil = min(s.Window.MediaUntil, s.now)
		s.schedule()
	case s.Phase == Sending && s.Lease.Nonce == "":
		s.Reply.RetryAt = min(s.Reply.RetryAt, s.now)
	default:
		s.ignore(NothingWaits)
		return
	}
	s.Changed = true
}

// pause hands the conversation to a human. An attempt under way is discarded,
// a reply that nobody can have seen is withdrawn; a part that is being sent
// right now is the last one. A sealed attempt goes on, and its reply is kept
// until the conversation is resumed.
func (s *step) pause(e Pause) {
	if s.OnHold {
		s.Changed = s.PauseReason != e.Reason
		s.PauseReason = e.Reason
		return
	}
	s.Changed = true
	s.OnHold, s.PauseReason = true, e.Reason
	s.tell(ConversationPaused, e.Reason)
	switch {
	case s.Phase == Generating && !s.Attempt.Sealed:
		s.drop(WasPaused)
		s.window(s.now)
	case s.Phase == Sending && s.Lease.Nonce == "" && !s.maySend() && !s.keeps():
		s.stop(WasPaused)
	}
}

// resume gives the conversation back to the bot.
func (s *step) resume(e Resume) {
	if !s.OnHold {
		return
	}
	s.Changed = true
	s.OnHold, s.PauseReason = false, ""
	s.tell(ConversationResumed, "")
	if !e.Answer {
		s.settleAll(InputClosed, 0)
	}
	switch {
	case s.Phase == Sending && s.Lease.Nonce == "":
		s.Reply.Since, s.Reply.RetryAt = s.now, s.now
	case s.Phase == Collecting:
		s.window(s.now)
	case s.Phase == Failed && s.Pending > 0:
		s.Window.QuietUntil = s.now
		s.open(s.now)
	}
}

// closeWaiting settles all that waits without a reply.
func (s *step) closeWaiting() {
	if s.Pending == 0 && s.Aside == nil {
		s.ignore(NothingWaits)
		return
	}
	s.Changed = true
	s.recall()
	if s.Pending > 0 || s.Aside != nil {
		s.settleAll(InputClosed, 0)
	}
}

// recall takes back a reply of the responder that waits for its next try and
// can have reached nobody, or that a pause holds: a human steps in.
func (s *step) recall() {
	if s.Phase != Sending || s.Lease.Nonce != "" || s.Reply.Kind == ReplyHuman || s.Reply.Kind == ReplyAgain {
		return
	}
	if !s.maySend() || s.Reply.untouched() && !s.Reply.Sealed {
		s.stop(ByHuman)
	}
}

// unsettled is the version after which inputs are neither settled nor part of
// the reply that is being sent.
func (s *step) unsettled() int64 {
	if s.Phase == Sending && s.Reply.Kind != ReplyAgain {
		return max(s.Answered, s.Reply.Through)
	}
	return s.Answered
}

// settleAll ends the attempt under way and settles every pending input. A
// reply that is being sent goes on, and settles what it answers.
func (s *step) settleAll(status Status, by int64) {
	s.Settles = append(s.Settles, Settle{AfterSeq: s.AfterSeq, From: s.unsettled(), Through: s.Version, Status: status, ReplySeq: by})
	s.drop(ByHuman)
	s.Answered, s.AfterSeq = s.Version, s.Seq
	s.Pending, s.Window.Media, s.Attempt.Newer, s.Attempt.NewerSince, s.Attempt.Edited = 0, 0, 0, 0, false
	s.closeAside()
	s.Tries.LastError = ""
	if s.Phase != Sending {
		s.rest()
	}
}

// humanReply queues a reply that a person wrote, and settles what waits.
func (s *step) humanReply(e HumanReply) {
	if len(s.Queue) >= maxQueue {
		s.ignore(QueueFull)
		return
	}
	s.Changed = true
	s.recall()
	s.Turn++
	s.Seq++
	s.AppendReply = s.Seq
	reply := Reply{
		Turn: s.Turn, Seq: s.Seq, Through: s.Version, From: s.unsettled(), AfterSeq: s.AfterSeq, ThroughSeq: s.Seq,
		Parts: e.Parts, Kind: ReplyHuman, Since: s.now, RetryAt: s.now,
	}
	s.Queue = append(s.Queue, reply)
	s.tellReply(ReplyCommittedKind, &reply, ReplyHuman)
	s.settleAll(InputAnswered, s.Seq)
}

// requeue starts a failed turn again, with all that waits, now. What was set aside
// by earlier turns comes back too, and joins a window that is open.
func (s *step) requeue() {
	switch {
	case s.Phase != Failed && s.Aside == nil:
		s.ignore(NotFailed)
		return
	case s.busy():
		s.ignore(UnderWay)
		return
	}
	s.Changed = true
	s.bringBack()
	s.tell(TurnRequeued, "")
	if s.Phase == Collecting {
		return
	}
	if s.Window.WaitingSince == 0 {
		s.Window.WaitingSince = s.now
	}
	s.Window.QuietUntil = s.now
	requeued := len(s.Notices) - 1
	s.open(s.now)
	s.Notices[requeued].Turn = s.Turn
}

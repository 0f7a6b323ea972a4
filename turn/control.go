package turn

import "time"

// The actions of people on a conversation.
//
// A human who steps in comes before the bot. A pause, a reply by hand and a close
// stop a running attempt and take back a reply that nobody has seen. They can't
// take back a part that is on its way to the channel, or an irreversible action
// that an agent has sealed; those end by themselves first.

// MaxQueue bounds the replies of people that wait to be sent.
const MaxQueue = 100

// endQuietTime carries out a flush: the quiet time, and any back-off, ends now.
func (s *step) endQuietTime() {
	switch {
	case s.windowIsOpen():
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

// pause hands the conversation to a human. A running attempt is discarded, and a
// reply that nobody can have seen is withdrawn. A part that is being sent right now
// is the last one. A sealed attempt goes on, and its reply is kept until the resume.
func (s *step) pause(e Pause) {
	var until Time
	if e.For > 0 {
		until = s.now.Add(e.For)
	}
	s.Changed = !s.WithPeople || s.PauseReason != e.Reason || s.PausedUntil != until
	s.WithPeople, s.PauseReason, s.PausedUntil = true, e.Reason, until
	s.hold()
}

// optOut is the same for a person who wants no more messages. It outlives a pause that
// people make, and the end of that.
func (s *step) optOut() {
	s.Changed = !s.OptedOut
	s.OptedOut = true
	if !s.OnHold {
		s.PauseReason = OptedOut
	}
	s.hold()
}

// hold begins a pause, where there is none.
func (s *step) hold() {
	if s.OnHold {
		return
	}
	s.Changed, s.OnHold = true, true
	s.noteOutage(false)
	s.notify(KindConversationPaused, s.PauseReason)
	switch {
	case s.Phase == Generating && !s.Attempt.Sealed:
		s.cancelAttempt(WasPaused)
		s.openWindow(s.now)
	case s.Phase == Sending && s.Lease.Nonce == "" && !s.mayBeSent() && !s.survivesPause():
		s.stopReply(WasPaused)
	}
}

// resume gives the conversation back to the bot, whoever has paused it.
func (s *step) resume(e Resume) {
	if !s.OnHold {
		return
	}
	s.OptedOut = false
	s.release(e.Answer)
}

// optIn ends the pause of an opt-out. One of people goes on.
func (s *step) optIn() {
	switch {
	case !s.OptedOut:
		s.ignore(NothingWaits)
	case s.WithPeople:
		s.Changed, s.OptedOut = true, false
	default:
		s.OptedOut = false
		s.release(true)
	}
}

// endPause ends a pause of people whose time is over, and reports whether it did. An
// opt-out goes on.
func (s *step) endPause() bool {
	switch {
	case s.PausedUntil == 0 || s.now < s.PausedUntil:
		return false
	case s.OptedOut:
		s.WithPeople, s.PausedUntil, s.PauseReason = false, 0, OptedOut
	default:
		s.release(true)
	}
	return true
}

// release ends all pauses. answer tells whether what waits is still to be answered.
func (s *step) release(answer bool) {
	s.Changed = true
	s.OnHold, s.WithPeople, s.PausedUntil, s.PauseReason = false, false, 0, ""
	s.noDelaySign()
	s.notify(KindConversationResumed, "")
	if !answer {
		s.closeTurn(EndedClosed)
		s.settleAll(InputClosed, 0)
	}
	switch {
	case s.Phase == Sending && s.Lease.Nonce == "":
		s.Reply.Since, s.Reply.RetryAt = s.now, s.now
	case s.Phase == Collecting:
		s.openWindow(s.now)
	case s.Phase == Failed && s.Pending > 0:
		s.Window.QuietUntil = s.now
		s.openTurn(s.now)
	}
}

// closeTurn ends the turn that waits or generates, because a human settles its messages,
// or a reset does.
func (s *step) closeTurn(how Ending) {
	s.cancelAttempt(settledBy(how))
	s.endOpenTurn(how)
}

// settledBy is the reason for which an attempt or a reply ends with its turn.
func settledBy(how Ending) string {
	if how == EndedReset {
		return WasReset
	}
	return ByHuman
}

// recallReply takes back a reply of the responder because a human steps in and settles
// all that waits, or a reset does: one that waits for its next try and can have reached
// nobody, or that a pause keeps. No turn is opened for what waits then.
func (s *step) recallReply(how Ending) {
	s.settling = how
	s.takeBack(settledBy(how))
}

// takeBack is the same for a stop word, after which others may still wait.
func (s *step) takeBack(reason string) {
	if s.Phase != Sending || s.Lease.Nonce != "" || s.Reply.DespitePause() {
		return
	}
	if !s.mayBeSent() || s.Reply.unseen() && !s.Reply.Sealed {
		s.stopReply(reason)
	}
}

// settledThrough is the version up to which inputs are settled or part of the
// reply that is being sent.
func (s *step) settledThrough() int64 {
	if s.Phase == Sending && !s.Reply.beside() {
		return max(s.Answered, s.Reply.Through, s.Reply.Settled)
	}
	return s.Answered
}

// settleAll settles every pending input, after closeTurn. A reply that is being sent
// goes on, and settles what it answers: until then these inputs wait, and their authors may
// still change them.
func (s *step) settleAll(status Status, by int64) {
	s.Settles = append(s.Settles, Settle{AfterSeq: s.AfterSeq, From: s.settledThrough(), Through: s.Version, Status: status, ReplySeq: by})
	if s.Phase == Sending && s.Reply.Kind == ReplyAnswer {
		s.Reply.Settled = s.Version
		s.Pending, s.PendingBytes = s.Pending-s.Attempt.Newer, s.PendingBytes-s.Attempt.NewerBytes
	} else {
		s.Answered, s.AfterSeq = s.Version, s.Seq
		s.Pending, s.PendingBytes = 0, 0
	}
	s.Window.Media = 0
	s.nothingNewer()
	s.closeSetAside()
	s.Tries.LastError = ""
	if s.Phase != Sending {
		s.startNext()
	}
}

// humanReply takes in a reply from outside. The bot may have to be silent after it.
func (s *step) humanReply(e HumanReply) {
	if len(s.Queue) >= MaxQueue && !e.Sent {
		s.ignore(QueueFull)
		return
	}
	s.Changed = true
	if e.Beside {
		s.replyBeside(e)
	} else {
		s.answerByHand(e)
	}
	if e.Claims {
		s.Seq++
		s.AppendClaim = s.Seq
	}
	if e.PauseFor > 0 {
		s.keepSilent(e.PauseFor)
	}
}

// answerByHand settles what waits by a reply that a person wrote. The bot does not talk
// on over it: the part of its reply that is on its way is the last one.
func (s *step) answerByHand(e HumanReply) {
	s.recallReply(EndedClosed)
	s.cutReply(ByHuman)
	s.closeTurn(EndedClosed)
	s.nextTurn()
	reply := Reply{
		Turn: s.Turn, Seq: s.Seq + 1, Through: s.Version, From: s.settledThrough(), AfterSeq: s.AfterSeq, ThroughSeq: s.Seq + 1,
		Parts: e.Parts, Kind: ReplyHuman, Since: s.now, RetryAt: s.now,
	}
	s.commitByHand(e, reply)
	s.settleAll(InputAnswered, reply.Seq)
	s.wasSent(e, reply)
}

// replyBeside has a reply sent that settles nothing: what waits is left to the bot, whose
// attempt, reply and window go on. It gets a number of its own, and the current turn keeps
// its. It goes out as soon as nothing else is under way: see startBeside.
func (s *step) replyBeside(e HumanReply) {
	s.Beside++
	reply := Reply{
		Turn: s.LastTurn(), Seq: s.Seq + 1, Through: s.Answered, From: s.Answered, AfterSeq: s.AfterSeq,
		Parts: e.Parts, Kind: ReplyBeside, Since: s.now, RetryAt: s.now,
	}
	s.commitByHand(e, reply)
	s.wasSent(e, reply)
}

// commitByHand commits a reply from outside, which is sent after those before it, if it
// is to be sent at all.
func (s *step) commitByHand(e HumanReply, reply Reply) {
	s.Seq++
	s.AppendReply = s.Seq
	if !e.Sent {
		s.Queue = append(s.Queue, reply)
	}
	s.notifyReply(KindReplyCommitted, &reply, ReplyHuman)
}

// wasSent ends the turn of a reply that was sent elsewhere.
func (s *step) wasSent(e HumanReply, reply Reply) {
	if !e.Sent {
		return
	}
	s.Marks = append(s.Marks, Mark{Seq: reply.Seq, Status: ReplySent, Reason: SentElsewhere})
	s.noteSaid()
	reply.Done = reply.Parts
	s.notifyReply(KindReplySent, &reply, SentElsewhere)
	s.endTurn(reply.Turn, EndedSent)
}

// keepSilent pauses the bot for so long. A pause of people that lasts longer stays as it
// is.
func (s *step) keepSilent(d time.Duration) {
	until := s.now.Add(d)
	if s.WithPeople && (s.PausedUntil == 0 || s.PausedUntil >= until) {
		return
	}
	if !s.WithPeople {
		s.PauseReason = HumanReplied
	}
	s.WithPeople, s.PausedUntil = true, until
	s.hold()
}

// requeue starts a failed turn again, now. Messages that earlier turns set aside
// come back too, and join a window that is open.
func (s *step) requeue() {
	switch {
	case s.Phase != Failed && s.SetAside == nil:
		s.ignore(NotFailed)
		return
	case s.working():
		s.ignore(UnderWay)
		return
	}
	s.Changed = true
	s.bringBackSetAside()
	s.notify(KindTurnRequeued, "")
	if s.Phase == Collecting {
		s.schedule() // what is back has waited for longer
		return
	}
	if s.Window.WaitingSince == 0 {
		s.Window.WaitingSince = s.now
	}
	s.Window.QuietUntil = s.now
	requeued := len(s.Notices) - 1
	s.openTurn(s.now)
	s.Notices[requeued].Turn = s.Turn
}

package turn

import "slices"

// Stop words.
//
// A person who writes a stop word wants no answer: not to it, and not to what they
// wrote before it and nobody has answered yet. The message is an input, since it
// changes what is to be answered, but it never waits: it is closed in the write that
// accepts it, together with what else its sender has waiting.
//
// In a group others go on. The record does not know who sent what, so the caller
// reads that in the transcript. The write is refused where the record has changed
// since, so what was read is what waits. Three things follow for work under way:
//   - an attempt whose prompt held nobody else's message is cancelled;
//   - one that answers others too is discarded as any that is overtaken, if its prompt
//     held a message that is closed now, and else goes on as if nothing had happened;
//   - a reply that answers nobody else ends with the part that is on its way;
//   - a reply that answers others too goes on, and answers the sender's messages in it as
//     well. If it is taken back before anybody can have seen it, now or later, these are
//     closed.
// Something irreversible that an agent has sealed is told to its end.

// stopWord closes what its sender has waiting, itself first.
func (s *step) stopWord(e StopWord) {
	if e.Edited != 0 && e.Edited <= s.Answered {
		s.ignore(NothingWaits)
		return
	}
	// An opt-out never comes too late.
	if e.Edited == 0 && !e.OptOut && s.neverAnswered(Message{SentAt: e.SentAt, Early: e.Early}) {
		return
	}
	s.Changed = true
	current, awaited := !s.hasNewerInput(), s.Window.Media
	s.acceptStopWord(e)
	if !e.Shared {
		s.stopTalking()
	}
	seen := s.closeOwn(e.Own)
	if current && !seen {
		s.keepCurrent()
	}
	switch {
	case s.Phase == Generating && !e.Shared && !s.Attempt.Sealed:
		s.cancelAttempt(Stopped)
		s.goOn()
	case seen && s.isEarly() && !s.Attempt.Sealed:
		s.replaceAttempt()
		s.schedule()
	case s.working():
		if s.Pending == 0 && s.windowInterrupted() {
			s.endOpenTurn(EndedClosed)
		}
		s.inputDuringWork()
	case s.Pending == 0:
		s.goOn()
	case s.Phase == Collecting && s.Window.Media != awaited:
		s.schedule()
	}
	if e.OptOut {
		s.optOut()
		s.Outcome, s.Changed = OnPause, true
	}
}

// acceptStopWord counts the input. Nothing waits for a reply to it.
func (s *step) acceptStopWord(e StopWord) {
	reason := WasEdited
	if e.Edited == 0 {
		s.AppendInput = true
		s.endSession()
		s.noteSaid()
		s.Names.Address = e.Address
		s.dropEarly(e.Early)
		s.Seq++
		reason, e.Seq = "", s.Seq
	}
	s.countInput(reason, e.Seq)
	if s.Answered == s.Version-1 { // all before it is settled, perhaps while a reply is on its way, and so is it
		s.Answered = s.Version
	}
	s.Bots.Count = 0 // a person wrote; but no reply answers that
	s.Outcome = Closed
}

// stopTalking ends a reply of the responder that its sender does not want to read.
func (s *step) stopTalking() {
	if s.Phase == Sending && !s.Reply.Sealed {
		s.cutReply(Stopped)
		s.takeBack(Stopped)
	}
}

// goOn ends a turn with no waiting messages left. Messages that were set aside stay: they
// wait for an operator.
func (s *step) goOn() {
	failed := s.Phase == Failed && s.LastTurnSetAside()
	s.endOpenTurn(EndedClosed)
	s.startNext()
	switch {
	case failed:
		s.Phase = Failed
	case s.Phase == Idle && s.SetAside == nil:
		s.Tries.LastError = ""
	}
}

// closeOwn settles the messages of a sender, but for those that a reply on its way
// answers. It reports whether the work under way has seen one that it closes, or is to
// close if that reply is taken back.
func (s *step) closeOwn(own []Waiting) (seen bool) {
	for _, m := range own {
		switch {
		case m.Version <= s.Answered:
			continue
		case s.Phase == Sending && s.Reply.answers(m.Version) && (s.Lease.Nonce != "" || !s.mayWithdraw()):
			seen = s.noteStopped(m) || seen
			continue
		}
		seen = seen || m.Version <= s.Attempt.Through
		s.closeOne(m)
	}
	return seen
}

// noteStopped notes an input that the reply on its way answers: it is closed if the reply is
// taken back. It reports whether that may happen.
func (s *step) noteStopped(m Waiting) bool {
	if s.Reply.Cut != "" || !s.mayWithdraw() {
		return false
	}
	s.forgetStopped(m.Version)
	s.Reply.Stopped = append(s.Reply.Stopped, m)
	return true
}

// forgetStopped drops such a note: the author has changed the input since.
func (s *step) forgetStopped(version int64) {
	if s.Phase == Sending {
		s.Reply.Stopped = slices.DeleteFunc(s.Reply.Stopped, func(m Waiting) bool { return m.Version == version })
		if len(s.Reply.Stopped) == 0 {
			s.Reply.Stopped = nil
		}
	}
}

// closeStopped closes the inputs that were noted so, of a reply that is taken back.
func (s *step) closeStopped(reply Reply) {
	for _, m := range reply.Stopped {
		s.closeOne(m)
	}
}

// closeOne closes a message that waits.
func (s *step) closeOne(m Waiting) {
	s.uncountMessage(m)
	if m.Version == s.Bots.Person {
		s.Bots.Person = 0
	}
	s.settleOne(m.Version)
	s.endSearch()
}

// settleOne closes the message with a version. Neighbours become one range.
func (s *step) settleOne(version int64) {
	if last := len(s.Settles) - 1; last >= 0 && s.Settles[last].Status == InputClosed && s.Settles[last].Through == version-1 {
		s.Settles[last].Through = version
		return
	}
	s.Settles = append(s.Settles, Settle{AfterSeq: s.AfterSeq, From: version - 1, Through: version, Status: InputClosed})
}

// keepCurrent lets work under way stay current: what was accepted is settled, and
// changes nothing of what this work answers.
func (s *step) keepCurrent() {
	s.Attempt.Through = s.Version
	if s.Phase == Sending && s.Reply.Kind == ReplyAnswer {
		s.Reply.Through = s.Version
	}
}

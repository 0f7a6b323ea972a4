package turn

// A fresh start.
//
// A conversation lasts for ever, and a talk does not. A reset ends the talk: all that
// waits is closed, an attempt under way is discarded, and the prompts from then on know
// nothing of what was said before. It is asked for, by an operator or by a word of the
// person, or it follows from a long silence.
//
// The mark that divides the talks is an entry of the transcript, and the record keeps its
// sequence. Nothing else begins anew: versions and turns go on counting, the ids of
// messages stay claimed, and a pause stays.
//
// A reply that is on its way was meant for the talk before, and goes on: it was decided
// before the reset. If nobody can have seen any of it yet, it is taken back instead. It
// stands before the mark either way.

// reset closes what waits and begins afresh. It does nothing where nothing was said since
// the last mark.
func (s *step) reset(e Reset) {
	if s.Seq == s.FreshAfter {
		s.ignore(NothingWaits)
		return
	}
	s.Changed = true
	s.recallReply(EndedReset)
	if s.Pending > 0 || s.SetAside != nil || s.Phase == Generating {
		s.closeTurn(EndedReset)
		s.settleAll(InputClosed, 0)
	}
	s.beginAfresh(e.Reason)
}

// beginAfresh sets the mark.
func (s *step) beginAfresh(reason string) {
	s.Seq++
	s.FreshAfter, s.AppendReset, s.ResetReason = s.Seq, s.Seq, reason
	s.notify(KindConversationReset, reason)
	s.Notices[len(s.Notices)-1].Seq = s.Seq
}

// endSession begins afresh before a message that comes after a long silence. What still
// waits, or is under way, belongs to the same talk, however old it is.
func (s *step) endSession() {
	limit := s.policy.SessionIdle
	silent := s.SaidAt != 0 && s.now.Sub(s.SaidAt) >= limit
	if limit > 0 && silent && s.Pending == 0 && !s.working() {
		s.beginAfresh(SessionIdle)
	}
}

// noteSaid notes that a person or the bot said something, or may have, where the policy asks for how
// long nobody has.
func (s *step) noteSaid() {
	s.SaidAt = 0
	if s.policy.SessionIdle > 0 {
		s.SaidAt = s.now
	}
}

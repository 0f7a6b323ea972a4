package turn

// Messages that are never answered.
//
// Some messages are context: the caller says so, they are not meant for the bot, or they
// come so late that an answer would surprise people. They are kept in the transcript and
// shown to the responder, and nothing else.

// neverAnswered handles a message that must not be answered, and reports whether it is
// one.
func (s *step) neverAnswered(e Message) bool {
	switch {
	case e.Context:
		s.keepContext(e, "")
	case e.Unaddressed && !s.policy.Observe:
		s.ignore(NotAddressed)
	case e.Unaddressed:
		s.keepContext(e, NotAddressed)
	case s.policy.MaxAge > 0 && e.SentAt != 0 && s.now.Sub(e.SentAt) > s.policy.MaxAge:
		s.keepContext(e, TooOld)
	case e.Bot && s.botTurns() >= s.policy.MaxBotTurns:
		s.ignore(FromBot)
	default:
		return false
	}
	return true
}

// keepContext stores a message that is no input. It is said in the talk, which a long
// silence ends, and the sequence grows; that is all: no turn opens, no window moves, and
// nothing under way learns of it.
func (s *step) keepContext(e Message, reason string) {
	s.Changed, s.AppendContext = true, true
	s.dropEarly(e.Early)
	s.endSession()
	s.noteSaid()
	s.Seq++
	s.Outcome, s.Reason = AsContext, reason
	s.Notices = append(s.Notices, Notice{Kind: KindMessageAccepted, At: s.now, Reason: string(AsContext), Version: s.Version, Seq: s.Seq})
}

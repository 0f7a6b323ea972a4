package turn

// Messages that are never answered.
//
// Some messages are context: the caller says so, they are not meant for the bot, or they
// come so late that an answer would surprise people. They are kept in the transcript and
// shown to the responder, and nothing else.
//
// A message of another bot is an input like any other, but only so often: two bots that
// answer each other would never stop.

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

// BotTurns counts the replies that other bots got since a person wrote.
type BotTurns struct {
	Count  int   `json:"count,omitempty"`
	Person int64 `json:"person,omitempty"` // version of the last input of a person
}

// noteAuthor starts the count anew where the input that was just counted is a person's.
// Nothing is kept where other bots get no answer: there is nothing to count.
func (s *step) noteAuthor(bot bool) {
	switch {
	case s.policy.MaxBotTurns == 0:
		s.Bots = BotTurns{}
	case !bot:
		s.Bots = BotTurns{Person: s.Version}
	}
}

// countBotTurn counts a reply that may have reached somebody, where it answers no input
// of a person.
func (s *step) countBotTurn(reply Reply) {
	if s.policy.MaxBotTurns > 0 && s.Bots.Person <= reply.From {
		s.Bots.Count++
	}
}

// botTurns is how many replies other bots have got, or will get, before one that answers
// the message that is just accepted. One under way counts where that message can't be
// part of it any more.
func (s *step) botTurns() int {
	toBots := s.Bots.Person <= s.Answered
	switch {
	case s.Phase == Generating && toBots && s.mustCommit() && !s.isEarly():
		return s.Bots.Count + 1
	case s.Phase == Sending && s.Reply.Kind == ReplyAnswer && s.Bots.Person <= s.Reply.From:
		return s.Bots.Count + 1
	}
	return s.Bots.Count
}

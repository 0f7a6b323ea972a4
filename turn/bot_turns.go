package turn

// Messages of other bots.
//
// A message of another bot is an input like any other, but only so often: two bots that
// answer each other would never stop.

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

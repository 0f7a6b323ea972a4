package turn

// Refused prompts.
//
// A model may refuse a prompt because of its content: a filter stops it, or it is too long.
// It would refuse the same prompt each time, and with it all messages that come later. So a
// refused prompt is tried again with less, until the message is found that is refused
// alone:
//
//   - first without the history;
//   - then with the older half of the suspects, again and again. The messages up to a
//     version Good are accepted together, and those up to a version Bad are refused
//     together. The suspects are those between: one of them is the refused one;
//   - in the end with the last suspect alone, if others before it were accepted.
//
// That message is set aside, and the rest is answered by the next attempt of the same
// turn. If none is refused alone, the prompt was too much as a whole: the messages up to
// Good are answered, and the others are the next turn's.
//
// Each of these calls is an attempt like any other, under a lease of its own. Their results
// so far are in the record, so a worker that is lost loses one call, and the search goes on
// from there. An attempt over only a part of the waiting messages is a probe: its text is
// thrown away, because the other messages are to be answered with it. A new message does
// not disturb the search. An edit, a deletion or a requeue ends it: the messages that wait
// then were never tried in this form.
//
// A prompt with more bytes than PromptBytes of the [Policy] is not shown to the model at
// all. It is too much as a whole too, but no search is needed: the next attempt answers as
// many of the first messages, in the order of acceptance, as fit, and one at least.

// maxCalls is how many calls of the model a search takes at most, from the first refusal
// to the answer. They are enough for one refused message among 16. If they are used up
// before any is found, all suspects are set aside. If one was set aside already, the next
// turn searches on among fewer.
const maxCalls = 8

// Search is how far the search for a refused message is, in this turn.
type Search struct {
	Calls    int   `json:"calls,omitempty"` // calls that were refused, or were probes
	Good     int64 `json:"good,omitempty"`  // the messages up to this version are accepted together; 0: none is known to be
	Bad      int64 `json:"bad,omitempty"`   // the messages up to this version are refused together
	FoundOne bool  `json:"aside,omitempty"` // a message was found, and set aside
	Next     Part  `json:"next,omitzero"`   // what the next prompt holds
}

// Part selects the waiting messages that a prompt holds. The zero Part is all of them, and
// the history. It bounds the versions of the messages.
type Part struct {
	NoHistory bool  `json:"no_history,omitempty"`
	After     int64 `json:"after,omitempty"`   // only messages with a greater version
	Through   int64 `json:"through,omitempty"` // only messages with no greater version; 0: no bound
	Answers   int   `json:"answers,omitempty"` // how many messages the text answers; the others are the next turn's. 0: it is a probe, or the prompt holds all
}

// Holds reports whether a message of this version is in the part.
func (p Part) Holds(version int64) bool {
	return p.After < version && (p.Through == 0 || version <= p.Through)
}

// isProbe reports whether the text of the attempt is no reply.
func (p Part) isProbe() bool { return p.Through != 0 && p.Answers == 0 }

// attemptRefused handles a prompt that the model refused. It uses up no attempt: the
// search has a bound of its own.
func (s *step) attemptRefused(e GenerateFailed) {
	s.Tries.LastError = e.Text
	s.notify(KindReplyDiscarded, string(e.Fault))
	s.notify(KindAttemptFailed, string(e.Fault))
	s.Tries.Attempts--
	s.Tries.Outages = 0
	part, search := s.Attempt.Part, &s.Tries.Search
	switch {
	case s.Attempt.Outdated || len(e.Waiting) == 0:
		s.openRetry()
		return
	case part.Through == 0 && !part.NoHistory && e.History:
		search.Calls++
		search.Next = Part{NoHistory: true}
		s.openRetry()
		return
	case part.After != 0:
		search.Calls++
		s.setAsideRefused([]Waiting{{Version: part.Through, Bytes: sizeOf(e.Waiting, part.After, part.Through)}})
		return
	case part.Through == 0:
		search.Bad = e.Waiting[len(e.Waiting)-1].Version
	default:
		search.Bad = part.Through
	}
	if search.Good >= search.Bad { // it was accepted before, and is not any more
		search.Good = 0
	}
	search.Calls++
	s.searchOn(e.Waiting)
}

// probeAccepted notes that the model took a part of what waits.
func (s *step) probeAccepted(e Generated) {
	s.notify(KindReplyDiscarded, string(Refused))
	s.Tries.Attempts--
	part, search := s.Attempt.Part, &s.Tries.Search
	switch {
	case s.Attempt.Outdated || len(e.Waiting) == 0:
		s.openRetry()
		return
	case part.After == 0:
		search.Calls++
		search.Good = part.Through
		s.searchOn(e.Waiting)
		return
	}
	search.Calls++ // the message is taken alone: all of them together are too much
	search.Next = answerUpTo(search.Good, e.Waiting)
	s.openRetry()
}

// searchOn decides what the next prompt holds, given the messages that wait. The last call
// is kept for an answer.
func (s *step) searchOn(waiting []Waiting) {
	search := &s.Tries.Search
	accepted, suspects := split(waiting, search.Good, search.Bad)
	left := maxCalls - search.Calls
	switch {
	case len(suspects) == 0: // they went before the prompt was read, so the store has a newer record than this one
	case len(suspects) == 1 && accepted == 0:
		s.setAsideRefused(suspects) // it was refused alone
		return
	case search.FoundOne && (left <= 0 || left == 1 && accepted == 0): // there is no call left, or nothing to answer with it
		s.searchInNextTurn()
		return
	case left <= 1 && accepted == 0:
		s.setAsideRefused(suspects)
		return
	case left <= 1:
		search.Next = answerUpTo(search.Good, waiting)
	case len(suspects) == 1:
		search.Next = Part{NoHistory: true, After: suspects[0].Version - 1, Through: suspects[0].Version}
	default:
		search.Next = Part{NoHistory: true, Through: suspects[len(suspects)/2-1].Version}
	}
	s.openRetry()
}

// promptTooLarge ends an attempt whose prompt has more bytes than it may. The model was not
// asked, so it uses up no attempt and no call of a search.
func (s *step) promptTooLarge(e GenerateFailed) {
	s.notify(KindReplyDiscarded, string(e.Fault))
	s.Tries.Attempts--
	if !s.Attempt.Outdated && len(e.Waiting) > 0 {
		s.Tries.Search.Next = answerUpTo(lastThatFits(e.Waiting, s.policy.PromptBytes), e.Waiting)
	}
	if s.isEarly() {
		s.openWindow(s.Window.Start)
		return
	}
	s.openRetry()
}

// lastThatFits is the version up to which messages have at most so many bytes together.
func lastThatFits(waiting []Waiting, most int) int64 {
	last, size := waiting[0].Version, 0
	for _, m := range waiting {
		if size += m.Bytes; size > most {
			break
		}
		last = m.Version
	}
	return last
}

// split is how many messages wait up to the version good, and those after it, up to bad.
func split(waiting []Waiting, good, bad int64) (accepted int, suspects []Waiting) {
	for _, m := range waiting {
		switch {
		case m.Version <= good:
			accepted++
		case m.Version <= bad:
			suspects = append(suspects, m)
		}
	}
	return accepted, suspects
}

// answerUpTo has the next attempt answer the messages that are accepted together.
func answerUpTo(good int64, waiting []Waiting) Part {
	accepted, _ := split(waiting, good, good)
	return Part{NoHistory: true, Through: good, Answers: accepted}
}

// setAsideRefused sets these messages aside, and goes on with the rest: with the history
// again, as long as there are calls to find out that it is refused too.
func (s *step) setAsideRefused(messages []Waiting) {
	first, last := messages[0].Version, messages[len(messages)-1].Version
	size := sizeOf(messages, 0, last)
	for _, m := range messages {
		s.Settles = append(s.Settles, Settle{AfterSeq: s.AfterSeq, From: m.Version - 1, Through: m.Version, Status: InputFailed})
	}
	s.addSetAside(SetAside{
		Answered: first - 1, Through: last, AfterSeq: s.AfterSeq, Pending: len(messages), Bytes: size,
		Turn: s.Turn, At: s.now, Since: s.Window.WaitingSince, Refused: true,
	})
	s.Pending, s.PendingBytes = s.Pending-len(messages), s.PendingBytes-size
	search := &s.Tries.Search
	switch left := maxCalls - search.Calls; {
	case s.Pending == 0:
		s.Lease = Lease{}
		s.notify(KindTurnFailed, s.Tries.LastError)
		s.failSetAside(ReplyRefusal)
		return
	case left <= 0:
		s.searchInNextTurn()
		return
	default:
		*search = Search{Calls: search.Calls, Good: search.Good, FoundOne: true, Next: Part{NoHistory: left == 1}}
	}
	s.openRetry()
}

// searchInNextTurn ends a turn that has set messages aside, and has no call left: the next
// one searches on among fewer.
func (s *step) searchInNextTurn() {
	s.endTurn(s.Turn, EndedFailed)
	s.Window.QuietUntil = min(s.Window.QuietUntil, s.now)
	s.openTurn(s.now)
}

// endSearch ends the search because a message that waits was edited or deleted, or
// because messages that were set aside wait again. The result of an attempt under way says
// nothing about the messages that wait now.
func (s *step) endSearch() {
	s.Tries.Search = Search{}
	s.Attempt.Outdated = s.Phase == Generating
}

// answersPart turns an attempt that answers a part into one that has seen only that part:
// the other messages count as newer, and are the next turn's. They do not overtake its
// reply, since they do not fit into one prompt with its messages: see overtaken.
func (s *step) answersPart(waiting []Waiting) {
	part := s.Attempt.Part
	if part.Answers == 0 {
		return
	}
	s.Attempt.Newer, s.Attempt.NewerSince = s.Pending-part.Answers, s.Window.WaitingSince
	s.Attempt.NewerBytes = s.PendingBytes - sizeOf(waiting, 0, part.Through)
	s.Attempt.Through, s.Attempt.ThroughSeq = part.Through, s.AfterSeq
}

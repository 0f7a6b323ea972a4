package turn

import "slices"

// maxTroubles bounds the replies that are remembered as needing somebody.
const maxTroubles = 8

// Trouble is a reply that ended, and is not certain to have reached the person
// as a whole. What it answers counts as answered, so nothing more happens by
// itself: an operator sends it again, or marks it as sent.
type Trouble struct {
	Seq    int64  `json:"seq"` // of its entry in the transcript
	Turn   int64  `json:"turn"`
	Status Status `json:"status"` // unknown, undelivered or partial
	At     Time   `json:"at"`
	Parts  int    `json:"parts"`
	Done   int    `json:"done,omitempty"`  // how many of them are certainly delivered
	Again  bool   `json:"again,omitempty"` // to be sent again as soon as nothing else is under way
}

// NeedsAttention reports whether somebody should look at the conversation: its turn
// was given up, or has lost a worker, inputs were set aside, or a reply of it ended in
// trouble.
func (r Record) NeedsAttention() bool {
	return r.Phase == Failed || r.Aside != nil || len(r.Troubles) > 0 || r.Tries.Lost.Count > 0 || r.Reply != nil && r.Reply.Lost.Count > 0
}

// troubled remembers a reply that ended without being certainly delivered. The
// text that stands in for a failed turn's reply is none: its turn is failed.
func (s *step) troubled(reply Reply, status Status) {
	if reply.Kind == ReplyFallback || status == ReplySent || status == ReplyNone {
		return
	}
	s.Troubles = append(s.Troubles, Trouble{
		Seq: reply.Seq, Turn: reply.Turn, Status: status, At: s.now, Parts: reply.Parts, Done: reply.Done,
	})
	if len(s.Troubles) <= maxTroubles {
		return
	}
	// The oldest has to go, but none that an operator was told would be sent again.
	i := slices.IndexFunc(s.Troubles, func(t Trouble) bool { return !t.Again })
	s.Troubles = slices.Delete(s.Troubles, i, i+1)
}

func (s *step) trouble(turn int64) int {
	return slices.IndexFunc(s.Troubles, func(t Trouble) bool { return t.Turn == turn })
}

// resend asks for a reply to be sent again.
func (s *step) resend(turn int64) {
	i := s.trouble(turn)
	if i < 0 {
		s.ignore(NoTrouble)
		return
	}
	if t := &s.Troubles[i]; !t.Again {
		s.Changed, t.Again = true, true
		s.tellTrouble(ReplyResent, *t)
	}
}

// markSent ends a trouble: somebody knows better, or does not mind.
func (s *step) markSent(turn int64) {
	i := s.trouble(turn)
	if i < 0 {
		s.ignore(NoTrouble)
		return
	}
	s.Changed = true
	t := s.Troubles[i]
	s.Marks = append(s.Marks, Mark{Seq: t.Seq, Status: ReplySent, Reason: ByOperator})
	s.Troubles = slices.Delete(s.Troubles, i, i+1)
	s.tellTrouble(ReplyMarked, t)
}

func (s *step) tellTrouble(kind Kind, t Trouble) {
	s.tell(kind, string(t.Status))
	n := &s.Notices[len(s.Notices)-1]
	n.Turn, n.Seq, n.Part, n.Parts = t.Turn, t.Seq, t.Done, t.Parts
}

// sendAgain starts with a reply that is to be sent again, once nothing else is
// under way. The window, or the failure, that it interrupts is still in the
// record, and goes on after it: see restAfterAgain.
func (s *step) sendAgain() {
	if s.Phase == Generating || s.Phase == Sending {
		return
	}
	i := slices.IndexFunc(s.Troubles, func(t Trouble) bool { return t.Again })
	if i < 0 {
		return
	}
	t := s.Troubles[i]
	s.Troubles = slices.Delete(s.Troubles, i, i+1)
	s.Phase = Sending
	s.Attempt.Through, s.Window.Media = s.Version, 0
	s.Reply = &Reply{
		Turn: t.Turn, Seq: t.Seq, Through: s.Version, From: s.Answered, AfterSeq: s.AfterSeq, Parts: t.Parts, Done: t.Done,
		Kind: ReplyAgain, Unsure: t.Status == ReplyUnknown, Since: s.now, RetryAt: s.now,
	}
	s.Marks = append(s.Marks, Mark{Seq: t.Seq, Status: ReplyCommitted, Reason: ByOperator})
}

// restAfterAgain goes back to what the reply interrupted. Only a window has a
// start.
func (s *step) restAfterAgain() {
	switch {
	case len(s.Queue) > 0:
		s.rest()
	case s.Window.Start != 0 && s.Pending > 0:
		s.window(s.Window.Start)
	default:
		s.restAfterFallback()
	}
}

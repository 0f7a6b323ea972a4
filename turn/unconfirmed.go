package turn

import "slices"

// maxUnconfirmed bounds the replies that a record remembers as unconfirmed.
const maxUnconfirmed = 8

// Unconfirmed is a reply that ended, and is not certain to have reached the
// person as a whole: the outcome of a send is unknown, a part was refused for
// good, the channel reported a failure later, or a human took over in the middle. What it answers counts as answered,
// so nothing more happens by itself. An operator looks at it, and has it sent
// again ([Resend]) or marks it as sent ([MarkSent]).
type Unconfirmed struct {
	Seq    int64  `json:"seq"` // of its entry in the transcript
	Turn   int64  `json:"turn"`
	Status Status `json:"status"` // unknown, undelivered or partial
	At     Time   `json:"at"`
	Parts  int    `json:"parts"`
	Done   int    `json:"done,omitempty"`   // how many of them are certainly delivered
	Failed int    `json:"failed,omitempty"` // the first of them that its channel reported as failed, from 1
	Reason string `json:"reason,omitempty"` // why it did not arrive as a whole; "" where nobody knows
	Resend bool   `json:"resend,omitempty"` // to be sent again as soon as nothing else is under way
}

// Next is how many parts come before the first one that is to be sent again.
func (u Unconfirmed) Next() int {
	if u.Failed > 0 {
		return min(u.Done, u.Failed-1)
	}
	return u.Done
}

// takenParts is how many parts the channel may have taken.
func (u Unconfirmed) takenParts() int {
	if u.Status == ReplyPartial {
		return u.Done
	}
	return min(u.Done+1, u.Parts)
}

// NeedsAttention reports whether somebody should look at the conversation: its turn
// failed or has lost a worker, messages were set aside, or a reply of it is
// unconfirmed.
func (r Record) NeedsAttention() bool {
	lost := r.Tries.Lost.Count > 0 || r.Reply != nil && r.Reply.Lost.Count > 0
	return r.Phase == Failed || r.SetAside != nil || len(r.Unconfirmed) > 0 || lost
}

// addUnconfirmed remembers a reply that ended without being certainly delivered.
// A text that stood in is not remembered: its turn is failed, which is seen anyway. Nor is
// a reply that somebody stopped on purpose.
func (s *step) addUnconfirmed(reply Reply, status Status, reason string) {
	if end := ending(status, reason); reply.standsIn() || end != EndedUndelivered {
		return
	}
	if status == ReplyUnknown {
		reason = "" // the status says it
	}
	s.Unconfirmed = append(s.Unconfirmed, Unconfirmed{
		Seq: reply.Seq, Turn: reply.Turn, Status: status, At: s.now, Parts: reply.Parts, Done: reply.Done,
		Failed: min(reply.Receipts.failed(), reply.Parts), Reason: reason,
	})
	if len(s.Unconfirmed) <= maxUnconfirmed {
		return
	}
	// The oldest has to go, but none that an operator was told would be sent again.
	if i := slices.IndexFunc(s.Unconfirmed, func(u Unconfirmed) bool { return !u.Resend }); i >= 0 {
		s.Unconfirmed = slices.Delete(s.Unconfirmed, i, i+1)
	}
}

func (s *step) unconfirmedIndex(turn int64) int {
	return slices.IndexFunc(s.Unconfirmed, func(u Unconfirmed) bool { return u.Turn == turn })
}

// askToResend notes that an operator wants a reply sent again.
func (s *step) askToResend(turn int64) {
	i := s.unconfirmedIndex(turn)
	if i < 0 {
		s.ignore(NotUnconfirmed)
		return
	}
	if u := &s.Unconfirmed[i]; !u.Resend {
		s.Changed, u.Resend = true, true
		s.notifyUnconfirmed(KindReplyResent, *u)
	}
}

// markSent takes an operator's word that a reply arrived, or that nobody needs to
// care.
func (s *step) markSent(turn int64) {
	i := s.unconfirmedIndex(turn)
	if i < 0 {
		s.ignore(NotUnconfirmed)
		return
	}
	s.Changed = true
	u := s.Unconfirmed[i]
	s.Marks = append(s.Marks, Mark{Seq: u.Seq, Status: ReplySent, Reason: ByOperator})
	s.Unconfirmed = slices.Delete(s.Unconfirmed, i, i+1)
	s.notifyUnconfirmed(KindReplyMarked, u)
}

func (s *step) notifyUnconfirmed(kind Kind, u Unconfirmed) {
	s.notify(kind, string(u.Status))
	n := &s.Notices[len(s.Notices)-1]
	n.Turn, n.Seq, n.Part, n.Parts = u.Turn, u.Seq, u.Next(), u.Parts
}

// startBeside begins to send a reply beside the turns, or one that an operator wants
// sent again, once nothing else is under way. It runs after every step. The window, or
// the failure, that it interrupts stays in the record and goes on afterwards: see
// returnToInterrupted. What comes meanwhile is newer.
func (s *step) startBeside() {
	switch {
	case s.working():
	case len(s.Queue) > 0:
		s.sendQueued()
		s.interrupt()
	default:
		s.startResend()
	}
}

// interrupt makes all input from now on newer than the reply. It saves the version that
// attempts had seen in Reply.Through; returnToInterrupted restores it.
func (s *step) interrupt() {
	s.Reply.Through, s.Attempt.Through = s.Attempt.Through, s.Version
}

// seenThrough is the version up to which an attempt has seen what waits.
func (s *step) seenThrough() int64 {
	if s.windowInterrupted() {
		return s.Reply.Through
	}
	return s.Attempt.Through
}

// startResend begins to send a reply that an operator asked for.
func (s *step) startResend() {
	i := slices.IndexFunc(s.Unconfirmed, func(u Unconfirmed) bool { return u.Resend })
	if i < 0 {
		return
	}
	u := s.Unconfirmed[i]
	s.Unconfirmed = slices.Delete(s.Unconfirmed, i, i+1)
	s.Phase = Sending
	s.Reply = &Reply{
		Turn: u.Turn, Seq: u.Seq, From: s.Answered, AfterSeq: s.AfterSeq, Parts: u.Parts, Done: u.Next(),
		Kind: ReplyResend, Unsure: u.Status == ReplyUnknown, Fresh: u.Status == ReplyFailed || u.Failed > 0, Since: s.now, RetryAt: s.now,
	}
	s.interrupt()
	s.Marks = append(s.Marks, Mark{Seq: u.Seq, Status: ReplyCommitted, Reason: ByOperator})
}

// returnToInterrupted goes back to what the reply beside the turns interrupted. Only a
// window has a start; one whose turn has ended meanwhile is gone: see endOpenTurn.
func (s *step) returnToInterrupted(reply Reply) {
	if s.Window.Start != 0 {
		s.Attempt.Through = reply.Through
		s.openWindow(s.Window.Start)
		return
	}
	s.returnToFailure()
}

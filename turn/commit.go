package turn

// generated is the final check, and it is the commit itself: the record that
// it returns is written by a compare-and-swap against the record that it read,
// so no input can slip in between. That nothing is left to answer, or that a
// human took over, has fenced the attempt before.
func (s *step) generated(e Generated) {
	if s.superseded() {
		s.discard()
		return
	}
	s.commit(e.Parts)
}

// interrupted ends an attempt whose holder learned of newer input.
func (s *step) interrupted() {
	if s.superseded() {
		s.discard()
		return
	}
	s.handBack()
}

// discard throws the attempt away. Its inputs stay pending, and a new window
// starts now.
func (s *step) discard() {
	s.Outcome, s.Reason = Discarded, Superseded
	s.tell(ReplyDiscardedKind, Superseded)
	s.Tries.Discards++
	s.Tries.Attempts--
	s.window(s.now)
}

// commit makes the attempt's reply the conversation's. Under a pause, which
// only a sealed attempt outlives, it is kept until the conversation is resumed.
func (s *step) commit(parts int) {
	s.Outcome = Committed
	s.Seq++
	s.AppendReply = s.Seq
	s.Reply = &Reply{
		Turn: s.Turn, Seq: s.Seq, Through: s.Attempt.Through, From: s.Answered,
		AfterSeq: s.AfterSeq, ThroughSeq: s.Attempt.ThroughSeq,
		Parts: parts, Sealed: s.Attempt.Sealed, Late: s.stale(), Since: s.now,
	}
	s.Phase = Sending
	s.Tries.LastError = ""
	s.tellReply(ReplyCommittedKind, s.Reply, "")
	s.Notices[len(s.Notices)-1].Late = s.Reply.Late
	switch {
	case parts == 0:
		s.finish(ReplyNone, "")
	case s.OnHold:
		s.Lease = Lease{}
		s.Reply.RetryAt = s.now
	default:
		s.proceed()
	}
}

// tellReply adds a notice about a reply.
func (s *step) tellReply(kind Kind, r *Reply, reason string) {
	s.tell(kind, reason)
	n := &s.Notices[len(s.Notices)-1]
	n.Turn, n.Seq, n.Through, n.Part, n.Parts = r.Turn, r.Seq, r.Through, r.Done, r.Parts
}

// tellPart adds a notice about the part of a reply with this number, from 1.
func (s *step) tellPart(kind Kind, reason string, number int) {
	s.tellReply(kind, s.Reply, reason)
	s.Notices[len(s.Notices)-1].Part = number
}

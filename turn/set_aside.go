package turn

// SetAside is the quarantine of a conversation: messages that cost every worker
// that ran them alone its life, and messages that the model refuses. They must neither be
// tried for ever nor hold up the messages that come after them, and they must not be
// lost.
//
// In the transcript each of them has the status InputFailed; its id stays
// claimed. The record keeps what is needed to find them all again: the range of
// versions in which they lie, and how many they are. Later turns may set aside
// more; the range grows, and what else lies in it has another status.
//
// The next messages are answered without them, and they are no part of the
// history. People see them until one of these ends it:
//   - a requeue: all of them wait again, with whatever else waits;
//   - a human who answers what waits, or resumes without an answer: they are dismissed,
//     which is closed, and never part of a history either;
//   - their authors, who delete the last of them. An edit changes what a requeue
//     brings back.
type SetAside struct {
	Answered int64 `json:"answered"`          // their versions are greater
	Through  int64 `json:"through"`           // and not greater than this
	AfterSeq int64 `json:"after_seq"`         // their sequences are greater
	Pending  int   `json:"pending"`           // how many messages they are
	Bytes    int   `json:"bytes,omitempty"`   // their size: see waiting_bytes.go
	Turn     int64 `json:"turn"`              // the last turn that set any aside
	At       Time  `json:"at"`                // when it did
	Since    Time  `json:"since"`             // when the first of them was accepted
	Refused  bool  `json:"refused,omitempty"` // the last ones because the model refused them
}

// LastTurnSetAside reports whether the last turn ended by setting its messages
// aside.
func (r Record) LastTurnSetAside() bool { return r.SetAside != nil && r.SetAside.Turn == r.Turn }

// setAsideInputs ends a turn whose lone attempts cost as many workers their lives as
// the policy allows. What came later is answered next.
func (s *step) setAsideInputs() {
	s.Settles = append(s.Settles, Settle{AfterSeq: s.AfterSeq, From: s.Answered, Through: s.Attempt.Through, Status: InputFailed})
	s.addSetAside(SetAside{
		Answered: s.Answered, Through: s.Attempt.Through, AfterSeq: s.AfterSeq, Pending: s.Pending - s.Attempt.Newer,
		Bytes: s.PendingBytes - s.Attempt.NewerBytes, Turn: s.Turn, At: s.now, Since: s.Window.WaitingSince,
	})
	s.Lease = Lease{}
	s.Answered, s.Pending, s.PendingBytes = s.Attempt.Through, s.Attempt.Newer, s.Attempt.NewerBytes
	s.advanceAfterSeq(s.Attempt.ThroughSeq)
	s.notify(KindTurnFailed, s.Tries.LastError)
	if s.Pending > 0 {
		s.endTurn(s.Turn, EndedFailed)
		s.startNext()
		return
	}
	s.failSetAside(ReplyFallback)
}

// failSetAside ends a turn all of whose messages were set aside.
func (s *step) failSetAside(standIn string) {
	s.Answered, s.Attempt.Through, s.AfterSeq = s.Version, s.Version, s.Seq
	s.Phase = Failed
	s.clearTurn()
	s.endFailed(EndedFailed, standIn)
}

// addSetAside adds messages to those that were set aside before. There may be
// none to add: a message that was edited during the attempt has a newer version,
// and waits for another try.
func (s *step) addSetAside(more SetAside) {
	if more.Pending == 0 {
		return
	}
	if was := s.SetAside; was != nil {
		more.Answered, more.AfterSeq = min(was.Answered, more.Answered), min(was.AfterSeq, more.AfterSeq)
		more.Through = max(was.Through, more.Through)
		more.Pending, more.Bytes = was.Pending+more.Pending, was.Bytes+more.Bytes
		more.Since = earliest(was.Since, more.Since)
	}
	s.SetAside = &more
}

// bringBackSetAside makes them wait again.
func (s *step) bringBackSetAside() {
	a := s.SetAside
	if a == nil {
		return
	}
	s.endSearch()
	s.Settles = append(s.Settles, s.reopenSetAside())
	s.Answered, s.AfterSeq = min(s.Answered, a.Answered), min(s.AfterSeq, a.AfterSeq)
	s.Pending, s.PendingBytes = s.Pending+a.Pending, s.PendingBytes+a.Bytes
	s.Window.WaitingSince = earliest(s.Window.WaitingSince, a.Since)
	s.SetAside = nil
	s.noDelaySign()
}

// closeSetAside dismisses them.
func (s *step) closeSetAside() {
	if s.SetAside == nil {
		return
	}
	reopen := s.reopenSetAside()
	closed := reopen
	closed.Status, closed.Reopen = InputDismissed, false
	s.Settles = append(s.Settles, reopen, closed)
	s.SetAside = nil
}

func (s *step) reopenSetAside() Settle {
	a := s.SetAside
	return Settle{AfterSeq: a.AfterSeq, From: a.Answered, Through: a.Through, Status: InputPending, Reopen: true}
}

// changeSetAside is the edit or the deletion of one of them. Once the last one
// is deleted, nothing needs attention any more, and a failed turn is over.
func (s *step) changeSetAside(e SetAsideChanged) {
	a := s.SetAside
	if a == nil || e.Target <= a.Answered || e.Target > a.Through {
		s.ignore(NothingWaits)
		return
	}
	if !s.fits(e.Bytes - e.Had) {
		return
	}
	s.Changed, s.Outcome = true, Queued
	s.notifyNoInput(e.Deleted, e.Seq)
	a.Bytes += e.Bytes - e.Had
	if !e.Deleted {
		return
	}
	if a.Pending--; a.Pending > 0 {
		return
	}
	if s.Pending == 0 {
		s.Outcome = Emptied
	}
	failed := s.Phase == Failed && s.Pending == 0
	s.SetAside = nil
	if failed {
		s.Tries.LastError = ""
		s.startNext()
	}
}

// earliest is the first of two moments that are set.
func earliest(a, b Time) Time {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

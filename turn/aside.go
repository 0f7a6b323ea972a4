package turn

import "cmp"

// Aside remembers the inputs that were set aside because they brought down
// every worker that took them, so that somebody hears of them and a requeue can
// bring them back. It ends with that, or with a human who answers or closes what
// waits; the next messages are answered without them.
type Aside struct {
	Answered int64 `json:"answered"`
	Through  int64 `json:"through"`
	AfterSeq int64 `json:"after_seq"`
	Pending  int   `json:"pending"`         // how many messages they are
	Turn     int64 `json:"turn,omitempty"`  // the last turn that failed so
	At       Time  `json:"at,omitempty"`    // when it did
	Since    Time  `json:"since,omitempty"` // when the first of them was accepted
}

// FailedAside reports whether the last turn failed because its workers were lost.
// The program before wrote no turn, and kept nothing of earlier ones.
func (r Record) FailedAside() bool {
	return r.Aside != nil && cmp.Or(r.Aside.Turn, r.Turn) == r.Turn
}

// setAside settles inputs that cost every worker its life, so that the next
// ones are answered. A requeue brings them back, with all that were set aside
// before.
func (s *step) setAside() {
	s.Settles = append(s.Settles, Settle{AfterSeq: s.AfterSeq, From: s.Answered, Through: s.Attempt.Through, Status: InputFailed})
	s.remember(Aside{
		Answered: s.Answered, Through: s.Attempt.Through, AfterSeq: s.AfterSeq, Pending: s.Pending - s.Attempt.Newer,
		Turn: s.Turn, At: s.now, Since: s.Window.WaitingSince,
	})
	s.Lease = Lease{}
	s.Answered, s.Pending = s.Attempt.Through, s.Attempt.Newer
	s.advance(s.Attempt.ThroughSeq)
	s.tell(TurnFailed, s.Tries.LastError)
	if s.Pending > 0 {
		s.rest()
		return
	}
	s.Answered, s.Attempt.Through = s.Version, s.Version
	s.Phase = Failed
	s.clearWindow()
	s.fallback()
}

// remember adds to what was set aside before. It may be nothing: where each message
// was edited since, they all wait for another try.
func (s *step) remember(aside Aside) {
	if aside.Pending == 0 {
		return
	}
	if was := s.Aside; was != nil {
		aside.Answered, aside.AfterSeq = min(was.Answered, aside.Answered), min(was.AfterSeq, aside.AfterSeq)
		aside.Pending, aside.Since = aside.Pending+was.Pending, earlier(was.Since, aside.Since)
	}
	s.Aside = &aside
}

// bringBack makes what was set aside wait again.
func (s *step) bringBack() {
	a := s.Aside
	if a == nil {
		return
	}
	s.Settles = append(s.Settles, s.reopened())
	s.Answered, s.AfterSeq = a.Answered, a.AfterSeq
	s.Pending += a.Pending
	s.Window.WaitingSince = earlier(s.Window.WaitingSince, a.Since)
	s.Aside = nil
}

// closeAside closes what was set aside, without a reply.
func (s *step) closeAside() {
	if s.Aside == nil {
		return
	}
	reopened := s.reopened()
	closed := reopened
	closed.Status, closed.Reopen = InputClosed, false
	s.Settles = append(s.Settles, reopened, closed)
	s.Aside = nil
}

func (s *step) reopened() Settle {
	a := s.Aside
	return Settle{AfterSeq: a.AfterSeq, From: a.Answered, Through: a.Through, Status: InputPending, Reopen: true}
}

// touch is a second thought about a message that was set aside. With the last of
// them the failure of their turn is over. Of one that the program before forgot, which
// nothing brings back, the author may still have the text removed.
func (s *step) touch(e Touch) {
	a := s.Aside
	known := a != nil && a.Answered < e.Target && e.Target <= a.Through
	if !known && !e.Deleted {
		s.ignore(AlreadyAnswered)
		return
	}
	s.Changed, s.Outcome = true, Queued
	if !known || !e.Deleted {
		return
	}
	if s.Aside.Pending--; s.Aside.Pending > 0 {
		return
	}
	failed := s.Phase == Failed && s.Pending == 0
	s.Aside = nil
	if failed {
		s.Tries.LastError = ""
		s.rest()
	}
}

// earlier is the first of two moments that are set.
func earlier(a, b Time) Time {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

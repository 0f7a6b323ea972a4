package turn

// message accepts a new message.
func (s *step) message(e Message) {
	s.Changed, s.AppendInput = true, true
	s.Seq++
	s.Pending++
	if e.Media {
		s.expectMedia()
	}
	quiet := e.Quiet
	if quiet == 0 {
		quiet = s.p.Debounce
	}
	s.count("", s.Seq)
	s.accept(s.now.Add(quiet), true)
}

// edit accepts a change of a message that still waits for its answer. One
// that completes an attachment does not restart the quiet time: the person
// wrote nothing.
func (s *step) edit(e Edit) {
	if e.Target <= s.Answered {
		s.ignore(AlreadyAnswered)
		return
	}
	s.Changed = true
	seen := e.Target <= s.Attempt.Through
	if e.HadMedia && !seen {
		s.Window.Media = max(s.Window.Media-1, 0)
	}
	if e.HasMedia {
		s.expectMedia()
	}
	s.Attempt.Edited = s.Attempt.Edited || seen && s.busy()
	quiet := s.now.Add(s.p.Debounce)
	if e.HadMedia && !e.HasMedia {
		quiet = s.Window.QuietUntil
	}
	s.count(WasEdited, e.Seq)
	s.accept(quiet, seen)
}

// delete accepts the deletion of a message that still waits for its answer.
// Where nothing else waits, there is nothing left to answer.
func (s *step) delete(e Delete) {
	if e.Target <= s.Answered {
		s.ignore(AlreadyAnswered)
		return
	}
	s.Changed = true
	s.Pending--
	if e.Target > s.Attempt.Through {
		s.forget(e.HadMedia)
	}
	s.count(WasDeleted, e.Seq)
	if s.Pending > 0 && !s.emptied() || s.answering() {
		s.accept(s.now.Add(s.p.Debounce), false)
		return
	}
	s.Window.QuietUntil = s.now.Add(s.p.Debounce)
	s.drop(WasDeleted)
	s.rest()
}

// emptied reports whether nothing is left of what the attempt holds: all that
// waits came later.
func (s *step) emptied() bool {
	return s.Phase == Generating && s.Pending == s.Attempt.Newer && !s.Attempt.Edited
}

// forget takes a message that no attempt has seen out of the counts.
func (s *step) forget(hadMedia bool) {
	if hadMedia {
		s.Window.Media = max(s.Window.Media-1, 0)
	}
	if !s.busy() {
		return
	}
	s.Attempt.Newer--
	if s.Attempt.Newer == 0 {
		s.Attempt.NewerSince = 0
	}
}

// answering reports whether work is under way that the deletion of all that
// waits must not end: a sealed attempt, or a reply being sent.
func (s *step) answering() bool {
	return s.Phase == Sending || s.Phase == Generating && s.Attempt.Sealed
}

// busy reports whether somebody works on inputs that are not settled yet.
func (s *step) busy() bool { return s.Phase == Generating || s.Phase == Sending }

func (s *step) expectMedia() {
	s.Window.Media++
	s.Window.MediaUntil = max(s.Window.MediaUntil, s.now.Add(s.p.MediaWait))
}

// accept takes an input in that was counted. newer tells whether it makes one
// more message that the work under way has not seen.
func (s *step) accept(quietUntil Time, newer bool) {
	s.Window.QuietUntil = quietUntil
	switch {
	case s.busy():
		if newer {
			s.newer()
		}
		s.overtake()
	case s.Phase == Collecting:
		s.schedule()
	default:
		if s.Window.WaitingSince == 0 {
			s.Window.WaitingSince = s.now
		}
		accepted := len(s.Notices) - 1
		s.open(s.now)
		s.Notices[accepted].Turn = s.Turn // the one that it begins
	}
}

// count makes it an input: the version grows.
func (s *step) count(reason string, seq int64) {
	s.Version++
	s.Outcome = Queued
	if s.OnHold {
		s.Outcome = OnPause
	}
	s.tell(MessageAccepted, reason)
	s.Notices[len(s.Notices)-1].Seq = seq
}

func (s *step) newer() {
	s.Attempt.Newer++
	if s.Attempt.Newer == 1 {
		s.Attempt.NewerSince = s.now
	}
}

// overtake is what a newer input does to work under way.
func (s *step) overtake() {
	switch {
	case s.Phase == Generating:
		s.cancelIfSuperseded()
	case s.Lease.Nonce == "" && s.mayWithdraw():
		s.withdraw()
	}
}

// cancelIfSuperseded tells the holder of an attempt that need not go on.
func (s *step) cancelIfSuperseded() {
	if s.superseded() && s.p.mode() == Interrupt {
		s.do(Cancel{Nonce: s.Lease.Nonce, Reason: Superseded})
	}
}

// superseded reports whether the attempt can't be committed any more because
// newer input exists. The bound: a sealed attempt, and one that follows
// MaxDiscards discards, is committed for what it saw.
func (s *step) superseded() bool {
	bound := s.Attempt.Sealed || s.p.mode() == Finish || s.Tries.Discards >= s.p.MaxDiscards
	return s.stale() && !bound
}

func (p Policy) mode() Mode {
	if p.OnNewInput == "" {
		return Interrupt
	}
	return p.OnNewInput
}

// typing keeps the window open while the person writes, within the hard cap.
func (s *step) typing(e Typing) {
	if s.Phase != Collecting {
		s.ignore(NothingWaits)
		return
	}
	d := e.For
	if d == 0 {
		d = s.p.Debounce
	}
	before := s.Window.QuietUntil
	s.Window.QuietUntil = max(before, s.now.Add(d))
	s.schedule()
	s.Changed = s.Window.QuietUntil != before
}

// open starts the window of a new turn. start is what the hard cap counts
// from.
func (s *step) open(start Time) {
	s.Turn++
	s.Tries.Discards, s.Tries.Runs, s.Tries.Attempts, s.Tries.Lost, s.Tries.Outages, s.Window.NotBefore = 0, 0, 0, Lost{}, 0, 0
	s.window(start)
}

// window starts a window, within a turn or for a new one.
func (s *step) window(start Time) {
	s.Phase = Collecting
	s.Lease = Lease{}
	s.Window.Start = start
	s.Attempt.Newer, s.Attempt.NewerSince, s.Attempt.Edited, s.Attempt.Sealed = 0, 0, false, false
	s.schedule()
}

// schedule computes when the window ends: a quiet time after the last input,
// but no later than the hard cap; where an attachment is announced, no sooner
// than that is there, but no later than its own cap; and never within a
// back-off.
func (s *step) schedule() {
	capped := s.Window.Start.Add(s.p.MaxWait)
	due := min(s.Window.QuietUntil, capped)
	if s.Window.Media > 0 {
		due = max(due, min(s.Window.MediaUntil, s.Window.Start.Add(max(s.p.MaxWait, s.p.MediaWait))))
	}
	s.Window.Due = max(due, s.Window.Start, s.Window.NotBefore)
	if s.OnHold {
		return
	}
	reason := ""
	if s.Window.Due == capped && s.Window.QuietUntil > capped {
		reason = AtCap
	}
	s.tell(TurnScheduled, reason)
	s.Notices[len(s.Notices)-1].Due = s.Window.Due
}

// rest ends a turn, or what is left of it, and goes to whatever comes next:
// a reply that a person wrote, the inputs that wait, or nothing.
func (s *step) rest() {
	s.Lease = Lease{}
	switch {
	case len(s.Queue) > 0:
		next := s.Queue[0]
		next.Since, next.RetryAt = s.now, s.now
		s.Reply, s.Queue = &next, append([]Reply(nil), s.Queue[1:]...)
		s.Attempt.Through, s.Phase = next.Through, Sending
	case s.Pending > 0:
		start := s.Attempt.NewerSince
		if start == 0 {
			start = s.now
		}
		s.Window.WaitingSince = start
		s.open(start)
	default:
		s.Phase = Idle
		s.Answered = s.Version
		s.AfterSeq = s.Seq
		s.clearWindow()
	}
}

// clearWindow forgets what only a window or an attempt needs.
func (s *step) clearWindow() {
	s.Window.WaitingSince, s.Window.Start, s.Window.QuietUntil, s.Window.MediaUntil, s.Window.NotBefore, s.Window.Due = 0, 0, 0, 0, 0, 0
	s.Window.Media, s.Attempt.Newer, s.Attempt.NewerSince, s.Attempt.Edited, s.Attempt.Sealed = 0, 0, 0, false, false
	s.Tries.Discards, s.Tries.Runs, s.Tries.Attempts, s.Tries.Lost, s.Tries.Outages = 0, 0, 0, Lost{}, 0
}

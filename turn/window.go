package turn

// The debounce window.
//
// An input is a message, its edit or its deletion: whatever changes what should be
// answered. The first input of an idle conversation opens a window. Each further
// input moves the end of the window to its own quiet time, so that a burst is
// answered once, when the person has stopped writing. The hard cap answers a person
// who does not stop. It counts from the first waiting input, through all attempts of
// the turn: see hardCap.
//
// While an attempt runs or a reply is sent there is no window, unless the attempt was
// started early: see early_start.go. An input that
// arrives then is only counted (Newer), and the work under way decides at its end
// what becomes of it: a discard opens a new window over everything, a commit opens
// one for the inputs that the reply has not seen.

// acceptMessage accepts a new message. Its quiet time starts now.
func (s *step) acceptMessage(e Message) {
	if s.neverAnswered(e) {
		return
	}
	if e.Bot { // words are for people
		e.Closes = ""
	}
	if e.Closes == "" && !s.fits(e.Bytes) {
		return
	}
	s.Changed, s.AppendInput = true, true
	s.endSession()
	s.noteSaid()
	s.Names.Address = e.Address
	s.dropEarly(e.Early)
	s.Seq++
	s.Pending++
	s.PendingBytes += e.Bytes
	if e.Closes != "" {
		s.closeByWord(e)
		return
	}
	if e.Media {
		s.expectMedia()
	}
	quiet := e.Quiet
	if quiet == 0 {
		quiet = s.policy.Debounce
	}
	s.countInput("", s.Seq)
	s.noteAuthor(e.Bot)
	s.inputAccepted(s.now.Add(quiet), true, e.Bytes)
}

// editMessage accepts a change of a message that still waits for its answer. One
// that completes an attachment does not restart the quiet time: the person wrote
// nothing.
func (s *step) editMessage(e Edit) {
	if e.Target <= s.Answered {
		s.ignore(NothingWaits)
		return
	}
	if !s.fits(e.Bytes - e.Had) {
		return
	}
	s.Changed = true
	s.endSearch()
	s.forgetStopped(e.Target)
	seen := e.Target <= s.Attempt.Through
	s.PendingBytes += e.Bytes - e.Had
	if s.working() && !seen {
		s.Attempt.NewerBytes += e.Bytes - e.Had
	}
	if e.HadMedia && e.Target > s.seenThrough() {
		s.Window.Media = max(s.Window.Media-1, 0)
	}
	if e.HasMedia {
		s.expectMedia()
	}
	s.Attempt.Edited = s.Attempt.Edited || seen && s.working()
	quiet := s.now.Add(s.policy.Debounce)
	if e.HadMedia && !e.HasMedia {
		quiet = s.Window.QuietUntil
	}
	s.countInput(WasEdited, e.Seq)
	s.noteAuthor(e.Bot)
	s.inputAccepted(quiet, seen, e.Bytes)
}

// deleteMessage accepts the deletion of a message that still waits for its
// answer. Where nothing else waits, there is nothing left to answer, and the turn
// ends.
func (s *step) deleteMessage(e Delete) {
	if e.Target <= s.Answered {
		s.ignore(NothingWaits)
		return
	}
	s.Changed = true
	s.endSearch()
	s.forgetStopped(e.Target)
	s.uncountMessage(Waiting{Version: e.Target, Media: e.HadMedia, Bytes: e.Had})
	s.countInput(WasDeleted, e.Seq)
	if s.Pending == 0 {
		s.Outcome = Emptied
		if s.windowInterrupted() {
			s.endOpenTurn(EndedDeleted)
		}
	}
	if s.Pending > 0 && !s.promptIsEmpty() || s.mustGoOn() {
		s.inputAccepted(s.now.Add(s.policy.Debounce), false, 0)
		return
	}
	s.Window.QuietUntil = s.now.Add(s.policy.Debounce)
	s.cancelAttempt(WasDeleted)
	s.endOpenTurn(EndedDeleted)
	s.startNext()
}

// changeSettled notes the change of a message for whose answer nobody waits.
func (s *step) changeSettled(e SettledChanged) {
	s.Changed, s.Outcome = true, Recorded
	if e.Deleted {
		s.Outcome = Erased
	}
	s.notifyNoInput(e.Deleted, e.Seq)
}

// notifyNoInput adds a notice about the edit or the deletion of a message that waits for
// no answer. No turn has it.
func (s *step) notifyNoInput(deleted bool, seq int64) {
	kind := KindMessageRecorded
	if deleted {
		kind = KindMessageErased
	}
	s.Notices = append(s.Notices, Notice{Kind: kind, At: s.now, Version: s.Version, Seq: seq})
}

// closeByWord accepts a reset word, which is settled together with all that waits. It
// opens no turn.
func (s *step) closeByWord(e Message) {
	if s.working() {
		s.countNewer(e.Bytes)
	}
	s.countInput("", s.Seq)
	s.noteAuthor(false)
	s.Outcome = Closed
	s.recallReply(e.Closes)
	s.closeTurn(e.Closes)
	s.settleAll(InputClosed, 0)
}

// promptIsEmpty reports whether all messages of the running attempt's prompt are
// deleted: everything that waits came later.
func (s *step) promptIsEmpty() bool {
	return s.Phase == Generating && s.Pending == s.Attempt.Newer && !s.Attempt.Edited
}

// uncountMessage takes a message out of the counts of those that wait, and of those that
// no attempt has seen, if it is one of them.
func (s *step) uncountMessage(m Waiting) {
	s.Pending--
	s.PendingBytes -= m.Bytes
	if m.Media && m.Version > s.seenThrough() {
		s.Window.Media = max(s.Window.Media-1, 0)
	}
	if !s.working() || m.Version <= s.Attempt.Through {
		return
	}
	s.Attempt.Newer--
	s.Attempt.NewerBytes -= m.Bytes
	if s.Attempt.Newer == 0 {
		s.Attempt.NewerSince = 0
	}
}

// mustGoOn reports whether there is work under way that goes on although
// nothing waits any more: a sealed attempt, or a reply being sent.
func (s *step) mustGoOn() bool {
	return s.Phase == Sending || s.Phase == Generating && s.Attempt.Sealed
}

// working reports whether an attempt runs or a reply is being sent.
func (s *step) working() bool { return s.Phase == Generating || s.Phase == Sending }

func (s *step) expectMedia() {
	s.Window.Media++
	s.Window.MediaUntil = max(s.Window.MediaUntil, s.now.Add(s.policy.MediaWait))
}

// inputAccepted sets the conversation going after an input was counted: it opens
// a window, or moves the end of the open one, or reacts to work under way. newer
// tells whether the input makes one more message, of so many bytes, that this work has not
// seen.
func (s *step) inputAccepted(quietUntil Time, newer bool, bytes int) {
	s.Window.QuietUntil = quietUntil
	if s.isEarly() {
		s.replaceAttempt()
	}
	switch {
	case s.working():
		if newer {
			s.countNewer(bytes)
		}
		s.inputDuringWork()
	case s.Phase == Collecting:
		s.schedule()
	default:
		if s.Window.WaitingSince == 0 {
			s.Window.WaitingSince = s.now
		}
		accepted := len(s.Notices) - 1
		s.openTurn(s.now)
		s.Notices[accepted].Turn = s.Turn // the one that it begins
	}
}

// countInput makes the event an input: the version grows.
func (s *step) countInput(reason string, seq int64) {
	s.Version++
	s.Outcome = Queued
	if s.OnHold {
		s.Outcome = OnPause
	}
	s.notify(KindMessageAccepted, reason)
	s.Notices[len(s.Notices)-1].Seq = seq
}

// countNewer counts a message, of so many bytes, that the work under way has not seen.
func (s *step) countNewer(bytes int) {
	s.Attempt.Newer++
	s.Attempt.NewerBytes += bytes
	if s.Attempt.Newer == 1 {
		s.Attempt.NewerSince = s.now
	}
}

// nothingNewer forgets the messages that came, or were edited, after an attempt had begun.
func (s *step) nothingNewer() {
	s.Attempt.Newer, s.Attempt.NewerBytes, s.Attempt.NewerSince, s.Attempt.Edited = 0, 0, 0, false
}

// inputDuringWork is the effect of a newer input on work under way. An attempt
// that can't be committed any more is cancelled at once; a reply that waits for its
// next try and has reached nobody is withdrawn.
func (s *step) inputDuringWork() {
	switch {
	case s.Phase == Generating:
		s.cancelIfSuperseded()
	case s.Lease.Nonce == "" && s.mayWithdraw():
		s.withdrawReply()
	}
}

// cancelIfSuperseded tells the holder of an attempt to stop, where the policy
// says that newer input interrupts it.
func (s *step) cancelIfSuperseded() {
	if s.superseded() && s.policy.mode() == Interrupt {
		s.act(Cancel{Nonce: s.Lease.Nonce, Reason: Superseded})
	}
}

// superseded reports whether the attempt can't be committed any more because
// newer input exists. There is a bound, so that a person who never stops typing is
// answered: a sealed attempt, and one that follows MaxDiscards discards, is
// committed for what it saw.
func (s *step) superseded() bool { return s.hasNewerInput() && !s.mustCommit() }

// mustCommit reports whether newer input can't discard the attempt.
func (s *step) mustCommit() bool {
	return s.Attempt.Sealed || s.policy.mode() == Finish || s.Tries.Discards >= s.policy.MaxDiscards
}

func (p Policy) mode() Mode {
	if p.OnNewInput == "" {
		return Interrupt
	}
	return p.OnNewInput
}

// windowIsOpen reports whether inputs wait for the end of the window, whether an attempt
// was started early or not.
func (s *step) windowIsOpen() bool { return s.Phase == Collecting || s.isEarly() }

// keepWindowOpen moves the end of the quiet time while the person is typing. The
// hard cap stays.
func (s *step) keepWindowOpen(e Typing) {
	if !s.windowIsOpen() {
		s.ignore(NothingWaits)
		return
	}
	d := e.For
	if d == 0 {
		d = s.policy.Debounce
	}
	before := s.Window.QuietUntil
	s.Window.QuietUntil = max(before, s.now.Add(d))
	s.schedule()
	s.Changed = s.Window.QuietUntil != before
}

// openTurn starts the window of a new turn.
func (s *step) openTurn(start Time) {
	s.nextTurn()
	s.Tries = Tries{LastError: s.Tries.LastError}
	s.Window.NotBefore = 0
	s.openWindow(start)
}

// nextTurn gives the next turn its number.
func (s *step) nextTurn() {
	s.Turn, s.Beside = s.LastTurn()+1, 0
}

// openWindow starts a window: the first one of a turn, or one that follows an
// attempt without a reply.
func (s *step) openWindow(start Time) {
	s.Phase = Collecting
	s.Lease = Lease{}
	s.Window.Start = start
	s.Attempt = s.Attempt.over()
	s.schedule()
}

// schedule computes when the window ends: a quiet time after the last input, but
// no later than the hard cap; where an attachment is announced, not before it is
// there or its own wait is over; and never within a back-off.
func (s *step) schedule() {
	capped := s.hardCap()
	due := min(s.Window.QuietUntil, capped)
	if s.Window.Media > 0 {
		due = max(due, min(s.Window.MediaUntil, max(capped, s.Window.Start.Add(s.policy.MediaWait))))
	}
	s.Window.Due = max(due, s.Window.Start, s.Window.NotBefore)
	s.Window.Early = s.earlyStart()
	s.Window.SignAt = s.signMoment()
	if s.OnHold {
		return
	}
	reason := ""
	if s.Window.Due == capped && s.Window.QuietUntil > capped {
		reason = AtCap
	}
	s.notify(KindTurnScheduled, reason)
	s.Notices[len(s.Notices)-1].Due = s.Window.Due
}

// hardCap is the latest end of the window, whatever is written meanwhile: MaxWait
// after the first waiting input. A window that starts later than that input follows
// an attempt, a failure or a pause, and lasts two debounces at least, so that a
// correction gets its quiet time. Thus a person who never stops typing gets the first
// reply within
//
//	MaxWait + MaxDiscards × (2 × Debounce + model) + model
//
// where no failure comes between. A cap that each window counted for itself would
// make that MaxDiscards × MaxWait longer.
func (s *step) hardCap() Time {
	capped := s.Window.WaitingSince.Add(s.policy.MaxWait)
	if s.Window.Start > s.Window.WaitingSince {
		capped = max(capped, s.Window.Start.Add(2*s.policy.Debounce))
	}
	return capped
}

// startNext ends a turn and goes on with the next work: a reply that a person
// wrote, the inputs that wait, or nothing.
func (s *step) startNext() {
	s.Lease = Lease{}
	switch {
	case s.answersQueued():
		s.sendQueued()
		if s.Reply.beside() {
			s.Window.Start = 0 // there is no window to return to
		} else {
			s.Attempt.Through = s.Reply.Through
		}
	case s.settling != "" && s.Pending > 0:
		s.Phase = Idle // settleAll follows
	case s.Pending > 0:
		start := s.Attempt.NewerSince
		if start == 0 {
			start = s.now
		}
		if s.Window.WaitingSince == 0 || s.Pending == s.Attempt.Newer {
			s.Window.WaitingSince = start // else messages of a failed turn wait too
		}
		s.openTurn(start)
	default:
		s.Phase = Idle
		s.Answered = s.Version
		s.AfterSeq = s.Seq
		s.clearTurn()
	}
}

// sendQueued takes the next reply of a person to be sent.
func (s *step) sendQueued() {
	next := s.Queue[0]
	next.Since, next.RetryAt = s.now, s.now
	s.Reply, s.Queue, s.Phase = &next, append([]Reply(nil), s.Queue[1:]...), Sending
}

// clearTurn forgets what only a window or an attempt needs.
func (s *step) clearTurn() {
	s.noteOutage(false)
	s.Window, s.Attempt, s.Tries = Window{}, s.Attempt.over(), Tries{LastError: s.Tries.LastError}
}

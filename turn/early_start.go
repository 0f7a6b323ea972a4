package turn

// An early start.
//
// Most windows end as they began: nothing more comes. So with EarlyAttempts in its
// policy, a turn does not let the quiet time pass idly. An attempt begins with the first
// message, and its commit waits for the end of the window. The reply is there after the
// longer of quiet time and model, and not after their sum.
//
// The window stays what it is. Typing and a flush move its end, and newer input within it
// replaces the attempt: the model is told to stop, everything waits again, and the next
// attempt begins at once. That is no discard, because the person had not finished. The
// price is model calls, so a turn has at most EarlyAttempts of them; after these, the
// window is waited out as usual. Once the window has ended, an early attempt that still
// runs is an attempt like any other.
//
// The finished text of an early attempt is kept by its holder, who renews the lease and
// offers it again when the window ends. Nothing of it is stored, so nobody can take it
// for a reply; if the holder is lost, the work is repeated. An agent that seals its
// attempt ends the window.

import "time"

// begins is when an attempt begins: early, or at the end of the window.
func (w Window) begins() Time {
	if w.Early != 0 {
		return w.Early
	}
	return w.Due
}

// earlyStart is when an early attempt may begin in the window as it is now, 0: none may.
// An announced attachment is waited for, since the attempt could not see it, and so is
// the end of a back-off. A search for a refused message goes its own way, and an attempt
// that must run alone does not keep its node waiting for the end of a window.
func (s *step) earlyStart() Time {
	at := max(s.now, s.Window.NotBefore)
	left := s.Phase == Collecting && at < s.Window.Due && s.Tries.Early < s.policy.EarlyAttempts && !s.nearCeiling()
	if _, alone := s.MustRunAlone(); !left || alone || s.Window.Media > 0 || s.Tries.Search != (Search{}) {
		return 0
	}
	return at
}

// nearCeiling reports whether one attempt more would leave none for this minute. The last
// one is never started early: if it were replaced, the person would wait for a minute.
func (s *step) nearCeiling() bool {
	runs := s.Minute.Runs
	if s.now >= s.Minute.Start.Add(time.Minute) {
		runs = 0
	}
	return s.policy.TurnsPerMinute > 0 && runs+1 >= s.policy.TurnsPerMinute
}

// isEarly reports whether an early attempt runs whose window has not ended yet.
func (s *step) isEarly() bool {
	return s.Phase == Generating && s.Attempt.Early && s.now < s.Window.Due
}

// replaceAttempt ends an early attempt because of newer input. The window goes on.
func (s *step) replaceAttempt() {
	s.cancelAttempt(Replaced)
	s.Phase = Collecting
	s.Attempt = s.Attempt.over()
}

// earlyFailed handles a failure of an early attempt. It decides nothing about the turn:
// the window is waited out, and the attempt at its end tells what the failure means. Only
// the pause that the model asked for is kept.
func (s *step) earlyFailed(e GenerateFailed) {
	s.Tries.Attempts--
	s.Tries.Early = max(s.Tries.Early, s.policy.EarlyAttempts)
	s.Window.NotBefore = s.now.Add(backoff(1, e.After, e.Jitter))
	s.openWindow(s.Window.Start)
}

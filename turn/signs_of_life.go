package turn

import "time"

// Signs of life.
//
// Where a turn takes long, people are told so once, and once that the model is out of
// reach. Such a sign is no reply: it covers nothing, and nothing waits for it. The write
// that decides it notes that it was given, so it is given at most once; if the node dies
// just then, it is lost.
//
// A sign is for all that waits when it is given. There is no second one of its kind until
// all of that is answered: neither after a discard, nor for a message that came or was
// edited during the attempt, nor in another outage. Whoever was told of an outage is not
// told besides that it takes longer.
//
// In the window a sign has a moment of its own (Window.SignAt). During an attempt it comes
// with a renewal of the lease, so it may be late by a third of a lease.

// Sign is what people are told.
type Sign string

// The signs.
const (
	SignDelay  Sign = "delay"  // the reply takes longer
	SignOutage Sign = "outage" // the model is out of reach
)

// Signs says which signs were given: each was for the inputs up to a version. Versions
// tell what waited then, which times could not: the clocks of nodes differ.
type Signs struct {
	Delay  int64 `json:"delay,omitempty"`
	Outage int64 `json:"outage,omitempty"`

	// OutageSince is when the model could not be reached first. The outage lasts until an
	// attempt has any other result, or none is made any more.
	OutageSince Time `json:"outage_since,omitempty"`
}

// checkSign gives the signs that are due. A conversation that waits for a worker is looked at
// for them alone: see CheckSign.
func (s *step) checkSign() {
	if s.Phase != Collecting || s.OnHold {
		s.ignore(NothingWaits)
		return
	}
	s.giveSigns()
	if !s.Changed {
		s.ignore(NotDue)
	}
}

// giveSigns tells people what is due, and notes when to look again.
func (s *step) giveSigns() {
	s.giveSign(SignOutage, s.outageDue(), &s.Signs.Outage)
	s.giveSign(SignDelay, s.delayDue(), &s.Signs.Delay)
	if at := s.signMoment(); at != s.Window.SignAt {
		s.Window.SignAt, s.Changed = at, true
	}
}

func (s *step) giveSign(sign Sign, due Time, given *int64) {
	if due == 0 || s.now < due || s.OnHold || s.Pending == 0 || s.now < s.receiverPausedUntil() {
		return
	}
	s.Changed, *given = true, s.Version
	s.act(Show{Sign: sign, Turn: s.Turn})
}

// delayDue is when people are told that the reply takes longer, 0: not, or they were.
func (s *step) delayDue() Time {
	return s.signDue(s.Window.WaitingSince, s.policy.DelayAfter, max(s.Signs.Delay, s.Signs.Outage))
}

// outageDue is the same for an outage of the model.
func (s *step) outageDue() Time {
	return s.signDue(s.Signs.OutageSince, s.policy.OutageAfter, s.Signs.Outage)
}

// signDue is when a sign is due that counts from since, and was given for the inputs up
// to the version given.
func (s *step) signDue(since Time, after time.Duration, given int64) Time {
	if after == 0 || since == 0 || given > s.Answered {
		return 0
	}
	return since.Add(after)
}

// noDelaySign gives no delay sign for the messages that wait now: they waited because of a
// pause or a failure, and the moment has passed.
func (s *step) noDelaySign() { s.Signs.Delay = s.Version }

// noteOutage keeps since when the model is out of reach.
func (s *step) noteOutage(out bool) {
	switch {
	case !out:
		s.Signs.OutageSince = 0
	case s.Signs.OutageSince == 0:
		s.Signs.OutageSince = s.now
	}
}

// receiverPausedUntil is the end of the pause that the receiver asked for.
func (s *step) receiverPausedUntil() Time { return max(s.NoSendUntil, s.policy.NoSendUntil) }

// signMoment is when to look at an open window for a sign, 0: never.
func (s *step) signMoment() Time {
	next := earliest(s.delayDue(), s.outageDue())
	if next == 0 || s.Phase != Collecting {
		return 0
	}
	return max(next, s.receiverPausedUntil())
}

package turn

// The budget of what waits.
//
// A person may write faster than anybody answers, and what waits is read, sent and settled
// together. So its bytes are bounded: an input with which they would exceed the bound is
// refused, and nothing is changed. What was set aside counts too, since a requeue makes it
// wait again. A word that closes is never refused, nor is a deletion: both end something
// that waits.
//
// The record counts these bytes beside the messages: PendingBytes with Pending, NewerBytes
// with Newer, and Bytes in SetAside. The counts are exact. The size of a message is what
// the caller says, and it says the same each time: it keeps the size beside the text.

// fits reports whether so many more bytes may wait. If not, it refuses the input.
func (s *step) fits(more int) bool {
	held := s.PendingBytes
	if s.SetAside != nil {
		held += s.SetAside.Bytes
	}
	if most := s.policy.WaitingBytes; most == 0 || more <= 0 || held+more <= most {
		return true
	}
	s.Outcome, s.Changed = TooMuch, false
	return false
}

// sizeOf is how many bytes of these messages have a version after one and up to another.
func sizeOf(messages []Waiting, after, through int64) int {
	size := 0
	for _, m := range messages {
		if after < m.Version && m.Version <= through {
			size += m.Bytes
		}
	}
	return size
}

package turn

// The budget of the messages that wait.
//
// A person may write faster than anybody answers, and waiting messages are read, sent and
// settled together. So their bytes are bounded: an input that would exceed the bound is
// refused, and changes nothing. Messages that were set aside count too, since a requeue
// makes them wait again. A stop word, a reset word or a deletion is never refused: each
// ends a wait.
//
// The record counts these bytes beside the messages: PendingBytes with Pending, NewerBytes
// with Newer, and Bytes in SetAside. The counts are exact. The caller says the size of a
// message, and says the same each time: it keeps the size beside the text.

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

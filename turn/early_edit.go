package turn

import (
	"slices"
	"time"
)

// Edits and deletions that come early.
//
// A channel's webhooks run in any order, so the edit or the deletion of a message may
// come before the message. It must win all the same: nobody wants an answer to what
// was corrected or taken back before.
//
// An edit is kept for the message, in an entry of the transcript that is shown to
// nobody. The record knows where it is and until when. The message that comes in time
// is accepted as it was edited; after that time, as it comes. A deletion claims the id
// of the message, so that the message is a repeat when it comes. Neither is an input:
// there is nothing to answer, so it opens no turn and leaves a running attempt alone.

// The bounds of what is kept for messages that have not come.
const (
	EarlyFor = 10 * time.Minute // how long an edit is kept
	MaxEarly = 100              // edits that a conversation keeps at once; they have at most WaitingBytes too
)

// EarlyEdit is an edit that is kept for a message that has not come.
type EarlyEdit struct {
	Seq   int64 `json:"seq"`   // its entry in the transcript
	Until Time  `json:"until"` // it is kept for so long
	Bytes int   `json:"bytes,omitempty"`
}

// KeepsEarly reports whether the entry with a sequence is an edit that is still kept for
// its message.
func (r Record) KeepsEarly(seq int64, now Time) bool {
	return slices.ContainsFunc(r.Early, func(e EarlyEdit) bool { return e.Seq == seq && now < e.Until })
}

// changeEarly accepts the edit, or the deletion, of a message that has not come.
func (s *step) changeEarly(e Early) {
	kept := s.KeepsEarly(e.Seq, s.now)
	others, bytes := s.earlyKept(e.Seq)
	tooMany := others >= MaxEarly || s.policy.WaitingBytes > 0 && bytes+e.Bytes > s.policy.WaitingBytes
	if !e.Deleted && tooMany {
		s.ignore(TooManyEarly)
		return
	}
	s.Changed, s.Outcome = true, CameEarly
	if kept && !e.Deleted {
		i := slices.IndexFunc(s.Early, func(other EarlyEdit) bool { return other.Seq == e.Seq })
		s.Early[i].Until, s.Early[i].Bytes = s.now.Add(EarlyFor), e.Bytes
		return
	}
	s.dropEarly(e.Seq)
	s.Seq++
	s.AppendEarly = s.Seq
	if e.Deleted {
		s.Retracted = true
		return
	}
	s.Early = append(s.Early, EarlyEdit{Seq: s.Seq, Until: s.now.Add(EarlyFor), Bytes: e.Bytes})
}

// earlyKept is how many edits are still kept for their messages, and their size, without
// the one with a sequence.
func (s *step) earlyKept(but int64) (count, bytes int) {
	for _, e := range s.Early {
		if s.now < e.Until && e.Seq != but {
			count++
			bytes += e.Bytes
		}
	}
	return count, bytes
}

// dropEarly forgets the edit with a sequence, whose message has come or was deleted, and
// all those whose time is over.
func (s *step) dropEarly(seq int64) {
	s.Early = slices.DeleteFunc(s.Early, func(e EarlyEdit) bool {
		gone := e.Seq == seq || s.now >= e.Until
		if gone {
			s.DropEarly = append(s.DropEarly, e.Seq)
		}
		return gone
	})
	if len(s.Early) == 0 {
		s.Early = nil // as it is read back from a store
	}
}

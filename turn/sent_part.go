package turn

import "slices"

// The names that a channel gives the parts of replies.
//
// Most platforms give each message an id of their own when they take it. What they say of
// the message later, they say under that id. So the ids of the last parts are kept in the
// record. If the answer to a send was lost, nobody here knows the id: what the platform says
// then may be about the part in doubt, and its text tells.

// MaxSentParts bounds how many ids a record keeps. Older ones are forgotten.
const MaxSentParts = 24

// MaxSentID is the length in bytes of the longest id that is kept.
const MaxSentID = 256

// SentPart is a part of a reply, and the channel's id of it.
type SentPart struct {
	ID   string `json:"id"`
	Turn int64  `json:"turn"`
	Part int    `json:"part,omitempty"` // from 1; 0: all of them, which were one send
}

// SentAs returns the part that the channel knows by this id.
func (r Record) SentAs(id string) (SentPart, bool) {
	i := slices.IndexFunc(r.SentParts, func(p SentPart) bool { return p.ID == id })
	if i < 0 {
		return SentPart{}, false
	}
	return r.SentParts[i], true
}

// InDoubt returns the parts that the channel may have taken without our knowledge: the one
// that is being sent now, and those whose send has an unknown outcome. They have no id.
func (r Record) InDoubt() (parts []SentPart) {
	if reply := r.Reply; reply != nil && (r.Lease.Nonce != "" || reply.Unsure) {
		parts = append(parts, reply.next())
	}
	for _, u := range slices.Backward(r.Unconfirmed) {
		if u.Status == ReplyUnknown {
			next := Reply{Turn: u.Turn, Parts: u.Parts, Done: u.Done}
			parts = append(parts, next.next())
		}
	}
	return parts
}

// next is the part that is sent next.
func (r Reply) next() SentPart {
	if r.Parts == 1 {
		return SentPart{Turn: r.Turn}
	}
	return SentPart{Turn: r.Turn, Part: r.Done + 1}
}

// keepSentID keeps the channel's id of a part.
func (s *step) keepSentID(p SentPart) {
	if _, known := s.SentAs(p.ID); known || p.ID == "" || len(p.ID) > MaxSentID {
		return
	}
	kept := s.SentParts[max(0, len(s.SentParts)+1-MaxSentParts):]
	s.SentParts = append(slices.Clone(kept), p)
}

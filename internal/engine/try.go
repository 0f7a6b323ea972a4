package engine

import "github.com/onereply/onereply/turn"

// try is what a write, whose outcome nobody knows, made of a message: where it put
// it, and what its sender was to be told.
type try struct {
	seq     int64
	at      turn.Time
	outcome turn.Outcome
	reason  string
	version int64
}

// maxTries bounds what a request remembers of its tries. The last are those that
// may still be under way.
const maxTries = 8

// remember keeps what a write that may have been applied made of the request.
func (r *Request) remember() {
	if r.trial.seq == 0 {
		return
	}
	r.tried = append(r.tried, r.trial)
	r.tried = r.tried[max(0, len(r.tried)-maxTries):]
}

// applied is the try of this very request that stored the message, nil where another
// delivery of it did. The sequence and the time tell: no other write could give an
// entry both, but for one of the same message that came to another node in the same
// millisecond.
func (r *Request) applied() *try {
	if !r.repeats() || r.found == nil {
		return nil
	}
	for i := range r.tried {
		if t := &r.tried[i]; t.seq == r.found.Seq && t.at == r.found.At {
			return t
		}
	}
	return nil
}

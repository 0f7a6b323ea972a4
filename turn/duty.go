package turn

import "time"

// A job that one node at a time does.
//
// Some chat platforms must be polled for messages, by one program at a time. The node that
// polls is kept in a record of its own, under a name that no conversation has. A node
// takes the duty by the same compare-and-swap as everything else, keeps it by taking it
// again before its end, and gives it back when it stops. After a crash the next node takes
// it when its time is over. The record holds nothing else ([Record.Empty]), so it is never
// listed as a conversation.
//
// No promise rests on it: if two nodes both believe that they have the duty, they bring the
// same messages, and the ids of these tell repeats.

// Duty says who does such a job, and until when.
type Duty struct {
	Holder string `json:"holder,omitempty"` // the node, for people to read
	Nonce  string `json:"nonce,omitempty"`  // unique for each start of the job
	Until  Time   `json:"until,omitempty"`  // from then on others may take it
}

// TakeDuty asks for a duty, or for more time of it. The outcome is [Ignored] where
// somebody else has it.
type TakeDuty struct {
	Holder string        // name of the node
	Nonce  string        // of the start that asks
	For    time.Duration // how long it lasts from now on; 0: it is given back
	Alone  bool          // no other process has the store open: the holder is gone
}

// takeDuty decides whether the duty is taken, kept, given back or refused.
func (s *step) takeDuty(e TakeDuty) {
	mine := s.Duty.Nonce == e.Nonce
	switch {
	case !mine && s.Duty.Nonce != "" && s.now < s.Duty.Until && !e.Alone:
		s.ignore(Held)
	case e.For > 0:
		s.Changed, s.Duty = true, Duty{Holder: e.Holder, Nonce: e.Nonce, Until: s.now.Add(e.For)}
	case mine:
		s.Changed, s.Duty = true, Duty{}
	default:
		s.ignore(NothingWaits)
	}
}

// KeepsDuty reports whether a node that has a duty goes on with the job after it asked for
// more time. taken is the answer; told is false if none came. had is how long ago the node
// asked for the time that it has, and lasts is how long that is. Without an answer it goes
// on while there is time to ask again.
func KeepsDuty(taken, told bool, had, lasts time.Duration) bool {
	return taken || !told && had <= lasts*2/3
}

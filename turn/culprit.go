package turn

import "time"

// Finding a culprit.
//
// A message may bring down each worker that takes it, and then it has to be set aside. But
// a lost worker proves little: all attempts of a process are lost with it, and a process
// also ends because somebody kills it, or the machine has no memory left. So only a lone
// attempt, beside which nothing else ran on its node, counts against its messages:
//
//   - After the first lost worker the turn goes on at once, beside others. Most lost
//     workers are no message's fault.
//   - After the second one its attempts run alone. Each has a pause before it, which grows
//     from one to the next, and others go on meanwhile. The node that begins it has lost no
//     worker for as long. Thus each attempt with these messages is compared with a longer
//     time without them, and a process that ends every few seconds for another reason does
//     not come to the later attempts.
//   - Each lone attempt whose worker is lost counts. After MaxAttempts of them in a row the
//     messages are set aside: see takeOver.
//   - An attempt that the responder ends, well or badly, clears its messages: its worker
//     lived.
//
// The engine decides when a node has room for a lone attempt, and says so in [Wake]. The
// lease says that the attempt is one, so whoever finds it expired knows what it proves.

// lostBeside is how many workers a turn may lose beside others before it must run alone.
const lostBeside = 2

// MustRunAlone reports whether the next attempt must have a node to itself, and how long
// that node must have been without a lost worker before. The pause before the attempt is
// as long: a second first, and then four times as long as the last one, up to a minute.
func (r Record) MustRunAlone() (calm time.Duration, alone bool) {
	more := r.Tries.Lost.Count - lostBeside
	if more < 0 {
		return 0, false
	}
	return min(time.Second<<min(2*more, 6), time.Minute), true
}

// countLost counts the worker of the current attempt as lost.
func (s *step) countLost() {
	s.Tries.Lost = s.Tries.Lost.more(s.Lease.Holder, s.now)
	if s.Lease.Lone {
		s.Tries.Lost.Lone++
	}
}

// clearSuspicion forgets the lost workers of the turn, because one lived through all that
// its messages ask for.
func (s *step) clearSuspicion() { s.Tries.Lost = Lost{} }

package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// mended is the state after a repair. Only three things are repaired, since they follow
// from what is stored elsewhere: the count of waiting messages (from the transcript),
// the timer (from the record), and a lease that nobody could ever take over, which is
// made to expire. A repair sends, settles and removes nothing. The node that looks at
// the conversation next does what has to be done.
//
// The order matters: the wake-up depends on the lease and comes last. A wake-up at
// time 0 means "at once", but a timer of 0 means "none", so now takes its place.
func mended(s state) state {
	s.record = expireLease(s.record, s.now)
	s.record.Pending = s.transcript.waiting(s.record)
	s.timer = wakeUp(s.record)
	if _, works := s.record.Wake(); works && s.timer == 0 {
		s.timer = s.now
	}
	return s
}

// expireLease turns an invalid lease into an expired one, so that the next node that
// looks takes over. If its holder is still alive, the take-over fences it. A lease in a
// phase that has none is left: nothing tells which of the two is wrong.
func expireLease(r turn.Record, now turn.Time) turn.Record {
	works := r.Phase == turn.Generating || r.Phase == turn.Sending
	if checkLease(state{record: r}) == "" || !works {
		return r
	}
	if r.Lease.Nonce == "" {
		r.Lease.Nonce = fmt.Sprintf("expired by the doctor at %d", now)
	}
	r.Lease.Token = r.Token
	r.Lease.Expires = now
	return r
}

// improves reports whether after breaks fewer rules than before, and none that
// before did not break. A repair that trades one problem for another is a guess.
func improves(before, after []Problem) bool {
	for _, p := range after {
		if !breaks(before, p.Rule) {
			return false
		}
	}
	return len(after) < len(before)
}

// breaks reports whether one of the problems is of this rule.
func breaks(problems []Problem, rule Rule) bool {
	for _, p := range problems {
		if p.Rule == rule {
			return true
		}
	}
	return false
}

// repair writes the mended state, unless somebody wrote meanwhile. It returns
// the problems that remain, and why.
//
// The mended state goes through all rules before it is written, and is written only if
// it is better. A lost record is never made up: it would name a version and a turn that
// nobody knows. The Log stays as it was.
func (d *Doctor) repair(ctx context.Context, key store.Key, was store.Snapshot, s state, problems []Problem) (remaining []Problem, left string, err error) {
	if breaks(problems, Lost) {
		return problems, "repairing it would be guessing", nil
	}
	better := mended(s)
	remaining = examine(better)
	if !improves(problems, remaining) {
		return problems, "repairing it would be guessing", nil
	}
	write := store.Write{Key: key, Expect: was.Op, Op: newOp(), Record: better.record, Log: was.Log, Timer: better.timer, At: s.now}
	switch applied, err := commit(ctx, d.Store, write); {
	case err != nil:
		return problems, "", fmt.Errorf("repair %v: %w", key, err)
	case !applied:
		return problems, "somebody wrote to the conversation meanwhile: run the doctor again", nil
	}
	return remaining, "repairing it would be guessing", nil
}

// commit writes, and settles an unknown outcome by reading again. It reports
// false where the record is not the expected one. A claimed id is an error: a copy
// writes each message once, to a conversation that was not there, and a repair appends
// nothing, so only a fault of the store or of the source leads to it.
func commit(ctx context.Context, to store.Store, write store.Write) (applied bool, err error) {
	result, err := to.Commit(ctx, write)
	switch {
	case errors.Is(err, store.ErrNotApplied):
		return false, err
	case err != nil:
		return settled(ctx, to, write, err)
	case result.Status == store.Duplicate:
		return false, fmt.Errorf("the message ids %q are taken already", result.Duplicates)
	}
	return result.Status == store.OK, nil
}

// settled reports whether a write of unknown outcome was applied. One that was
// not yet may still be, so its error stays: the caller ends, and a person runs the
// command again, which finds one state or the other.
func settled(ctx context.Context, to store.Store, write store.Write, unknown error) (bool, error) {
	snapshot, err := to.Load(ctx, write.Key)
	if err != nil {
		return false, errors.Join(unknown, err)
	}
	if snapshot.Op != write.Op {
		return false, unknown
	}
	return true, nil
}

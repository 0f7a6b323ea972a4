package engine

import (
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// earlierWrites is the outcome of a task's writes so far. It is empty until a write of the
// task is answered with anything but "applied".
//
// # How a write whose outcome is unknown is settled
//
// The store did not answer, or the connection broke: the write may have been
// applied, it may be refused, and it may still be on its way. The node reads the
// record again and compares the Op that it carries:
//
//   - The Op of the write: it was applied. The task ends as if the store had said so.
//   - The Op that the write expected: it was not applied up to now. It can still
//     arrive, but only while the record is the one it expects. The task is applied
//     anew, under a new Op that expects the same record: of the two at most one is
//     applied. mayLand and landsOn remember the first, until another write takes
//     the place of the record that it expects.
//   - Any other Op: somebody wrote since, so the write was applied before that, or
//     never will be. The record does not tell which: mayBeApplied.
//
// If a task may have been applied before, the next step depends on its operation. A
// message's id is claimed in the same write, so a second try is refused as a
// duplicate, and placements tells whether the claim was the task's own. An event
// of a lease holder is fenced by its nonce. An edit or a deletion that finds its
// work done answers that it is done. A reply from outside is like a message if its caller
// gave it an id. Without one a repeat can't be recognised, and its caller gets
// [ErrOutcomeUnknown].
type earlierWrites struct {
	mayBeApplied bool // an earlier write of the task may have been applied

	mayLand bool     // an earlier write was not applied up to now, and still can be
	landsOn store.Op // while the record is the one with this Op; zero: while there is none

	idClaimed  bool        // Receive, Retract, HumanReply: the store refused a write because the id was claimed before
	placement  placement   // Receive, HumanReply: where the write under way puts the message, or the claim of the id
	placements []placement // Receive, HumanReply: where writes put it that may have been applied

	readSince bool // the record was read, or is being read, since the task was asked for
}

// placement is where a write puts a message, and what its sender is told if the
// write is applied. A sequence and a time tell an entry from that of another
// delivery: only one of the same message that came to another node in the same
// millisecond can have both.
type placement struct {
	seq     int64
	at      turn.Time
	outcome turn.Outcome
	reason  string
	version int64
}

// maxPlacements bounds what a task remembers. The last are those that may still
// be under way.
const maxPlacements = 8

// notApplied notes that the write under way was not applied and never will be.
func (t *task) notApplied() { t.earlier.placement, t.result = placement{}, Result{} }

// maybeLater notes that the write under way, which expected a record, was not
// applied up to now.
func (t *task) maybeLater(expected store.Op) {
	t.earlier.mayLand, t.earlier.landsOn = true, expected
	t.keepPlacement()
	t.notApplied()
}

// maybeApplied notes that the write under way may have been applied.
func (t *task) maybeApplied() {
	t.earlier.mayBeApplied = true
	t.keepPlacement()
	t.notApplied()
}

// keepPlacement keeps where the write under way puts the message, beside those before
// it: any of them may turn out to be the one that was applied.
func (t *task) keepPlacement() {
	e := &t.earlier
	if e.placement.seq == 0 {
		return
	}
	e.placements = append(e.placements, e.placement)
	e.placements = e.placements[max(0, len(e.placements)-maxPlacements):]
}

// recordIs notes which record the task is about to be applied to. A write that could
// land only on another one either did, or never will.
func (e *earlierWrites) recordIs(op store.Op) {
	e.mayBeApplied = e.mayBeApplied || e.mayLand && e.landsOn != op
}

// replaced notes that a write of this node took the place of a record: a write that
// expected that record can't land any more, and was not applied.
func (e *earlierWrites) replaced(expected store.Op) {
	e.mayLand = e.mayLand && e.landsOn != expected
}

// uncertain reports whether an earlier write of the task may have been applied, or
// still may be.
func (e *earlierWrites) uncertain() bool { return e.mayBeApplied || e.mayLand }

// ownPlacement is the write of this task that stored the message; nil if another
// delivery of the message did.
func (t *task) ownPlacement() *placement {
	if !t.mayBeItsOwnRepeat() || t.stored.message == nil {
		return nil
	}
	for i := range t.earlier.placements {
		if p := &t.earlier.placements[i]; p.seq == t.stored.message.Seq && p.at == t.stored.message.At {
			return p
		}
	}
	return nil
}

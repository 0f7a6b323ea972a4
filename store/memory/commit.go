package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Commit implements [store.Store]. Everything is checked before anything is
// changed, so it is all or nothing; its outcome is never unknown.
//
// The order of the checks is part of the contract, and other stores are compared with
// it. First comes the Op: a write that expects another record is a conflict, also if it
// has other faults. Then come the ids: a claimed one is a duplicate. Then come the rules
// of [store.Write]: only a faulty caller breaks them, and the write is refused with
// [store.ErrNotApplied]. The record, the transcript and the timer change after that, and
// nothing can fail any more.
func (s *Store) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	if err := s.enter(ctx); err != nil {
		return store.Result{}, notApplied(write.Key, err)
	}
	defer s.mu.Unlock()
	c := s.conversations[write.Key]
	if c == nil {
		c = &conversation{ids: make(map[string]turn.Time)} // stored only if all goes well
	}
	if c.op != write.Expect {
		return c.conflict(write)
	}
	if repeated := c.claimed(write.Append); len(repeated) > 0 {
		return store.Result{Status: store.Duplicate, Duplicates: repeated}, nil
	}
	if err := c.check(write); err != nil {
		return store.Result{}, notApplied(write.Key, err)
	}
	if c.op.IsZero() {
		s.conversations[write.Key] = c
		s.order = nil
	}
	c.apply(write)
	s.timers.set(write.Key, write.Timer)
	return store.Result{Status: store.OK}, nil
}

// conflict is the answer to a write that expects another record. It holds all that the
// caller needs to decide again without a read: the record that is there, and which of
// the write's ids are claimed. A record of a newer program can't be handed out, so that
// conflict is an error which wraps [store.ErrNewerSchema] too.
func (c *conversation) conflict(write store.Write) (store.Result, error) {
	current, err := c.snapshot(write.Key)
	if err != nil {
		return store.Result{}, notApplied(write.Key, err)
	}
	return store.Result{Status: store.Conflict, Current: current, Duplicates: c.claimed(write.Append)}, nil
}

// notApplied marks a failure as certain. Without this mark a caller takes the outcome
// of a commit for unknown, and has to load the record to settle it.
func notApplied(key store.Key, err error) error {
	return fmt.Errorf("memory: commit %v: %w: %w", key, store.ErrNotApplied, err)
}

// claimed returns the ids of new messages that were claimed before, by an
// earlier write or earlier in the same one. They are in the order of the write.
// Replies are left out: their ids are made from conversation and turn, and no
// provider delivers them.
func (c *conversation) claimed(added []store.Entry) []string {
	var repeated []string
	seen := make(map[string]bool)
	for _, e := range added {
		if e.Kind != store.Message {
			continue
		}
		if _, before := c.ids[e.ID]; before || seen[e.ID] {
			repeated = append(repeated, e.ID)
		}
		seen[e.ID] = true
	}
	return repeated
}

// check finds writes that no correct caller makes. The sequences must rise because
// find searches the entries by bisection, and because a page of a transcript goes on
// after the last sequence that its reader saw.
func (c *conversation) check(write store.Write) error {
	if write.Op.IsZero() {
		return errors.New("the write has no Op")
	}
	last := c.lastSeq
	for _, e := range write.Append {
		if e.Seq <= last {
			return fmt.Errorf("entry %q has sequence %d, which is not greater than %d", e.ID, e.Seq, last)
		}
		last = e.Seq
	}
	return nil
}

// apply carries out a write that passed all checks. The order is the contract's:
// entries are added and changed first, so that Settle and Mark also reach those of the
// same write. A change of an entry that retention has removed is ignored.
func (c *conversation) apply(write store.Write) {
	c.record, c.log = copyRecord(write.Record), copyLog(write.Log)
	c.op = write.Op
	c.active = write.At
	for _, e := range write.Append {
		c.add(e, write.At)
	}
	for _, e := range write.Change {
		if i, found := c.find(e.Seq); found {
			c.entries[i] = keep(e)
		}
	}
	for _, settle := range write.Settle {
		c.settle(settle)
	}
	for _, mark := range write.Mark {
		c.mark(mark)
	}
}

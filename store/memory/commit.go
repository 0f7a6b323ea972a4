package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Commit implements [store.Store]. Everything is checked before anything is
// changed, so it is all or nothing; its outcome is never unknown. A write that
// breaks the rules of [store.Write] is refused with [store.ErrNotApplied].
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

// conflict is the answer to a write that expects another record.
func (c *conversation) conflict(write store.Write) (store.Result, error) {
	current, err := c.snapshot(write.Key)
	if err != nil {
		return store.Result{}, notApplied(write.Key, err)
	}
	return store.Result{Status: store.Conflict, Current: current, Duplicates: c.claimed(write.Append)}, nil
}

func notApplied(key store.Key, err error) error {
	return fmt.Errorf("memory: commit %v: %w: %w", key, store.ErrNotApplied, err)
}

// claimed returns the ids of new messages that were claimed before, by an
// earlier write or earlier in the same one.
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

// check finds writes that no correct caller makes.
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

// apply carries out a write that passed all checks.
func (c *conversation) apply(write store.Write) {
	c.record, c.log = copyRecord(write.Record), copyLog(write.Log)
	c.op = write.Op
	c.active = write.At
	for _, e := range write.Append {
		c.add(e, write.At)
	}
	for _, e := range write.Change {
		if i, found := c.find(e.Seq); found {
			c.entries[i] = copyEntry(e)
		}
	}
	for _, settle := range write.Settle {
		c.settle(settle)
	}
	for _, mark := range write.Mark {
		c.mark(mark)
	}
}

package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Entries implements [store.Store]. A conversation that is not there has no entries,
// and that is no error.
func (s *Store) Entries(ctx context.Context, key store.Key, query store.EntryQuery) ([]store.Entry, bool, error) {
	if err := s.enter(ctx); err != nil {
		return nil, false, fmt.Errorf("memory: entries of %v: %w", key, err)
	}
	defer s.mu.Unlock()
	c := s.conversations[key]
	if c == nil {
		return nil, false, nil
	}
	found, more := c.selected(query)
	return found, more, nil
}

// selected returns copies of the entries that match, up to the bounds of a page, and
// whether more match. It counts first, so that the slice is made once: entries are large,
// and a slice that grows copies them again and again.
func (c *conversation) selected(query store.EntryQuery) (found []store.Entry, more bool) {
	var places []int
	room := paging.RoomOf(query)
	for i := range c.entries {
		if query.Backward {
			i = len(c.entries) - 1 - i
		}
		if !matches(&c.entries[i].Entry, query) {
			continue
		}
		if more = !room.Take(c.entries[i].size); more {
			break
		}
		places = append(places, i)
	}
	for _, i := range places {
		found = append(slices.Grow(found, len(places)-len(found)), copyEntry(c.entries[i].Entry))
	}
	return found, more
}

// matches reports whether a query selects an entry. A zero field selects all. An id
// selects messages only, because the ids of replies are not claimed.
func matches(e *store.Entry, query store.EntryQuery) bool {
	return e.Seq > query.After &&
		(query.Before == 0 || e.Seq < query.Before) &&
		(query.ID == "" || e.Kind == store.Message && e.ID == query.ID) &&
		(query.Status == "" || e.Status == query.Status)
}

// entry is an entry of a transcript, and how many bytes its body has in JSON.
type entry struct {
	store.Entry
	size int
}

// keep is a copy of an entry, to be stored. This store keeps also what has no JSON form,
// and that counts nothing.
func keep(e store.Entry) entry {
	body, _ := storejson.Encode(&e.Body)
	return entry{copyEntry(e), len(body)}
}

// add appends an entry and claims its id, if it is a message. Adding and claiming are
// one step, so a message is in the transcript if and only if its id was claimed with it.
func (c *conversation) add(e store.Entry, at turn.Time) {
	c.entries = append(c.entries, keep(e))
	c.lastSeq = e.Seq
	if e.Kind == store.Message {
		c.ids[e.ID] = at
	}
}

// find returns the place of a sequence, and whether an entry has it. If none has, the
// place is that of the first entry after it, which settle uses as its start.
func (c *conversation) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(c.entries, seq, func(e entry, seq int64) int {
		return cmp.Compare(e.Seq, seq)
	})
}

// settle carries out a [turn.Settle]. It gives a status to all inputs of a range of
// versions, and names the reply that answers them. Only those that wait are changed: a
// message that was settled otherwise meanwhile, such as a deleted one, stays so. With
// Reopen it goes the other way: inputs that were set aside wait again.
//
// The sequence only says where to start reading; the versions decide.
func (c *conversation) settle(settle turn.Settle) {
	from, to := turn.InputPending, settle.Status
	if settle.Reopen {
		from, to = turn.InputFailed, turn.InputPending
	}
	first, _ := c.find(settle.AfterSeq + 1)
	for i := first; i < len(c.entries); i++ {
		e := &c.entries[i]
		inRange := settle.From < e.Version && e.Version <= settle.Through
		if e.Kind == store.Message && inRange && e.Status == from {
			e.Status, e.ReplySeq = to, settle.ReplySeq
		}
	}
}

// mark carries out a [turn.Mark], the new status of a reply and the reason for it. If
// retention has removed the reply, nothing is left to mark.
func (c *conversation) mark(mark turn.Mark) {
	if i, found := c.find(mark.Seq); found && c.entries[i].Kind == store.Reply {
		c.entries[i].Status, c.entries[i].Reason = mark.Status, mark.Reason
	}
}

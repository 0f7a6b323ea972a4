package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Expire implements [store.Store]. It counts entries, ids and conversations
// alike, and stops at limit of them in all.
//
// A conversation goes in three steps, which may take several calls: first its old
// entries, then the ids of messages that are gone, and at last the conversation
// itself. The order matters. An id whose message is still there must stay claimed,
// and a conversation with an id left must stay known, or else a message that is
// delivered again would be answered again.
func (s *Store) Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error) {
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("memory: expire: %w", err)
	}
	defer s.mu.Unlock()
	left := max(limit, 0)
	for _, key := range slices.Clone(s.keysAfter(nil)) {
		if left == 0 {
			break
		}
		c := s.conversations[key]
		left -= c.expireEntries(entriesBefore, left)
		left -= c.expireIDs(idsBefore, left)
		if left > 0 && c.forgotten(idsBefore) {
			s.remove(key)
			left--
		}
	}
	return max(limit, 0) - left, nil
}

// expireEntries removes at most limit settled entries and returns how many. The oldest
// go first, since entries stand in the order of their sequences.
func (c *conversation) expireEntries(before turn.Time, limit int) int {
	removed := 0
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool {
		old := removed < limit && e.At < before && settled(e.Status)
		if old {
			removed++
		}
		return old
	})
	return removed
}

// settled reports whether an entry needs nothing more. A failed input was set aside and
// may come back by a requeue; a committed reply is still to be sent. Their texts are
// kept however old they are.
func settled(status turn.Status) bool {
	return status != turn.InputPending && status != turn.InputFailed && status != turn.ReplyCommitted
}

// expireIDs forgets at most limit ids and returns how many. An id stays
// claimed as long as its message is there. The order in which a map gives the ids is
// random, and that does no harm: the next calls take the rest.
func (c *conversation) expireIDs(before turn.Time, limit int) int {
	there := make(map[string]bool)
	for _, e := range c.entries {
		there[e.ID] = there[e.ID] || e.Kind == store.Message
	}
	removed := 0
	for id, at := range c.ids {
		if removed < limit && at < before && !there[id] {
			delete(c.ids, id)
			removed++
		}
	}
	return removed
}

// forgotten reports whether nothing is left that anybody could miss: the conversation
// is idle, empty, and was not written since. A paused one is not idle: it stays, since
// the pause was somebody's decision. The meaning of a newer program's record is not
// known here, so it stays too.
func (c *conversation) forgotten(before turn.Time) bool {
	return c.record.Schema <= turn.Schema && c.record.Shown() == turn.Idle &&
		len(c.entries) == 0 && len(c.ids) == 0 && c.active < before
}

package postgres

import (
	"context"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In and out: see delete_v1.
const deleteConversation = `SELECT onereply.delete_v1($1::text, $2::text)`

// In, out and races: see the functions. Each is a transaction of its own.
const (
	expireEntries       = `SELECT onereply.expire_entries_v1($1::bigint, $2::int)`
	expireIDs           = `SELECT onereply.expire_ids_v1($1::bigint, $2::int)`
	expireConversations = `SELECT onereply.expire_conversations_v1($1::bigint, $3::int, $2::int)`
)

// expireStep bounds what Expire removes in one transaction, so that commits
// never wait long for it. It is a number of rows.
const expireStep = 100

// Delete implements [store.Store]. It waits for a commit that works on the conversation.
// An error tells, as that of a commit does, whether it may have happened; to call it
// again does no harm.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	var existed bool
	if err := outcome(s.queryOne(ctx, deleteConversation, []any{key.Bot, key.Conversation}, &existed)); err != nil {
		return s.failed(err, "delete %v", key)
	}
	return nil
}

// Expire implements [store.Store]. It counts entries, ids and conversations
// alike, and works in transactions of at most 100 of them.
//
// The order of the steps matters: an id can be forgotten only after its entry is gone,
// and a conversation only after its entries and ids are. So one call can remove all that
// is left of an old conversation. A step ends when it removed less than it might have:
// nothing old is left, or a commit has the rest locked, and the next call finds it.
func (s *Store) Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error) {
	steps := []struct {
		query string
		more  []any
		until turn.Time
	}{
		{expireEntries, nil, entriesBefore},
		{expireIDs, nil, idsBefore},
		{expireConversations, []any{turn.Schema}, idsBefore},
	}
	if err := s.usable(ctx); err != nil {
		return 0, s.failed(err, "expire")
	}
	total := 0
	for _, step := range steps {
		for total < limit {
			count := min(limit-total, expireStep)
			removed := 0
			arguments := append([]any{int64(step.until), count}, step.more...)
			if err := s.queryOne(ctx, step.query, arguments, &removed); err != nil {
				return total, s.failed(err, "expire")
			}
			total += removed
			if removed < count {
				break
			}
		}
	}
	return total, nil
}

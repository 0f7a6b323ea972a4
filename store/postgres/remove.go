package postgres

import (
	"context"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In and out: see delete_v1.
const deleteConversation = `SELECT onereply.delete_v1($1::text, $2::text)`

// In and out: see the functions.
const (
	expireEntries       = `SELECT onereply.expire_entries_v1($1::bigint, $2::int)`
	expireIDs           = `SELECT onereply.expire_ids_v1($1::bigint, $2::int)`
	expireConversations = `SELECT onereply.expire_conversations_v1($1::bigint, $3::int, $2::int)`
)

// expireStep bounds what Expire removes in one transaction, so that commits
// never wait long for it.
const expireStep = 100

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	var existed bool
	if err := outcome(s.queryOne(ctx, deleteConversation, []any{key.Bot, key.Conversation}, &existed)); err != nil {
		return s.failed(err, "delete %v", key)
	}
	return nil
}

// Expire implements [store.Store]. It counts entries, ids and conversations
// alike, and works in transactions of at most 100 of them.
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

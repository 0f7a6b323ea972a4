package postgres

import (
	"context"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In and out: see delete_v1.
const deleteConversation = `SELECT onereply.delete_v1($1::text, $2::text)`

// In: a time, how many at most. Out: how many were removed. It is expire_entries_v1,
// see there, but for messages that were set aside, which stay. The first condition on
// the status is the index's.
const expireEntries = `WITH old AS (
		SELECT e.conversation_id, e.seq FROM onereply.entries AS e
		WHERE e.status NOT IN ('pending', 'committed') AND e.status <> 'failed' AND e.at_ms < $1::bigint
		ORDER BY e.at_ms LIMIT $2::int FOR UPDATE SKIP LOCKED
	), gone AS (
		DELETE FROM onereply.entries AS e USING old
		WHERE e.conversation_id = old.conversation_id AND e.seq = old.seq
		RETURNING e.conversation_id, e.kind, e.id
	), freed AS (
		UPDATE onereply.message_ids AS m SET entry_gone = true FROM gone
		WHERE gone.kind = 'message' AND m.conversation_id = gone.conversation_id AND m.message_id = gone.id
	)
	SELECT count(*)::int FROM gone`

// In and out: see the functions.
const (
	expireIDs           = `SELECT onereply.expire_ids_v1($1::bigint, $2::int)`
	expireConversations = `SELECT onereply.expire_conversations_v1($1::bigint, $3::int, $2::int)`
)

// expireStep bounds what Expire removes in one transaction, so that commits
// never wait long for it.
const expireStep = 100

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	var existed bool
	if err := outcome(s.one(ctx, deleteConversation, []any{key.Bot, key.Conversation}, &existed)); err != nil {
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
			if err := s.one(ctx, step.query, arguments, &removed); err != nil {
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

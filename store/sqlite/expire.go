package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Retention works in three steps, each of which makes the next one possible: entries
// that are old and settled are removed, and their message ids are marked; marked ids
// that are old enough are forgotten; conversations without entries and ids go last.
// Ids outlive their entries, so that a message that is delivered again late is still
// known. The first two steps find their rows through indexes of their own, so rows that
// must stay are never even looked at.

// expireStep bounds what Expire removes in one transaction, so that commits
// never wait long for it.
const expireStep = 100

// In: time, limit. Out: conversation, kind, id and the number of the body of each entry
// that was removed. The first condition is the index's. The status is checked as it
// removes: an entry that was reopened, or a reply that was just committed, stays.
const expireEntries = `DELETE FROM entries WHERE (conversation_id, seq) IN (
		SELECT conversation_id, seq FROM entries
		WHERE status NOT IN ('pending', 'committed') AND status <> 'failed' AND at_ms < ?1 ORDER BY at_ms LIMIT ?2)
	RETURNING conversation_id, kind, id, body_id`

// In: the number of a body. Out: nothing. In the transaction that removes its entry.
const expireBody = `DELETE FROM bodies WHERE id = ?1`

// In: conversation, message id. Out: nothing. In the transaction that removes
// the entry, so that an id is free to go only once its message is gone.
const releaseID = `UPDATE message_ids SET entry_gone = 1 WHERE conversation_id = ?1 AND message_id = ?2`

// In: time, limit. Out: the number of ids that were forgotten. Only ids of
// entries that are gone.
const expireIDs = `DELETE FROM message_ids WHERE (conversation_id, message_id) IN (
		SELECT conversation_id, message_id FROM message_ids
		WHERE entry_gone = 1 AND claimed_ms < ?1 ORDER BY claimed_ms LIMIT ?2)`

// In: time, the newest schema that is known, limit, and for the second one a
// conversation. Out: conversations of which nothing is left. The first one runs
// beside the writer, because it may look at many; the second one checks again
// within the transaction that removes, since a message may have come meanwhile.
const (
	isForgotten = ` FROM conversations AS c
	WHERE c.active_ms < ?1 AND c.schema <= ?2 AND c.phase = 'idle'
	AND NOT EXISTS (SELECT 1 FROM entries WHERE conversation_id = c.id)
	AND NOT EXISTS (SELECT 1 FROM message_ids WHERE conversation_id = c.id)`
	findForgotten  = `SELECT c.id` + isForgotten + ` ORDER BY c.active_ms LIMIT ?3`
	stillForgotten = `SELECT c.id` + isForgotten + ` AND c.id = ?3`
)

// Expire implements [store.Store]. It counts entries, ids and conversations
// alike, and works in transactions of at most 100 of them.
func (s *Store) Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error) {
	steps := []func(context.Context, int) (int, error){
		func(ctx context.Context, limit int) (int, error) { return s.expireEntries(ctx, entriesBefore, limit) },
		func(ctx context.Context, limit int) (int, error) { return s.expireIDs(ctx, idsBefore, limit) },
		func(ctx context.Context, limit int) (int, error) { return s.expireConversations(ctx, idsBefore, limit) },
	}
	if err := s.usable(ctx); err != nil {
		return 0, s.failed(err, "expire")
	}
	total := 0
	for _, step := range steps {
		for total < limit {
			count := min(limit-total, expireStep)
			removed, err := step(ctx, count)
			total += removed
			if err != nil {
				return total, err
			}
			if removed < count {
				break
			}
		}
	}
	return total, nil
}

func (s *Store) expireEntries(ctx context.Context, before turn.Time, limit int) (int, error) {
	count := 0
	err := s.write(ctx, func(db *connection) error {
		gone, err := deleteOld(db, before, limit)
		if err != nil {
			return err
		}
		for _, e := range gone {
			db.erases = true
			if _, err := db.run(expireBody, e.body); err != nil {
				return err
			}
			if e.kind != store.Message {
				continue
			}
			if _, err := db.run(releaseID, e.conversation, e.id); err != nil {
				return err
			}
		}
		count = len(gone)
		return nil
	}, "expire entries")
	if err != nil {
		return 0, err // and count may still be written to
	}
	return count, nil
}

// goneEntry is an entry that was removed.
type goneEntry struct {
	conversation int64
	kind         store.Kind
	id           string
	body         int64
}

func deleteOld(db *connection, before turn.Time, limit int) (gone []goneEntry, err error) {
	err = db.each(func(row *sqlite3.Stmt) error {
		gone = append(gone, goneEntry{row.ColumnInt64(0), store.Kind(row.ColumnText(1)), row.ColumnText(2), row.ColumnInt64(3)})
		return nil
	}, expireEntries, int64(before), limit)
	return gone, err
}

func (s *Store) expireIDs(ctx context.Context, before turn.Time, limit int) (int, error) {
	count := int64(0)
	err := s.write(ctx, func(db *connection) (err error) {
		count, err = db.run(expireIDs, int64(before), limit)
		return err
	}, "forget message ids")
	if err != nil {
		return 0, err // and count may still be written to
	}
	return int(count), nil
}

func (s *Store) expireConversations(ctx context.Context, before turn.Time, limit int) (int, error) {
	var candidates []int64
	err := s.read(ctx, func(db *connection) (err error) {
		candidates, err = selectIDs(db, findForgotten, int64(before), turn.Schema, limit)
		return err
	}, "find forgotten conversations")
	if err != nil || len(candidates) == 0 {
		return 0, err
	}
	count := 0
	err = s.write(ctx, func(db *connection) (err error) {
		count, err = removeForgotten(db, candidates, before)
		return err
	}, "remove forgotten conversations")
	if err != nil {
		return 0, err // and count may still be written to
	}
	return count, nil
}

// removeForgotten removes the candidates that are still forgotten.
func removeForgotten(db *connection, candidates []int64, before turn.Time) (int, error) {
	count := 0
	for _, id := range candidates {
		still, err := selectIDs(db, stillForgotten, int64(before), turn.Schema, id)
		if err != nil {
			return 0, err
		}
		if len(still) == 0 {
			continue
		}
		if err := removeAll(db, id); err != nil {
			return 0, err
		}
		count++
	}
	return count, nil
}

func selectIDs(db *connection, query string, arguments ...any) (ids []int64, err error) {
	err = db.each(func(row *sqlite3.Stmt) error {
		ids = append(ids, row.ColumnInt64(0))
		return nil
	}, query, arguments...)
	return ids, err
}

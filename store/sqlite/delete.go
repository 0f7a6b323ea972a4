package sqlite

import (
	"context"

	"github.com/onereply/onereply/store"
)

// In: conversation. Out: nothing. All of these run in one transaction, so
// nobody sees a conversation that is half gone, and a write that expects the old
// record conflicts.
const (
	deleteConversation = `DELETE FROM conversations WHERE id = ?1`
	deleteBodies       = `DELETE FROM bodies WHERE id IN (SELECT body_id FROM entries WHERE conversation_id = ?1)`
	deleteEntries      = `DELETE FROM entries WHERE conversation_id = ?1`
	deleteIDs          = `DELETE FROM message_ids WHERE conversation_id = ?1`
)

// Delete implements [store.Store]. A write that was made for the conversation as it was
// conflicts afterwards: it expects a record, and there is none.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	return s.write(ctx, func(db *connection) error {
		there, err := find(db, key)
		if err != nil || there.id == 0 {
			return err
		}
		return removeAll(db, there.id)
	}, "delete %v", key)
}

func removeAll(db *connection, conversation int64) error {
	db.erases = true
	for _, query := range []string{deleteConversation, clearTimer, deleteBodies, deleteEntries, deleteIDs} {
		if _, err := db.run(query, conversation); err != nil {
			return err
		}
	}
	return nil
}

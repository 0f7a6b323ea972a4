package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// In: the number of the conversation, an id. Out: a row where the id is claimed.
const findClaim = `SELECT seq FROM message_ids WHERE conversation_id = ?1 AND message_id = ?2`

// conflict answers a write that expects another record than the one that is there.
// It reads that record, and which ids are claimed, in the writer's transaction, so
// both are of one moment.
func (w *encodedWrite) conflict(db *connection, id int64) error {
	current := store.Snapshot{}
	var unreadable error
	_, err := db.one(func(row *sqlite3.Stmt) error {
		current, unreadable = scanSnapshot(row, w.Key)
		return nil
	}, loadRecord, w.Key.Bot, w.Key.Conversation)
	if err != nil {
		return err
	}
	if unreadable != nil {
		w.refused = fmt.Errorf("sqlite: commit %v: %w", w.Key, notApplied(unreadable))
		return nil
	}
	repeated, err := w.claimed(db, id)
	w.result = store.Result{Status: store.Conflict, Current: current, Duplicates: repeated}
	return err
}

// claimed returns the ids of the write's messages that are claimed, or occur twice.
func (w *encodedWrite) claimed(db *connection, id int64) (repeated []string, err error) {
	seen := make(map[string]bool)
	for i := range w.Append {
		e := &w.Append[i]
		if e.Kind != store.Message {
			continue
		}
		before, err := db.one(func(*sqlite3.Stmt) error { return nil }, findClaim, id, e.ID)
		if err != nil {
			return nil, err
		}
		if before || seen[e.ID] {
			repeated = append(repeated, e.ID)
		}
		seen[e.ID] = true
	}
	return repeated, nil
}

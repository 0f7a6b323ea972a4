package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// entryColumns is what scanEntry reads.
const entryColumns = `SELECT e.seq, e.kind, e.id, e.status, e.reason, e.at_ms, e.version, e.reply_seq, b.body
	FROM conversations AS c JOIN entries AS e ON e.conversation_id = c.id JOIN bodies AS b ON b.id = e.body_id
	WHERE c.bot = ?1 AND c.conversation = ?2 AND e.seq > ?3 AND e.seq < ?4 AND (?5 = '' OR e.status = ?5)`

// In: bot, conversation, the bounds of the sequence, a status or ”, a limit.
// Out: entries. One statement, so it sees whole writes only.
const (
	entriesForward  = entryColumns + ` ORDER BY e.seq LIMIT ?6`
	entriesBackward = entryColumns + ` ORDER BY e.seq DESC LIMIT ?6`
)

// In: as above, and a message id. Out: at most one entry, found through the
// claim, which stays as long as the entry does.
const entryByID = entryColumns + ` AND e.kind = 'message' AND e.id = ?7
	AND e.seq = (SELECT seq FROM message_ids WHERE conversation_id = c.id AND message_id = ?7) LIMIT ?6`

// errFull ends a query whose page has no room for the next row.
var errFull = errors.New("the page is full")

// Entries implements [store.Store]. The page ends before the row that does not fit, so no
// body is read behind that one.
func (s *Store) Entries(ctx context.Context, key store.Key, query store.EntryQuery) ([]store.Entry, bool, error) {
	text, arguments := entriesQuery(key, query)
	var found []store.Entry
	var more bool
	err := s.read(ctx, func(db *connection) error {
		room := paging.RoomOf(query)
		err := db.each(func(row *sqlite3.Stmt) error {
			if !room.Take(len(row.ColumnRawText(8))) {
				return errFull
			}
			e, err := scanEntry(row)
			found = append(found, e)
			return err
		}, text, arguments...)
		if more = errors.Is(err, errFull); more {
			return nil
		}
		return err
	}, "entries of %v", key)
	if err != nil {
		return nil, false, err
	}
	return found, more, nil
}

func entriesQuery(key store.Key, query store.EntryQuery) (string, []any) {
	before := query.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	arguments := []any{key.Bot, key.Conversation, query.After, before, string(query.Status),
		paging.RoomOf(query).Entries + 1} // one more tells whether there is a next page
	switch {
	case query.ID != "":
		return entryByID, append(arguments, query.ID)
	case query.Backward:
		return entriesBackward, arguments
	}
	return entriesForward, arguments
}

func scanEntry(row *sqlite3.Stmt) (store.Entry, error) {
	e := store.Entry{
		Seq: row.ColumnInt64(0), Kind: store.Kind(row.ColumnText(1)), ID: row.ColumnText(2),
		Status: turn.Status(row.ColumnText(3)), Reason: row.ColumnText(4), At: turn.Time(row.ColumnInt64(5)),
		Version: row.ColumnInt64(6), ReplySeq: row.ColumnInt64(7),
	}
	if err := json.Unmarshal(row.ColumnRawText(8), &e.Body); err != nil {
		return e, fmt.Errorf("the body of entry %d: %w: %w", e.Seq, store.ErrCorrupt, err)
	}
	return e, nil
}

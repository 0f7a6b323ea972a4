package sqlite

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In: bot, conversation. Out: its snapshot.
const loadRecord = `SELECT schema, op, record FROM conversations WHERE bot = ?1 AND conversation = ?2`

// In: bot or ”, phase or ”, where the last page ended, limit. Out: snapshots,
// newest activity first. A conversation that is written to meanwhile moves to
// the front, so it is missed or seen again; the others keep their order.
const listConversations = `SELECT schema, op, record, bot, conversation, active_ms FROM conversations
	WHERE active_ms <= ?3 AND (active_ms < ?3 OR (bot, conversation) > (?4, ?5))
	AND (?1 = '' OR bot = ?1) AND (?2 = '' OR phase = ?2)
	ORDER BY active_ms DESC, bot, conversation LIMIT ?6`

// listAttention is listConversations for those that need attention. They are few, and it
// walks an index that holds nothing else.
const listAttention = `SELECT schema, op, record, bot, conversation, active_ms FROM conversations
	WHERE attention = 1 AND active_ms <= ?3 AND (active_ms < ?3 OR (bot, conversation) > (?4, ?5))
	AND (?1 = '' OR bot = ?1) AND (?2 = '' OR phase = ?2)
	ORDER BY active_ms DESC, bot, conversation LIMIT ?6`

// In: the number where the last page ended, limit. Out: snapshots with their
// timers. Record and timer come from one statement, so they belong together.
const sweepConversations = `SELECT c.schema, c.op, c.record, c.bot, c.conversation, t.due_ms, c.id
	FROM conversations AS c LEFT JOIN timers AS t ON t.conversation_id = c.id
	WHERE c.id > ?1 ORDER BY c.id LIMIT ?2`

// Load implements [store.Store]. It may be older than a commit that is on its way, never
// older than one that was answered.
func (s *Store) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	var snapshot store.Snapshot
	err := s.read(ctx, func(db *connection) error {
		_, err := db.one(func(row *sqlite3.Stmt) (err error) {
			snapshot, err = scanSnapshot(row, key)
			return err
		}, loadRecord, key.Bot, key.Conversation)
		return err
	}, "load %v", key)
	return snapshot, err
}

// scanSnapshot reads the first three columns. It refuses a record of a newer
// program before it tries to understand it.
func scanSnapshot(row *sqlite3.Stmt, key store.Key) (store.Snapshot, error) {
	var snapshot store.Snapshot
	if err := store.CheckRecord(key, turn.Record{Schema: row.ColumnInt(0)}); err != nil {
		return store.Snapshot{}, err
	}
	if err := storejson.ReadDocument(row.ColumnRawText(2), &snapshot); err != nil {
		return store.Snapshot{}, fmt.Errorf("the record of %v: %w: %w", key, store.ErrCorrupt, err)
	}
	copy(snapshot.Op[:], row.ColumnRawBlob(1))
	return snapshot, nil
}

func scanKey(row *sqlite3.Stmt) store.Key {
	return store.Key{Bot: row.ColumnText(3), Conversation: row.ColumnText(4)}
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, query store.ListQuery) (store.Page, error) {
	after, err := paging.ParsePlace(query.Cursor)
	if err != nil {
		return store.Page{}, s.failed(err, "list")
	}
	limit := paging.Limit(query.Limit)
	statement := listConversations
	if query.Attention {
		statement = listAttention
	}
	var items []store.Item
	err = s.read(ctx, func(db *connection) error {
		return db.each(func(row *sqlite3.Stmt) error {
			key := scanKey(row)
			snapshot, err := scanSnapshot(row, key)
			items = append(items, store.Item{Key: key, Snapshot: snapshot, Active: turn.Time(row.ColumnInt64(5)), Err: err})
			return nil
		}, statement, query.Bot, string(query.Phase), int64(after.Active),
			after.Key.Bot, after.Key.Conversation, limit+1) // one more tells whether there is a next page
	}, "list")
	if err != nil {
		return store.Page{}, err
	}
	return paging.Page(items, limit), nil
}

// Sweep implements [store.Store]. It goes by the order in which conversations
// were created.
func (s *Store) Sweep(ctx context.Context, cursor string, limit int) ([]store.Found, string, error) {
	after, err := paging.ParseNumber(cursor)
	if err != nil {
		return nil, "", s.failed(err, "sweep")
	}
	limit = paging.Limit(limit)
	var found []store.Found
	var numbers []int64
	err = s.read(ctx, func(db *connection) error {
		return db.each(func(row *sqlite3.Stmt) error {
			key := scanKey(row)
			snapshot, err := scanSnapshot(row, key)
			found = append(found, store.Found{Key: key, Snapshot: snapshot, Timer: turn.Time(row.ColumnInt64(5)), Err: err})
			numbers = append(numbers, row.ColumnInt64(6))
			return nil
		}, sweepConversations, after, limit+1)
	}, "sweep")
	if err != nil {
		return nil, "", err
	}
	found, next := paging.Sweep(found, numbers, limit)
	return found, next, nil
}

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In: bot, conversation. Out: its snapshot. One row holds all of it, so it is never a
// mix of two writes.
const loadRecord = `SELECT schema, op, record FROM onereply.conversations
	WHERE bot = $1::text AND conversation = $2::text`

// In: bot or nothing, phase or nothing, where the last page ended, limit. Out:
// snapshots, newest activity first. A conversation that is written to meanwhile
// moves to the front, so it is missed or seen again; the others keep their order.
const listConversations = listFrom + listOrder

// listAttention is listConversations of what needs attention, which is few: it
// walks the index that has this very condition, and holds nothing else.
const listAttention = listFrom + `
	AND attention` + listOrder

// In listFrom the condition active_ms <= $3 lets the server begin in an index by activity
// at the place of the cursor. The condition in parentheses is the exact one; alone it
// could not use the index so, because of its OR.
const (
	listFrom = `SELECT schema, op, record, bot, conversation, active_ms FROM onereply.conversations
	WHERE active_ms <= $3::bigint AND (active_ms < $3::bigint OR (bot, conversation) > ($4::text, $5::text))
	AND ($1::text = '' OR bot = $1::text) AND ($2::text = '' OR phase = $2::text)`
	listOrder = `
	ORDER BY active_ms DESC, bot, conversation LIMIT $6::bigint`
)

// In: the number where the last page ended, limit. Out: snapshots with their
// timers, in the order of their numbers. Record and timer come from one statement, so
// they belong together: a write between two reads would make a correct conversation look
// as if its timer were wrong.
const sweepConversations = `SELECT c.schema, c.op, c.record, c.bot, c.conversation, coalesce(t.due_ms, 0), c.id
	FROM onereply.conversations AS c LEFT JOIN onereply.timers AS t ON t.conversation_id = c.id
	WHERE c.id > $1::bigint ORDER BY c.id LIMIT $2::bigint`

// row is a conversation as the statements above give it.
type row struct {
	key    store.Key
	schema int
	op     []byte
	record string
}

// snapshot refuses a record of a newer program before it tries to understand it. Such a
// record, and one that can't be read, is an error of that conversation only: List and
// Sweep show it beside the others.
func (r row) snapshot() (store.Snapshot, error) {
	var snapshot store.Snapshot
	if err := store.CheckRecord(r.key, turn.Record{Schema: r.schema}); err != nil {
		return store.Snapshot{}, err
	}
	if err := storejson.ReadDocument([]byte(r.record), &snapshot); err != nil {
		return store.Snapshot{}, fmt.Errorf("the record of %v: %w: %w", r.key, store.ErrCorrupt, err)
	}
	copy(snapshot.Op[:], r.op)
	return snapshot, nil
}

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	r := row{key: key}
	err := s.queryOne(ctx, loadRecord, []any{key.Bot, key.Conversation}, &r.schema, &r.op, &r.record)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Snapshot{}, nil
	}
	var snapshot store.Snapshot
	if err == nil {
		snapshot, err = r.snapshot()
	}
	if err != nil {
		return store.Snapshot{}, s.failed(err, "load %v", key)
	}
	return snapshot, nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, query store.ListQuery) (store.Page, error) {
	after, err := parsePlace(query.Cursor)
	if err != nil {
		return store.Page{}, s.failed(err, "list")
	}
	limit := paging.Limit(query.Limit)
	arguments := []any{
		query.Bot, string(query.Phase), int64(after.Active), after.Key.Bot, after.Key.Conversation,
		limit + 1, // one more tells whether there is a next page
	}
	statement := listConversations
	if query.Attention {
		statement = listAttention
	}
	var items []store.Item
	err = s.queryEach(ctx, statement, arguments, func(rows pgx.Rows) error {
		var item store.Item
		r, err := scanConversation(rows, (*int64)(&item.Active))
		item.Key = r.key
		item.Snapshot, item.Err = r.snapshot()
		items = append(items, item)
		return err
	})
	if err != nil {
		return store.Page{}, s.failed(err, "list")
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
	err = s.queryEach(ctx, sweepConversations, []any{after, limit + 1}, func(rows pgx.Rows) error {
		var f store.Found
		var number int64
		r, err := scanConversation(rows, (*int64)(&f.Timer), &number)
		f.Key = r.key
		f.Snapshot, f.Err = r.snapshot()
		found, numbers = append(found, f), append(numbers, number)
		return err
	})
	if err != nil {
		return nil, "", s.failed(err, "sweep")
	}
	found, next := paging.Sweep(found, numbers, limit)
	return found, next, nil
}

// scanConversation reads a row with a key, and what follows it.
func scanConversation(rows pgx.Rows, rest ...any) (r row, err error) {
	err = rows.Scan(append([]any{&r.schema, &r.op, &r.record, &r.key.Bot, &r.key.Conversation}, rest...)...)
	return r, err
}

// parsePlace is where a page begins. Names that PostgreSQL can't compare were not
// made by this store.
func parsePlace(cursor string) (paging.Place, error) {
	place, err := paging.ParsePlace(cursor)
	if err == nil && checkName(place.Key.Bot, place.Key.Conversation) != nil {
		err = fmt.Errorf("%q: %w", cursor, store.ErrCursor)
	}
	return place, err
}

package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// selectEntries is the part that all queries of entries share. Its columns are those that
// scanEntry reads, in this order.
const selectEntries = `SELECT e.seq, e.kind, e.id, e.status, e.reason, e.at_ms, e.version, e.reply_seq, e.body
	FROM onereply.conversations AS c JOIN onereply.entries AS e ON e.conversation_id = c.id
	WHERE c.bot = $1::text AND c.conversation = $2::text AND e.seq > $3::bigint AND e.seq < $4::bigint
	AND ($5::text = '' OR e.status = $5::text)`

// In: bot, conversation, the bounds of the sequence, a status or nothing, a
// limit. Out: entries. One statement, so it sees whole writes only.
const (
	entriesForward  = selectEntries + ` ORDER BY e.seq LIMIT $6::bigint`
	entriesBackward = selectEntries + ` ORDER BY e.seq DESC LIMIT $6::bigint`
)

// In: as above, and a message id. Out: at most one entry, found through the
// claim, which stays as long as the entry does.
const entryByID = selectEntries + ` AND e.kind = 'message' AND e.id = $7::text
	AND e.seq = (SELECT m.seq FROM onereply.message_ids AS m
		WHERE m.conversation_id = c.id AND m.message_id = $7::text) LIMIT $6::bigint`

// Entries implements [store.Store]. One entry that can't be read fails the whole call: a
// transcript with a gap would mislead whoever builds a prompt of it.
func (s *Store) Entries(ctx context.Context, key store.Key, query store.EntryQuery) ([]store.Entry, error) {
	text, arguments := entriesQuery(key, query)
	var found []store.Entry
	err := s.queryEach(ctx, text, arguments, func(row pgx.Rows) error {
		e, err := scanEntry(row)
		found = append(found, e)
		return err
	})
	if err != nil {
		return nil, s.failed(err, "entries of %v", key)
	}
	return found, nil
}

// entriesQuery chooses the statement of a query, and its arguments. A limit is always
// set, at most [store.MaxEntries], so one call never reads a whole long transcript.
func entriesQuery(key store.Key, query store.EntryQuery) (string, []any) {
	before := query.Before
	if before == 0 {
		before = math.MaxInt64
	}
	arguments := []any{
		key.Bot, key.Conversation, query.After, before, string(query.Status),
		paging.EntryLimit(query.Limit),
	}
	switch {
	case query.ID != "":
		return entryByID, append(arguments, query.ID)
	case query.Backward:
		return entriesBackward, arguments
	}
	return entriesForward, arguments
}

// scanEntry reads a row of selectEntries. A body that is no JSON was damaged or changed by
// hand: that is [store.ErrCorrupt].
func scanEntry(row pgx.Rows) (e store.Entry, err error) {
	var kind, status, body string
	err = row.Scan(&e.Seq, &kind, &e.ID, &status, &e.Reason, (*int64)(&e.At), &e.Version, &e.ReplySeq, &body)
	if err != nil {
		return e, err
	}
	e.Kind, e.Status = store.Kind(kind), turn.Status(status)
	if err := json.Unmarshal([]byte(body), &e.Body); err != nil {
		return e, fmt.Errorf("the body of entry %d: %w: %w", e.Seq, store.ErrCorrupt, err)
	}
	return e, nil
}

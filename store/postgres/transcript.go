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
const selectEntries = `SELECT seq, kind, id, status, reason, at_ms, version, reply_seq, body FROM (
	SELECT e.*, octet_length(e.body) AS size, sum(octet_length(e.body)) OVER page AS upto,
		first_value(octet_length(e.body)) OVER page AS least
	FROM onereply.conversations AS c JOIN onereply.entries AS e ON e.conversation_id = c.id
	WHERE c.bot = $1::text AND c.conversation = $2::text AND e.seq > $3::bigint AND e.seq < $4::bigint
	AND ($5::text = '' OR e.status = $5::text)`

// The ends of these queries. The rows end with the first one for which the page has no
// room. Sizes are known without the bodies, so no body is read behind that one.
const (
	forward = `
	WINDOW page AS (ORDER BY e.seq ROWS UNBOUNDED PRECEDING) ORDER BY e.seq LIMIT $6::bigint
) AS page WHERE upto - size <= greatest($7::bigint, least) ORDER BY seq`
	backward = `
	WINDOW page AS (ORDER BY e.seq DESC ROWS UNBOUNDED PRECEDING) ORDER BY e.seq DESC LIMIT $6::bigint
) AS page WHERE upto - size <= greatest($7::bigint, least) ORDER BY seq DESC`
)

// In: bot, conversation, the bounds of the sequence, a status or nothing, a
// limit, the bytes of the page. Out: entries. One statement, so it sees whole writes only.
const (
	entriesForward  = selectEntries + forward
	entriesBackward = selectEntries + backward
)

// In: as above, and a message id. Out: at most one entry, found through the
// claim, which stays as long as the entry does.
const entryByID = selectEntries + ` AND e.kind = 'message' AND e.id = $8::text
	AND e.seq = (SELECT m.seq FROM onereply.message_ids AS m
		WHERE m.conversation_id = c.id AND m.message_id = $8::text)` + forward

// Entries implements [store.Store]. One entry that can't be read fails the whole call: a
// transcript with a gap would mislead whoever builds a prompt of it.
func (s *Store) Entries(ctx context.Context, key store.Key, query store.EntryQuery) (found []store.Entry, more bool, err error) {
	room := paging.RoomOf(query)
	text, arguments := entriesQuery(key, query, room)
	err = s.queryEach(ctx, text, arguments, func(row pgx.Rows) error {
		if more = more || !room.Take(len(row.RawValues()[8])); more {
			return nil
		}
		e, err := scanEntry(row)
		found = append(found, e)
		return err
	})
	if err != nil {
		return nil, false, s.failed(err, "entries of %v", key)
	}
	return found, more, nil
}

// entriesQuery chooses the statement of a query, and its arguments. A page is always
// bounded, so one call never reads a whole long transcript.
func entriesQuery(key store.Key, query store.EntryQuery, room paging.Room) (string, []any) {
	before := query.Before
	if before == 0 {
		before = math.MaxInt64
	}
	arguments := []any{
		key.Bot, key.Conversation, query.After, before, string(query.Status),
		room.Entries + 1, room.Bytes, // one entry more tells whether there is a next page
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

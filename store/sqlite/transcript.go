package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// In: conversation, id, its entry and the time. Out: 1 change, or 0 where the id
// was claimed before, by an earlier write of the same transaction too. The
// primary key is both the check and the claim, so two deliveries of one message
// can't both pass.
const claimID = `INSERT INTO message_ids (conversation_id, message_id, seq, claimed_ms)
	VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING`

// In: conversation, id. Out: nothing. Takes back a claim of this transaction.
const unclaimID = `DELETE FROM message_ids WHERE conversation_id = ?1 AND message_id = ?2`

// In: all columns. Out: nothing. Sequences are greater than all before, which
// was checked in the same transaction.
const insertEntry = `INSERT INTO entries
	(conversation_id, seq, kind, id, status, reason, at_ms, version, reply_seq, body)
	VALUES (?1, ?2, ?3, ?4, ?5, nullif(?6, ''), ?7, ?8, ?9, CAST(?10 AS TEXT))`

// In: all columns. Out: nothing; what is not there is not changed. It can't
// undo another writer's change: the record's op was compared in the same
// transaction.
const changeEntry = `UPDATE entries
	SET kind = ?3, id = ?4, status = ?5, reason = nullif(?6, ''), at_ms = ?7, version = ?8, reply_seq = ?9, body = CAST(?10 AS TEXT)
	WHERE conversation_id = ?1 AND seq = ?2`

// In: conversation, the sequence before the first, the versions, the status
// before and after, the reply. Out: nothing. It sees the entries that the same
// write appended or changed.
const settleEntries = `UPDATE entries SET status = ?6, reply_seq = ?7
	WHERE conversation_id = ?1 AND seq > ?2 AND kind = 'message'
	AND version > ?3 AND version <= ?4 AND status = ?5`

// In: conversation, sequence, status, reason. Out: nothing. Only replies are
// marked.
const markReply = `UPDATE entries SET status = ?3, reason = nullif(?4, '')
	WHERE conversation_id = ?1 AND seq = ?2 AND kind = 'reply'`

// claim claims the ids of new messages. Where one was claimed before it takes
// back the others, sets the result and reports true.
func (p *pending) claim(db *connection, conversation int64) (repeated bool, err error) {
	var claimed, repeats []string
	for i := range p.Append {
		e := &p.Append[i]
		if e.Kind != store.Message {
			continue
		}
		changes, err := db.run(claimID, conversation, e.ID, e.Seq, int64(p.At))
		if err != nil {
			return false, err
		}
		if changes == 0 {
			repeats = append(repeats, e.ID)
		} else {
			claimed = append(claimed, e.ID)
		}
	}
	if len(repeats) == 0 {
		return false, nil
	}
	p.result = store.Result{Status: store.Duplicate, Duplicates: repeats}
	for _, id := range claimed {
		if _, err := db.run(unclaimID, conversation, id); err != nil {
			return true, err
		}
	}
	return true, nil
}

// writeTranscript carries out Append, Change, Settle and Mark, in this order.
func (p *pending) writeTranscript(db *connection, conversation int64) error {
	for i := range p.Append {
		if err := writeEntry(db, insertEntry, conversation, &p.Append[i], p.bodies[i]); err != nil {
			return err
		}
	}
	for i := range p.Change {
		if err := writeEntry(db, changeEntry, conversation, &p.Change[i], p.bodies[len(p.Append)+i]); err != nil {
			return err
		}
	}
	for _, settle := range p.Settle {
		from, to := turn.InputPending, settle.Status
		if settle.Reopen {
			from, to = turn.InputFailed, turn.InputPending
		}
		_, err := db.run(settleEntries, conversation, settle.AfterSeq, settle.From, settle.Through,
			string(from), string(to), settle.ReplySeq)
		if err != nil {
			return err
		}
	}
	for _, mark := range p.Mark {
		if _, err := db.run(markReply, conversation, mark.Seq, string(mark.Status), mark.Reason); err != nil {
			return err
		}
	}
	return nil
}

func writeEntry(db *connection, query string, conversation int64, e *store.Entry, body []byte) error {
	_, err := db.run(query, conversation, e.Seq, string(e.Kind), e.ID, string(e.Status), e.Reason,
		int64(e.At), e.Version, e.ReplySeq, body)
	return err
}

// entryColumns is what scanEntry reads.
const entryColumns = `SELECT e.seq, e.kind, e.id, e.status, e.reason, e.at_ms, e.version, e.reply_seq, e.body
	FROM conversations AS c JOIN entries AS e ON e.conversation_id = c.id
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

// Entries implements [store.Store].
func (s *Store) Entries(ctx context.Context, key store.Key, query store.EntryQuery) ([]store.Entry, error) {
	text, arguments := entriesQuery(key, query)
	var found []store.Entry
	err := s.read(ctx, func(db *connection) error {
		return db.each(func(row *sqlite3.Stmt) error {
			e, err := scanEntry(row)
			found = append(found, e)
			return err
		}, text, arguments...)
	}, "entries of %v", key)
	if err != nil {
		return nil, err
	}
	return found, nil
}

func entriesQuery(key store.Key, query store.EntryQuery) (string, []any) {
	before := query.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	arguments := []any{key.Bot, key.Conversation, query.After, before, string(query.Status),
		paging.EntryLimit(query.Limit)}
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

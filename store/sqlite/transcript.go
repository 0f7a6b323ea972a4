package sqlite

import (
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

// In: a body. Out: its number, as the last row id.
const insertBody = `INSERT INTO bodies (body) VALUES (CAST(?1 AS TEXT))`

// In: all columns but the body, and the number of the body. Out: nothing. Sequences are
// greater than all before, which was checked in the same transaction.
const insertEntry = `INSERT INTO entries
	(conversation_id, seq, kind, id, status, reason, at_ms, version, reply_seq, body_id)
	VALUES (?1, ?2, ?3, ?4, ?5, nullif(?6, ''), ?7, ?8, ?9, ?10)`

// In: all columns but the body. Out: nothing; an entry that is not there is not changed.
// It can't undo another writer's change: the record's op was compared in the same
// transaction.
const changeEntry = `UPDATE entries
	SET kind = ?3, id = ?4, status = ?5, reason = nullif(?6, ''), at_ms = ?7, version = ?8, reply_seq = ?9
	WHERE conversation_id = ?1 AND seq = ?2`

// In: conversation, sequence, a body. Out: nothing. Part of the change above.
const changeBody = `UPDATE bodies SET body = CAST(?3 AS TEXT)
	WHERE id = (SELECT body_id FROM entries WHERE conversation_id = ?1 AND seq = ?2)`

// In: conversation, the sequence before the first, the versions, the status
// before and after, the reply. Out: nothing. It sees the entries that the same
// write appended or changed. It may settle thousands of entries. It touches no body:
// SQLite keeps in memory what a statement changes until the statement has ended.
const settleEntries = `UPDATE entries SET status = ?6, reply_seq = ?7
	WHERE conversation_id = ?1 AND seq > ?2 AND kind = 'message'
	AND version > ?3 AND version <= ?4 AND status = ?5`

// In: conversation, sequence, status, reason. Out: nothing. Only replies are
// marked.
const markReply = `UPDATE entries SET status = ?3, reason = nullif(?4, '')
	WHERE conversation_id = ?1 AND seq = ?2 AND kind = 'reply'`

// claim claims the ids of new messages. Where one was claimed before it takes
// back the others, sets the result and reports true.
func (w *encodedWrite) claim(db *connection, conversation int64) (repeated bool, err error) {
	var claimed, repeats []string
	for i := range w.Append {
		e := &w.Append[i]
		if e.Kind != store.Message {
			continue
		}
		changes, err := db.run(claimID, conversation, e.ID, e.Seq, int64(w.At))
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
	w.result = store.Result{Status: store.Duplicate, Duplicates: repeats}
	for _, id := range claimed {
		if _, err := db.run(unclaimID, conversation, id); err != nil {
			return true, err
		}
	}
	return true, nil
}

// writeTranscript carries out Append, Change, Settle and Mark, in this order.
func (w *encodedWrite) writeTranscript(db *connection, conversation int64) error {
	for i := range w.Append {
		if err := appendEntry(db, conversation, &w.Append[i], w.appended(i)); err != nil {
			return err
		}
	}
	for i := range w.Change {
		if err := replaceEntry(db, conversation, &w.Change[i], w.changed(i)); err != nil {
			return err
		}
	}
	for _, settle := range w.Settle {
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
	for _, mark := range w.Mark {
		if _, err := db.run(markReply, conversation, mark.Seq, string(mark.Status), mark.Reason); err != nil {
			return err
		}
	}
	return nil
}

func appendEntry(db *connection, conversation int64, e *store.Entry, body []byte) error {
	if _, err := db.run(insertBody, body); err != nil {
		return err
	}
	_, err := db.run(insertEntry, conversation, e.Seq, string(e.Kind), e.ID, string(e.Status), e.Reason,
		int64(e.At), e.Version, e.ReplySeq, db.LastInsertRowID())
	return err
}

func replaceEntry(db *connection, conversation int64, e *store.Entry, body []byte) error {
	db.erases = db.erases || e.Kind == store.Message // an edit or a deletion
	if _, err := db.run(changeBody, conversation, e.Seq, body); err != nil {
		return err
	}
	_, err := db.run(changeEntry, conversation, e.Seq, string(e.Kind), e.ID, string(e.Status), e.Reason,
		int64(e.At), e.Version, e.ReplySeq)
	return err
}

package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// In: bot, conversation. Out: its number, op and last sequence. It runs in the
// transaction that then writes, and there is one writer, so nothing can come
// between the comparison of the op and the write: this is the compare-and-swap.
const findConversation = `SELECT id, op, last_seq FROM conversations WHERE bot = ?1 AND conversation = ?2`

// In: all columns. Out: the number, as the last row id. That the conversation
// is not there was read in the same transaction. The record comes as bytes, which
// need not be copied first.
const insertConversation = `INSERT INTO conversations
	(bot, conversation, phase, active_ms, last_seq, schema, op, record, attention)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CAST(?8 AS TEXT), ?9)`

// In: number and the new columns. Out: nothing. That the record is the expected
// one was read in the same transaction.
const updateConversation = `UPDATE conversations
	SET phase = ?2, active_ms = ?3, last_seq = ?4, schema = ?5, op = ?6, record = CAST(?7 AS TEXT), attention = ?8 WHERE id = ?1`

// conversation is what apply must know of the conversation as it is; the zero
// value stands for one that is not there.
type conversation struct {
	id      int64
	op      store.Op // of the write that made the record
	lastSeq int64    // of the transcript
}

func find(db *connection, key store.Key) (there conversation, err error) {
	_, err = db.one(func(s *sqlite3.Stmt) error {
		there.id, there.lastSeq = s.ColumnInt64(0), s.ColumnInt64(2)
		copy(there.op[:], s.ColumnRawBlob(1))
		return nil
	}, findConversation, key.Bot, key.Conversation)
	return there, err
}

// apply carries out the write within the writer's transaction. A write that
// conflicts, repeats a message id or is refused changes nothing, or takes back what
// it changed: the transaction goes on with the next write. An error ends the whole
// transaction.
func (w *encodedWrite) apply(db *connection) error {
	w.result, w.refused = store.Result{}, nil // it may be the second time: see writer.transaction
	there, err := find(db, w.Key)
	if err != nil {
		return err
	}
	if there.op != w.Expect {
		return w.conflict(db, there.id)
	}
	if w.refused = w.checkSequences(there.lastSeq); w.refused != nil {
		return nil
	}
	if there.id == 0 {
		return w.create(db)
	}
	repeated, err := w.claim(db, there.id)
	if err != nil || repeated {
		return err
	}
	_, err = db.run(updateConversation, there.id, string(w.Record.Shown()), int64(w.At),
		w.lastSeq(there.lastSeq), w.Record.Schema, w.Op[:], w.record, w.attention())
	if err != nil {
		return err
	}
	return w.writeRest(db, there.id)
}

// create is apply for a conversation that is not there yet. Its ids can only be
// claimed once it has a number, so one that claims an id twice is removed again.
func (w *encodedWrite) create(db *connection) error {
	_, err := db.run(insertConversation, w.Key.Bot, w.Key.Conversation, string(w.Record.Shown()), int64(w.At),
		w.lastSeq(0), w.Record.Schema, w.Op[:], w.record, w.attention())
	if err != nil {
		return err
	}
	id := db.LastInsertRowID()
	repeated, err := w.claim(db, id)
	if err != nil {
		return err
	}
	if repeated {
		_, err := db.run(deleteConversation, id)
		return err
	}
	return w.writeRest(db, id)
}

// writeRest writes the timer and the transcript, which belong to the record.
func (w *encodedWrite) writeRest(db *connection, id int64) error {
	if err := setTimer(db, id, w.Timer); err != nil {
		return err
	}
	return w.writeTranscript(db, id)
}

// checkSequences refuses entries that would stand before others in the transcript.
func (w *encodedWrite) checkSequences(last int64) error {
	for i := range w.Append {
		e := &w.Append[i]
		if e.Seq <= last {
			return fmt.Errorf("sqlite: commit %v: %w: entry %q has sequence %d, which is not greater than %d",
				w.Key, store.ErrNotApplied, e.ID, e.Seq, last)
		}
		last = e.Seq
	}
	return nil
}

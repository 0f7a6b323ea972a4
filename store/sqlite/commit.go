package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// Commit implements [store.Store]. A write that breaks the rules of
// [store.Write] is refused with [store.ErrNotApplied].
//
// It ends early when ctx does. Then it wraps [store.ErrNotApplied] if the write
// was still waiting, and [store.ErrUnknown] if it was on its way to the disk.
func (s *Store) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	p, err := encode(write)
	if err != nil {
		return store.Result{}, s.failed(notApplied(err), "commit %v", write.Key)
	}
	if err := s.write(ctx, p.apply, "commit %v", write.Key); err != nil {
		return store.Result{}, err
	}
	return p.result, p.refused
}

// pending is a write on its way, with all its JSON made before it waits for the
// writer, which has better things to do.
type pending struct {
	store.Write
	record   string
	appended []string // bodies of Append
	changed  []string // bodies of Change

	result  store.Result
	refused error // why a write that no correct caller makes was not applied
}

// encode makes the write independent of what the caller does with its slices
// afterwards, which it may do while the writer is at work: when ctx ended.
func encode(write store.Write) (*pending, error) {
	p := &pending{Write: write}
	p.Append, p.Change = slices.Clone(write.Append), slices.Clone(write.Change)
	p.Settle, p.Mark = slices.Clone(write.Settle), slices.Clone(write.Mark)
	if write.Op.IsZero() {
		return nil, errors.New("the write has no Op")
	}
	var err error
	if p.record, err = toJSON(write.Record); err != nil {
		return nil, err
	}
	if p.appended, err = bodies(write.Append); err != nil {
		return nil, err
	}
	p.changed, err = bodies(write.Change)
	return p, err
}

func bodies(entries []store.Entry) ([]string, error) {
	var texts []string
	for i := range entries {
		text, err := toJSON(&entries[i].Body)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", entries[i].ID, err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// toJSON leaves <, > and & as they are, since people read the file.
func toJSON(v any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// In: bot, conversation. Out: its number, op and last sequence. It runs in the
// transaction that then writes, and there is one writer, so nothing can come
// between the comparison of the op and the write: this is the compare-and-swap.
const findConversation = `SELECT id, op, last_seq FROM conversations WHERE bot = ?1 AND conversation = ?2`

// In: all columns. Out: the number, as the last row id. That the conversation
// is not there was read in the same transaction.
const insertConversation = `INSERT INTO conversations
	(bot, conversation, phase, active_ms, last_seq, schema, op, record)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`

// In: number and the new columns. Out: nothing. That the record is the expected
// one was read in the same transaction.
const updateConversation = `UPDATE conversations
	SET phase = ?2, active_ms = ?3, last_seq = ?4, schema = ?5, op = ?6, record = ?7 WHERE id = ?1`

// apply carries out the write within the writer's transaction. A write that is
// refused changes nothing, or takes back what it changed.
func (p *pending) apply(db *connection) error {
	there, err := find(db, p.Key)
	if err != nil {
		return err
	}
	if there.op != p.Expect {
		p.result.Status = store.Conflict
		return nil
	}
	if p.refused = p.checkSequences(there.lastSeq); p.refused != nil {
		return nil
	}
	if there.id == 0 {
		return p.create(db)
	}
	repeated, err := p.claim(db, there.id)
	if err != nil || repeated {
		return err
	}
	_, err = db.run(updateConversation, there.id, string(p.Record.Shown()), int64(p.At),
		p.lastSeq(there.lastSeq), p.Record.Schema, p.Op[:], p.record)
	if err != nil {
		return err
	}
	return p.writeRest(db, there.id)
}

// create is apply for a conversation that is not there yet.
func (p *pending) create(db *connection) error {
	_, err := db.run(insertConversation, p.Key.Bot, p.Key.Conversation, string(p.Record.Shown()), int64(p.At),
		p.lastSeq(0), p.Record.Schema, p.Op[:], p.record)
	if err != nil {
		return err
	}
	id := db.LastInsertRowID()
	repeated, err := p.claim(db, id)
	if err != nil {
		return err
	}
	if repeated { // one id twice in this very write
		_, err := db.run(deleteConversation, id)
		return err
	}
	return p.writeRest(db, id)
}

// writeRest writes the timer and the transcript.
func (p *pending) writeRest(db *connection, id int64) error {
	if err := setTimer(db, id, p.Timer); err != nil {
		return err
	}
	return p.writeTranscript(db, id)
}

// conversation is what is there when a write is applied; its zero value stands
// for nothing.
type conversation struct {
	id      int64
	op      store.Op
	lastSeq int64
}

func find(db *connection, key store.Key) (there conversation, err error) {
	_, err = db.one(func(s *sqlite3.Stmt) error {
		there.id, there.lastSeq = s.ColumnInt64(0), s.ColumnInt64(2)
		copy(there.op[:], s.ColumnRawBlob(1))
		return nil
	}, findConversation, key.Bot, key.Conversation)
	return there, err
}

// checkSequences finds writes that no correct caller makes.
func (p *pending) checkSequences(last int64) error {
	for i := range p.Append {
		e := &p.Append[i]
		if e.Seq <= last {
			return fmt.Errorf("sqlite: commit %v: %w: entry %q has sequence %d, which is not greater than %d",
				p.Key, store.ErrNotApplied, e.ID, e.Seq, last)
		}
		last = e.Seq
	}
	return nil
}

// lastSeq is the greatest sequence after the write.
func (p *pending) lastSeq(before int64) int64 {
	if len(p.Append) == 0 {
		return before
	}
	return p.Append[len(p.Append)-1].Seq
}

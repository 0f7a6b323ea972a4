package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Commit implements [store.Store]. A write that breaks the rules of
// [store.Write] is refused with [store.ErrNotApplied].
//
// It ends early when ctx does. Then it wraps [store.ErrNotApplied] if the write
// was still waiting, and [store.ErrUnknown] if it was on its way to the disk.
func (s *Store) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	own := cloned(write)
	p, err := encode(&own)
	if err != nil {
		return store.Result{}, s.failed(notApplied(err), "commit %v", write.Key)
	}
	if err := s.writer.queue.write(ctx, p.apply); err != nil {
		return store.Result{}, s.failed(err, "commit %v", write.Key)
	}
	return p.result, p.refused
}

// CommitLater is Commit for callers that do not wait: it returns at once, and
// calls done, once, when the write is durable or has failed. Until then what the
// write refers to must not be changed. It saves a goroutine,
// a context and two switches for each write. done must not block, and must not
// call the store: it may run on the goroutine that writes, and holds up all
// others; it may also run before CommitLater returns.
func (s *Store) CommitLater(write *store.Write, done func(store.Result, error)) {
	t, err := s.later(write, done)
	if err == nil {
		err = s.writer.queue.add(t)
	}
	if err != nil {
		done(store.Result{}, s.failed(notApplied(err), "commit %v", write.Key))
	}
}

// later is what CommitLater queues.
func (s *Store) later(write *store.Write, done func(store.Result, error)) (*task, error) {
	p, err := encode(write)
	if err != nil {
		return nil, err
	}
	return &task{apply: p.apply, done: func(err error) {
		p.release()
		if err != nil {
			done(store.Result{}, s.failed(err, "commit %v", p.Key))
			return
		}
		done(p.result, p.refused)
	}}, nil
}

// pending is a write on its way, with all its JSON made before it waits for the
// writer, which has better things to do.
type pending struct {
	*store.Write
	draft  *[]byte // holds what follows
	record []byte
	bodies [][]byte  // of Append, then of Change
	first  [1][]byte // room for the bodies of most writes

	result  store.Result
	refused error // why a write that no correct caller makes was not applied
}

// cloned makes the write independent of what the caller does with its slices
// afterwards, which it may do while the writer is at work: when ctx ended.
func cloned(write store.Write) store.Write {
	write.Append, write.Change = slices.Clone(write.Append), slices.Clone(write.Change)
	write.Settle, write.Mark = slices.Clone(write.Settle), slices.Clone(write.Mark)
	return write
}

func encode(write *store.Write) (*pending, error) {
	p := &pending{Write: write}
	if write.Op.IsZero() {
		return nil, errors.New("the write has no Op")
	}
	return p, p.toJSON()
}

// drafts are what JSON is made in: most of a write's memory, if it were made anew
// for each.
var drafts = sync.Pool{New: func() any { return new([]byte) }}

// maxDraft is how long one may be to be used again: 64 KiB.
const maxDraft = 64 << 10

// release gives the memory of the JSON back, once the write is over.
func (p *pending) release() {
	if cap(*p.draft) <= maxDraft {
		drafts.Put(p.draft)
	}
	p.draft, p.record, p.bodies, p.first = nil, nil, nil, [1][]byte{}
}

// toJSON makes one text of the record and all bodies, and cuts it.
func (p *pending) toJSON() (err error) {
	p.draft = drafts.Get().(*[]byte)
	text := padded(storejson.AppendDocument((*p.draft)[:0], &p.Record, &p.Log))
	ends := make([]int, 1, 4)
	ends[0] = len(text)
	for _, entries := range [][]store.Entry{p.Append, p.Change} {
		for i := range entries {
			if text, err = storejson.AppendBody(text, &entries[i].Body); err != nil {
				return fmt.Errorf("entry %q: %w", entries[i].ID, err)
			}
			ends = append(ends, len(text))
		}
	}
	*p.draft = text
	p.record, p.bodies = text[:ends[0]], p.first[:0]
	for i, end := range ends[1:] {
		p.bodies = append(p.bodies, text[ends[i]:end])
	}
	return nil
}

// padded makes the record a little longer, by spaces at its end. Each message makes
// it longer by some bytes; a row that is as long as it was is written over where it
// is, and one that is longer has its page and the two beside it packed anew. Rounded
// up in steps of an eighth to a quarter of its length, a record stays as long as it was
// for some messages, and takes 9% more on average, a quarter at most.
func padded(record []byte) []byte {
	step := 1 << max(4, bits.Len(uint(len(record)))-3)
	for len(record)%step != 0 {
		record = append(record, ' ')
	}
	return record
}

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

// apply carries out the write within the writer's transaction. A write that is
// refused changes nothing, or takes back what it changed.
func (p *pending) apply(db *connection) error {
	there, err := db.recent.find(db, p.Key)
	if err != nil {
		return err
	}
	if there.op != p.Expect {
		return p.conflict(db, there.id)
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
		p.lastSeq(there.lastSeq), p.Record.Schema, p.Op[:], p.record, p.attention())
	if err != nil {
		return err
	}
	return p.writeRest(db, there)
}

// create is apply for a conversation that is not there yet.
func (p *pending) create(db *connection) error {
	_, err := db.run(insertConversation, p.Key.Bot, p.Key.Conversation, string(p.Record.Shown()), int64(p.At),
		p.lastSeq(0), p.Record.Schema, p.Op[:], p.record, p.attention())
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
	return p.writeRest(db, conversation{id: id})
}

// writeRest writes the timer and the transcript.
func (p *pending) writeRest(db *connection, there conversation) error {
	if !there.timed || there.timer != p.Timer {
		if err := setTimer(db, there.id, p.Timer); err != nil {
			return err
		}
	}
	if err := p.writeTranscript(db, there.id); err != nil {
		return err
	}
	db.recent.keep(p.Key, conversation{id: there.id, op: p.Op, lastSeq: p.lastSeq(there.lastSeq), timer: p.Timer, timed: true})
	return nil
}

// conversation is what is there when a write is applied; its zero value stands
// for nothing.
type conversation struct {
	id      int64
	op      store.Op
	lastSeq int64
	timer   turn.Time // if timed
	timed   bool      // the timer is known
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

// attention is the column by which lists find what needs attention.
func (p *pending) attention() int {
	if p.Record.NeedsAttention() {
		return 1
	}
	return 0
}

// lastSeq is the greatest sequence after the write.
func (p *pending) lastSeq(before int64) int64 {
	if len(p.Append) == 0 {
		return before
	}
	return p.Append[len(p.Append)-1].Seq
}

package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
)

// commitWrite calls commit_v1 (schema.sql), which checks and applies a write in the
// database. The last argument says whether it may wait for the lock of the record; all
// others come from encode, in this order. In, out and races: see commit_v1.
const commitWrite = `SELECT outcome, claimed_before, there_schema, there_op, there_record FROM onereply.commit_v1($1::text, $2::text, $3::bytea, $4::bytea,
	$5::text, $6::bigint, $7::bigint, $8::int, $9::boolean, $10::text, $11::bigint,
	$12::bigint[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[],
	$18::bigint[], $19::bigint[], $20::text[], $21::text[], $22::bigint[], $23::boolean,
	$24::json, $25::text[], $26::json, $27::json, $28::boolean)`

// Commit implements [store.Store]. It is one round trip, which many writes share (see
// groups), and the answer comes once the write is durable. A write that breaks the rules of
// [store.Write] is refused with [store.ErrNotApplied], and so is one with a name
// or an id that is no UTF-8 or contains NUL, which PostgreSQL can't keep.
//
// The steps: encode checks the write and makes the arguments; groups sends it together
// with others, or later alone; result reads the answer. Everything that can be refused
// without the server is refused before the write joins a group, where its error would
// cost the others their round trip.
//
// It ends early when ctx does. Then it wraps [store.ErrNotApplied] if it still
// waited to be sent, and [store.ErrUnknown] if the write was on its way.
func (s *Store) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	arguments, err := encode(write)
	if err != nil {
		return store.Result{}, s.failed(notApplied(err), "commit %v", write.Key)
	}
	a, err := s.groups.do(&pending{ctx: ctx, write: write, arguments: arguments})
	if err != nil {
		return store.Result{}, s.failed(err, "commit %v", write.Key)
	}
	result, err := a.result(write)
	if err != nil {
		return store.Result{}, s.failed(notApplied(err), "commit %v", write.Key)
	}
	return result, nil
}

// answer is the row that commit_v1 returns. The last three are those of the record that a
// conflict met.
type answer struct {
	outcome string
	claimed []string
	schema  *int // NULL where there is no record, or no conflict
	op      []byte
	record  *string
}

// scan reads a row of commitWrite.
func (a *answer) scan(row pgx.Row) error {
	return row.Scan(&a.outcome, &a.claimed, &a.schema, &a.op, &a.record)
}

// result reads the answer to a write. An error means that nothing was written: the
// sequence was wrong, or a conflict met a record that can't be read. Busy never comes
// here, since groups sends such a write again.
func (a answer) result(write store.Write) (store.Result, error) {
	switch a.outcome {
	case "ok":
		return store.Result{Status: store.OK}, nil
	case "duplicate":
		return store.Result{Status: store.Duplicate, Duplicates: duplicates(write.Append, a.claimed)}, nil
	case "sequence":
		return store.Result{}, fmt.Errorf("entry %q has sequence %d, which is not greater than the last one",
			write.Append[0].ID, write.Append[0].Seq)
	}
	result := store.Result{Status: store.Conflict, Duplicates: duplicates(write.Append, a.claimed)}
	if a.schema == nil {
		return result, nil
	}
	var err error
	result.Current, err = row{key: write.Key, schema: *a.schema, op: a.op, record: *a.record}.snapshot()
	return result, err
}

// encode returns the arguments of commitWrite, but the last. The phase, the schema and
// the need for attention follow from the record; they are columns besides, so that lists
// and claims can select by them without reading JSON.
func encode(w store.Write) ([]any, error) {
	if err := check(w); err != nil {
		return nil, err
	}
	record, err := toJSON(storejson.Document{Record: w.Record, Log: w.Log})
	if err != nil {
		return nil, err
	}
	var expect []byte // NULL
	if !w.Expect.IsZero() {
		expect = w.Expect[:]
	}
	columns, err := columnsOf(w.Append)
	if err != nil {
		return nil, err
	}
	rest, err := encodeSteps(w)
	if err != nil {
		return nil, err
	}
	arguments := []any{
		w.Key.Bot, w.Key.Conversation, expect, w.Op[:], string(w.Record.Shown()), int64(w.At), columns.lastSeq(),
		w.Record.Schema, w.Record.NeedsAttention(), record, int64(w.Timer),
	}
	return slices.Concat(arguments, columns.arguments(), rest), nil
}

package sqlite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
)

// encodedWrite is a write on its way. Its JSON is made before it waits, by the
// goroutine of the caller, so that the one goroutine that writes has less to do.
type encodedWrite struct {
	*store.Write
	record []byte   // the JSON of the record and of the log beside it
	bodies [][]byte // the JSON of the bodies of Append, then of Change

	// The answer, set by apply and valid once the transaction is committed.
	result  store.Result
	refused error // why the write was not applied, where no correct caller makes such a write
}

// encode makes the JSON of a write.
func encode(write *store.Write) (*encodedWrite, error) {
	if write.Op.IsZero() {
		return nil, errors.New("the write has no Op")
	}
	record, err := storejson.EncodeDocument(write)
	if err != nil {
		return nil, err
	}
	w := &encodedWrite{Write: write, record: record}
	for _, entries := range [][]store.Entry{write.Append, write.Change} {
		for i := range entries {
			body, err := storejson.Encode(&entries[i].Body)
			if err != nil {
				return nil, fmt.Errorf("entry %q: %w", entries[i].ID, err)
			}
			w.bodies = append(w.bodies, body)
		}
	}
	return w, nil
}

// appended and changed are the bodies of one entry each.
func (w *encodedWrite) appended(i int) []byte { return w.bodies[i] }
func (w *encodedWrite) changed(i int) []byte  { return w.bodies[len(w.Append)+i] }

// attention is the column by which lists find what a person should look at.
func (w *encodedWrite) attention() int {
	if w.Record.NeedsAttention() {
		return 1
	}
	return 0
}

// lastSeq is the greatest sequence of the transcript after the write.
func (w *encodedWrite) lastSeq(before int64) int64 {
	if len(w.Append) == 0 {
		return before
	}
	return w.Append[len(w.Append)-1].Seq
}

// cloned copies the slices of a write. If ctx ends, the caller may change its own while
// the writer is still at work.
func cloned(write store.Write) store.Write {
	write.Append, write.Change = slices.Clone(write.Append), slices.Clone(write.Change)
	write.Settle, write.Mark = slices.Clone(write.Settle), slices.Clone(write.Mark)
	return write
}

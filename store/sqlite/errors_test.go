package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		err    error
		advice string
	}{
		{sqlite3.FULL, "the disk is full"},
		{fmt.Errorf("write: %w", syscall.ENOSPC), "the disk is full"},
		{syscall.EDQUOT, "the disk is full"},
		{sqlite3.READONLY, "make the file and its folder writable"},
		{sqlite3.PERM, "make the file and its folder writable"},
		{fs.ErrPermission, "make the file and its folder writable"},
		{sqlite3.NOTADB, "not an SQLite file"},
		{sqlite3.CORRUPT, "restore a backup"},
		{sqlite3.BUSY, "end its transaction"},
		{sqlite3.CANTOPEN, "check the path"},
		{sqlite3.IOERR_FSYNC, "the disk reported an error"},
	} {
		got := explain("the.db", test.err)
		if !errors.Is(got, test.err) || !strings.HasPrefix(got.Error(), "the.db: ") || !strings.Contains(got.Error(), test.advice) {
			t.Errorf("%v: got %q, want the path and %q", test.err, got, test.advice)
		}
	}
	if explain("the.db", nil) != nil {
		t.Error("nothing is an error")
	}
	if got := explain("the.db", errFault); got.Error() != "the.db: "+errFault.Error() {
		t.Errorf("got %q", got)
	}
}

// What a failed COMMIT has left behind is certain only where its last page can't have
// been written.
func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want error
	}{
		{sqlite3.FULL, store.ErrNotApplied}, {sqlite3.READONLY, store.ErrNotApplied}, {sqlite3.BUSY, store.ErrNotApplied},
		{sqlite3.IOERR_WRITE, store.ErrUnknown}, {sqlite3.IOERR_FSYNC, store.ErrUnknown}, {sqlite3.CORRUPT, store.ErrUnknown},
	} {
		got := outcome(test.err)
		if !errors.Is(got, test.want) || !errors.Is(got, test.err) {
			t.Errorf("%v: got %v, want %v", test.err, got, test.want)
		}
		again := notApplied(got)
		if !errors.Is(again, test.want) || test.want == store.ErrUnknown && errors.Is(again, store.ErrNotApplied) {
			t.Errorf("%v: it became %v", got, again)
		}
	}
}

func TestConnectionsThatAreOfNoUse(t *testing.T) {
	for _, err := range []error{sqlite3.CANTOPEN, sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.PROTOCOL, sqlite3.INTERNAL, sqlite3.MISUSE} {
		if !broken(fmt.Errorf("read: %w", err)) {
			t.Errorf("%v: it is used again", err)
		}
	}
	for _, err := range []error{sqlite3.FULL, sqlite3.IOERR_READ, sqlite3.BUSY, sqlite3.CONSTRAINT, errFault} {
		if broken(err) {
			t.Errorf("%v: it is given up", err)
		}
	}
}

// A read that fails while a write is compared fails the write: it must not be taken for
// a record that is not there, or for an id that is not claimed.
func TestAConflictThatCannotBeRead(t *testing.T) {
	for _, change := range []string{
		"ALTER TABLE conversations RENAME COLUMN record TO gone",
		"ALTER TABLE message_ids RENAME COLUMN seq TO gone",
	} {
		s := openNew(t)
		mustCommit(t, s, message(key("a"), store.Op{}, opOf(1), 1))
		write := message(key("a"), opOf(9), opOf(2), 2)
		w := encodedWrite{Write: &write}
		cause := errors.New("rolled back")
		err := s.writer.queue.write(t.Context(), func(db *connection) error {
			if err := db.Exec(change); err != nil {
				return err
			}
			if err := w.conflict(db, 1); err == nil {
				t.Errorf("after %q: got %v, want an error", change, w.result)
			}
			return cause
		})
		if !errors.Is(err, cause) {
			t.Fatal(err)
		}
	}
}

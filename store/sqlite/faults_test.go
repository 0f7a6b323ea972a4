package sqlite

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

func TestAWriteThatFailsSaysWhatIsLeft(t *testing.T) {
	for _, test := range []struct {
		name   string
		step   string
		fault  error
		want   error
		advice string
	}{
		{"the disk is full", walWrite, sqlite3.FULL.ExtendedCode(), store.ErrNotApplied, "the disk is full"},
		{"the log can't be written", walWrite, sqlite3.IOERR_WRITE, store.ErrUnknown, "the disk reported an error"},
		{"the log can't be synced", walSync, sqlite3.IOERR_FSYNC, store.ErrUnknown, "the disk reported an error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDisk(t)
			s := d.open(t)
			mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
			d.fail(test.step, test.fault)
			for op := range uint64(3) {
				_, err := s.Commit(t.Context(), message(key("c"), opOf(1), opOf(100+op), 2))
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.advice) {
					t.Fatalf("Commit: got error %v, want %v and %q", err, test.want, test.advice)
				}
			}
			if entries := mustEntries(t, s, key("c")); len(entries) != 1 {
				t.Errorf("%d entries can be read, want 1", len(entries))
			}
			d.mend()
			checkGoesOn(t, s)
		})
	}
}

// checkGoesOn checks a store in which write 1 of conversation c was
// acknowledged, and no other, and which has recovered.
func checkGoesOn(t *testing.T, s *Store) {
	t.Helper()
	mustCommit(t, s, message(key("c"), opOf(1), opOf(2), 2))
	mustClose(t, s)
	again := openAt(t, s.path)
	entries := mustEntries(t, again, key("c"))
	if len(entries) != 2 || entries[0].ID != "m1" || entries[1].ID != "m2" {
		t.Errorf("after a restart the transcript is %+v, want m1 and m2", entries)
	}
	if got := rows(t, again, "PRAGMA integrity_check"); len(got) != 1 || got[0] != "ok" {
		t.Errorf("integrity_check: %q", got)
	}
}

// A limit on the file's size is a disk that is full in the middle of a
// statement, not only at the end.
func TestAFileThatCannotGrow(t *testing.T) {
	s := openNew(t)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	pragma(t, s, "PRAGMA max_page_count = 1") // means: as large as it is
	large := message(key("c"), opOf(1), opOf(3), 2)
	large.Append[0].Text = strings.Repeat("long ", 10_000)
	for range 3 {
		_, err := s.Commit(t.Context(), large)
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "the disk is full") {
			t.Fatalf("Commit: got error %v, want ErrNotApplied and advice", err)
		}
	}
	if snapshot, err := s.Load(t.Context(), key("c")); err != nil || snapshot.Op != opOf(1) {
		t.Errorf("Load: got op %v, %v; want the first write's", snapshot.Op, err)
	}
	pragma(t, s, "PRAGMA max_page_count = 1000000")
	checkGoesOn(t, s)
}

// pragma runs a statement on the writer's connection.
func pragma(t *testing.T, s *Store, statement string) {
	t.Helper()
	err := s.write(t.Context(), func(db *connection) error { return db.Exec(statement) }, "pragma")
	if err != nil {
		t.Fatal(err)
	}
}

func TestAReadOnlyFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write to every file; TestAReadOnlyDisk stands in")
	}
	path := newPath(t)
	mustClose(t, openAt(t, path))
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, Options{})
	if err == nil || !strings.Contains(err.Error(), "no permission to write") {
		t.Errorf("Open: got error %v, want advice about the permission", err)
	}
}

// A batch that fails in the middle is rolled back, whether the connection is
// still good or has to be replaced.
func TestABatchThatFailsLeavesNothing(t *testing.T) {
	for _, test := range []struct {
		name     string
		cause    error
		replaced bool
	}{
		{"the connection is good", sqlite3.CONSTRAINT, false},
		{"the connection is broken", sqlite3.CORRUPT, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openNew(t)
			mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
			var used *connection
			err := s.write(t.Context(), func(db *connection) error {
				used = db
				_, err := db.run(deleteEntries, 1)
				return errors.Join(err, test.cause)
			}, "fail")
			if !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, test.cause) {
				t.Errorf("got error %v, want ErrNotApplied and the cause", err)
			}
			if strings.Contains(err.Error(), "roll back") {
				t.Errorf("the transaction was rolled back, but: %v", err)
			}
			mustCommit(t, s, message(key("other"), store.Op{}, opOf(1), 1))
			checkGoesOn(t, s)
			if replaced := s.writer.db != used; replaced != test.replaced {
				t.Errorf("the connection was replaced: %v, want %v", replaced, test.replaced)
			}
		})
	}
}

// What could not be committed is not there, and a new connection takes the place of
// one that is of no use any more as soon as there is one.
func TestNoConnectionForAWhile(t *testing.T) {
	d, l := newDisk(t), newLedger()
	s := d.open(t)
	l.mustBatch(t, s, "0", "1")
	var down atomic.Bool
	onWriter(t, s, func() {
		open := s.writer.open
		s.writer.open = func() (*connection, error) {
			if down.Load() {
				return nil, errFault
			}
			return open()
		}
	})
	down.Store(true)
	if err := failing(t, s, message(key("refused"), store.Op{}, opOf(1), 1), sqlite3.CORRUPT); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("got %v, want not applied", err)
	}
	for _, a := range l.batch(t, s, "0", "2") {
		if !errors.Is(a.err, store.ErrNotApplied) || !errors.Is(a.err, errFault) {
			t.Errorf("got %v, %v; want not applied", a.result.Status, a.err)
		}
	}
	l.check(t, s) // readers have connections of their own
	l.clone().checkAfter(t, d.left())
	down.Store(false)
	l.mustBatch(t, s, "0", "2")
	l.check(t, s)
	l.checkAfter(t, d.left())
	mustClose(t, s)
}

// onWriter runs f on the goroutine that writes.
func onWriter(t *testing.T, s *Store, f func()) {
	t.Helper()
	err := s.write(t.Context(), func(*connection) error {
		f()
		return nil
	}, "test")
	if err != nil {
		t.Fatal(err)
	}
}

// A commit whose sync failed may be found by the next connection. Then it counts: who
// was told "unknown" finds it, and nothing is there twice.
func TestACommitThatIsThereAfterAll(t *testing.T) {
	d, l := newDisk(t), newLedger()
	s := d.open(t)
	l.mustBatch(t, s, "0", "1")
	d.fail(walSync, sqlite3.IOERR_FSYNC)
	l.remove(t, s, "0")
	if err := failing(t, s, message(key("refused"), store.Op{}, opOf(1), 1), sqlite3.CORRUPT); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("got %v, want not applied", err)
	}
	d.mend()
	l.mustBatch(t, s, "last")
	l.settle(t, s)
	if l.is["0"].seq != 0 {
		t.Error("the commit is not there, so nothing was tested")
	}
	l.check(t, s)
	l.checkWhole(t, s)
	l.checkAfter(t, d.left())
	mustClose(t, s)
}

// Another program writes between a failure and the next transaction.
func TestAnotherProgramWritesAfterAFailure(t *testing.T) {
	s, l := openNew(t), newLedger()
	l.mustBatch(t, s, "0", "1")
	if err := failing(t, s, message(key("refused"), store.Op{}, opOf(1), 1), sqlite3.CONSTRAINT); err == nil {
		t.Fatal("nothing failed")
	}
	sqlOn(t, s.path, "INSERT INTO timers VALUES (999, 1)")
	l.mustBatch(t, s, "0", "1")
	l.check(t, s)
	sqlOn(t, s.path, "DELETE FROM timers WHERE conversation_id = 999")
	l.checkWhole(t, s)
}

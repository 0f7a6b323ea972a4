package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
)

// A fault of the log alone is nobody's trouble: the tables take what it does not.
func TestALogThatFailsIsNotNeeded(t *testing.T) {
	for _, step := range []string{redoOpen, redoAppend, redoSync} {
		for _, logged := range []bool{false, true} { // there is something in the log
			if step == redoOpen && logged {
				continue
			}
			inBubble(t, func(t *testing.T) {
				d, l := newDisk(t), newLedger()
				s := d.open(t)
				names := numbered(minLogged)
				if logged {
					l.batch(t, s, names...)
				}
				d.fail(step, errFault)
				for range 3 {
					l.mustBatch(t, s, names...)
					if s.writer.ahead.any() {
						t.Fatalf("%s: it was answered, and is only in the log that fails", step)
					}
				}
				l.check(t, s)
				d.mend()
				l.batch(t, s, names...)
				if used := s.writer.ahead.any(); used != (step != redoOpen) { // what can't be opened is not tried again
					t.Errorf("%s: the log is used again: %v", step, used)
				}
				l.checkAfter(t, d.left())
				mustClose(t, s)
			})
		}
	}
}

// eachCommitFault runs a test with what is logged, and a commit that fails.
func eachCommitFault(t *testing.T, test func(t *testing.T, d *disk, s *Store, l *ledger, fault error)) {
	t.Helper()
	for _, step := range []string{walWrite, walSync} {
		for _, fault := range faults[step] {
			t.Run(fmt.Sprint(step, ": ", fault), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					d, l := newDisk(t), newLedger()
					s := d.open(t)
					l.batch(t, s, numbered(minLogged)...)
					d.fail(step, fault)
					test(t, d, s, l, fault)
				})
			})
		}
	}
}

func TestCloseSaysWhatIsOnlyInTheLog(t *testing.T) {
	eachCommitFault(t, func(t *testing.T, d *disk, s *Store, l *ledger, fault error) {
		err := s.Close()
		if err == nil || !strings.Contains(err.Error(), fault.Error()) || !strings.Contains(err.Error(), "the next start carries it out") {
			t.Errorf("Close: got error %v, want why, and what becomes of the rest", err)
		}
		l.checkAfter(t, d.left())
	})
}

func TestACommitOfTheLogThatFailsIsTriedAgain(t *testing.T) {
	for _, reads := range []int{0, 2} { // meanwhile
		eachCommitFault(t, func(t *testing.T, d *disk, s *Store, l *ledger, fault error) {
			steps := 0
			d.watch(func(string) { steps++ })
			time.Sleep(10 * retryAfter)
			synctest.Wait()
			if d.watch(nil); steps > 100 {
				t.Errorf("%d steps in %v: it is tried too often", steps, 10*retryAfter)
			}
			for range reads {
				_, err := s.Load(t.Context(), key("0"))
				if err == nil || !strings.Contains(err.Error(), fault.Error()) || !strings.Contains(err.Error(), "the disk") ||
					errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown) {
					t.Errorf("Load: got error %v, want why it can't be read", err)
				}
			}
			d.mend()
			time.Sleep(retryAfter)
			synctest.Wait()
			if got := inTables(t, s); got != fmt.Sprint(minLogged) {
				t.Errorf("%s entries are committed once the fault is gone", got)
			}
			l.check(t, s)
			l.batch(t, s, numbered(minLogged)...)
			if !s.writer.ahead.any() {
				t.Error("the log is not used again")
			}
			l.checkAfter(t, d.left())
			mustClose(t, s)
		})
	}
}

// After a commit that failed the write-ahead log may hold it, of the next generation:
// what is logged of this one would be forgotten after a crash.
func TestNothingIsOnlyLoggedAfterACommitThatFailed(t *testing.T) {
	eachCommitFault(t, func(t *testing.T, d *disk, s *Store, l *ledger, fault error) {
		l.remove(t, s, "gone")
		for _, a := range l.batch(t, s, numbered(2 * minLogged)[minLogged:]...) {
			want := store.ErrUnknown
			if errors.Is(fault, sqlite3.FULL) {
				want = store.ErrNotApplied
			}
			if !errors.Is(a.err, want) {
				t.Errorf("got %v, %v; want %v", a.result.Status, a.err, want)
			}
		}
		l.clone().checkAfter(t, d.left())
		d.mend()
		l.mustBatch(t, s, numbered(3 * minLogged)[2*minLogged:]...)
		l.settle(t, s)
		l.check(t, s)
		l.checkAfter(t, d.left())
		mustClose(t, s)
	})
}

// A commit whose sync failed is found by the next connection, where nobody else has
// the file open: what was logged is in the tables then, and not carried out again, also
// where the transaction that finds it fails too.
func TestACommitThatIsThereAfterAll(t *testing.T) {
	for _, another := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			d, l := newDisk(t), newLedger()
			s := d.open(t)
			l.batch(t, s, numbered(minLogged)...)
			d.fail(walSync, sqlite3.IOERR_FSYNC)
			l.remove(t, s, "0")
			if err := failing(t, s, message(key("refused"), store.Op{}, opOf(1), 1), sqlite3.CORRUPT); !errors.Is(err, store.ErrNotApplied) {
				t.Errorf("got %v, want not applied", err)
			}
			d.mend()
			if another {
				d.fail(walWrite, sqlite3.FULL.ExtendedCode())
				l.batch(t, s, "x")
				d.mend()
			}
			l.mustBatch(t, s, "last")
			l.settle(t, s)
			if l.is["0"].seq != 0 {
				t.Error("the commit is not there, so nothing was tested")
			}
			l.check(t, s)
			l.batch(t, s, numbered(minLogged)...)
			l.checkAfter(t, d.left())
			mustClose(t, s)
		})
	}
}

// Where the log failed and the tables too, what was to be logged may be found.
func TestWhatTheLogMayHoldIsUnknown(t *testing.T) {
	for _, step := range []string{redoAppend, redoSync} {
		eachCommitFault(t, func(t *testing.T, d *disk, s *Store, l *ledger, _ error) {
			d.fail(step, errFault)
			for range 2 {
				for _, a := range l.batch(t, s, numbered(2 * minLogged)[minLogged:]...) {
					if !errors.Is(a.err, store.ErrUnknown) || errors.Is(a.err, store.ErrNotApplied) {
						t.Errorf("got %v, want unknown", a.err)
					}
				}
				l.clone().checkAfter(t, d.left())
			}
			d.mend()
			time.Sleep(retryAfter)
			l.batch(t, s, "last")
			l.settle(t, s)
			l.checkAfter(t, d.left())
			mustClose(t, s)
		})
	}
}

// A batch that fails in the middle takes nothing with it that was acknowledged before.
func TestABatchThatFailsLeavesWhatWasLogged(t *testing.T) {
	for _, cause := range []error{sqlite3.CONSTRAINT, sqlite3.CORRUPT} { // after the second the connection is replaced
		for _, pause := range []time.Duration{0, retryAfter} {
			inBubble(t, func(t *testing.T) {
				d, l := newDisk(t), newLedger()
				s := d.open(t)
				names := numbered(minLogged)
				l.batch(t, s, names...)
				l.batch(t, s, names...)
				used, refused := s.writer.db, failing(t, s, message(key("refused"), store.Op{}, opOf(1), 1), cause)
				if !errors.Is(refused, store.ErrNotApplied) || !errors.Is(refused, cause) {
					t.Errorf("got %v, want not applied, because of %v", refused, cause)
				}
				l.clone().checkAfter(t, d.left())
				if time.Sleep(pause); pause > 0 {
					synctest.Wait()
					if got := inTables(t, s); got != fmt.Sprint(2*minLogged) {
						t.Errorf("%s entries are committed after a while", got)
					}
				}
				l.batch(t, s, names...)
				l.check(t, s)
				l.checkWhole(t, s)
				if replaced := s.writer.db != used; replaced != errors.Is(cause, sqlite3.CORRUPT) {
					t.Errorf("%v: the connection was replaced: %v", cause, replaced)
				}
				l.checkAfter(t, d.left())
				mustClose(t, s)
			})
		}
	}
}

// failing has a write share a batch with one that makes it fail, and returns what the
// first is told.
func failing(t *testing.T, s *Store, write store.Write, cause error) error {
	t.Helper()
	p, err := encode(&write)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	fails := &pending{Write: &write}
	queueAll(s, []*task{
		{write: p, apply: p.apply, done: func(err error) { told <- err }},
		{write: fails, apply: func(*connection) error { return cause }, done: func(error) {}},
	})
	return <-told
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

// The connection is gone, and there is no new one for a while.
func TestNoConnectionForAWhile(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d, l := newDisk(t), newLedger()
		s := d.open(t)
		l.batch(t, s, numbered(minLogged)...)
		var down atomic.Bool
		onWriter(t, s, func() { // who uses it
			open := s.writer.open
			s.writer.open = func() (*connection, error) {
				if down.Load() {
					return nil, errFault
				}
				return open()
			}
		})
		l.batch(t, s, numbered(minLogged)...)
		down.Store(true)
		if err := failing(t, s, message(key("refused"), store.Op{}, opOf(1), 1), sqlite3.CORRUPT); !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("got %v, want not applied", err)
		}
		for _, a := range l.batch(t, s, numbered(2 * minLogged)[minLogged:]...) {
			if !errors.Is(a.err, store.ErrNotApplied) || !errors.Is(a.err, errFault) {
				t.Errorf("got %v, %v; want not applied", a.result.Status, a.err)
			}
		}
		if _, err := s.Load(t.Context(), key("0")); err == nil || !strings.Contains(err.Error(), errFault.Error()) {
			t.Errorf("Load: got error %v, want why it can't be read", err)
		}
		time.Sleep(3 * retryAfter)
		l.clone().checkAfter(t, d.left())
		synctest.Wait()
		down.Store(false)
		time.Sleep(retryAfter)
		l.check(t, s)
		l.checkWhole(t, s)
		l.checkAfter(t, d.left())
		mustClose(t, s)
	})
}

// Another program holds the lock between a failure and the next transaction.
func TestAnotherProgramWritesAfterAFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d, l := newDisk(t), newLedger()
		s := d.open(t)
		l.batch(t, s, numbered(minLogged)...)
		if err := failing(t, s, message(key("refused"), store.Op{}, opOf(1), 1), sqlite3.CONSTRAINT); err == nil {
			t.Fatal("nothing failed")
		}
		synctest.Wait()
		sqlOn(t, s.path, "INSERT INTO timers VALUES (999, 1)")
		l.check(t, s)
		sqlOn(t, s.path, "DELETE FROM timers WHERE conversation_id = 999")
		l.checkAfter(t, d.left())
		mustClose(t, s)
	})
}

// What the log may hold of a write whose outcome is unknown is soon ended, without
// another write.
func TestADoubtEndsByItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d, l := newDisk(t), newLedger()
		s := d.open(t)
		d.fail(redoSync, errFault)
		d.fail(walWrite, sqlite3.FULL.ExtendedCode())
		l.batch(t, s, numbered(minLogged)...)
		d.mend()
		time.Sleep(retryAfter)
		synctest.Wait()
		if s.writer.redo.counts() {
			t.Error("what the log holds would be carried out after a crash")
		}
		mustClose(t, s)
	})
}

// Another program put other tables in place, of another generation: what is logged
// belongs to these.
func TestAnotherProgramChangesTheGeneration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d, l := newDisk(t), newLedger()
		s := d.open(t)
		l.batch(t, s, numbered(minLogged)...)
		time.Sleep(maxIdle)
		synctest.Wait()
		sqlOn(t, s.path, "UPDATE redo SET generation = 4711")
		l.batch(t, s, numbered(minLogged)...)
		l.checkAfter(t, d.left())
		mustClose(t, s)
	})
}

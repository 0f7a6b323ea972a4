package sqlite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// holdSync stops the next sync of the log until release is called.
func holdSync(f *faulty) (standing <-chan struct{}, release func()) {
	stands, goOn := make(chan struct{}), make(chan struct{})
	wait := func() {
		f.beforeSync.Store(nil) // of this one only
		close(stands)
		<-goOn
	}
	f.beforeSync.Store(&wait)
	return stands, func() { close(goOn) }
}

// While a sync runs the next transaction is applied; nobody is told anything
// before what it rests on is on the disk: neither who wrote, nor who asks what
// became of a write, nor who writes the same again.
func TestNobodyIsToldBeforeTheDiskHasIt(t *testing.T) {
	s, faults := openFaulty(t)
	a, b := key("a"), key("b")
	mustCommit(t, s, message(key("before"), store.Op{}, opOf(9), 1))
	before := s.Stats().Transactions
	standing, release := holdSync(faults)
	told := make(chan string, 5)
	tell := func(who string, f func() error) {
		go func() {
			if err := f(); err != nil {
				t.Errorf("%s: %v", who, err)
			}
			told <- who
		}()
	}
	commit := func(write store.Write) func() error {
		return func() error { _, err := s.Commit(context.Background(), write); return err }
	}
	tell("the first write", commit(message(a, store.Op{}, opOf(1), 1)))
	<-standing
	tell("the second write", commit(message(b, store.Op{}, opOf(1), 1)))
	awaitTransactions(t, s, before+2) // so the second one was applied meanwhile
	repeat := message(a, opOf(1), opOf(2), 2)
	repeat.Append[0].ID = "m1"
	tell("the repeat", commit(repeat))
	tell("a load", func() error { _, err := s.Load(context.Background(), a); return err })
	tell("a search", func() error {
		_, err := s.Entries(context.Background(), a, store.EntryQuery{ID: "m1"})
		return err
	})
	// Whoever does not wait is done long before so many other reads are.
	for range 200 {
		if entries := mustEntries(t, s, a); len(entries) != 1 {
			t.Fatalf("the transcript has %d entries, want 1", len(entries))
		}
	}
	waiting := cap(told)
	for ; len(told) > 0; waiting-- {
		t.Errorf("%s was told before the sync ended", <-told)
	}
	release()
	for range waiting {
		<-told
	}
}

// A sync that fails leaves writes of which nobody knows whether they are there.
// Nothing is told, read for settling, or written on top until they are: they are
// written again, since the system has forgotten them.
func TestASyncThatFails(t *testing.T) {
	s, faults := openFaulty(t)
	c := key("c")
	mustCommit(t, s, message(c, store.Op{}, opOf(1), 1))
	failure := sqlite3.IOERR_FSYNC
	faults.onSync.Store(&failure)
	const advice = "the disk reported an error"
	for i, want := range []error{store.ErrUnknown, store.ErrNotApplied, store.ErrNotApplied} {
		_, err := s.Commit(t.Context(), message(c, opOf(1), opOf(uint64(100+i)), 2))
		if !errors.Is(err, want) || !strings.Contains(err.Error(), advice) {
			t.Errorf("write %d: got error %v, want %v and %q", i+1, err, want, advice)
		}
		if _, err := s.Load(t.Context(), c); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("Load: got error %v, want %q", err, advice)
		}
	}
	faults.onSync.Store(nil)
	snapshot, err := s.Load(t.Context(), c)
	if err != nil || snapshot.Op != opOf(100) {
		t.Fatalf("Load: got op %v, %v; want that of the unknown write", snapshot.Op, err)
	}
	mustCommit(t, s, message(c, opOf(100), opOf(2), 3))
	checkLog(t, s, 3)
}

// Transactions behind a sync that failed are as unknown as it is.
func TestWritesBehindASyncThatFails(t *testing.T) {
	s, faults := openFaulty(t)
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(1), 1))
	before := s.Stats().Transactions
	standing, release := holdSync(faults)
	first := commitLater(t.Context(), s, message(key("c"), opOf(1), opOf(2), 2))
	<-standing
	second := commitLater(t.Context(), s, message(key("c"), opOf(2), opOf(3), 3))
	awaitTransactions(t, s, before+2)
	failure := sqlite3.IOERR_FSYNC
	faults.onSync.Store(&failure)
	release()
	for i, failed := range []<-chan error{first, second} {
		if err := <-failed; !errors.Is(err, store.ErrUnknown) {
			t.Errorf("write %d: got error %v, want ErrUnknown", i+2, err)
		}
	}
	faults.onSync.Store(nil)
	mustCommit(t, s, message(key("c"), opOf(3), opOf(4), 4))
	checkLog(t, s, 4)
}

// checkLog reads the file as another process would that finds only what reached
// the disk: the transcript of c has count messages, and nothing is damaged.
func checkLog(t *testing.T, s *Store, count int) {
	t.Helper()
	mustClose(t, s)
	again := openAt(t, s.path)
	entries := mustEntries(t, again, key("c"))
	if len(entries) != count {
		t.Errorf("after a restart there are %d messages, want %d", len(entries), count)
	}
	for i, e := range entries {
		if e.Status != turn.InputPending || e.Seq != int64(i+1) {
			t.Errorf("entry %d: %+v", i+1, e)
		}
	}
	if got := rows(t, again, "PRAGMA integrity_check"); len(got) != 1 || got[0] != "ok" {
		t.Errorf("integrity_check: %q", got)
	}
}

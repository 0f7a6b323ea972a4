package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

func TestManyWritersShareATransaction(t *testing.T) {
	const writers = 64
	s := openNew(t)
	before := s.writer.transactions.Load()
	release := hold(t, s)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() { mustCommit(t, s, message(key(fmt.Sprint(i)), store.Op{}, opOf(1), 1)) })
	}
	awaitWaiting(t, s, writers)
	release()
	group.Wait()
	if transactions := s.writer.transactions.Load() - before - 1; transactions != 1 { // without the one that held
		t.Errorf("%d writers took %d transactions, want 1", writers, transactions)
	}
}

func TestABatchIsBounded(t *testing.T) {
	s := openNew(t)
	before := s.writer.transactions.Load()
	release := hold(t, s)
	var group sync.WaitGroup
	for i := range maxBatch + 1 {
		group.Go(func() { mustCommit(t, s, message(key(fmt.Sprint(i)), store.Op{}, opOf(1), 1)) })
	}
	awaitWaiting(t, s, maxBatch+1)
	release()
	group.Wait()
	if transactions := s.writer.transactions.Load() - before - 1; transactions != 2 {
		t.Errorf("%d writes took %d transactions, want 2", maxBatch+1, transactions)
	}
}

// The writes of one transaction see each other in the order of their arrival,
// and those that are refused leave the others and the file alone.
func TestWritesOfOneBatchSeeThoseBefore(t *testing.T) {
	s := openNew(t)
	c := key("c")
	repeated := message(c, opOf(1), opOf(4), 2)
	repeated.Append = append(repeated.Append, repeated.Append[0])
	repeated.Append[1].Seq, repeated.Append[1].ID = 3, "m1" // m2 is new, m1 is not
	backwards := message(c, opOf(1), opOf(5), 1)
	backwards.Append[0].ID = "m9"
	steps := []struct {
		write store.Write
		want  store.Status
		err   error
	}{
		{message(c, store.Op{}, opOf(1), 1), store.OK, nil},
		{message(c, store.Op{}, opOf(2), 1), store.Conflict, nil},
		{message(c, opOf(9), opOf(3), 2), store.Conflict, nil},
		{repeated, store.Duplicate, nil},
		{backwards, store.OK, store.ErrNotApplied},
		{message(c, opOf(1), opOf(6), 2), store.OK, nil},
		{message(c, opOf(1), opOf(7), 3), store.Conflict, nil},
		{message(c, opOf(6), opOf(8), 3), store.OK, nil},
	}
	before := s.writer.transactions.Load()
	release := hold(t, s)
	var group sync.WaitGroup
	for i, step := range steps {
		group.Go(func() {
			result, err := s.Commit(t.Context(), step.write)
			if result.Status != step.want || !errors.Is(err, step.err) {
				t.Errorf("write %d: got %v, %v; want %v, %v", i+1, result.Status, err, step.want, step.err)
			}
		})
		awaitWaiting(t, s, i+1)
	}
	release()
	group.Wait()
	if transactions := s.writer.transactions.Load() - before - 1; transactions != 1 {
		t.Errorf("the writes took %d transactions, want 1", transactions)
	}
	entries := mustEntries(t, s, c)
	if len(entries) != 3 || entries[0].ID != "m1" || entries[1].ID != "m2" || entries[2].ID != "m3" {
		t.Errorf("the transcript is %+v, want m1, m2 and m3", entries)
	}
}

func TestAWriteThatWaitsCanBeGivenUp(t *testing.T) {
	s := openNew(t)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	failed := commitLater(ctx, s, message(key("c"), store.Op{}, opOf(1), 1))
	awaitWaiting(t, s, 1)
	cancel()
	if err := receive(t, failed, "the end of the write that was given up"); !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: got %v, want ErrNotApplied and context.Canceled", err)
	}
	release()
	mustCommit(t, s, message(key("c"), store.Op{}, opOf(2), 1)) // nothing of the first is there
}

func TestAWriteOnItsWayIsUnknown(t *testing.T) {
	s := openNew(t)
	releaseFirst := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	failed := commitLater(ctx, s, message(key("c"), store.Op{}, opOf(1), 1))
	awaitWaiting(t, s, 1)
	var releaseSecond func()
	var group sync.WaitGroup
	group.Go(func() { releaseSecond = hold(t, s) }) // in one transaction with the write
	awaitWaiting(t, s, 2)
	releaseFirst()
	group.Wait()
	cancel()
	if err := receive(t, failed, "the end of the write that was given up"); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: got %v, want ErrUnknown and context.Canceled", err)
	}
	releaseSecond()
}

func commitLater(ctx context.Context, s *Store, write store.Write) <-chan error {
	failed := make(chan error, 1)
	go func() {
		_, err := s.Commit(ctx, write)
		failed <- err
	}()
	return failed
}

// In a bubble time stands still while anything runs, so this ends only if the
// store leaves no goroutine behind and waits in ways that the bubble knows.
func TestTheStoreWorksInABubble(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				time.Sleep(time.Duration(i%3) * time.Hour)
				mustCommit(t, s, message(key(fmt.Sprint(i)), store.Op{}, opOf(1), 1))
				mustEntries(t, s, key(fmt.Sprint(i)))
			})
		}
		group.Wait()
		now, err := s.Now(t.Context())
		if want := turn.At(time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)); err != nil || now != want {
			t.Errorf("Now: got %v, %v; want the bubble's time %v", now.Go(), err, want.Go())
		}
		mustClose(t, s)
	})
}

// A writer that is woken where nothing waits writes nothing.
func TestAWakeUpWritesNothing(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s := openAt(t, path)
		mustCommit(t, s, message(key("a"), store.Op{}, opOf(1), 1))
		before := s.writer.transactions.Load()
		s.writer.queue.wake()
		synctest.Wait()
		if got := s.writer.transactions.Load() - before; got != 0 {
			t.Errorf("%d transactions of nothing", got)
		}
	})
}

package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/storetest"
)

// later is a store whose commits all go through CommitLater.
type later struct{ *Store }

func (l later) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	type answer struct {
		result store.Result
		err    error
	}
	answered := make(chan answer, 2) // a second one would be found by the next test of the suite
	l.CommitLater(&write, func(result store.Result, err error) { answered <- answer{result, err} })
	select {
	case got := <-answered:
		return got.result, got.err
	case <-ctx.Done():
		return store.Result{}, store.ErrUnknown
	}
}

// TestCommitLaterIsCommit runs the same random calls through it and through the
// plain store in memory.
func TestCommitLaterIsCommit(t *testing.T) {
	storetest.Differential(t, func(t *testing.T) store.Store { return later{openNew(t)} }, storetest.Effort{})
}

func TestCommitLaterOfAClosedStore(t *testing.T) {
	s := openNew(t)
	mustClose(t, s)
	_, err := later{s}.Commit(t.Context(), message(key("a"), store.Op{}, opOf(1), 1))
	if !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v, want not applied, because closed", err)
	}
}

func TestCommitLaterRefusesAWriteWithoutOp(t *testing.T) {
	_, err := later{openNew(t)}.Commit(t.Context(), message(key("a"), store.Op{}, store.Op{}, 1))
	if !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("got %v, want not applied", err)
	}
}

// TestCommitLaterDoesNotWait has a write wait behind a transaction that stands.
func TestCommitLaterDoesNotWait(t *testing.T) {
	s := openNew(t)
	release := hold(t, s)
	done := make(chan error, 1)
	write := message(key("a"), store.Op{}, opOf(1), 1)
	s.CommitLater(&write, func(_ store.Result, err error) { done <- err })
	select {
	case err := <-done:
		t.Errorf("it was answered before it was written: %v", err)
	default:
	}
	release()
	if err := receive(t, done, "the answer to the write"); err != nil {
		t.Error(err)
	}
}

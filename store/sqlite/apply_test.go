package sqlite

import (
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// outside runs SQL on the file as a person with another program would.
func outside(t *testing.T, s *Store, query string) {
	t.Helper()
	db, err := connect(s.path, ourFiles)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

// TestAnotherProgramsWriteIsNoticed: a write compares the record that is there now,
// whoever wrote it.
func TestAnotherProgramsWriteIsNoticed(t *testing.T) {
	s := openNew(t)
	mustCommit(t, s, message(key("a"), store.Op{}, opOf(1), 1))
	mustCommit(t, s, message(key("b"), store.Op{}, opOf(2), 1))
	outside(t, s, `UPDATE conversations SET op = zeroblob(16) WHERE conversation = 'a'; DELETE FROM conversations WHERE conversation = 'b'`)
	for conversation, op := range map[string]store.Op{"a": opOf(1), "b": opOf(2)} {
		result, err := s.Commit(t.Context(), message(key(conversation), op, opOf(9), 2))
		if err != nil || result.Status != store.Conflict {
			t.Errorf("%s: got %v, %v; want a conflict", conversation, result.Status, err)
		}
	}
}

// TestARollbackLeavesTheRecord: the transaction that was to make the next record
// failed.
func TestARollbackLeavesTheRecord(t *testing.T) {
	s := openNew(t)
	mustCommit(t, s, message(key("a"), store.Op{}, opOf(1), 1))
	release := hold(t, s)
	// Both wait behind the held transaction, so they share the next one.
	first := make(chan error, 1)
	write := message(key("a"), opOf(1), opOf(2), 2)
	s.CommitLater(&write, func(_ store.Result, err error) { first <- err })
	if err := s.writer.queue.add(&task{
		apply: func(db *connection) error { return db.Exec("no SQL") },
		done:  func(error) {},
	}); err != nil {
		t.Fatal(err)
	}
	release()
	if err := receive(t, first, "the end of the first write"); err == nil {
		t.Fatal("the transaction did not fail")
	}
	mustCommit(t, s, message(key("a"), opOf(1), opOf(3), 2))
}

// TestARemovedConversationBeginsAnew is the same for Delete and Expire.
func TestARemovedConversationBeginsAnew(t *testing.T) {
	s := openNew(t)
	mustCommit(t, s, message(key("a"), store.Op{}, opOf(1), 7))
	if err := s.Delete(t.Context(), key("a")); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, message(key("a"), store.Op{}, opOf(2), 1))

	idle := store.Write{Key: key("b"), Op: opOf(3), Record: turn.Record{Schema: turn.Schema, Phase: turn.Idle}, At: start}
	mustCommit(t, s, idle)
	if removed, err := s.Expire(t.Context(), start+1, start+1, 100); err != nil || removed != 1 {
		t.Fatalf("Expire: got %d, %v; want 1", removed, err)
	}
	idle.Op = opOf(4)
	mustCommit(t, s, idle)
}

// TestAClaimedTimerIsSetAgain: a claim moves the timer without the record, and the
// next write wants it where it was.
func TestAClaimedTimerIsSetAgain(t *testing.T) {
	s := openNew(t)
	first, second := message(key("a"), store.Op{}, opOf(1), 1), message(key("a"), opOf(1), opOf(2), 2)
	second.Timer = first.Timer
	mustCommit(t, s, first)
	if claimed, err := s.Claim(t.Context(), first.Timer, 10, time.Hour); err != nil || len(claimed) != 1 {
		t.Fatalf("Claim: got %v, %v", claimed, err)
	}
	mustCommit(t, s, second)
	if due, err := s.Due(t.Context(), second.Timer, 10); err != nil || len(due) != 1 {
		t.Errorf("the timer is not where the write set it: %v, %v", due, err)
	}
}

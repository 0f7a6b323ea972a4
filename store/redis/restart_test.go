package redis

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A server that does not know a script is told, and nothing of that is seen.
func TestScriptsAreLoadedAgain(t *testing.T) {
	for name, forget := range map[string]func(*testservers.RedisServer){
		"flushed":   func(server *testservers.RedisServer) { command(t, server, "SCRIPT FLUSH") },
		"restarted": func(server *testservers.RedisServer) { server.Stop(t); server.Start(t) },
	} {
		t.Run(name, func(t *testing.T) {
			server := testservers.NewRedis(t, durable...)
			s := openNew(t, server)
			var ops ops
			op := mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
			forget(server)
			eventually(t, "it is reached again", func() bool {
				_, err := s.Now(t.Context())
				return err == nil
			})
			mustCommit(t, s, message(key("c"), op, ops.Next(), 2))
			timers, err := s.Claim(t.Context(), forever, 10, 0)
			if err != nil || len(timers) != 1 {
				t.Errorf("Claim: got %v, %v", timers, err)
			}
			if entries := mustEntries(t, s, key("c"), store.EntryQuery{Status: turn.InputPending}); len(entries) != 2 {
				t.Errorf("got %d pending entries, want 2", len(entries))
			}
		})
	}
}

// Killed while many write, a server that syncs always has all that it answered.
func TestNothingAcknowledgedIsLostWhenTheServerIsKilled(t *testing.T) {
	server := testservers.NewRedis(t, durable...)
	s := openNew(t, server)
	if !s.Guarantees().Durable {
		t.Fatalf("Guarantees: %+v, want Durable", s.Guarantees())
	}
	for range 3 {
		answered := writeUntilLost(t, s, func() { server.Kill(t) })
		server.Start(t)
		reached(t, s)
		for key, seq := range answered {
			got := mustLoad(t, s, key).Record.Seq
			if got != seq && got != seq+1 { // one more: applied, and the answer was lost
				t.Errorf("%v: write %d was answered, and %d is there", key, seq, got)
			}
		}
		checkWhole(t, s)
	}
}

// Without persistence a restart loses everything, which the note says; what
// comes afterwards is as on a new server, for stores that were open too.
func TestARestartWithoutPersistenceLosesAllOfIt(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openNew(t, server)
	if s.Guarantees().Durable {
		t.Fatalf("Guarantees: %+v", s.Guarantees())
	}
	writeUntilLost(t, s, func() { server.Kill(t) })
	server.Start(t)
	reached(t, s)
	if size := command(t, server, "DBSIZE"); size != ":0" {
		t.Errorf("%s keys are left", size)
	}
	if whole := checkWhole(t, s); whole != 0 {
		t.Errorf("%d conversations are left", whole)
	}
	var ops ops
	write := message(key("writer-0"), store.Op{}, ops.Next(), 1)
	mustCommit(t, s, write)
	checkWhole(t, s)
}

// With snapshots a restart goes back to the last one: to one moment, with no
// write half there.
func TestARestartGoesBackToTheLastSnapshot(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openNew(t, server)
	answered := writeUntilLost(t, s, func() {
		command(t, server, "SAVE") // while others write
		server.Kill(t)
	})
	server.Start(t)
	reached(t, s)
	checkWhole(t, s)
	for key, seq := range answered {
		if got := mustLoad(t, s, key).Record.Seq; got > seq+1 {
			t.Errorf("%v: write %d was the last, and %d is there", key, seq, got)
		}
	}
}

// writeUntilLost writes conversations until the server is gone, and returns the
// last write of each that was answered.
func writeUntilLost(t *testing.T, s *Store, lose func()) map[store.Key]int64 {
	t.Helper()
	const writers, before = 8, 200
	answered := make(map[store.Key]int64)
	begun := make(chan struct{}, writers)
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			key := key(fmt.Sprintf("writer-%d", i))
			seq := writeOn(t, s, key, func(done int) {
				if done == before {
					begun <- struct{}{}
				}
			})
			mu.Lock()
			defer mu.Unlock()
			answered[key] = seq
		})
	}
	for range writers {
		receive(t, begun, "a writer has begun")
	}
	lose()
	group.Wait()
	return answered
}

// writeOn writes a conversation until it fails, and returns the last write that
// was answered.
func writeOn(t *testing.T, s *Store, key store.Key, wrote func(done int)) int64 {
	there := mustLoad(t, s, key)
	seq, op := there.Record.Seq, there.Op
	for done := 1; ; done++ {
		write := message(key, op, opFor(key, seq+1), seq+1)
		result, err := s.Commit(t.Context(), write)
		switch {
		case err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrNotApplied):
			t.Errorf("Commit: %v says neither", err)
			return seq
		case err != nil:
			return seq
		case result.Status != store.OK:
			t.Errorf("Commit: %v", result.Status)
			return seq
		}
		seq, op = seq+1, write.Op
		wrote(done)
	}
}

// opFor is the Op of the write with a sequence: the same each time, so that
// what is there can be told from what should be.
func opFor(key store.Key, seq int64) (op store.Op) {
	copy(op[:8], key.Conversation[len(key.Conversation)-1:])
	for i := range 8 {
		op[8+i] = byte(seq >> (8 * i))
	}
	return op
}

func reached(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, "the server is reached again", func() bool {
		_, err := s.Now(t.Context())
		return err == nil
	})
}

// checkWhole checks that each conversation has record, op, timer, entries and
// claims of one and the same write, and returns how many there are.
func checkWhole(t *testing.T, s *Store) int {
	t.Helper()
	found, next, err := s.Sweep(t.Context(), "", 1000)
	if err != nil || next != "" {
		t.Fatalf("Sweep: %q, %v", next, err)
	}
	page, err := s.List(t.Context(), store.ListQuery{Limit: 1000})
	if err != nil || len(page.Items) != len(found) {
		t.Errorf("List: got %d, %v; want %d", len(page.Items), err, len(found))
	}
	due, err := s.Due(t.Context(), forever, 1000)
	if err != nil || len(due) != len(found) {
		t.Errorf("Due: got %d, %v; want %d", len(due), err, len(found))
	}
	for _, f := range found {
		seq := f.Snapshot.Record.Seq
		if f.Timer != f.Snapshot.Record.Window.Due {
			t.Errorf("%v: the timer is %d, the record says %d", f.Key, f.Timer, f.Snapshot.Record.Window.Due)
		}
		last := mustEntries(t, s, f.Key, store.EntryQuery{Backward: true, Limit: 1})
		if len(last) != 1 || last[0].Seq != seq {
			t.Errorf("%v: the last entry is %+v, the record says %d", f.Key, last, seq)
		}
		byID := mustEntries(t, s, f.Key, store.EntryQuery{ID: fmt.Sprintf("m%d", seq)})
		if len(byID) != 1 || byID[0].Seq != seq {
			t.Errorf("%v: the last id is of %+v, the record says %d", f.Key, byID, seq)
		}
		if after := mustEntries(t, s, f.Key, store.EntryQuery{ID: fmt.Sprintf("m%d", seq+1)}); len(after) != 0 {
			t.Errorf("%v: the next id is claimed already", f.Key)
		}
	}
	return len(found)
}

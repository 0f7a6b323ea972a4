package postgres

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Everything at once on a few conversations: no call ever fails, which it would
// if two of them could lock each other out.
func TestNothingDeadlocks(t *testing.T) {
	url := testservers.Postgres(t)
	nodes := []*Store{openAt(t, url), openAt(t, url)}
	ops := &ops{}
	var group sync.WaitGroup
	for worker := range 12 {
		random := rand.New(rand.NewPCG(uint64(worker), 0))
		group.Go(func() {
			for range 150 {
				if err := anyCall(t, nodes[worker%2], ops, worker, random); err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// anyCall makes one call that writes.
func anyCall(t *testing.T, s *Store, ops *ops, worker int, random *rand.Rand) error {
	k := key(string(rune('a' + random.IntN(3))))
	later := start + 10_000
	switch worker {
	case 0:
		_, err := s.Expire(t.Context(), later, later, 50)
		return err
	case 1:
		_, err := s.Claim(t.Context(), later, 2, time.Second)
		return err
	case 2:
		return s.Delete(t.Context(), k)
	}
	there, err := s.Load(t.Context(), k)
	if err != nil {
		return err
	}
	_, err = s.Commit(t.Context(), settling(k, there, ops.Next()))
	return err
}

// settling is a write that appends a message and settles those before it.
func settling(k store.Key, there store.Snapshot, op store.Op) store.Write {
	write := message(k, there.Op, op, there.Record.Seq+1)
	write.Record.Phase = turn.Idle
	if write.Record.Seq%3 == 0 {
		write.Timer = 0
	}
	write.Settle = []turn.Settle{{Through: write.Record.Seq, Status: turn.InputAnswered}}
	return write
}

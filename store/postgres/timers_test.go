package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// plantDue makes conversations whose timers are due, the first one first.
func plantDue(t *testing.T, s *Store, count int) {
	t.Helper()
	for i := range count {
		write := message(key(fmt.Sprintf("due-%04d", i)), store.Op{}, opOf(uint64(i+1)), 1)
		write.Timer = start + turn.Time(i)
		mustCommit(t, s, write)
	}
}

// Two nodes that claim at once share the work: each timer goes to one of them,
// and neither gets next to nothing.
func TestTwoNodesShareTheTimers(t *testing.T) {
	url := testservers.Postgres(t)
	nodes := []*Store{openAt(t, url), openAt(t, url)}
	const count = 400
	plantDue(t, nodes[0], count)
	claimed := make([][]store.Timer, len(nodes))
	for range count / 20 {
		var both sync.WaitGroup // in step: how this machine shares its time is nothing to them
		for i, node := range nodes {
			both.Go(func() {
				timers, err := node.Claim(t.Context(), start+count, 10, time.Hour)
				if err != nil {
					t.Errorf("Claim: %v", err)
				}
				claimed[i] = append(claimed[i], timers...)
			})
		}
		both.Wait()
	}
	seen := make(map[store.Key]int)
	for i := range claimed {
		for _, timer := range claimed[i] {
			seen[timer.Key]++
		}
		if len(claimed[i]) != count/2 {
			t.Errorf("node %d got %d of %d timers, want half", i, len(claimed[i]), count)
		}
	}
	if len(seen) != count || len(claimed[0])+len(claimed[1]) != count {
		t.Errorf("%d timers were claimed, %d of them different; want %d", len(claimed[0])+len(claimed[1]), len(seen), count)
	}
}

// A claim never waits for another node: it takes what that one has not locked.
func TestAClaimDoesNotWaitForAnother(t *testing.T) {
	s := openNew(t)
	plantDue(t, s, 20)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	err := s.withConnection(ctx, func(db *pgx.Conn) error {
		return pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), claimTimers, int64(start+100), 10, int64(start+1000), nil, turn.Schema); err != nil {
				return err
			}
			timers, err := s.Claim(ctx, start+100, 10, time.Hour)
			if err != nil || len(timers) != 10 || timers[0].Key != key("due-0010") {
				t.Errorf("Claim: got %v, %v; want the ten after the first ten", timers, err)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The clock is the server's, so a node whose own is wrong makes no difference.
func TestTheClockIsTheServers(t *testing.T) {
	s := openNew(t)
	before := read[int64](t, s, `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`)
	now, err := s.Now(t.Context())
	after := read[int64](t, s, `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`)
	if err != nil || int64(now) < before || int64(now) > after {
		t.Errorf("Now: got %d, %v; want between %d and %d", now, err, before, after)
	}
}

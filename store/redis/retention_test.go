package redis

import (
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A program of a release before takes messages that were set aside for settled. They
// stay all the same, and what was brought back is not removed while it waits.
func TestWhatAProgramBeforeSetAsideOutlivesRetention(t *testing.T) {
	for name, back := range map[string]bool{"set aside": false, "brought back": true} {
		t.Run(name, func(t *testing.T) {
			s := openNew(t, testservers.NewRedis(t))
			var ops ops
			write := message(key("c"), store.Op{}, ops.next(), 1)
			write.Append[0].Status = turn.InputFailed
			op := mustCommit(t, s, write)
			conversation := nameOf(key("c"))
			root := s.shards.of(conversation)
			for _, set := range []struct{ key, member string }{{root + ":settled:" + conversation, "1"}, {root + ":settled", conversation}} {
				add := s.client.B().Zadd().Key(set.key).ScoreMember().ScoreMember(float64(start), set.member).Build()
				if err := s.client.Do(t.Context(), add).Error(); err != nil {
					t.Fatal(err)
				}
			}
			if back {
				reopen := message(key("c"), op, ops.next(), 2)
				reopen.Settle = []turn.Settle{{Through: 1, Status: turn.InputPending, Reopen: true}}
				mustCommit(t, s, reopen)
			}
			for range 3 {
				if _, err := s.Expire(t.Context(), forever, forever, 100); err != nil {
					t.Fatal(err)
				}
			}
			if entries := mustEntries(t, s, key("c"), store.EntryQuery{}); len(entries) == 0 || entries[0].Seq != 1 {
				t.Errorf("it is gone: %v are left", entries)
			}
		})
	}
}

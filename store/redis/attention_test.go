package redis

import (
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// What the list holds by mistake is not shown: neither what needs no attention, nor
// what was deleted.
func TestTheAttentionListIsCheckedAgainstTheRecords(t *testing.T) {
	s := openNew(t, testservers.NewRedis(t))
	var ops ops
	failed := message(key("failed"), store.Op{}, ops.Next(), 1)
	failed.Append, failed.Timer, failed.Record.Phase = nil, 0, turn.Failed
	mustCommit(t, s, failed)
	mustCommit(t, s, message(key("right"), store.Op{}, ops.Next(), 1))
	for _, conversation := range []string{"right", "gone"} {
		name := nameOf(key(conversation))
		put := s.client.B().Zadd().Key(s.shards.of(name)+":list:attention:support").ScoreMember().ScoreMember(-float64(start), name).Build()
		if err := s.client.Do(t.Context(), put).Error(); err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.List(t.Context(), store.ListQuery{Attention: true})
	if err != nil || len(page.Items) != 1 || page.Items[0].Key != key("failed") {
		t.Errorf("List: got %+v, %v; want the one that failed", page.Items, err)
	}
	mustCommit(t, s, message(key("failed"), failed.Op, ops.Next(), 2))
	if page, err := s.List(t.Context(), store.ListQuery{Attention: true}); err != nil || len(page.Items) != 0 {
		t.Errorf("List: got %+v, %v; want none", page.Items, err)
	}
}

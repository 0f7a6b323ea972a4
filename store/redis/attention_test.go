package redis

import (
	"encoding/binary"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// numbered is a different Op for each number but 0.
func numbered(number uint64) (op store.Op) {
	binary.BigEndian.PutUint64(op[8:], number)
	return op
}

// failing is a write of a conversation that failed.
func failing(conversation string, expect store.Op, number uint64, held bool) store.Write {
	write := message(key(conversation), expect, numbered(number), 1)
	write.Append, write.Timer = nil, 0
	write.Record.Phase, write.Record.OnHold = turn.Failed, held
	return write
}

func attention(t *testing.T, s *Store) (names []string) {
	t.Helper()
	page, err := s.List(t.Context(), store.ListQuery{Attention: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		names = append(names, item.Key.Conversation)
	}
	return names
}

// A program of a release before the list of what needs attention pauses a failed
// conversation: it is in no list but that of the paused. A node that starts later
// finds it.
func TestAStartFindsWhatAnOldNodeLeftOut(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openNew(t, server)
	mustCommit(t, s, failing("held", store.Op{}, 1, true))
	name := nameOf(key("held"))
	forgotten := s.client.B().Zrem().Key(s.shards.of(name) + ":list:attention:support").Member(name).Build()
	if removed, err := s.client.Do(t.Context(), forgotten).AsInt64(); err != nil || removed != 1 {
		t.Fatalf("the list does not have it: %d, %v", removed, err)
	}
	if got := attention(t, s); len(got) != 0 {
		t.Fatalf("%q need attention: the test proves nothing", got)
	}
	late := again(t, server, s)
	eventually(t, "the conversation is in the list", func() bool { return len(attention(t, late)) == 1 })
}

// What an old node wrote does not make the list wrong: neither what it set right,
// nor what it deleted, nor what is in the list of the failed as well.
func TestWhatAnOldNodeLeftInTheListIsNotShown(t *testing.T) {
	s := openNew(t, testservers.NewRedis(t))
	plant := func(conversation string) {
		name := nameOf(key(conversation))
		put := s.client.B().Zadd().Key(s.shards.of(name)+":list:attention:support").ScoreMember().ScoreMember(-float64(start), name).Build()
		if err := s.client.Do(t.Context(), put).Error(); err != nil {
			t.Fatal(err)
		}
	}
	mustCommit(t, s, message(key("right"), store.Op{}, numbered(1), 1))
	mustCommit(t, s, failing("failed", store.Op{}, 2, false))
	for _, conversation := range []string{"right", "failed", "gone"} {
		plant(conversation)
	}
	if got := attention(t, s); len(got) != 1 || got[0] != "failed" {
		t.Errorf("%q need attention, want the one that failed", got)
	}
	mustCommit(t, s, message(key("failed"), numbered(2), numbered(3), 2))
	if got := attention(t, s); len(got) != 0 {
		t.Errorf("%q need attention, want none", got)
	}
}

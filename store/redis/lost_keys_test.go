package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// oneShard is a store whose conversations are all in the same shard, where what is
// lost of one could be in the way of the others.
func oneShard(t *testing.T) *Store {
	t.Helper()
	return openWith(t, testservers.NewRedis(t).URL(), Options{Shards: 1})
}

// lose removes a key of a conversation, as eviction or a person would.
func loseKey(t *testing.T, s *Store, kind string, key store.Key) {
	t.Helper()
	name := nameOf(key)
	lost := s.client.B().Del().Key(s.shards.of(name) + ":" + kind + ":" + name).Build()
	if removed, err := s.client.Do(t.Context(), lost).AsInt64(); err != nil || removed != 1 {
		t.Fatalf("DEL %s of %v: %d, %v", kind, key, removed, err)
	}
}

// settledMessage is a conversation that is idle, with an answered message.
func settledMessage(key store.Key, op store.Op) store.Write {
	write := message(key, store.Op{}, op, 1)
	write.Record = turn.Record{Schema: turn.Schema, Phase: turn.Idle, Version: 1, Answered: 1, Seq: 1, AfterSeq: 1}
	write.Append[0].Status, write.Timer = turn.InputAnswered, 0
	return write
}

// Records that were lost stop nobody: their timers, more than a claim takes at
// once, go out of the way.
func TestALostRecordDoesNotStopClaims(t *testing.T) {
	s := oneShard(t)
	var ops ops
	const lost, limit = 7, 2
	for i := range lost {
		k := key(fmt.Sprint("lost", i))
		mustCommit(t, s, message(k, store.Op{}, ops.Next(), 1))
		loseKey(t, s, "record", k)
	}
	mustCommit(t, s, message(key("well"), store.Op{}, ops.Next(), 2))
	claimed, err := s.Claim(t.Context(), forever, limit, 0)
	if err != nil || len(claimed) != 1 || claimed[0].Key != key("well") {
		t.Fatalf("Claim: got %v, %v; want the conversation that has a record", claimed, err)
	}
	if due, err := s.Due(t.Context(), forever, 100); err != nil || len(due) != 1 {
		t.Errorf("Due: got %v, %v; want the one timer that leads to something", due, err)
	}
}

// What can't be read is left alone, like what a newer program wrote.
func TestRecordsThatCannotBeReadDoNotStopClaims(t *testing.T) {
	s := oneShard(t)
	var ops ops
	for _, strange := range []string{"schema", "timer"} {
		mustCommit(t, s, message(key(strange), store.Op{}, ops.Next(), 1))
	}
	name := nameOf(key("schema"))
	for _, command := range [][]string{
		{"HSET", "{onereply:0}:record:" + name, "schema", "nonsense"},
		{"ZADD", "{onereply:0}:timers", "1", "no name"},
	} {
		if err := s.client.Do(t.Context(), s.client.B().Arbitrary(command[0]).Keys(command[1]).Args(command[2:]...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	claimed, err := s.Claim(t.Context(), forever, 1, 0)
	if err != nil || len(claimed) != 1 || claimed[0].Key != key("timer") {
		t.Errorf("Claim: got %v, %v; want the conversation that can be read", claimed, err)
	}
}

// Retention goes on where parts of a conversation were lost, and in the end removes
// what is left of it.
func TestLostKeysDoNotStopRetention(t *testing.T) {
	for _, kind := range []string{"record", "entries", "settled", "ids"} {
		t.Run(kind, func(t *testing.T) {
			s := oneShard(t)
			var ops ops
			for _, conversation := range []string{"a lost one", "well"} {
				mustCommit(t, s, settledMessage(key(conversation), ops.Next()))
			}
			loseKey(t, s, kind, key("a lost one"))
			expireAllOf(t, s)
			if kind == "settled" || kind == "entries" {
				return // nobody knows when entries were settled, or whose ids are left
			}
			if size, err := s.client.Do(t.Context(), s.client.B().Dbsize().Build()).AsInt64(); err != nil || size != 1 {
				t.Errorf("%d keys are left, %v; want the one with the number of shards", size, err)
			}
		})
	}
}

// An idle conversation of which only indexes are left goes.
func TestALostBareRecordDoesNotStopRetention(t *testing.T) {
	s := oneShard(t)
	var ops ops
	for _, conversation := range []string{"a lost one", "well"} {
		write := settledMessage(key(conversation), ops.Next())
		write.Append = nil
		mustCommit(t, s, write)
	}
	loseKey(t, s, "record", key("a lost one"))
	expireAllOf(t, s)
	if size, err := s.client.Do(t.Context(), s.client.B().Dbsize().Build()).AsInt64(); err != nil || size != 1 {
		t.Errorf("%d keys are left, %v; want the one with the number of shards", size, err)
	}
}

func expireAllOf(t *testing.T, s *Store) {
	t.Helper()
	for range 10 {
		if removed, err := s.Expire(t.Context(), forever, forever, 1000); err != nil || removed == 0 {
			if err != nil {
				t.Fatalf("Expire: %v", err)
			}
			return
		}
	}
	t.Fatal("Expire finds no end")
}

// A shard that fails stops no other.
func TestRetentionGoesOnWithOtherShards(t *testing.T) {
	s := openWith(t, testservers.NewRedis(t).URL(), Options{Shards: 2})
	var ops ops
	for i := range 20 {
		mustCommit(t, s, settledMessage(key(fmt.Sprint(i)), ops.Next()))
	}
	for _, index := range []string{"settled", "gone", "bare"} {
		spoil := s.client.B().Set().Key("{onereply:0}:" + index).Value("not ours").Build()
		if err := s.client.Do(t.Context(), spoil).Error(); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := s.Expire(t.Context(), forever, forever, 1000)
	if err == nil || removed == 0 {
		t.Errorf("Expire: got %d, %v; want what is in the other shard, and the error of this one", removed, err)
	}
}

// Deleting removes whatever is left, so that the conversation begins anew.
func TestDeletingWhatIsLeftOfALostConversation(t *testing.T) {
	s := oneShard(t)
	var ops ops
	mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
	loseKey(t, s, "record", key("c"))
	if err := s.Delete(t.Context(), key("c")); err != nil {
		t.Fatal(err)
	}
	if size, err := s.client.Do(t.Context(), s.client.B().Dbsize().Build()).AsInt64(); err != nil || size != 1 {
		t.Errorf("%d keys are left, %v; want the one with the number of shards", size, err)
	}
	mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
}

// Where the transcript is there and its record is not, a message is refused rather
// than mixed with what is there, and nobody is told that it is kept.
func TestAMessageAfterALostRecordIsRefused(t *testing.T) {
	s := oneShard(t)
	var ops ops
	mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
	loseKey(t, s, "record", key("c"))
	write := message(key("c"), store.Op{}, ops.Next(), 1)
	write.Append[0].ID = "new"
	for _, write := range []store.Write{write, {Key: key("c"), Op: ops.Next(), At: start, Record: turn.Record{Schema: turn.Schema, Phase: turn.Idle}}} {
		result, err := s.Commit(t.Context(), write)
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "doctor") {
			t.Errorf("Commit: got %v, %v; want ErrNotApplied, and what to do", result.Status, err)
		}
	}
	entries := mustEntries(t, s, key("c"), store.EntryQuery{})
	if len(entries) != 1 || entries[0].ID != "m1" || !mustLoad(t, s, key("c")).Op.IsZero() {
		t.Errorf("there are %+v, want what was there", entries)
	}
}

// Where only traces are left, the conversation begins anew: it is counted once, and
// is in one list.
func TestAConversationBeginsAnewWhereOnlyTracesAreLeft(t *testing.T) {
	s := oneShard(t)
	var ops ops
	write := settledMessage(key("c"), ops.Next())
	write.Append = nil
	mustCommit(t, s, write)
	loseKey(t, s, "record", key("c"))
	mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
	for _, phase := range []turn.Phase{"", turn.Collecting} {
		if page, err := s.List(t.Context(), store.ListQuery{Phase: phase}); err != nil || len(page.Items) != 1 {
			t.Errorf("List %q: %+v, %v", phase, page.Items, err)
		}
	}
	count, err := s.client.Do(t.Context(), s.client.B().Hget().Key("{onereply:0}:bots").Field("support").Build()).ToString()
	if err != nil || count != "1" {
		t.Errorf("the bot has %s conversations, %v", count, err)
	}
	idle, err := s.client.Do(t.Context(), s.client.B().Zcard().Key("{onereply:0}:list:idle:support").Build()).AsInt64()
	if err != nil || idle != 0 {
		t.Errorf("%d are in the list of the idle, %v", idle, err)
	}
}

// An entry that was lost does not keep the others from being settled.
func TestALostEntryDoesNotStopWrites(t *testing.T) {
	s := oneShard(t)
	var ops ops
	op := mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
	loseKey(t, s, "entries", key("c"))
	write := message(key("c"), op, ops.Next(), 2)
	write.Settle = []turn.Settle{{Through: 2, Status: turn.InputAnswered, ReplySeq: 2}}
	mustCommit(t, s, write)
	if entries := mustEntries(t, s, key("c"), store.EntryQuery{}); len(entries) != 1 || entries[0].Status != turn.InputAnswered {
		t.Errorf("there are %+v", entries)
	}
}

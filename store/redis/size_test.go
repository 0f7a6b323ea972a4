package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// What a write or a query costs the server does not grow with the transcript.
func TestLongConversationsCostNoMore(t *testing.T) {
	cost := func(answered int) (settle, query string) {
		server := testservers.NewRedis(t)
		s := openNew(t, server)
		var ops ops
		op := transcript(t, s, key("c"), &ops, answered)
		op = mustCommit(t, s, message(key("c"), op, ops.Next(), int64(answered+1)))
		seq := int64(answered + 2)
		write := message(key("c"), op, ops.Next(), seq)
		write.Settle = []turn.Settle{{AfterSeq: 0, Through: seq, Status: turn.InputAnswered, ReplySeq: seq}}
		settle = counted(t, server, func() { mustCommit(t, s, write) })
		query = counted(t, server, func() {
			for _, q := range []store.EntryQuery{
				{Status: turn.InputPending}, {ID: "m2"}, {Backward: true, Limit: 5}, {After: int64(answered), Limit: 5},
			} {
				mustEntries(t, s, key("c"), q)
			}
		})
		return settle, query
	}
	shortSettle, shortQuery := cost(10)
	longSettle, longQuery := cost(5000)
	if longSettle != shortSettle {
		t.Errorf("a settle takes these commands with 10 entries\n%s\nand with 5000\n%s", shortSettle, longSettle)
	}
	if longQuery != shortQuery {
		t.Errorf("queries take these commands with 10 entries\n%s\nand with 5000\n%s", shortQuery, longQuery)
	}
}

// transcript writes a conversation with answered messages.
func transcript(t testing.TB, s *Store, key store.Key, ops *ops, answered int) (op store.Op) {
	t.Helper()
	for seq := int64(1); seq <= int64(answered); {
		write := message(key, op, ops.Next(), seq)
		entry := write.Append[0]
		write.Append = nil
		for range min(500, answered-int(seq)+1) {
			entry.Seq, entry.ID, entry.Status = seq, fmt.Sprintf("m%d", seq), turn.InputAnswered
			write.Append = append(write.Append, entry)
			seq++
		}
		op = mustCommit(t, s, write)
	}
	return op
}

// counted returns how often the server ran each command meanwhile.
func counted(t *testing.T, server *testservers.RedisServer, run func()) string {
	t.Helper()
	s := openWith(t, server.URL(), Options{Prefix: "counter"})
	command(t, server, "CONFIG RESETSTAT")
	run()
	text, err := s.client.Do(t.Context(), s.client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	var counts []string
	for line := range strings.Lines(text) {
		name, stats, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(stats, ",")
		if found && strings.HasPrefix(name, "z") {
			counts = append(counts, name+" "+calls)
		}
	}
	slices.Sort(counts)
	return strings.Join(counts, "\n")
}

// Retention gives all memory back: the one key that is left remembers schema
// and shards.
func TestRetentionLeavesNothingBehind(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openNew(t, server)
	var ops ops
	for i := range 50 {
		key := store.Key{Bot: fmt.Sprintf("bot %d", i%3), Conversation: strconv.Itoa(i)}
		op := mustCommit(t, s, message(key, store.Op{}, ops.Next(), 1))
		write := message(key, op, ops.Next(), 3)
		write.Record = turn.Record{Schema: turn.Schema, Phase: turn.Idle, Version: 3, Seq: 3}
		write.Timer = 0
		write.Append = append(write.Append, store.Entry{
			Seq: 4, Kind: store.Reply, ID: "r", Status: turn.ReplySent, At: write.At, Version: 3,
		})
		write.Settle = []turn.Settle{{Through: 3, Status: turn.InputAnswered, ReplySeq: 4}}
		mustCommit(t, s, write)
	}
	before := command(t, server, "DBSIZE")
	for total := 0; ; {
		removed, err := s.Expire(t.Context(), forever, forever, 70)
		if err != nil {
			t.Fatal(err)
		}
		if total += removed; removed == 0 {
			if want := 50 * (3 + 2 + 1); total != want { // entries, ids, the conversation
				t.Errorf("removed %d, want %d", total, want)
			}
			break
		}
	}
	if left := command(t, server, "DBSIZE"); left != ":1" {
		t.Errorf("%s keys are left of %s", left, before)
	}
}

func TestDeletionLeavesNothingBehind(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openNew(t, server)
	var ops ops
	transcript(t, s, key("c"), &ops, 50)
	if err := s.Delete(t.Context(), key("c")); err != nil {
		t.Fatal(err)
	}
	if left := command(t, server, "DBSIZE"); left != ":1" {
		t.Errorf("%s keys are left", left)
	}
}

// A page begins in the middle of many conversations of the same millisecond.
func TestListsOfTheSameMomentArePaged(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openNew(t, server)
	var ops ops
	const count = 300
	for i := range count {
		write := message(store.Key{Bot: fmt.Sprintf("b%d", i%3), Conversation: fmt.Sprintf("c%03d", i)}, store.Op{}, ops.Next(), 1)
		mustCommit(t, s, write)
	}
	var all []store.Key
	for cursor := ""; ; {
		page, err := s.List(t.Context(), store.ListQuery{Limit: 7, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			all = append(all, item.Key)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(all) != count {
		t.Fatalf("got %d conversations, want %d", len(all), count)
	}
	for i := 1; i < count; i++ {
		if all[i-1].Compare(all[i]) >= 0 {
			t.Fatalf("%v comes before %v", all[i-1], all[i])
		}
	}
}

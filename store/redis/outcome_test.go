package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A commit whose answer is lost is unknown, whether it was applied or not, and
// loading the record tells which.
func TestALostAnswerIsSettledByReadingAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fault   fault
		applied bool
	}{
		"the request is dropped": {dropRequest, false},
		"the answer is dropped":  {dropAnswer, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := testservers.NewRedis(t)
			p := newProxy(t, server.Address())
			s := openWith(t, p.url(), Options{})
			var ops ops
			first := mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
			for seq := int64(2); seq < 6; seq++ {
				first = lose(t, s, p, c.fault, c.applied, message(key("c"), first, ops.Next(), seq))
			}
		})
	}
}

// lose loses a commit, and returns the Op that is there afterwards.
func lose(t *testing.T, s *Store, p *proxy, f fault, applied bool, write store.Write) store.Op {
	t.Helper()
	p.fail(f)
	result, err := s.Commit(t.Context(), write)
	if !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotApplied) || !isCut(err) {
		t.Fatalf("Commit: got %v, %v; want ErrUnknown, from a connection that was cut", result.Status, err)
	}
	receive(t, p.hit, "the fault")
	there := mustLoad(t, s, write.Key)
	if (there.Op == write.Op) != applied {
		t.Fatalf("applied is %v, want %v", there.Op == write.Op, applied)
	}
	if !applied {
		return mustCommit(t, s, write) // as it was; nothing is in its way
	}
	entries := mustEntries(t, s, write.Key, store.EntryQuery{Backward: true, Limit: 1})
	if len(entries) != 1 || entries[0].Seq != write.Append[0].Seq {
		t.Fatalf("the entry of an applied write is %+v", entries)
	}
	return write.Op
}

func TestACommitWithoutAnswerInTimeIsUnknown(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openWith(t, server.URL(), Options{Timeout: time.Second})
	var ops ops
	mustCommit(t, s, message(key("before"), store.Op{}, ops.Next(), 1))
	if _, err := server.Command("CLIENT PAUSE 60000 WRITE"); err != nil {
		t.Fatal(err)
	}
	late := message(key("late"), store.Op{}, ops.Next(), 1)
	if _, err := s.Commit(t.Context(), late); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Commit: got %v, want ErrUnknown for a deadline", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel) // long after it was sent, also on a busy machine
	if _, err := s.Commit(ctx, message(key("other"), store.Op{}, ops.Next(), 1)); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: got %v, want ErrUnknown for a caller that gave up", err)
	}
	if _, err := server.Command("CLIENT UNPAUSE"); err != nil {
		t.Fatal(err)
	}
	// It was on its way all the time: an unknown write may be applied later.
	eventually(t, "the late write is applied", func() bool { return mustLoad(t, s, late.Key).Op == late.Op })
}

func TestWithoutAServerNothingIsApplied(t *testing.T) {
	server := testservers.NewRedis(t)
	s := openWith(t, server.URL(), Options{})
	var ops ops
	write := message(key("c"), store.Op{}, ops.Next(), 1)
	server.Kill(t)
	eventually(t, "the loss of the connection is noticed", func() bool {
		_, err := s.Commit(t.Context(), write)
		return errors.Is(err, store.ErrNotApplied)
	})
	if _, err := s.Commit(t.Context(), write); !errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("Commit: got %v, want ErrNotApplied", err)
	}
	server.Start(t)
	mustCommit(t, s, write)
}

// What the server refuses before it begins has left nothing behind.
func TestARefusedCommitIsNotApplied(t *testing.T) {
	for name, c := range map[string]struct{ spoil, mend string }{
		"memory is full":           {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"the server is a replica":  {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
		"replicas are missing":     {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
		"the user may not do this": {"ACL SETUSER default -evalsha", "ACL SETUSER default +@all"},
	} {
		t.Run(name, func(t *testing.T) {
			server := testservers.NewRedis(t)
			s := openWith(t, server.URL(), Options{})
			var ops ops
			first := mustCommit(t, s, message(key("c"), store.Op{}, ops.Next(), 1))
			command(t, server, c.spoil)
			write := message(key("c"), first, ops.Next(), 2)
			if _, err := s.Commit(t.Context(), write); !errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("Commit: got %v, want ErrNotApplied", err)
			}
			if there := mustLoad(t, s, key("c")); there.Op != first {
				t.Error("the record changed")
			}
			command(t, server, c.mend)
			mustCommit(t, s, write)
		})
	}
}

// An error from within a script says nothing about what it had done by then, so it
// is unknown. But it has done nothing: whatever is there that is not ours, it is met
// before the first change, and once it is gone the write is applied as it was.
func TestAWriteThatMeetsAStrangersKeyLeavesNothingBehind(t *testing.T) {
	server := testservers.NewRedis(t)
	for _, kind := range []string{
		"timers", "all", "bots", "bare", "settled", "list:collecting:support", "list:attention:support",
		"record:NAME", "entries:NAME", "open:NAME", "settled:NAME", "ids:NAME",
	} {
		t.Run(kind, func(t *testing.T) {
			s := openNew(t, server)
			var ops ops
			write := message(key("c"), store.Op{}, ops.Next(), 1) // one that touches every key
			sent := store.Entry{Seq: 2, Kind: store.Reply, ID: "r1", Status: turn.ReplySent, At: start}
			write.Append, write.Record.Tries.Lost.Count = append(write.Append, sent), 1
			name := nameOf(write.Key)
			stranger := s.shards.of(name) + ":" + strings.Replace(kind, "NAME", name, 1)
			if err := s.client.Do(t.Context(), s.client.B().Set().Key(stranger).Value("not ours").Build()).Error(); err != nil {
				t.Fatal(err)
			}
			before := keysOf(t, s)
			_, err := s.Commit(t.Context(), write)
			if _, isAnswer := answered(err); !isAnswer || !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotApplied) {
				t.Errorf("Commit: got %v, want ErrUnknown", err)
			}
			if after := keysOf(t, s); !slices.Equal(before, after) {
				t.Errorf("there are %q, there were %q", after, before)
			}
			if err := s.client.Do(t.Context(), s.client.B().Del().Key(stranger).Build()).Error(); err != nil {
				t.Fatal(err)
			}
			mustCommit(t, s, write)
		})
	}
}

// keysOf are the keys of a store.
func keysOf(t *testing.T, s *Store) []string {
	t.Helper()
	keys, err := s.client.Do(t.Context(), s.client.B().Keys().Pattern("*"+s.shards.prefix+":*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// waitLimit bounds what a test waits for: far more than a slow and busy machine needs.
const waitLimit = 2 * time.Minute

// eventually polls until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", waitLimit, what)
		}
		<-time.After(time.Millisecond)
	}
}

func command(t testing.TB, server *testservers.RedisServer, line string) string {
	t.Helper()
	answer, err := server.Command(line)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// receive is the next value of a channel, which must come within waitLimit.
func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(waitLimit):
		t.Fatalf("after %v still not: %s", waitLimit, what)
		panic("unreachable")
	}
}

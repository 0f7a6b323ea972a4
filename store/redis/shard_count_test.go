package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// A server that lost its data lost the number of shards: whichever node is there
// first decides anew, and no other number is used beside it.
func TestTheNumberOfShardsIsLostWithTheData(t *testing.T) {
	t.Run("a running node is first", func(t *testing.T) {
		server := testservers.NewRedis(t)
		running := openNew(t, server)
		dials := running.shardCount.dials.Load()
		losesAll(t, server)
		// A read may go out over the new connection without having asked.
		eventually(t, "the running node asked again", func() bool {
			_, err := running.Now(t.Context())
			return err == nil && running.shardCount.dials.Load() != dials && !running.shardCount.open()
		})
		_, err := Open(t.Context(), server.URL(), Options{Prefix: running.shards.prefix, Shards: 4})
		if err == nil || !strings.Contains(err.Error(), "set shards to 16") {
			t.Errorf("Open with another number: got %v", err)
		}
	})
	t.Run("a new node is first", func(t *testing.T) {
		server := testservers.NewRedis(t)
		running := openNew(t, server)
		losesAll(t, server)
		fresh := openWith(t, server.URL(), Options{Prefix: running.shards.prefix, Shards: 4})
		var ops ops
		for range 3 {
			var err error
			// The first write may go out over the connection that is made for it. It is
			// not acknowledged either.
			eventually(t, "a write is answered by the server", func() bool {
				_, err = running.Commit(t.Context(), message(key("c"), store.Op{}, ops.Next(), 1))
				return !errors.Is(err, errNoConnection)
			})
			if err == nil || !strings.Contains(err.Error(), "4 shards") || !strings.Contains(err.Error(), "restart") {
				t.Errorf("Commit beside another number: got %v, want both numbers and what to do", err)
			}
		}
		if _, err := running.Now(t.Context()); err == nil {
			t.Error("the node still takes itself for well")
		}
		mustCommit(t, fresh, message(key("c"), store.Op{}, ops.Next(), 1))
	})
}

func losesAll(t *testing.T, server *testservers.RedisServer) {
	t.Helper()
	server.Kill(t)
	server.Start(t)
}

// As above, in a cluster that went on without the server that remembers the number: it
// is asked as soon as it is there again, and nothing is acknowledged meanwhile.
func TestTheNumberOfShardsIsLostWithAServerOfACluster(t *testing.T) {
	servers := testservers.NewRedisCluster(t, 3)
	for _, server := range servers {
		command(t, server, "CONFIG SET cluster-require-full-coverage no")
		command(t, server, "CONFIG SET cluster-node-timeout 500")
	}
	running := openNew(t, servers[0])
	home := slices.IndexFunc(servers, func(server *testservers.RedisServer) bool { return command(t, server, "DBSIZE") != ":0" })
	var elsewhere []string // conversations of the other servers
	for i := 0; len(elsewhere) < 2; i++ {
		if name := fmt.Sprint(i); serverOf(t, running, servers, key(name)) != home {
			elsewhere = append(elsewhere, name)
		}
	}
	var ops ops
	servers[home].Kill(t)
	running.shardCount.dials.Add(1) // so that it is asked
	eventually(t, "the others go on", func() bool {
		result, err := running.Commit(t.Context(), message(key(elsewhere[0]), store.Op{}, ops.Next(), 1))
		return err == nil && result.Status != store.Duplicate
	})
	held(t, running, func(count *shardCount) {
		if count.next.IsZero() {
			t.Error("nobody asked")
		}
		count.next = time.Now().Add(time.Hour) // however slow this machine is
	})

	dials := running.shardCount.dials.Load()
	servers[home].Start(t)
	eventually(t, "a new node starts", func() bool {
		fresh, err := Open(t.Context(), servers[(home+1)%3].URL(), Options{Prefix: running.shards.prefix, Shards: 4})
		if err != nil {
			return false
		}
		return fresh.Close() == nil
	})
	eventually(t, "the running one is connected to that server again", func() bool {
		_, _ = running.Due(t.Context(), forever, 1)
		return running.shardCount.dials.Load() != dials
	})
	eventually(t, "its answer is known", func() bool {
		var due bool
		var before, after time.Time
		held(t, running, func(count *shardCount) { due, before = count.due(), count.next })
		_, err := running.Commit(t.Context(), message(key(elsewhere[1]), store.Op{}, ops.Next(), 1))
		held(t, running, func(count *shardCount) { after = count.next })
		if err == nil && (!due || !after.Equal(before)) {
			return false // it was not asked, or on this machine did not answer in time
		}
		if err == nil || !strings.Contains(err.Error(), "4 shards") {
			t.Errorf("Commit beside another number: got %v", err)
		}
		return true
	})
}

// held looks at what whoever asks has for itself.
func held(t *testing.T, s *Store, look func(*shardCount)) {
	t.Helper()
	if err := s.shardCount.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.shardCount.unlock()
	look(&s.shardCount)
}

// The answer is for all calls: whoever asked may be gone by then.
func TestTheNumberOfShardsIsAskedForByAllCalls(t *testing.T) {
	server := testservers.NewRedisCluster(t, 1)[0]
	s := openNew(t, server)
	eventually(t, "the answer is known", func() bool {
		command(t, server, "CLIENT PAUSE 200")
		s.shardCount.dials.Add(1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := s.Load(ctx, key("c")); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Load: got %v, want the caller's own deadline", err)
		} else if err == nil {
			return false // the pause was over before the call
		}
		held(t, s, func(*shardCount) {})
		return !s.shardCount.open()
	})
}

// A server that is stopped goes on to take connections, so there are always new ones.
// That does not stop the others.
func TestNewConnectionsAreNoReasonToAskAllTheTime(t *testing.T) {
	servers := testservers.NewRedisCluster(t, 2)
	s := openNew(t, servers[0])
	home := slices.IndexFunc(servers, func(server *testservers.RedisServer) bool { return command(t, server, "DBSIZE") != ":0" })
	elsewhere := 0
	for serverOf(t, s, servers, key(fmt.Sprint(elsewhere))) == home {
		elsewhere++
	}
	command(t, servers[home], "CLIENT PAUSE 60000")
	var ops ops
	var op store.Op
	var last, before time.Time
	for begin, seq := time.Now(), int64(1); time.Since(begin) < 5*clusterAnswers; seq++ {
		s.shardCount.dials.Add(1)
		op = mustCommit(t, s, message(key(fmt.Sprint(elsewhere)), op, ops.Next(), seq))
		held(t, s, func(count *shardCount) { before, last = last, count.soon })
		if gap := last.Sub(before); gap > 0 && !before.IsZero() && gap < clusterAnswers*3/2 {
			t.Errorf("asked again %v after it did not answer", gap-clusterAnswers)
		}
	}
	if last.IsZero() {
		t.Error("nobody asked")
	}
}

// In a cluster calls go on while one of them asks. But what was written meanwhile is
// answered only when it is known whether the number is still the same.
func TestAWriteWaitsForTheNumberOfShards(t *testing.T) {
	s := openNew(t, testservers.NewRedisCluster(t, 1)[0])
	var ops ops
	if err := s.shardCount.lock(t.Context()); err != nil { // another call asks
		t.Fatal(err)
	}
	s.shardCount.dials.Add(1)
	op, answer := ops.Next(), make(chan error, 1)
	go func() {
		_, err := s.Commit(t.Context(), message(key("c"), store.Op{}, op, 1))
		answer <- err
	}()
	eventually(t, "it is written", func() bool { return mustLoad(t, s, key("c")).Op == op })
	for range 100 {
		mustLoad(t, s, key("c"))
	}
	select {
	case err := <-answer:
		s.shardCount.unlock()
		t.Fatalf("it is answered: %v", err)
	default:
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	vain, unanswered := ops.Next(), make(chan error, 1)
	go func() {
		_, err := s.Commit(ctx, message(key("d"), store.Op{}, vain, 1))
		unanswered <- err
	}()
	eventually(t, "the next one is written", func() bool { return mustLoad(t, s, key("d")).Op == vain })
	cancel()
	if err := receive(t, unanswered, "the end of a commit that was given up"); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("Commit that waits in vain: got %v, want ErrUnknown", err)
	}
	other := errors.New("another number")
	s.shardCount.wrong.Store(&other)
	s.shardCount.unlock()
	if err := receive(t, answer, "the answer to the commit"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("Commit: got %v, want ErrUnknown", err)
	}
}

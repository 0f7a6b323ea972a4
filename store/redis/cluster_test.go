package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
)

// The shards are spread over the servers, any of which leads to all of them.
func TestAClusterSharesTheWork(t *testing.T) {
	servers := testservers.NewRedisCluster(t, 3)
	s := openNew(t, servers[0])
	var ops ops
	const count = 100
	for i := range count {
		mustCommit(t, s, message(key(fmt.Sprint(i)), store.Op{}, ops.Next(), 1))
	}
	for i, server := range servers {
		if size := command(t, server, "DBSIZE"); size == ":0" {
			t.Errorf("server %d has nothing", i)
		}
		other := reopen(t, server, s)
		if due, err := other.Due(t.Context(), forever, 2*count); err != nil || len(due) != count {
			t.Errorf("through server %d: %d timers, %v; want %d", i, len(due), err, count)
		}
	}
	claimed := make(map[store.Key]bool)
	for len(claimed) < count {
		timers, err := s.Claim(t.Context(), start+10_000, 30, 1<<40)
		if err != nil || len(timers) == 0 {
			t.Fatalf("Claim: got %v, %v after %d", timers, err, len(claimed))
		}
		for _, timer := range timers {
			if claimed[timer.Key] {
				t.Errorf("%v was claimed twice", timer.Key)
			}
			claimed[timer.Key] = true
		}
	}
}

// One server of many that may evict is enough to lose messages.
func TestEveryServerOfAClusterIsLookedAt(t *testing.T) {
	servers := testservers.NewRedisCluster(t, 2)
	command(t, servers[1], "CONFIG SET maxmemory-policy allkeys-lru")
	if s, err := Open(t.Context(), servers[0].URL(), Options{}); err == nil {
		t.Errorf("Open: got %+v, want an error", s.Guarantees())
	}
}

// Where a cluster goes on with the slots that it has, so do claims and the clock,
// whichever server is down: the one with the first shard too.
func TestAServerOfAClusterThatIsDownStopsNoOther(t *testing.T) {
	for down := range 3 {
		t.Run(fmt.Sprint("server ", down), func(t *testing.T) {
			servers := testservers.NewRedisCluster(t, 3)
			for _, server := range servers {
				command(t, server, "CONFIG SET cluster-require-full-coverage no")
				command(t, server, "CONFIG SET cluster-node-timeout 500")
			}
			s := openNew(t, servers[0])
			var ops ops
			const count = 60
			elsewhere := 0 // how many conversations the others have: the shards fall where they fall
			for i := range count {
				mustCommit(t, s, message(key(fmt.Sprint(i)), store.Op{}, ops.Next(), 1))
				if serverOf(t, s, servers, key(fmt.Sprint(i))) != down {
					elsewhere++
				}
			}
			servers[down].Kill(t)
			claimed := make(map[store.Key]bool)
			eventually(t, "what the other servers have is claimed", func() bool {
				timers, err := s.Claim(t.Context(), start+10_000, count, 1<<40)
				if err != nil {
					t.Logf("Claim: %v", err)
				}
				for _, timer := range timers {
					claimed[timer.Key] = true
				}
				return len(claimed) == elsewhere
			})
			eventually(t, "a clock answers", func() bool {
				_, err := s.Now(t.Context())
				return err == nil
			})
		})
	}
}

// serverOf is the number of the server that has the shard of a conversation.
func serverOf(t *testing.T, s *Store, servers []*testservers.RedisServer, k store.Key) int {
	t.Helper()
	const slots = 16384
	answer := command(t, servers[0], "CLUSTER KEYSLOT "+s.shards.of(nameOf(k))+":timers")
	slot, err := strconv.Atoi(strings.TrimPrefix(answer, ":"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range servers {
		if slot < (i+1)*slots/len(servers) {
			return i
		}
	}
	panic("unreachable")
}

// A node also starts while a server of such a cluster is down. What that server's
// settings mean for messages nobody knows, and the note says so. Only without the
// server that remembers the number of shards it can't start.
func TestANodeStartsBesideAServerThatIsDown(t *testing.T) {
	servers := testservers.NewRedisCluster(t, 3)
	for _, server := range servers {
		command(t, server, "CONFIG SET cluster-require-full-coverage no")
		command(t, server, "CONFIG SET cluster-node-timeout 500")
		command(t, server, "CONFIG SET appendonly yes")
		command(t, server, "CONFIG SET appendfsync always")
	}
	openWith(t, servers[0].URL(), Options{})
	var others []*testservers.RedisServer
	var home *testservers.RedisServer
	for _, server := range servers {
		if command(t, server, "DBSIZE") != ":0" {
			home = server
		} else {
			others = append(others, server)
		}
	}
	others[0].Kill(t)
	got := openWith(t, home.URL(), Options{}).Guarantees()
	if got.Durable || !strings.Contains(got.Note, others[0].Address()) {
		t.Errorf("Guarantees: %+v; want nothing promised, and %s named", got, others[0].Address())
	}
	others[0].Start(t)
	home.Kill(t)
	if _, err := Open(t.Context(), others[1].URL(), Options{}); err == nil || !strings.Contains(err.Error(), home.Address()) {
		t.Errorf("Open without the server that remembers the shards: got %v, want an error that names %s", err, home.Address())
	}
}

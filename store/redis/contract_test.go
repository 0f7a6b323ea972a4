package redis

import (
	"testing"

	"github.com/onereply/onereply/internal/proof/testservers"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/storetest"
)

func TestContract(t *testing.T) {
	server := testservers.NewRedis(t)
	storetest.Run(t, storetest.Options{
		Corrupt: corrupt,
		Open:    func(t *testing.T) store.Store { return openNew(t, server) },
		Second:  func(t *testing.T, s store.Store) (store.Store, error) { return reopen(t, server, s), nil },
	})
}

// corrupt makes a record what no program wrote.
func corrupt(t *testing.T, s store.Store, key store.Key) {
	r, name := s.(*Store), nameOf(key)
	command := r.client.B().Hset().Key(r.shards.of(name)+":record:"+name).FieldValue().FieldValue("record", "{broken").Build()
	if err := r.client.Do(t.Context(), command).Error(); err != nil {
		t.Fatal(err)
	}
}

// On a server that syncs its log before it answers, a restart loses nothing.
func TestContractOfADurableServer(t *testing.T) {
	server := testservers.NewRedis(t, durable...)
	storetest.Run(t, storetest.Options{
		Open: func(t *testing.T) store.Store { return openNew(t, server) },
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			server.Kill(t)
			server.Start(t)
			return reopen(t, server, s)
		},
	})
}

// In cluster mode a server refuses a script that touches keys of two slots, and
// here the shards are on different servers.
func TestContractOfACluster(t *testing.T) {
	server := testservers.NewRedisCluster(t, 3)[0]
	storetest.Run(t, storetest.Options{
		Corrupt: corrupt,
		Open:    func(t *testing.T) store.Store { return openNew(t, server) },
		Second:  func(t *testing.T, s store.Store) (store.Store, error) { return reopen(t, server, s), nil },
	})
}

func TestDifferential(t *testing.T) {
	server := testservers.NewRedis(t)
	storetest.Differential(t, func(t *testing.T) store.Store { return openNew(t, server) }, storetest.Effort{})
}

// All conversations in one shard, where they meet.
func TestDifferentialInOneShard(t *testing.T) {
	server := testservers.NewRedis(t)
	storetest.Differential(t, func(t *testing.T) store.Store {
		return openWith(t, server.URL(), Options{Prefix: newPrefix(), Shards: 1})
	}, storetest.Effort{})
}

package redis

import (
	"errors"
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/testservers"
	"github.com/onereply/onereply/store"
)

// A server that lost its data lost the number of shards: whichever node is there
// first decides anew, and no other number is used beside it.
func TestTheNumberOfShardsIsLostWithTheData(t *testing.T) {
	t.Run("a running node is first", func(t *testing.T) {
		server := testservers.NewRedis(t)
		running := openNew(t, server)
		losesAll(t, server)
		reached(t, running)
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
				_, err = running.Commit(t.Context(), message(key("c"), store.Op{}, ops.next(), 1))
				return !errors.Is(err, errNoConnection)
			})
			if err == nil || !strings.Contains(err.Error(), "4 shards") || !strings.Contains(err.Error(), "restart") {
				t.Errorf("Commit beside another number: got %v, want both numbers and what to do", err)
			}
		}
		if _, err := running.Now(t.Context()); err == nil {
			t.Error("the node still takes itself for well")
		}
		mustCommit(t, fresh, message(key("c"), store.Op{}, ops.next(), 1))
	})
}

func losesAll(t *testing.T, server *testservers.RedisServer) {
	t.Helper()
	server.Kill(t)
	server.Start(t)
}

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// loadConfig is a bot that accepts, and answers when nobody looks any more.
const loadConfig = `
bots:
  support:
    debounce: 1h
    max_wait: 1h
    responder: {kind: echo}
`

const (
	loadKills         = 8
	loadClients       = 64 // so many that their messages share transactions, see store/sqlite
	loadConversations = 100
)

// TestKillUnderLoad kills a node with SIGKILL while 64 clients send as fast as they can.
// Each message that was acknowledged is there, once, also where its client
// sends it again after the restart.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	arguments := settings(t, folder, loadConfig)
	c := newCaller(t)
	acknowledged := make([]map[string]string, loadClients) // id to conversation, of each client
	for i := range acknowledged {
		acknowledged[i] = map[string]string{}
	}
	for instance := range loadKills {
		n := start(t, nil, arguments...)
		time.AfterFunc(time.Duration(20+rand.IntN(600))*time.Millisecond, n.kill)
		var sending sync.WaitGroup
		for client := range loadClients {
			sending.Go(func() {
				for i := 0; ; i++ {
					conversation := fmt.Sprintf("c%d", (i*loadClients+client)%loadConversations)
					id := fmt.Sprintf("%d-%d-%d", instance, client, i)
					_, ok, raw := c.say(n.url, "support", conversation, id, "hello")
					switch {
					case ok:
						acknowledged[client][id] = conversation
					case raw.status == 0:
						return // it is dead
					}
				}
			})
		}
		sending.Wait()
	}
	n := start(t, nil, arguments...)
	judgeLoad(t, c, n, acknowledged)
	n.stops(t)
	if _, err := os.Stat(filepath.Join(folder, "onereply.db-wal")); err == nil {
		t.Error("the write-ahead log is there after the end")
	}
}

func judgeLoad(t *testing.T, c *caller, n *node, acknowledged []map[string]string) {
	t.Helper()
	there := map[string]string{}
	for i := range loadConversations {
		conversation := fmt.Sprintf("c%d", i)
		for _, line := range c.read(t, n.url, "support", conversation) {
			if before, twice := there[line.ID]; twice {
				t.Fatalf("%s is in %s and in %s", line.ID, before, conversation)
			}
			there[line.ID] = conversation
		}
	}
	total := 0
	for _, ids := range acknowledged {
		total += len(ids)
		again := ""
		for id, conversation := range ids {
			if there[id] != conversation {
				t.Errorf("%s was acknowledged in %s and is in %q", id, conversation, there[id])
			}
			again = id
		}
		if again == "" {
			continue
		}
		if got, ok, raw := c.say(n.url, "support", ids[again], again, "hello"); !ok || !got.Duplicate {
			t.Errorf("%s again: got %v, want that it is known", again, raw)
		}
	}
	t.Logf("%d messages were acknowledged, %d are there", total, len(there))
}

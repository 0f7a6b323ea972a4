package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// idleConfig answers at once, through a real responder.
const idleConfig = `
bots:
  support:
    debounce: 0
    responder: {kind: webhook, url: "%s"}
`

// TestIdleConversations: conversations that were answered and went idle leave
// no goroutine, no timer and no memory of their own behind. What is compared
// is the memory after some thousands of them, when caches and pools have
// their size, with the memory after all of them.
func TestIdleConversations(t *testing.T) {
	t.Parallel()
	quick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"text": "yes"}) // nobody is left to tell
	}))
	t.Cleanup(quick.Close)
	n := start(t, []string{"GOGC=50"}, append(settings(t, inMemory(t), fmt.Sprintf(idleConfig, quick.URL)), "--log-level", "warn")...)
	c := newCaller(t)

	converse(t, c, n, 0, warmUp)
	before := measure(t, c, n)
	began := time.Now()
	converse(t, c, n, warmUp, max(*idleConversations, 2*warmUp))
	after := measure(t, c, n)
	t.Logf("%d conversations in %v; -idle sets how many", *idleConversations, time.Since(began).Round(time.Second))
	t.Logf("after %d of them: %v", warmUp, before)
	t.Logf("after all of them: %v", after)

	if after.generating != 0 {
		t.Errorf("%v attempts are left", after.generating)
	}
	// The store's log of what is ahead takes some MiB, by how fast messages came.
	if after.heap > before.heap*1.25 {
		t.Errorf("%.1f MB of heap in use, before %.1f: more than a quarter above", after.heap/1e6, before.heap/1e6)
	}
	// A node remembers some conversations for a minute after they went idle.
	eventually(t, "none is waiting", func() bool { return c.metric(t, n.url, "onereply_waiting_conversations") == 0 })
	eventually(t, "no goroutine is left", func() bool { return c.metric(t, n.url, "go_goroutines") <= before.goroutines })
	n.stops(t)
}

// inMemory is a folder on a disk in memory, where there is one: this test
// makes many conversations, and is about none of their durability.
func inMemory(t *testing.T) string {
	folder, err := os.MkdirTemp("/dev/shm", "onereply-e2e-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // what is left goes with the machine
	return folder
}

// warmUp is a number of conversations that is more than a node and its store remember
// of those that are idle: 4,096 and 8,192.
const warmUp = 10_000

// converse has conversations answered, and waits until all are idle.
func converse(t *testing.T, c *caller, n *node, from, to int) {
	t.Helper()
	var next atomic.Int64
	next.Store(int64(from))
	var writers sync.WaitGroup
	for range 64 {
		writers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= to || t.Failed() {
					return
				}
				if _, ok, raw := c.say(n.url, "support", fmt.Sprintf("c%d", i), "m1", "hello"); !ok {
					t.Errorf("message %d: %v", i, raw)
				}
			}
		})
	}
	writers.Wait()
	eventually(t, "all replies are sent", func() bool {
		return c.metric(t, n.url, `onereply_time_to_reply_seconds_count`) >= float64(to)
	})
}

// footprint is what a node takes.
type footprint struct {
	goroutines, heap, remembered, generating float64
}

func (f footprint) String() string {
	return fmt.Sprintf("%v goroutines, %.1f MB of heap in use, %v conversations remembered", f.goroutines, f.heap/1e6, f.remembered)
}

// measure is the least that the node takes over a few of its garbage
// collections: asking for metrics makes enough garbage for them.
func measure(t *testing.T, c *caller, n *node) footprint {
	t.Helper()
	c.client.CloseIdleConnections()
	least := footprint{heap: 1e18, goroutines: 1e9}
	const collected = "go_gc_duration_seconds_count"
	first := c.metric(t, n.url, collected)
	eventually(t, "the node collects its garbage", func() bool {
		var now map[string]float64
		for range 20 {
			now = c.metrics(t, n.url)
			least.heap = min(least.heap, now["go_memstats_heap_alloc_bytes"])
			least.goroutines = min(least.goroutines, now["go_goroutines"])
		}
		least.remembered, least.generating = now["onereply_waiting_conversations"], now["onereply_generating"]
		return now[collected] >= first+3
	})
	return least
}

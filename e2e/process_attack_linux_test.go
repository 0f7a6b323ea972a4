package e2e

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// attackFor is how long the mixed attack lasts. The promise speaks of 10m.
var attackFor = flag.Duration("attack", 12*time.Second, "how long the mixed attack lasts")

const (
	goodKey   = "0123456789abcdef-good"
	greedyKey = "0123456789abcdef-greedy"
)

// attackedConfig has its budgets as they are by default, and rates.
const attackedConfig = `
api_keys:
  - {name: good, key: ` + goodKey + `}
  - {name: greedy, key: ` + greedyKey + `, can: [read, write], rate: {messages_per_second: 50, burst: 50}}
bots:
  support:
    debounce: 200ms
    conversation_rate: {messages_per_second: 20, burst: 40}
    responder: {kind: openai, base_url: "%s", model: m}
`

// attack is a number of clients that do harm until it ends.
type attack struct {
	t       *testing.T
	node    *node
	context context.Context
	clients sync.WaitGroup
	done    map[string]*atomic.Int64 // what each kind has done
}

// often has some clients do something again and again, each with a pause after it.
func (a *attack) often(kind string, clients int, pause time.Duration, do func(client, round int)) {
	count := &atomic.Int64{}
	a.done[kind] = count
	for client := range clients {
		a.clients.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for round := 0; ; round++ {
				select {
				case <-a.context.Done():
					return
				case <-tick.C:
				}
				do(client, round)
				count.Add(1)
			}
		})
	}
}

// open writes a request on a connection of its own, and keeps it open without reading, until
// the other side or the attack ends it.
func (a *attack) open(request string) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(a.context, "tcp", strings.TrimPrefix(a.node.url, "http://"))
	if err != nil {
		return // the node takes no more
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, request); err != nil {
		return
	}
	closed := make(chan struct{})
	if request == "" { // idle: it notices when the node closes it
		go func() {
			defer close(closed)
			_, _ = io.Copy(io.Discard, connection) // ends with the connection
		}()
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
	case <-a.context.Done():
	}
}

// mixed begins all kinds of attack at once.
func (a *attack) mixed() {
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	a.t.Cleanup(client.CloseIdleConnections)
	ask := func(key, method, url, body string) {
		request, err := http.NewRequestWithContext(a.context, method, url, strings.NewReader(body))
		if err != nil {
			panic(err) // the urls are ours
		}
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		if response, err := client.Do(request); err == nil {
			_, _ = bufio.NewReader(response.Body).Peek(1) // of a stream there may be no more
			response.Body.Close()
		}
	}
	control := strings.Repeat(`\u0001`, 65_000)
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + greedyKey + "\r\n\r\n"
	}
	a.often("huge messages", 2, 50*time.Millisecond, func(client, round int) {
		body := fmt.Sprintf(`{"id": "%d-%d", "text": "%s"}`, client, round, control)
		ask(greedyKey, http.MethodPost, path(a.node.url, "support", fmt.Sprint("greedy", round%8))+"/messages", body)
	})
	a.often("readers of large pages", 2, 100*time.Millisecond, func(client, round int) {
		ask(greedyKey, http.MethodGet, path(a.node.url, "support", fmt.Sprint("greedy", round%8))+"/transcript?limit=1000", "")
	})
	a.often("slow readers of pages", 20, 10*time.Millisecond, func(client, _ int) {
		a.open(get(fmt.Sprintf("/v1/bots/support/conversations/greedy%d/transcript?limit=1000", client%8)))
	})
	a.often("slow streams", 30, 10*time.Millisecond, func(int, int) { a.open(get("/v1/events")) })
	a.often("unknown event ids", 4, 50*time.Millisecond, func(client, round int) {
		ask(greedyKey, http.MethodGet, fmt.Sprintf("%s/v1/events?after=unknown-%d-%d", a.node.url, client, round), "")
	})
	a.often("wrong keys", 4, 50*time.Millisecond, func(client, round int) {
		ask(fmt.Sprintf("wrong-%d-%d", client, round), http.MethodGet, a.node.url+"/v1/conversations", "")
	})
	a.often("idle connections", 300, 10*time.Millisecond, func(int, int) { a.open("") })
	a.often("slow bodies", 20, 10*time.Millisecond, func(client, _ int) {
		a.open(fmt.Sprintf("POST /v1/bots/support/conversations/slow%d/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", client, greedyKey))
	})
}

// steady sends a message every 20 ms until the time is over, and returns how long the
// acknowledgements took, sorted. sent gets what was acknowledged, by conversation.
func (c *caller) steady(t *testing.T, base, prefix string, d time.Duration, sent map[string][]string) []time.Duration {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var took []time.Duration
	for began := time.Now(); time.Since(began) < d; <-tick.C {
		conversation, id := fmt.Sprint("good", len(took)%40), fmt.Sprint(prefix, len(took))
		asked := time.Now()
		c.mustSay(t, base, "support", conversation, id, "hello")
		took = append(took, time.Since(asked))
		sent[conversation] = append(sent[conversation], id)
	}
	slices.Sort(took)
	return took
}

// p99 is the time that 99 of 100 took at most.
func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }

// TestMixedAttack sends a node everything at once that is known to do harm: huge messages,
// readers and streams that do not read, unknown event ids, wrong keys, idle connections and
// bodies that never end. A client that behaves well is acknowledged nearly as fast as before,
// the node stays within its memory, and nothing that was acknowledged is lost.
func TestMixedAttack(t *testing.T) {
	g, c := newGlutton(t), newCaller(t)
	c.key = goodKey
	n := start(t, nil, settings(t, t.TempDir(), fmt.Sprintf(attackedConfig, g.server.URL))...)
	sent := map[string][]string{}
	c.steady(t, n.url, "warm", time.Second, sent)
	alone := c.steady(t, n.url, "alone", max(3*time.Second, *attackFor/10), sent)

	ctx, end := context.WithCancel(t.Context())
	a := &attack{t: t, node: n, context: ctx, done: map[string]*atomic.Int64{}}
	a.mixed()
	beside := c.steady(t, n.url, "beside", *attackFor, sent)
	end()
	a.clients.Wait()
	n.stays(t, "the attack")
	for kind, count := range a.done {
		t.Logf("%s: %d", kind, count.Load())
		if count.Load() == 0 && kind != "slow streams" && kind != "idle connections" {
			t.Errorf("no attack by %s", kind)
		}
	}
	t.Logf("acknowledged: %d alone, half within %v, 99 of 100 within %v; %d beside the attack, within %v and %v",
		len(alone), alone[len(alone)/2], p99(alone), len(beside), beside[len(beside)/2], p99(beside))
	// A hundredth of a short run is one or two messages, and they may meet anything that the
	// machine does: only half of them are looked at there, with wide room.
	if before, now := p99(alone), p99(beside); *attackFor >= time.Minute && now > 5*before {
		t.Errorf("99 of 100 acknowledgements took %v beside the attack, more than 5 times %v", now, before)
	}
	if before, now := alone[len(alone)/2], beside[len(beside)/2]; now > 5*before+2*time.Second {
		t.Errorf("half of the acknowledgements took %v beside the attack, and %v before", now, before)
	}
	for conversation, ids := range sent {
		c.rests(t, n.url, "support", conversation)
		there := map[string]bool{}
		for _, line := range c.read(t, n.url, "support", conversation) {
			if line.Kind == "message" && line.Status == "answered" {
				there[line.ID] = true
			}
		}
		for _, id := range ids {
			if !there[id] {
				t.Errorf("%s was acknowledged in %s and is not answered there", id, conversation)
			}
		}
	}
	n.stops(t)
}

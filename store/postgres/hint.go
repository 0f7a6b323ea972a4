package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/store"
)

// A NOTIFY takes a lock that all commits with a NOTIFY in the whole server
// share, so there is none for each message: each node sends what has gathered,
// once in an interval. The first hint after a quiet time does not wait for it.
const (
	hintInterval = 50 * time.Millisecond
	hintTimeout  = 5 * time.Second // of one NOTIFY; its payloads are lost then
	maxWaiting   = 10_000          // hints that gather; more are dropped
	maxPayload   = 7_900           // bytes; PostgreSQL takes 7999
	maxPayloads  = 16              // in one interval; the rest waits for the next
	hintChannel  = "onereply"
)

// In: channels, and a payload for each. Out: a row for each.
// It does not wait for the disk: the change that it reports is durable already, and
// it must not hold that lock meanwhile. The setting ends with the transaction.
const notify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify(n.channel, n.payload)
	FROM unnest($1::text[], $2::text[]) AS n (channel, payload)`

// hints gathers hints and broadcasts and sends them from one goroutine, and receives
// those of other nodes in another. close waits for both.
//
// Hint and Broadcast only add to what waits, under mu, and wake the sender. It takes at
// most 16 payloads each 50 ms, hints first, and sends them with one statement. A
// conversation that changes several times meanwhile is named once. If the statement
// fails, its payloads are lost: other nodes then learn of a change when they next look.
// Hints that wait at Close are lost too.
type hints struct {
	store *Store
	from  string // tells a node its own hints and broadcasts
	on    bool
	wake  chan struct{}

	echoed atomic.Pointer[time.Time] // when a broadcast of this node's own came back

	mu        sync.Mutex
	waiting   map[store.Key]struct{}
	outbox    outbox
	listeners listeners

	ctx    context.Context // of the goroutines, and of all who listen
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// notice is what one NOTIFY says.
type notice struct{ channel, payload string }

func newHints(s *Store, on bool) *hints {
	h := &hints{store: s, from: rand.Text(), on: on, wake: make(chan struct{}, 1), waiting: make(map[store.Key]struct{})}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if on {
		h.done.Go(h.run)
	}
	return h
}

// close ends both goroutines and every call of Hints and Broadcasts.
func (h *hints) close() {
	h.cancel()
	h.done.Wait()
}

// Hint implements [store.Hinter]. It only notes the keys: all hints that gather within
// 50 ms are sent together, and are lost if the server is out of reach. It returns an error
// only after Close, or if ctx has ended. With hints turned off it does nothing.
func (s *Store) Hint(ctx context.Context, keys []store.Key) error {
	if err := s.usable(ctx); err != nil {
		return s.failed(err, "hint")
	}
	if s.hints.on {
		s.hints.add(keys)
	}
	return nil
}

// add queues hints, each conversation once. Beyond maxWaiting new ones are dropped: a
// server that is out of reach must not fill the memory.
func (h *hints) add(keys []store.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		if len(h.waiting) < maxWaiting {
			h.waiting[key] = struct{}{}
		}
	}
	h.wakeSender()
}

// wakeSender wakes the goroutine that sends.
func (h *hints) wakeSender() {
	select {
	case h.wake <- struct{}{}:
	default: // it is awake
	}
}

// run sends the first hint at once, and those that come soon after it together.
func (h *hints) run() {
	pause := time.NewTicker(hintInterval)
	defer pause.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.wake:
		}
		for notices := h.take(); len(notices) > 0; notices = h.take() {
			h.send(notices)
			pause.Reset(hintInterval)
			select {
			case <-h.ctx.Done():
				return
			case <-pause.C:
			}
		}
	}
}

// send is best effort: hints are lossy, and a commit that fails says why. It borrows a
// connection of the pool for one statement.
func (h *hints) send(notices []notice) {
	ctx, cancel := context.WithTimeout(h.ctx, hintTimeout)
	defer cancel()
	var channels, payloads []string
	for _, n := range notices {
		channels, payloads = append(channels, n.channel), append(payloads, n.payload)
	}
	_ = h.store.queryEach(ctx, notify, []any{channels, payloads}, nil)
}

// payload is what a NOTIFY carries.
type payload struct {
	From string      `json:"from"`
	Keys [][2]string `json:"keys"` // bot, conversation
}

// take removes what goes out in one interval: hints first, since broadcasts may be
// late.
func (h *hints) take() []notice {
	h.mu.Lock()
	defer h.mu.Unlock()
	var notices []notice
	for _, payload := range h.takeHints() {
		notices = append(notices, notice{hintChannel, payload})
	}
	for _, part := range h.outbox.take(maxPayloads - len(notices)) {
		notices = append(notices, notice{broadcastChannel, part})
	}
	return notices
}

// takeHints removes hints and returns them as payloads, each below the limit of a NOTIFY.
// Hints that do not fit into maxPayloads stay for the next interval.
func (h *hints) takeHints() []string {
	var payloads []string
	next, size := payload{From: h.from}, 0
	for key := range h.waiting {
		text, err := toJSON([2]string{key.Bot, key.Conversation})
		if err != nil {
			panic(err) // strings always have a JSON form
		}
		if size+len(text) > maxPayload-100 { // 100: for what is around the keys
			payloads = append(payloads, next.String())
			next, size = payload{From: h.from}, 0
			if len(payloads) == maxPayloads {
				return payloads
			}
		}
		next.Keys, size = append(next.Keys, [2]string{key.Bot, key.Conversation}), size+len(text)+1
		delete(h.waiting, key)
	}
	if len(next.Keys) > 0 {
		payloads = append(payloads, next.String())
	}
	return payloads
}

func (p payload) String() string {
	text, err := toJSON(p)
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return text
}

// parsePayload returns the keys of a payload that another node sent. Anybody who
// may connect to the database may send one, so anything may be in it.
func parsePayload(text, own string) []store.Key {
	var p payload
	if json.Unmarshal([]byte(text), &p) != nil || p.From == own {
		return nil
	}
	keys := make([]store.Key, 0, len(p.Keys))
	for _, key := range p.Keys {
		if key[0] != "" && key[1] != "" {
			keys = append(keys, store.Key{Bot: key[0], Conversation: key[1]})
		}
	}
	return keys
}

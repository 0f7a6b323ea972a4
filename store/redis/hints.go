package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/onereply/onereply/store"
)

const (
	// hintTick is the least time between two messages of a node to the others.
	hintTick = 50 * time.Millisecond
	// maxHints is how many conversations one of them names at most, and wait for
	// the next; more are dropped, and found by their timers.
	maxHints = 1000
	// How long to wait before subscribing again.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// hinter tells other nodes which conversations changed. It collects what comes
// within a tick, so that traffic between nodes does not grow with the number of
// messages.
//
// Hint only adds names, under mu, and wakes the goroutine that publishes. It sends all
// that waits as one message, and then rests for a tick. A conversation that changes
// several times meanwhile is named once. A message that fails is lost, and so are hints
// that wait when the store is closed: other nodes then look when the timers say so.
type hinter struct {
	client  rueidis.Client
	channel string
	timeout time.Duration
	sender  string // tells our own messages from those of others

	mu      sync.Mutex
	waiting map[string]bool // names

	wake   chan struct{}
	ending chan struct{}
	ended  chan struct{}
}

func newHinter(client rueidis.Client, channel string, timeout time.Duration) *hinter {
	h := &hinter{
		client: client, channel: channel, timeout: timeout, sender: rand.Text(),
		waiting: make(map[string]bool),
		wake:    make(chan struct{}, 1), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go h.run()
	return h
}

// close ends the goroutine that publishes.
func (h *hinter) close() {
	close(h.ending)
	<-h.ended
}

// add remembers conversations for the next message.
func (h *hinter) add(keys []store.Key) {
	h.mu.Lock()
	for _, key := range keys {
		if len(h.waiting) < maxHints {
			h.waiting[nameOf(key)] = true
		}
	}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default: // it will see them
	}
}

// take removes all that waits.
func (h *hinter) take() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := h.waiting
	h.waiting = make(map[string]bool)
	return names
}

// run publishes the first hint at once, and what comes within a tick of it
// together.
func (h *hinter) run() {
	defer close(h.ended)
	for {
		select {
		case <-h.wake:
		case <-h.ending:
			return
		}
		if names := h.take(); len(names) > 0 {
			h.publish(names)
		}
		select {
		case <-time.After(hintTick):
		case <-h.ending:
			return
		}
	}
}

// publish sends a message. Its failure is no failure: hints may be lost. A server that
// does not answer holds it up for the time-out of a call at most; close ends it earlier.
func (h *hinter) publish(names map[string]bool) {
	ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-h.ending:
			cancel()
		case <-stop:
		}
	}()
	_ = h.client.Do(ctx, h.client.B().Publish().Channel(h.channel).Message(encodeHints(h.sender, names)).Build()).Error()
}

// encodeHints writes the sender, and each name after its length. A name may hold any
// character, a line break too, so no separator would do.
func encodeHints(sender string, names map[string]bool) string {
	var b strings.Builder
	b.WriteString(sender)
	for name := range names {
		b.WriteString("\n" + strconv.Itoa(len(name)) + "\n" + name)
	}
	return b.String()
}

// decodeHints is the inverse of encodeHints. Anybody with a right to the channel may send
// a message, so anything may be in it: it returns the names up to the first that it
// can't read.
func decodeHints(message string) (sender string, keys []store.Key) {
	sender, rest, more := strings.Cut(message, "\n")
	for more {
		size, after, found := strings.Cut(rest, "\n")
		length, err := strconv.Atoi(size)
		if !found || err != nil {
			break
		}
		key, left, err := cutName(after, length)
		if err != nil {
			break
		}
		keys = append(keys, key)
		rest, more = strings.CutPrefix(left, "\n")
	}
	return sender, keys
}

// Hint implements [store.Hinter]. It returns at once: the message goes out
// within 50 ms, with all that other calls add until then.
func (s *Store) Hint(ctx context.Context, keys []store.Key) error {
	_, end, err := s.enter(ctx)
	if err != nil {
		return s.failed(err, "hint")
	}
	defer end()
	s.hints.add(keys)
	return nil
}

// Hints implements [store.Hinter]. Where the connection is lost it subscribes
// again; hints from between are lost.
func (s *Store) Hints(ctx context.Context, f func(store.Key)) error {
	subscribe := s.client.B().Subscribe().Channel(s.hints.channel).Build().Pin()
	return s.hear(ctx, "hints", subscribe, func(message string) {
		sender, keys := decodeHints(message)
		if sender == s.hints.sender {
			return
		}
		for _, key := range keys {
			f(key)
		}
	})
}

// hear calls f for each message of a subscription until ctx ends or the store is closed,
// and returns the error that says which. Where the connection is lost it subscribes
// again, after a pause that doubles from 100 ms to 2 s; a message makes it short
// again. It must not count as a call, for which Close would wait.
func (s *Store) hear(ctx context.Context, what string, subscribe rueidis.Completed, f func(message string)) error {
	wait := firstRetry
	for {
		_, end, err := s.enter(ctx)
		if err != nil {
			return s.failed(err, "%s", what)
		}
		end() // a subscription is no call that Close waits for
		err = s.client.Receive(ctx, subscribe, func(m rueidis.PubSubMessage) {
			wait = firstRetry
			f(m.Message)
		})
		if errors.Is(err, rueidis.ErrClosing) {
			return s.failed(store.ErrClosed, "%s", what)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		case <-s.hints.ending:
		}
		wait = min(2*wait, lastRetry)
	}
}

package redis

import (
	"context"
	"strings"
	"time"

	"github.com/onereply/onereply/store"
)

// Broadcast implements [store.Broadcaster]. It is one SPUBLISH, and returns when the
// server has it. In a cluster the channel belongs to one server, as a key does: so
// what one node says keeps its order.
//
// The message is the sender, a line break, and the payload. It does not gather, as hints
// do, since its caller does that already. Nothing waits here, so [store.ErrCrowded] never
// comes; a server that is out of reach is an error.
func (s *Store) Broadcast(ctx context.Context, payload []byte) error {
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return s.failed(err, "broadcast")
	}
	defer end()
	if len(payload) > store.MaxBroadcast {
		return s.failed(store.ErrTooLarge, "broadcast")
	}
	message := s.hints.sender + "\n" + string(payload)
	if err := s.client.Do(ctx, s.client.B().Spublish().Channel(s.broadcasts).Message(message).Build()).Error(); err != nil {
		return s.failed(err, "broadcast")
	}
	return nil
}

// Broadcasts implements [store.Broadcaster]. Where the connection is lost it
// subscribes again; messages sent in between are lost. The server returns a node's own
// messages too. They are not handed to f; their time is kept for Echoed, since they prove
// that receiving works. A message that is too large or has no sender was not made by a
// node, and is dropped.
func (s *Store) Broadcasts(ctx context.Context, f func(payload []byte)) error {
	subscribe := s.client.B().Ssubscribe().Channel(s.broadcasts).Build().Pin()
	return s.hear(ctx, "broadcasts", subscribe, func(message string) {
		sender, payload, found := strings.Cut(message, "\n")
		if found && sender == s.hints.sender {
			now := time.Now()
			s.echoed.Store(&now)
		}
		if found && sender != s.hints.sender && len(payload) <= store.MaxBroadcast {
			f([]byte(payload))
		}
	})
}

// Echoed implements [store.Echoer].
func (s *Store) Echoed() time.Time {
	if at := s.echoed.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Hinter is implemented by stores that can tell other nodes that a conversation
// changed. A hint may be lost, so safety never rests on one: it only makes a node look
// earlier than its timer would.
type Hinter interface {
	// Hint tells the other nodes of these conversations. It may drop some of them.
	Hint(ctx context.Context, keys []Key) error
	// Hints calls f for each hint from other nodes until ctx ends.
	Hints(ctx context.Context, f func(Key)) error
}

// Broadcaster is implemented by stores that can carry messages between nodes: events
// for people who watch, and how each node is. They are worth nothing a moment later,
// and may be lost, so nothing that must be true may rest on them.
type Broadcaster interface {
	// Broadcast sends a payload of at most [MaxBroadcast] bytes to the other nodes,
	// or fails; it may also be lost on its way, to all or to some. A payload that
	// arrives is whole, and the payloads of one node arrive in the order in which it
	// sent them. It does not wait until others have it.
	Broadcast(ctx context.Context, payload []byte) error
	// Broadcasts calls f for each payload from other nodes until ctx ends. f must
	// not block, and may keep the payload. Do not trust its content: anybody who can
	// reach the store's server may send one.
	Broadcasts(ctx context.Context, f func(payload []byte)) error
}

// Echoer is implemented by a [Broadcaster] whose server returns a node's own broadcasts
// over the connection on which it receives those of others. If a node's own broadcast
// comes back, receiving works.
type Echoer interface {
	// Echoed is when a broadcast of this node last came back, the zero Time if none
	// ever did. It needs a [Broadcaster.Broadcasts] that runs.
	Echoed() time.Time
}

// MaxBroadcast bounds the payload of a broadcast, in bytes.
const MaxBroadcast = 1 << 20

// ErrTooLarge: the payload has more than [MaxBroadcast] bytes.
var ErrTooLarge = fmt.Errorf("a broadcast has at most %d bytes", MaxBroadcast)

// ErrNoBroadcasts: the settings of this store turn broadcasts off.
var ErrNoBroadcasts = errors.New("broadcasts are turned off")

// ErrCrowded: too much is waiting to be sent, so this was dropped.
var ErrCrowded = errors.New("too much waits to be sent to other nodes: dropped")

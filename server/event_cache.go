package server

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/onereply/onereply"
)

// eventCache keeps the last few events in the encoding of a stream. All streams are at
// about the same event, so it is encoded once and not for each of them. A stream that is
// far behind encodes for itself. Two events that want one slot replace each other, which
// costs time and nothing else. It may be used by many goroutines at once, without a lock.
type eventCache struct {
	seed  maphash.Seed
	slots [64]atomic.Pointer[encodedEvent] // chosen by a hash of the event's id
}

// encodedEvent is one event as it stands in a stream: id, event and data lines. The event
// of an id changes only where its texts are erased.
type encodedEvent struct {
	id, text, reason string // of the event
	encoded          []byte
}

func newEventCache() *eventCache { return &eventCache{seed: maphash.MakeSeed()} }

// encode returns an event as it stands in a stream. Nobody may change the bytes: several
// streams share them. The data is one line, since json.Marshal writes no line break.
func (c *eventCache) encode(e onereply.Event) ([]byte, error) {
	slot := &c.slots[maphash.String(c.seed, e.ID)%uint64(len(c.slots))]
	if kept := slot.Load(); kept != nil && kept.id == e.ID && kept.text == e.Text && kept.reason == e.Reason {
		return kept.encoded, nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	made := &encodedEvent{id: e.ID, text: e.Text, reason: e.Reason, encoded: fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type, data)}
	slot.Store(made)
	return made.encoded, nil
}

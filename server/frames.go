package server

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/onereply/onereply"
)

// frames keeps the last few events as they are written to a stream, so that an
// event is encoded once and not for each of those who watch. They are all at
// about the same event; one that is far behind encodes for itself.
type frames struct {
	seed  maphash.Seed
	slots [64]atomic.Pointer[frame] // by the id
}

type frame struct {
	id   string
	text []byte
}

func newFrames() *frames { return &frames{seed: maphash.MakeSeed()} }

// of is an event as the text of a stream, which nobody may change.
func (f *frames) of(e onereply.Event) ([]byte, error) {
	slot := &f.slots[maphash.String(f.seed, e.ID)%uint64(len(f.slots))]
	if kept := slot.Load(); kept != nil && kept.id == e.ID {
		return kept.text, nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	made := &frame{id: e.ID, text: fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type, data)}
	slot.Store(made)
	return made.text, nil
}

package onereply

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/onereply/onereply/store"
)

// Limits of the events that wait to be told to other nodes. What exceeds them is
// dropped: nobody who publishes ever waits.
const (
	maxGathered      = 4096
	maxGatheredBytes = 8 << 20
	sizeOfEvent      = 256       // about what an event takes beside its texts
	maxBulletin      = 256 << 10 // bytes of events that one broadcast holds, but for a single larger one
)

// gathering is the events that go out with the next broadcast.
type gathering struct {
	wanted atomic.Bool // some other node watches something: asked for every event

	mu      sync.Mutex
	others  map[string]interest // by the life of the node
	events  []Event
	bytes   int
	deltas  map[store.Key]int // the last event of a conversation, where it is a delta
	dropped uint64
}

// offer takes an event in, if some other node watches it. Deltas that follow each
// other become one.
func (g *gathering) offer(e *Event) (taken bool) {
	if !g.wanted.Load() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.watched(e) {
		return false
	}
	key := store.Key{Bot: e.Bot, Conversation: e.Conversation}
	size := len(e.Text) + len(e.Reason)
	i, follows := g.deltas[key]
	follows = follows && e.Type == deltaType && g.events[i].Token == e.Token
	if !follows {
		size += sizeOfEvent + len(e.Bot) + 2*len(e.Conversation)
		for _, id := range e.Covers {
			size += len(id)
		}
	}
	if len(g.events) >= maxGathered || g.bytes+size > maxGatheredBytes {
		g.dropped++
		return false
	}
	g.bytes += size
	switch {
	case follows:
		g.events[i].Text += e.Text
		return true
	case e.Type == deltaType:
		g.deltas[key] = len(g.events)
	default:
		delete(g.deltas, key)
	}
	g.events = append(g.events, *e)
	return true
}

func (g *gathering) watched(e *Event) bool {
	for _, other := range g.others {
		for _, t := range other.topics {
			if t.matches(e) {
				return true
			}
		}
	}
	return false
}

// take removes what was gathered, and says how much was dropped meanwhile.
func (g *gathering) take() (events []Event, dropped uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	events, dropped = g.events, g.dropped
	g.events, g.bytes, g.dropped = nil, 0, 0
	clear(g.deltas)
	return events, dropped
}

// packed makes events ready to be sent, some in each payload. One that is too large
// for any goes without its text, which is in the transcript, and says so. That takes
// a reply of control characters, which are six times as long as JSON.
func packed(events []Event) (groups [][]json.RawMessage, tooLarge int) {
	size := maxBulletin
	for i := range events {
		e := events[i]
		text, err := json.Marshal(e)
		if err == nil && len(text) > store.MaxBroadcast-maxBulletin {
			e.Text, e.Covers, e.TextLeftOut = "", nil, true
			text, err = json.Marshal(e)
		}
		if err != nil || len(text) > store.MaxBroadcast-maxBulletin {
			tooLarge++ // not to be expected: names and reasons are short
			continue
		}
		if size+len(text) > maxBulletin {
			groups, size = append(groups, nil), 0
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], text)
		size += len(text)
	}
	return groups, tooLarge
}

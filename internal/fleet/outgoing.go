package fleet

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
)

// Limits of the events that wait to be told to other nodes. Events beyond them are
// dropped: a publisher never waits.
const (
	maxOutgoing      = 4096
	maxOutgoingBytes = 8 << 20
	sizeOfEvent      = 256       // about what an event takes beside its texts
	maxMessage       = 256 << 10 // bytes of events that one broadcast holds, but for a single larger one
	maxOthers        = 256       // other nodes, and those that are gone
)

// outgoing is the events that go out with the next broadcast: those that some other
// node watches, since sending everything everywhere would cost most where nobody looks.
//
// Publishers add to it with offer, and broadcastLoop empties it with take. The interest of
// other nodes comes with their broadcasts (setInterest) and ends about 15 s after the last
// one (dropStale), so a node that died costs nothing for long. If more events come than
// fit, the newest are dropped and counted. The log tells the count; nobody sends them
// again.
type outgoing struct {
	wanted atomic.Bool // some other node watches something: asked for every event

	mu      sync.Mutex
	others  map[string]interest // by instance of the node
	events  []engine.Event
	bytes   int
	deltas  map[store.Key]int // the last event of a conversation, where it is a delta
	dropped int
}

// interest is what another node watches.
type interest struct {
	topics []Topic
	until  time.Time
}

// offer takes an event in, if some other node watches it and there is room. A deletion,
// of a message or of a conversation, goes to all nodes: one that watched a while ago may keep the texts. Deltas of
// one attempt that follow each other become one: a model that writes word by word would
// otherwise make a hundred events of a sentence.
func (g *outgoing) offer(e *engine.Event) (taken bool) {
	if !g.wanted.Load() && !e.Erases() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.watches(e) && !e.Erases() {
		return false
	}
	size := len(e.Text) + len(e.Reason)
	i, follows := g.deltas[e.Key]
	follows = follows && e.Kind == engine.Delta && g.events[i].Token == e.Token
	if !follows {
		size += sizeOfEvent + len(e.Key.Bot) + 2*len(e.Key.Conversation)
		for _, id := range e.Covers {
			size += len(id)
		}
	}
	if len(g.events) >= maxOutgoing || g.bytes+size > maxOutgoingBytes {
		g.dropped++
		return false
	}
	g.bytes += size
	switch {
	case follows:
		g.events[i].Text += e.Text
		return true
	case e.Kind == engine.Delta:
		g.deltas[e.Key] = len(g.events)
	default:
		delete(g.deltas, e.Key)
	}
	g.events = append(g.events, *e)
	return true
}

// watches reports whether some other node watches the event. It compares with each topic
// of each node: at most 32 topics a node, since bounded has cut them.
func (g *outgoing) watches(e *engine.Event) bool {
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
func (g *outgoing) take() (events []engine.Event, dropped int) {
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
func packed(events []engine.Event) (groups [][]json.RawMessage, tooLarge int) {
	size := maxMessage
	for i := range events {
		e := events[i]
		text, err := json.Marshal(e)
		if err == nil && len(text) > store.MaxBroadcast-maxMessage {
			e.Text, e.Covers, e.TextLeftOut = "", nil, true
			text, err = json.Marshal(e)
		}
		if err != nil || len(text) > store.MaxBroadcast-maxMessage {
			tooLarge++ // not to be expected: names and reasons are short
			continue
		}
		if size+len(text) > maxMessage {
			groups, size = append(groups, nil), 0
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], text)
		size += len(text)
	}
	return groups, tooLarge
}

// setInterest replaces what another node watches. An empty list ends its interest. Beyond
// maxOthers a new node is ignored: its watchers see no events of this node. The list is
// bounded here too, since it comes from whoever can reach the store's server.
func (g *outgoing) setInterest(instance string, all []Topic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.others[instance]
	switch {
	case len(all) == 0:
		delete(g.others, instance)
	case known || len(g.others) < maxOthers:
		g.others[instance] = interest{topics: bounded(all), until: time.Now().Add(silentAfter)}
	}
	g.wanted.Store(len(g.others) > 0)
}

// dropStale drops what was not renewed.
func (g *outgoing) dropStale(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for instance, other := range g.others {
		if now.After(other.until) {
			delete(g.others, instance)
		}
	}
	g.wanted.Store(len(g.others) > 0)
}

package fleet

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Limits of a broker.
const (
	EventsKept  = 1 << 14   // events that are kept for readers who come back
	chunkEvents = 16        // events that a reader takes at once
	chunkBytes  = 256 << 10 // about what these may take, but for a single larger one
	chunkLooked = 1 << 10   // events that are looked at for one chunk
	eventsBlock = 1 << 9    // by which the memory for events grows
)

// ring holds the last events, by number modulo EventsKept. It grows by blocks, so
// that growing copies nothing, and a node with few events takes little memory. A full
// ring overwrites its oldest event.
type ring [EventsKept / eventsBlock]*[eventsBlock]engine.Event

// at is the place of the event that follows the one with this number: the first event
// has the number 1 and lies at 0. The events EventsKept before and after it have the
// same place.
func (r *ring) at(number uint64) *engine.Event {
	block := &r[number%EventsKept/eventsBlock]
	if *block == nil {
		*block = new([eventsBlock]engine.Event)
	}
	return &(*block)[number%eventsBlock]
}

// Taken is an event as a reader gets it.
type Taken struct {
	ID    string // resumes after it
	Event engine.Event
}

// Broker keeps the last events of this node for its readers. It never waits for one: each
// reader has a place in the events that are kept, and takes the next ones from there when
// it can. So a slow reader costs no memory beside a chunk that it took, and one whose
// connection broke goes on where it was.
//
// Events are numbered in the order in which they come. Their ids are this broker's
// epoch and the number, because after a restart, or on another node, the same number
// is another event. A reader whose next event is not kept any more, or whose id is not
// known, is told so by one event, [engine.EventsLost], and goes on with what is new. What
// is kept is not replayed to it: nobody knows how much of that it has seen.
//
// One lock guards everything. It is held for one event, or for one chunk, so however many
// readers come back at once, a publisher waits for a few of them at most.
type Broker struct {
	mu      sync.Mutex
	epoch   string // tells the ids of this broker from those of another
	last    uint64 // number of the last event
	dropped uint64 // number of the last event that is not kept any more
	bytes   int    // about what the kept events take
	most    int    // what they may take; the oldest go first
	ring    ring
	readers map[*Subscription]bool
	topics  topics
	closed  bool
	changed func() // called when a topic is new
}

// Subscription is the place of one reader in the events of a broker. The reader calls
// Take until there is no more, and waits for Wake. All of it is for one goroutine, but for
// Close.
type Subscription struct {
	broker *Broker
	topic  Topic
	seen   uint64        // number of the last event that it has taken, or that is not for it
	lost   bool          // it named an event that is not kept
	wake   chan struct{} // holds a value when there may be something to take
	ended  chan struct{} // closed when the subscription is, or the broker
}

func newBroker(most int, changed func()) *Broker {
	return &Broker{
		epoch: rand.Text()[:10], most: most, changed: changed,
		readers: map[*Subscription]bool{}, topics: topics{},
	}
}

// publish takes an event of this node.
func (b *Broker) publish(e *engine.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(e)
}

// relay takes an event of another node, and keeps it only if somebody here watches
// it, or did a moment ago. A node that sends more than it was asked for must not push
// the events of this node out of the ring.
func (b *Broker) relay(e *engine.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.topics.match(e):
		b.add(e)
	case e.Erases():
		b.erase(e)
	}
}

// watched is the topics that are watched here, none once the broker is closed: the last
// broadcast of a node then tells the others to send it nothing more.
func (b *Broker) watched() []Topic {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return []Topic{}
	}
	return b.topics.current()
}

// add gives an event its number, keeps it, and wakes the readers. The newest event is
// kept, however large it is.
func (b *Broker) add(e *engine.Event) {
	if e.Erases() {
		b.erase(e)
	}
	if b.last-b.dropped == EventsKept {
		b.dropOldest()
	}
	*b.ring.at(b.last) = *e
	b.bytes += sizeOf(e)
	b.last++
	for b.bytes > b.most && b.dropped+1 < b.last {
		b.dropOldest()
	}
	for s := range b.readers {
		s.published(e)
	}
}

// dropOldest forgets the oldest event.
func (b *Broker) dropOldest() {
	oldest := b.ring.at(b.dropped)
	b.bytes -= sizeOf(oldest)
	*oldest = engine.Event{}
	b.dropped++
}

// sizeOf is about what an event takes in memory.
func sizeOf(e *engine.Event) int {
	size := sizeOfEvent + len(e.Key.Bot) + len(e.Key.Conversation) + len(e.MessageID) + len(e.ReplyID) + len(e.Text) + len(e.Reason)
	for _, id := range e.Covers {
		size += len(id)
	}
	return size
}

// erase removes the texts of a message, or of a whole conversation, from the events that
// are kept: it was deleted, and readers that resume must not see them. It looks at all
// events, which takes a fraction of a millisecond, since deletions are rare.
func (b *Broker) erase(deletion *engine.Event) {
	whole := deletion.Kind == engine.ConversationDeleted
	for number := b.dropped; number < b.last; number++ {
		e := b.ring.at(number)
		if e.Key != deletion.Key || !whole && e.MessageID != deletion.MessageID {
			continue
		}
		b.bytes -= sizeOf(e)
		e.Text = ""
		if whole {
			e.Reason = "" // an operator's words, or what a model answered
		}
		b.bytes += sizeOf(e)
	}
}

// drop ends a subscription. Its topic lingers, for a reader that comes back.
func (b *Broker) drop(s *Subscription) {
	delete(b.readers, s)
	b.topics.leave(s.topic)
	close(s.ended)
}

// id is that of the event with a number.
func (b *Broker) id(number uint64) string { return b.epoch + "-" + strconv.FormatUint(number, 10) }

// since is the number of the event with an id, and whether all that came after it is
// still kept.
func (b *Broker) since(id string) (number uint64, known bool) {
	if id == "" {
		return b.last, true
	}
	epoch, text, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	return number, err == nil && epoch == b.epoch && b.dropped <= number && number <= b.last
}

// Subscribe starts to watch the events of a topic, those after the event with the id
// first; "" starts with the next one. It takes nothing yet. On a closed broker the
// subscription has ended, and there is nothing to take.
func (b *Broker) Subscribe(topic Topic, after string) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Subscription{broker: b, topic: topic, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	number, known := b.since(after)
	s.seen, s.lost = number, !known
	if b.closed {
		s.seen, s.lost = b.last, false
		close(s.ended)
		return s
	}
	b.readers[s] = true
	if b.topics.join(topic) {
		b.changed()
	}
	return s
}

// published wakes the reader for an event of its topic. For another one it moves a
// reader's place that has seen all before: a reader that is woken seldom would else look
// at all events since.
func (s *Subscription) published(e *engine.Event) {
	switch b := s.broker; {
	case s.topic.matches(e):
		signal(s.wake)
	case s.seen == b.last-1:
		s.seen = b.last
	}
}

// Take is the next events, at most 16 and about 256 KiB, and whether there may be more. It
// goes on after the subscription has ended.
func (s *Subscription) Take() (events []Taken, more bool) {
	b := s.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.lost || s.seen < b.dropped {
		s.lost, s.seen = false, b.last
		return []Taken{{ID: b.id(b.last), Event: lost(s.topic)}}, false
	}
	bytes := 0
	for until := min(b.last, s.seen+chunkLooked); s.seen < until; s.seen++ {
		e := b.ring.at(s.seen)
		if !s.topic.matches(e) {
			continue
		}
		bytes += sizeOf(e)
		if len(events) == chunkEvents || len(events) > 0 && bytes > chunkBytes {
			break
		}
		events = append(events, Taken{ID: b.id(s.seen + 1), Event: *e})
	}
	return events, s.seen < b.last
}

// lost is the event for a reader of a topic that misses some.
func lost(topic Topic) engine.Event {
	return engine.Event{
		Key:    store.Key{Bot: topic.Bot, Conversation: topic.Conversation},
		Notice: turn.Notice{Kind: engine.EventsLost, At: turn.Time(time.Now().UnixMilli())},
	}
}

// Wake holds a value when there may be something to take. A new subscription is not woken
// for the events that it resumes with: take first.
func (s *Subscription) Wake() <-chan struct{} { return s.wake }

// Ended is closed when the subscription was closed, or the node closes.
func (s *Subscription) Ended() <-chan struct{} { return s.ended }

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	if s.broker.readers[s] {
		s.broker.drop(s)
	}
}

// close drops all readers, and those who come later at once.
func (b *Broker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for s := range b.readers {
		b.drop(s)
	}
}

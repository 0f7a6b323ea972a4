package fleet

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"github.com/onereply/onereply/internal/engine"
)

// Limits of a broker.
const (
	EventsKept  = 1 << 14 // events that are kept for readers who come back
	EventsAhead = 1 << 10 // events that a reader may be behind, before it is dropped
	eventsBlock = 1 << 9  // by which the memory for events grows
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

// Reader takes events from a broker, one call at a time. Its methods must neither
// block nor call the broker.
type Reader interface {
	// Begin is called first: at most so many events follow at once. The reader can make
	// room for them. Events of other topics are counted, and not handed over.
	Begin(events int)
	// Take takes an event and its id. A reader that has no room returns false; it is
	// dropped, and resumes after the last event that it took.
	Take(id string, e *engine.Event) bool
	// End is called last, exactly once: the subscription was closed, the reader was too
	// slow, or the node closes.
	End()
}

// Broker hands events to the readers of this node and keeps the last of them, so that
// a reader whose connection broke resumes without a gap. It never blocks a publisher: a
// reader that is too slow is dropped, and comes back when it can.
//
// Events are numbered in the order in which they come. Their ids are this broker's
// epoch and the number, because after a restart, or on another node, the same number
// is another event.
//
// One lock guards everything, and readers are called under it. So every reader gets the
// events in the order of their numbers, and nothing comes between the events that were
// kept and those that are new. Only what a [Reader] promises keeps this fast: it takes
// an event into a buffer of its own and returns.
type Broker struct {
	mu      sync.Mutex
	epoch   string // tells the ids of this broker from those of another
	last    uint64 // number of the last event
	ring    ring
	readers map[*Subscription]bool
	topics  topics
	closed  bool
	changed func() // called when a topic is new
}

// Subscription is one reader of a broker. The broker holds it until the reader is too
// slow or the subscription or the broker is closed.
type Subscription struct {
	broker *Broker
	reader Reader
	topic  Topic
}

func newBroker(changed func()) *Broker {
	return &Broker{
		epoch: rand.Text()[:10], changed: changed,
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

// add gives an event its number, keeps it, and hands it to the readers.
func (b *Broker) add(e *engine.Event) {
	if e.Erases() {
		b.erase(e)
	}
	*b.ring.at(b.last) = *e
	b.last++
	for s := range b.readers {
		b.offer(s, e, b.last)
	}
}

// erase removes the texts of a message from the events that are kept: its author has
// deleted it, and readers that resume must not see it. It looks at all of them, which
// takes a fraction of a millisecond, since deletions are rare.
func (b *Broker) erase(deletion *engine.Event) {
	for number := b.last - min(b.last, EventsKept); number < b.last; number++ {
		if e := b.ring.at(number); e.MessageID == deletion.MessageID && e.Key == deletion.Key {
			e.Text = ""
		}
	}
}

// offer hands an event to a reader of its topic, and drops a reader that is too
// slow. The id is made here because most events have no reader.
func (b *Broker) offer(s *Subscription, e *engine.Event, number uint64) {
	if s.topic.matches(e) && !s.reader.Take(b.epoch+"-"+strconv.FormatUint(number, 10), e) {
		b.drop(s)
	}
}

// drop ends a subscription. Its topic lingers, for a reader that comes back.
func (b *Broker) drop(s *Subscription) {
	delete(b.readers, s)
	b.topics.leave(s.topic)
	s.reader.End()
}

// since is the number of the event with an id. Where the id is not known any more, or
// is of another broker, it is the number before the oldest event that is kept: the reader
// may see events twice, but misses none that could be had.
func (b *Broker) since(id string) uint64 {
	if id == "" {
		return b.last
	}
	from := b.last - min(b.last, EventsKept)
	epoch, number, _ := strings.Cut(id, "-")
	if n, err := strconv.ParseUint(number, 10, 64); err == nil && epoch == b.epoch && n <= b.last {
		from = max(from, n)
	}
	return from
}

// Subscribe starts to hand the events of a topic to a reader, those after the event
// with the id first; "" starts with the next one. The subscription is registered before
// the kept events are handed over, so a reader that is too slow for those is dropped as
// any other. On a closed broker the reader is ended at once.
func (b *Broker) Subscribe(topic Topic, after string, reader Reader) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := b.since(after)
	s := &Subscription{broker: b, topic: topic, reader: reader}
	reader.Begin(int(b.last - from))
	if b.closed {
		reader.End()
		return s
	}
	b.readers[s] = true
	if b.topics.join(topic) {
		b.changed()
	}
	for ; from < b.last && b.readers[s]; from++ {
		b.offer(s, b.ring.at(from), from+1)
	}
	return s
}

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

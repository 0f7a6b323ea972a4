package onereply

import (
	"crypto/rand"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// EventQuery selects events.
type EventQuery struct {
	Bot          string // "" means all
	Conversation string // "" means all
	// After resumes after the event with this id. Of what happened since, the last
	// 16,384 events of this node are still known; an id that is not known, such as
	// one from before a restart, gives all of them.
	After string
}

// Subscription is a stream of events. It must be closed.
type Subscription struct {
	// Events is closed when the node closes, and when its reader is more than
	// 1024 events behind: a slow reader never slows anybody, it resumes.
	Events <-chan Event

	broker *broker
	events chan Event
	watch  EventQuery
}

const (
	eventsKept  = 1 << 14
	eventsAhead = 1 << 10
	eventsBlock = 1 << 9
)

// ring holds the last events, by number modulo eventsKept. It grows by blocks: what
// is kept is never copied to grow.
type ring [eventsKept / eventsBlock]*[eventsBlock]Event

func (r *ring) at(number uint64) *Event {
	block := &r[number%eventsKept/eventsBlock]
	if *block == nil {
		*block = new([eventsBlock]Event)
	}
	return &(*block)[number%eventsBlock]
}

// broker hands events to those who watch. It never blocks a publisher.
type broker struct {
	mu     sync.Mutex
	epoch  string // of this broker only: it tells its ids from those of another
	last   uint64 // number of the last event
	ring   ring
	subs   map[*Subscription]struct{}
	topics topics
	closed bool

	changed func() // what is watched here is not what it was
}

func newBroker(changed func()) *broker {
	return &broker{
		epoch: rand.Text()[:10],
		subs:  map[*Subscription]struct{}{}, topics: topics{}, changed: changed,
	}
}

func (b *broker) publish(e *Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number(e)
}

// relay publishes an event of another node, if somebody here watches it, or did a
// moment ago.
func (b *broker) relay(e *Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.topics.match(e) {
		b.number(e)
	}
}

// current is what is watched here.
func (b *broker) current() []topic {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.topics.current()
}

// number gives an event its number, keeps it, and hands it to those who watch.
func (b *broker) number(e *Event) {
	*b.ring.at(b.last) = *e
	b.last++
	for s := range b.subs {
		b.offer(s, e, b.last)
	}
}

// offer gives an event to a watcher, or cuts off one that is too slow. Its id is
// made for those who see it only: most events nobody watches.
func (b *broker) offer(s *Subscription, e *Event, number uint64) {
	if !s.watch.topic().matches(e) {
		return
	}
	seen := *e
	seen.ID = b.epoch + "-" + strconv.FormatUint(number, 10)
	select {
	case s.events <- seen:
	default:
		b.drop(s)
	}
}

func (b *broker) drop(s *Subscription) {
	delete(b.subs, s)
	b.topics.leave(s.watch.topic())
	close(s.events)
}

// since is the number of the event with the id, or of the last one that is not
// known any more.
func (b *broker) since(id string) uint64 {
	if id == "" {
		return b.last
	}
	from := b.last - min(b.last, eventsKept)
	epoch, number, _ := strings.Cut(id, "-")
	if n, err := strconv.ParseUint(number, 10, 64); err == nil && epoch == b.epoch && n <= b.last {
		from = max(from, n)
	}
	return from
}

// Subscribe starts to watch. Where nodes that share a store can hear each other
// through it, events of all of them come, those of others a moment later and from
// the moment on at which they were told of the first who watches here; some may be
// lost. The ids are this node's.
func (a *App) Subscribe(w EventQuery) *Subscription {
	b := a.watch
	b.mu.Lock()
	defer b.mu.Unlock()
	from := b.since(w.After)
	s := &Subscription{broker: b, watch: w, events: make(chan Event, eventsAhead+int(b.last-from))}
	s.Events = s.events
	if b.closed {
		close(s.events)
		return s
	}
	b.subs[s] = struct{}{}
	if b.topics.join(w.topic()) {
		b.changed()
	}
	for ; from < b.last; from++ {
		b.offer(s, b.ring.at(from), from+1)
	}
	return s
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	if _, ok := s.broker.subs[s]; ok {
		s.broker.drop(s)
	}
}

func (b *broker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for s := range b.subs {
		b.drop(s)
	}
}

// tell publishes and logs what happened.
func (a *App) tell(e *engine.Event) {
	node := a.options.Node
	if e.Kind == turn.LeaseLost {
		node = e.Holder // the one that was lost
	}
	a.publish(&Event{
		Type: string(e.Kind), At: e.At.Go(), Node: node, Bot: e.Key.Bot, Conversation: e.Key.Conversation,
		Turn: e.Turn, Token: e.Token, Attempt: e.Attempt, Version: e.Version, Through: e.Through, DueAt: e.Due.Go(),
		MessageID: e.MessageID, ReplyID: e.ReplyID, Covers: e.Covers, Text: e.Text, Part: e.Part, Parts: e.Parts, Reason: e.Reason,
		LateInput: e.Late, Seq: e.Seq, FirstByteAt: e.FirstByte.Go(),
	})
	level := levelOf(e.Kind)
	if !a.log.Enabled(a.ctx, level) {
		return // the attributes would be made for nothing, for every message
	}
	log := a.logOf(e.Key).With("turn", e.Turn, "token", e.Token)
	switch level {
	case slog.LevelWarn:
		log.Warn(string(e.Kind), "reason", e.Reason)
	case slog.LevelInfo:
		log.Info(string(e.Kind), "reason", e.Reason, "saw", e.Through, "newest", e.Version)
	default:
		log.Debug(string(e.Kind), "version", e.Version)
	}
}

// levelOf is how much an operator wants to know of it.
func levelOf(kind turn.Kind) slog.Level {
	switch kind {
	case turn.TurnFailed, turn.ReplyFailedKind:
		return slog.LevelWarn
	case turn.ReplyDiscardedKind, turn.LeaseLost, turn.TurnRequeued, turn.ReplyResent, turn.ReplyMarked:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

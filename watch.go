package onereply

import (
	"context"
	"time"

	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/store"
)

// EventQuery selects events. The zero value selects all that happen from now on.
type EventQuery struct {
	Bot          string // "" means all
	Conversation string // "" means all

	// After resumes after the event with this ID. This node keeps its last 16,384 events,
	// and about [Limits].RingBytes of them at most. An ID that is not among them, such as
	// one from before a restart, gives one event of the type events.lost, and then those
	// from now on. "": only events from now on.
	After string
}

// eventsBuffered is how many events a subscription holds for its reader, beside the 16 of
// a chunk. It is small: the node keeps them anyway.
const eventsBuffered = 16

// Subscription is a stream of events, made by [App.Subscribe]. It must be closed.
type Subscription struct {
	// Events is closed when the subscription or the node closes. A slow reader slows
	// nobody and is not cut off: it goes on with the events that this node keeps. One that
	// is behind by more than those gets an event of the type events.lost.
	Events <-chan Event

	subscription *fleet.Subscription
	done         chan struct{} // closed once forward has returned
}

// Subscribe starts to watch. On a store that carries messages between nodes it gives the
// events of all nodes. Events of other nodes begin a moment later, once those nodes have
// learned of the subscription, and some may be lost. The ids are this node's.
func (a *App) Subscribe(w EventQuery) *Subscription {
	if w.Bot != "" && w.Conversation != "" {
		w.Conversation = a.originalNameOf(w.Bot, w.Conversation)
	}
	events := make(chan Event, eventsBuffered)
	s := &Subscription{
		Events:       events,
		subscription: a.fleet.Subscribe(fleet.Topic{Bot: w.Bot, Conversation: w.Conversation}, w.After),
		done:         make(chan struct{}),
	}
	go s.forward(events)
	return s
}

// forward passes the events on until the subscription ends. It then still fills the buffer, so
// that a reader sees how the last turn of a node that closes ended.
func (s *Subscription) forward(events chan<- Event) {
	defer close(s.done)
	defer close(events)
	for {
		taken, more := s.subscription.Take()
		for i := range taken {
			if !s.offer(events, eventOf(taken[i].ID, &taken[i].Event)) {
				return
			}
		}
		if !more && !s.wait() {
			return
		}
	}
}

// offer gives one event to the reader, as soon as it has room. After the end it reports
// false where there is none.
func (s *Subscription) offer(events chan<- Event, e Event) bool {
	select {
	case events <- e:
		return true
	case <-s.subscription.Ended():
	}
	select {
	case events <- e:
		return true
	default:
		return false
	}
}

// wait waits for more, and reports false at the end. What came before the end goes first.
func (s *Subscription) wait() bool {
	select {
	case <-s.subscription.Wake():
		return true
	case <-s.subscription.Ended():
	}
	select {
	case <-s.subscription.Wake():
		return true
	default:
		return false
	}
}

// originalNameOf is the original name of the conversation to which a name leads, as the events
// have it. If the store can't say, the name is watched as it is.
func (a *App) originalNameOf(bot, name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), placeTimeout)
	defer cancel()
	found, err := a.locate(ctx, store.Key{Bot: bot, Conversation: name})
	if err != nil {
		return name
	}
	return found.key.Conversation
}

// placeTimeout bounds how long a new watcher waits for the store.
const placeTimeout = 2 * time.Second

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.subscription.Close()
	<-s.done
}

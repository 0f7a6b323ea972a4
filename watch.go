package onereply

import (
	"context"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/fleet"
	"github.com/onereply/onereply/store"
)

// EventQuery selects events. The zero value selects all that happen from now on.
type EventQuery struct {
	Bot          string // "" means all
	Conversation string // "" means all

	// After resumes after the event with this ID. This node keeps its last 16,384
	// events; an ID that is not among them, such as one from before a restart, gives all
	// of them. "": only events from now on.
	After string
}

// Subscription is a stream of events, made by [App.Subscribe]. It must be closed.
type Subscription struct {
	// Events is closed when the node closes, and when its reader is more than
	// 1024 events behind: a slow reader never slows anybody, it resumes.
	Events <-chan Event

	subscription *fleet.Subscription
}

// subscriber hands events of the fleet to a Subscription.
type subscriber struct{ events chan Event }

func (s *subscriber) Begin(events int) { s.events = make(chan Event, fleet.EventsAhead+events) }

func (s *subscriber) Take(id string, e *engine.Event) bool {
	select {
	case s.events <- eventOf(id, e):
		return true
	default:
		return false
	}
}

func (s *subscriber) End() { close(s.events) }

// Subscribe starts to watch. If the nodes of a store can hear each other through it, the
// events of all of them come. Those of other nodes come a moment later, and only from the
// moment on when they learned that somebody watches here; some may be lost. The ids are
// this node's.
func (a *App) Subscribe(w EventQuery) *Subscription {
	var s subscriber
	if w.Bot != "" && w.Conversation != "" {
		w.Conversation = a.placeOf(w.Bot, w.Conversation)
	}
	subscription := a.fleet.Subscribe(fleet.Topic{Bot: w.Bot, Conversation: w.Conversation}, w.After, &s)
	return &Subscription{Events: s.events, subscription: subscription}
}

// placeOf is the name with which the conversation began to which a name leads, as the
// events have it. If the store can't say, the name is watched as it is.
func (a *App) placeOf(bot, name string) string {
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
func (s *Subscription) Close() { s.subscription.Close() }

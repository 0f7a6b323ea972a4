package scenario

import (
	"slices"
	"sync"
	"time"
)

// The moments within a turn at which an event may happen, instead of at a
// time. They are met exactly, by whoever is there: the node's store, or the
// receiver.
const (
	afterAppend  = "after_append_before_ack"     // a message is durable, its sender not answered yet
	beforeCommit = "after_model_before_commit"   // the reply is there, the write of it not begun
	afterCommit  = "after_commit_before_release" // the reply is durable, its holder does not know yet
	beforeSend   = "after_model_before_send"     // likewise
	insideSave   = "inside_end_of_turn_save"     // the write that ends the turn is on its way
	afterSend    = "after_send_before_record"    // the person has the reply, the node does not know yet
)

var knownMoments = map[string]bool{
	afterAppend: true, beforeCommit: true, afterCommit: true, beforeSend: true, insideSave: true, afterSend: true,
}

// hooks are the events that wait for a moment.
type hooks struct {
	mu      sync.Mutex
	waiting []Event
}

// take gives the event that waits for this moment of this node, once.
func (h *hooks) take(moment, node string, at time.Duration) (Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, e := range h.waiting {
		here := e.Worker == "" || e.Worker == node || e.Type == "message"
		if e.Hook == moment && here && at >= milliseconds(e.AtMS) {
			h.waiting = append(h.waiting[:i:i], h.waiting[i+1:]...)
			return e, true
		}
	}
	return Event{}, false
}

// waitsFor reports whether an event waits for the moment.
func (h *hooks) waitsFor(moment string) bool {
	return slices.ContainsFunc(h.missed(), func(e Event) bool { return e.Hook == moment })
}

// missed are the events whose moment never came.
func (h *hooks) missed() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.waiting)
}

package fleet

import (
	"encoding/json"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// message is what one broadcast holds, as JSON. A message says who sent it; each of its
// other parts may be missing.
type message struct {
	Node     string `json:"node"`
	Instance string `json:"instance"`

	// Watches is all that the sender's watchers want to see, and replaces what it said
	// before. Empty: nothing any more. It is forgotten unless it is renewed.
	Watches *[]Topic `json:"watches,omitempty"`
	// Events are each an [engine.Event]. One that can't be read hides no other.
	Events []json.RawMessage `json:"events,omitempty"`
	Report *Report           `json:"report,omitempty"`
	// Revoked are ids that are good no more, and until when each is to be kept.
	Revoked map[string]turn.Time `json:"revoked,omitempty"`
	// Ask is said by a node that was just started and knows of no other: those that hear
	// it answer at once with a report, and with what they watch.
	Ask bool `json:"ask,omitempty"`
}

// heard takes in a message. Anybody who can reach the store's server may have sent it, so
// each part is checked by itself, and a part that is not right is left out. The node's
// own messages, where a store returns them, end here. No part depends on another.
func (f *Fleet) heard(payload []byte) {
	var m message
	if json.Unmarshal(payload, &m) != nil || m.Instance == "" || m.Instance == f.options.Instance ||
		len(m.Instance) > maxNameBytes || len(m.Node) > maxNameBytes {
		return
	}
	if m.Watches != nil {
		f.outgoing.setInterest(m.Instance, *m.Watches)
	}
	for _, text := range m.Events {
		var e engine.Event
		if json.Unmarshal(text, &e) == nil && named(&e) {
			f.relay(&e)
		}
	}
	if m.Report != nil {
		f.learn(m.Node, m.Instance, *m.Report)
	}
	for id, until := range m.Revoked {
		f.revoked.add(f.options.Now(), id, until)
	}
	if m.Ask {
		signal(f.tellNow)
	}
}

// named reports whether an event has a type, and names of at most maxTopicBytes: longer
// ones would fill the memory of the ring. The texts of an event are bounded by
// [store.MaxBroadcast] already.
func named(e *engine.Event) bool {
	longest := max(len(e.Kind), len(e.Node), len(e.Key.Bot), len(e.Key.Conversation), len(e.MessageID), len(e.ReplyID))
	return e.Kind != "" && longest <= maxTopicBytes
}

package scenario

import (
	"sync"
	"time"
)

// span is when something is so: from an instant on, until another one, and at
// most so often. Nothing has to happen for it to begin, so what the system
// does in the very same instant meets it for certain.
type span struct {
	from  time.Duration
	until time.Duration // 0: for ever
	left  int           // times that it still strikes; negative: no bound
	hit   bool          // it struck at least once
}

func (s *span) covers(at time.Duration) bool {
	return at >= s.from && (s.until == 0 || at < s.until) && s.left != 0
}

// strike uses the span up by one.
func (s *span) strike() {
	s.hit = true
	if s.left > 0 {
		s.left--
	}
}

// rule is an event that changes how the world behaves.
type rule struct {
	span
	event Event
}

// rulebook is all rules of a story, by the type of their event.
type rulebook struct {
	mu    sync.Mutex
	rules map[string][]*rule
}

// isRule are the events that only change how the world behaves.
var isRule = map[string]bool{
	"model_latency":   true,
	"model_error":     true,
	"model_output":    true,
	"channel_error":   true,
	"store_error":     true,
	"store_partition": true,
	"clock_jump":      true,
	"clock_offset":    true, // of a node: it has no clock of its own that it reads
}

func newRulebook(events []Event) *rulebook {
	b := &rulebook{rules: map[string][]*rule{}}
	for _, e := range events {
		if isRule[e.Type] {
			r := &rule{span{from: milliseconds(e.AtMS), until: milliseconds(e.UntilMS), left: strikes(e)}, e}
			b.rules[e.Type] = append(b.rules[e.Type], r)
		}
	}
	return b
}

// strikes is how often an event's rule strikes: once for a refusal of the
// channel that does not say otherwise, else always.
func strikes(e Event) int {
	switch {
	case e.Count > 0:
		return e.Count
	case e.Calls > 0:
		return e.Calls
	case e.Type == "channel_error" && !e.Forever && e.UntilMS == 0:
		return 1
	}
	return -1
}

// strike gives the first rule of the type that holds now and matches, and uses
// it up by one.
func (b *rulebook) strike(kind string, at time.Duration, matches func(Event) bool) (Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rules[kind] {
		if r.covers(at) && matches(r.event) {
			r.span.strike()
			return r.event, true
		}
	}
	return Event{}, false
}

// last gives the newest rule of the type that holds now.
func (b *rulebook) last(kind string, at time.Duration) (found Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rules[kind] {
		if r.covers(at) {
			found = r.event
		}
	}
	return found
}

// jumped is by how much the store's clock is off.
func (b *rulebook) jumped(at time.Duration) (sum time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rules["clock_jump"] {
		if r.covers(at) {
			sum += milliseconds(r.event.MS)
		}
	}
	return sum
}

// unused are the faults that never struck: a story with one was not played.
func (b *rulebook) unused() (events []Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, kind := range []string{"model_error", "model_output", "channel_error", "store_error", "store_partition"} {
		for _, r := range b.rules[kind] {
			if !r.hit {
				events = append(events, r.event)
			}
		}
	}
	return events
}

// partitioned is until when a node can't reach the store, 0: it can.
func (b *rulebook) partitioned(node string, at time.Duration) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rules["store_partition"] {
		if r.event.Worker == node && r.covers(at) {
			r.span.strike()
			return r.until, true
		}
	}
	return 0, false
}

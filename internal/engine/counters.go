package engine

import "github.com/onereply/onereply/turn"

// Counters count the work of a node since it was made. Only the node that made a
// write counts it.
type Counters struct {
	Accepted, Duplicates, Ignored uint64
	Turns                         map[string]uint64
	Discards                      uint64
	DiscardedTokens               uint64
	BurstSize                     Histogram // messages per reply that was sent
	DueToStart                    Histogram // seconds from the due time to the start of the attempt
	TimeToReply                   Histogram // seconds from the first waiting input to the sent reply
	LeasesLost                    uint64
	OverBudget                    uint64 // calls of the model that a budget refused
	Deliveries                    map[string]uint64
	Total                         Tally

	minutes [keptMinutes]MinuteTally
}

// Histogram counts values at or below each bound.
type Histogram struct {
	Bounds []float64 `json:"bounds"`
	Counts []uint64  `json:"counts"` // values at or below the bound of the same index
	Count  uint64    `json:"count"`
	Sum    float64   `json:"sum"`
}

// add counts a value in each bucket whose bound it does not exceed.
func (h *Histogram) add(value float64) {
	for i, bound := range h.Bounds {
		if value <= bound {
			h.Counts[i]++
		}
	}
	h.Count++
	h.Sum += value
}

// Clone copies what is shared.
func (c Counters) Clone() Counters {
	c.Turns, c.Deliveries = cloneMap(c.Turns), cloneMap(c.Deliveries)
	for _, h := range []*Histogram{&c.BurstSize, &c.DueToStart, &c.TimeToReply} {
		h.Counts = append([]uint64(nil), h.Counts...)
	}
	return c
}

// cloneMap copies a map of counts.
func cloneMap(m map[string]uint64) map[string]uint64 {
	out := make(map[string]uint64, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// newCounters has the bounds that suit what is counted: messages, milliseconds of a
// queue, seconds that a person waits.
func newCounters() Counters {
	histogram := func(bounds ...float64) Histogram {
		return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds))}
	}
	return Counters{
		Turns:       map[string]uint64{},
		Deliveries:  map[string]uint64{},
		BurstSize:   histogram(1, 2, 3, 5, 8, 13, 21, 50, 100),
		DueToStart:  histogram(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30),
		TimeToReply: histogram(.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300),
	}
}

// count counts an event.
func (n *Node) count(e *Event) {
	c := &n.Counters
	switch e.Kind {
	case turn.KindTurnStarted:
		if !e.Early {
			c.DueToStart.add(max(0, n.now.Sub(e.Due).Seconds()))
		}
	case turn.KindReplyDiscarded:
		n.countDiscard(e)
	case turn.KindLeaseLost:
		c.loseLease(n.now)
	case turn.KindReplySent:
		if e.Reason == turn.ByChannel {
			return // it was counted when it was sent
		}
		c.Deliveries["sent"]++
		if e.Author == turn.ReplyAnswer && e.Reason != turn.ByOperator {
			c.Turns["sent"]++
			c.add(n.now, Tally{Replies: 1, MessagesAnswered: uint64(len(e.Covers))})
			c.BurstSize.add(float64(len(e.Covers)))
			c.TimeToReply.add(max(0, n.now.Sub(e.Since).Seconds()))
		}
	case turn.KindReplyFailed:
		if e.Reason == turn.UnknownOutcome {
			c.Turns["unknown"]++
			c.Deliveries["unknown"]++
			return
		}
		c.Deliveries["failed"]++
	case turn.KindTurnFailed:
		c.Turns["failed"]++
		c.add(n.now, Tally{Failed: 1})
	case turn.KindReplyCommitted:
		if e.Parts == 0 {
			c.Turns["no_reply"]++
		}
	}
}

// countCall counts a call of the model.
func (n *Node) countCall(early bool) {
	t := Tally{ModelCalls: 1}
	if early {
		t.EarlyStarts = 1
	}
	n.Counters.add(n.now, t)
}

// countDiscard counts a reply or an attempt that came to nothing, by its cause. It is a
// discard only because of newer input, a pause or what a person did. An early attempt that
// newer input replaced is the price of early starts.
func (n *Node) countDiscard(e *Event) {
	switch e.Reason {
	case turn.Withdrawn:
		n.Counters.Deliveries["withdrawn"]++
	case turn.Crashed:
		n.Counters.loseLease(n.now)
	case turn.Replaced:
		n.Counters.add(n.now, Tally{Replaced: 1})
	case turn.Superseded, turn.WasPaused, turn.WasDeleted, turn.Stopped, turn.WasReset, turn.ByHuman:
		n.Counters.Discards++
		n.Counters.add(n.now, Tally{Discards: 1})
	}
}

// discardTokens counts the tokens that a model used for nothing.
func (n *Node) discardTokens(tokens int64) {
	if tokens > 0 {
		n.Counters.DiscardedTokens += uint64(tokens)
		n.Counters.add(n.now, Tally{TokensDiscarded: uint64(tokens)})
	}
}

// countInput counts an input by its outcome.
func (n *Node) countInput(t *task) {
	if t.Op != Receive && t.Op != Edit && t.Op != Retract || t.result.Err != nil {
		return
	}
	switch t.result.Outcome {
	case Duplicate:
		n.Counters.Duplicates++
		n.Counters.add(n.now, Tally{Duplicates: 1})
	case turn.CameEarly, turn.Erased, turn.Recorded: // they are no inputs
	case turn.Ignored:
		n.Counters.Ignore(n.now)
	default:
		n.Counters.Accepted++
		n.Counters.add(n.now, Tally{Inputs: 1})
	}
}

package onereply

import (
	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/turn"
)

// Stats are counters since the node was opened. Only the node that made a
// write counts it.
type Stats struct {
	Accepted, Duplicates, Ignored uint64            // inputs
	Turns                         map[string]uint64 // by outcome: sent, no_reply, failed, unknown
	Discards                      uint64
	DiscardedTokens               uint64    // that models used for attempts without a reply
	BurstSize                     Histogram // messages per sent reply
	DueToStart                    Histogram // seconds from the due time to the start of the attempt
	TimeToReply                   Histogram // seconds from the first waiting input to the sent reply
	LeasesLost                    uint64
	Deliveries                    map[string]uint64 // by outcome: sent, retried, failed, unknown, withdrawn
	Generating                    int               // attempts that run now
	Waiting                       int               // conversations in memory
}

// Histogram counts values at or below each of its bounds.
type Histogram struct {
	Bounds []float64
	Counts []uint64 // values at or below the bound with the same index
	Count  uint64   // all values
	Sum    float64
}

// Stats returns the counters as they are now; zero after Close.
func (a *App) Stats() Stats {
	got := make(chan Stats, 1)
	if !a.do(func(turn.Time) { got <- statsOf(a.node) }) {
		return Stats{}
	}
	select {
	case s := <-got:
		return s
	case <-a.ctx.Done():
		return Stats{}
	}
}

func statsOf(n *engine.Node) Stats {
	c := n.Counters.Clone()
	return Stats{
		Accepted: c.Accepted, Duplicates: c.Duplicates, Ignored: c.Ignored, Turns: c.Turns, Discards: c.Discards,
		DiscardedTokens: c.DiscardedTokens, BurstSize: Histogram(c.BurstSize), DueToStart: Histogram(c.DueToStart),
		TimeToReply: Histogram(c.TimeToReply), LeasesLost: c.LeasesLost, Deliveries: c.Deliveries,
		Generating: n.Generating(), Waiting: n.Remembered(),
	}
}

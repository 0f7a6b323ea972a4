package onereply

import "context"

// Stats are counters since the node was opened. Only the node that made a
// write counts it.
type Stats struct {
	// Inputs by outcome.
	Accepted, Duplicates, Ignored uint64

	// Turns counts them by outcome: sent, no_reply, failed, unknown.
	Turns map[string]uint64

	// ModelCalls counts runs of the responder that began, EarlyStarts those of them that began
	// before the end of their window, Replaced those of them that newer input replaced.
	ModelCalls, EarlyStarts, Replaced uint64

	// Discards counts attempts thrown away because of newer input, a pause, a deletion, a
	// stop word, a reset or a human's reply; DiscardedTokens what models used for attempts
	// without a reply.
	Discards        uint64
	DiscardedTokens uint64

	BurstSize   Histogram // messages per sent reply
	DueToStart  Histogram // seconds from the due time to the start of the attempt
	TimeToReply Histogram // seconds from the first waiting input to the sent reply

	LeasesLost uint64

	// OverBudget counts calls of models that did not begin because the bot's budget of the
	// day was used up.
	OverBudget uint64

	// Deliveries counts them by outcome: sent, retried, failed, unknown, withdrawn.
	Deliveries map[string]uint64

	Generating int // attempts that run now
	Waiting    int // conversations in memory
}

// Histogram counts values by size.
type Histogram struct {
	Bounds []float64 `json:"bounds"` // in rising order
	Counts []uint64  `json:"counts"` // values at or below the bound with the same index
	Count  uint64    `json:"count"`  // all values
	Sum    float64   `json:"sum"`    // of all values
}

// Stats returns the counters as they are now; zero after Close.
func (a *App) Stats() Stats {
	status, err := a.node.Status(context.Background())
	if err != nil || status.Closed {
		return Stats{}
	}
	c := status.Counters
	return Stats{
		Accepted: c.Accepted, Duplicates: c.Duplicates, Ignored: c.Ignored, Turns: c.Turns, Discards: c.Discards,
		ModelCalls: c.Total.ModelCalls, EarlyStarts: c.Total.EarlyStarts, Replaced: c.Total.Replaced,
		DiscardedTokens: c.DiscardedTokens, BurstSize: Histogram(c.BurstSize), DueToStart: Histogram(c.DueToStart),
		TimeToReply: Histogram(c.TimeToReply), LeasesLost: c.LeasesLost, OverBudget: c.OverBudget, Deliveries: c.Deliveries,
		Generating: status.Generating, Waiting: status.Remembered,
	}
}

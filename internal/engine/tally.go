package engine

import (
	"time"

	"github.com/onereply/onereply/turn"
)

// Tally counts what a node did in a stretch of time.
type Tally struct {
	Inputs           uint64 `json:"inputs"`            // accepted
	Duplicates       uint64 `json:"duplicates"`        // messages whose id was known
	Ignored          uint64 `json:"ignored"`           // inputs that changed nothing
	Replies          uint64 `json:"replies"`           // of the responder, sent
	MessagesAnswered uint64 `json:"messages_answered"` // by these replies
	Discards         uint64 `json:"discards"`          // attempts thrown away because of newer input, a pause or what a person did
	ModelCalls       uint64 `json:"model_calls"`       // calls of the model that began
	EarlyStarts      uint64 `json:"early_starts"`      // those of them that began before the end of their window
	Replaced         uint64 `json:"replaced"`          // those of them that newer input replaced
	Failed           uint64 `json:"failed"`            // turns that were given up
	TokensDiscarded  uint64 `json:"tokens_discarded"`  // that models used for attempts without a reply
	LeasesLost       uint64 `json:"leases_lost"`       // of workers that were lost, counted by the node that took over
}

// Add adds the numbers of another stretch.
func (t *Tally) Add(o Tally) {
	t.Inputs += o.Inputs
	t.Duplicates += o.Duplicates
	t.Ignored += o.Ignored
	t.Replies += o.Replies
	t.MessagesAnswered += o.MessagesAnswered
	t.Discards += o.Discards
	t.ModelCalls += o.ModelCalls
	t.EarlyStarts += o.EarlyStarts
	t.Replaced += o.Replaced
	t.Failed += o.Failed
	t.TokensDiscarded += o.TokensDiscarded
	t.LeasesLost += o.LeasesLost
}

// MinuteTally is the tally of one minute.
type MinuteTally struct {
	Number int64 `json:"minute"` // since 1970
	Tally
}

// MinuteOf is the minute in which a moment is.
func MinuteOf(at turn.Time) int64 { return int64(at) / time.Minute.Milliseconds() }

// keptMinutes is how many of the last ones are kept.
const keptMinutes = 60

// add counts an event in its minute. No clock begins a minute: its first event does.
func (c *Counters) add(at turn.Time, t Tally) {
	c.Total.Add(t)
	number := MinuteOf(at)
	minute := &c.minutes[number%keptMinutes]
	if minute.Number != number {
		*minute = MinuteTally{Number: number}
	}
	minute.Add(t)
}

// Ignore counts an input that reached no conversation.
func (c *Counters) Ignore(at turn.Time) {
	c.Ignored++
	c.add(at, Tally{Ignored: 1})
}

// loseLease counts a worker that was lost while it generated or sent.
func (c *Counters) loseLease(at turn.Time) {
	c.LeasesLost++
	c.add(at, Tally{LeasesLost: 1})
}

// Minutes are those of the last hour in which anything happened, in no order.
func (c *Counters) Minutes(now turn.Time) []MinuteTally {
	var minutes []MinuteTally
	for _, m := range c.minutes {
		if m.Number > MinuteOf(now)-keptMinutes && m.Tally != (Tally{}) {
			minutes = append(minutes, m)
		}
	}
	return minutes
}

package engine

import "github.com/onereply/onereply/turn"

// Limits of what is kept about repeats.
const (
	maxRepeats     = 8   // of one conversation, that wait to be noted with its next write
	maxRepeatBytes = 128 // of the id of one
)

// keepRepeat remembers that a message was delivered again: a provider that got no
// answer in time, or a person who pressed twice. The record notes it for people, in
// its trace, but nothing is written for it alone: a provider that repeats
// everything must cost nothing. It goes with the conversation's next write, and is
// lost if this node makes none.
func (n *Node) keepRepeat(c *conversation, t *task) {
	if t.result.Outcome != Duplicate || len(c.repeats) == maxRepeats || len(t.ID) > maxRepeatBytes {
		return
	}
	c.repeats = append(c.repeats, turn.Repeated{ID: t.ID, At: n.now})
}

// noteRepeats has the core note them, before anything else that the batch does.
// Whether there is something to write is for the batch to say.
func (n *Node) noteRepeats(c *conversation, b *batch) {
	if !b.write.Record.Exists() { // it was deleted, and must not come back
		c.repeats = nil
	}
	for _, event := range c.repeats {
		record, effects := n.options.Step(b.write.Record, event, n.now, n.bot(c).Policy)
		b.write.Record, b.repeats = record, b.repeats+1
		for _, notice := range effects.Notices {
			b.events = append(b.events, n.event(c, &task{}, notice))
		}
	}
}

package engine

import "github.com/onereply/onereply/turn"

// Limits of what is kept about repeats.
const (
	maxRepeats     = 8   // of one conversation, that wait to be noted with its next write
	maxRepeatBytes = 128 // of the id of one
)

// keepRepeat remembers that a message was delivered again: a provider that got no
// answer in time, or a person who pressed twice. It is noted for people, in
// the trace, but nothing is written for it alone: a provider that repeats
// everything must cost nothing. It goes with the conversation's next write, and is
// lost if this node makes none.
func (n *Node) keepRepeat(c *conversation, t *task) {
	if t.result.Outcome != Duplicate || len(c.repeats) == maxRepeats || len(t.ID) > maxRepeatBytes {
		return
	}
	c.repeats = append(c.repeats, turn.Notice{Kind: turn.KindMessageRepeated, At: n.now, MessageID: t.ID})
}

// noteRepeats adds the repeats to the trace, before all other steps of the batch. They
// decide nothing, so the core does not see them, and they alone cause no write.
func (n *Node) noteRepeats(c *conversation, b *batch) {
	r := &b.write.Record
	if !r.Exists() { // it was deleted, and nothing is noted of it
		c.repeats = nil
		return
	}
	for _, notice := range c.repeats {
		notice.Turn, notice.Token, notice.Version, notice.Through = r.Turn, r.Token, r.Version, r.Attempt.Through
		notice.Attempt, notice.Since = r.Tries.Runs, r.Window.WaitingSince
		b.repeats++
		b.write.Log.Trace = b.write.Log.Trace.Add(notice)
		e := n.event(c, &task{}, notice)
		e.Name = r.Names.Key
		b.events = append(b.events, e)
	}
}

package engine

import "github.com/onereply/onereply/turn"

// remember keeps in mind that a message was delivered again. Nothing is written
// for it alone: a provider that repeats everything must cost nothing.
func (n *Node) remember(c *conversation, r *Request) {
	if r.result.Outcome != Duplicate || len(c.repeats) == maxRepeats || len(r.ID) > maxRepeat {
		return
	}
	c.repeats = append(c.repeats, turn.Repeated{ID: r.ID, At: n.now})
}

// tellRepeats has the core tell of them, before anything else that the batch
// does. Whether there is something to write is for the batch to say.
func (n *Node) tellRepeats(c *conversation, b *batch) {
	if !b.write.Record.Exists() { // it was forgotten, and must not come back
		c.repeats = nil
	}
	for _, event := range c.repeats {
		record, effects := n.options.Step(b.write.Record, event, n.now, n.bot(c).Policy)
		b.write.Record, b.repeats = record, b.repeats+1
		for _, notice := range effects.Notices {
			b.events = append(b.events, n.event(c, b, &Request{}, notice))
		}
	}
}

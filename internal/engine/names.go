package engine

import (
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// A request under an alias is applied to the conversation that the alias leads to.
//
// The record of an alias says where it leads, and is remembered like any other: an
// ordinary message needs no more round trips under an alias than under the key. What is
// remembered may be old, so the conversation compares: where it does not list the name,
// the request goes back, the alias is read again, and only then is it believed (sure).
// If the alias was made and nobody lived to tell the conversation, it adopts the name
// with that request. But a name that was taken away is not adopted: the alias may be free
// again by the time of the write.

// maxHops bounds how often a request is handed on between a name and a conversation.
const maxHops = 8

// forward hands on what waits at an alias, and reports whether it did anything. What is
// about the alias itself stays.
func (n *Node) forward(c *conversation) bool {
	if c.knows == nothing || c.snap.Record.LeadsTo == "" {
		return false
	}
	stays := func(t *task) bool { return t.isOwn() || t.Op == LeadName || t.Op == FreeName || t.Op == Forget }
	if slices.ContainsFunc(c.queue, func(t *task) bool { return !stays(t) && t.unsure && !t.earlier.readSince }) {
		c.knows = nothing
		return true
	}
	moved := c.take(func(t *task) bool { return !stays(t) })
	if len(moved) == 0 {
		return false
	}
	to := n.get(store.Key{Bot: c.key.Bot, Conversation: c.snap.Record.LeadsTo})
	for _, t := range moved {
		t.via, t.sure, t.unsure = c.key.Conversation, t.unsure, false
		n.handOn(to, t)
	}
	n.pump(to)
	return true
}

// take removes the tasks that match from the queue, and returns them in order.
func (c *conversation) take(matches func(*task) bool) []*task {
	var kept, taken []*task
	for _, t := range c.queue {
		if matches(t) {
			taken = append(taken, t)
		} else {
			kept = append(kept, t)
		}
	}
	c.queue = kept
	return taken
}

// handOn puts a task into the queue of another conversation. Its writes to this one were
// not applied, and never will be.
func (n *Node) handOn(to *conversation, t *task) {
	t.Key, t.earlier, t.stored, t.result = to.key, earlierWrites{}, lookup{}, Result{}
	if t.hops++; t.hops > maxHops {
		n.emit(Answer{Ticket: t.Ticket, Result: Result{Err: unavailable(errNamesChange)}})
		return
	}
	to.queue = append(to.queue, t)
}

// sendBack returns requests to the name under which they came, where the conversation
// does not list it, and reports whether there were any. Only a record that was seen says
// so.
func (n *Node) sendBack(c *conversation) bool {
	back := func(t *task) bool { return t.via != "" && !t.sure && !c.snap.Record.Names.Lists(t.via) }
	if c.knows == nothing || !slices.ContainsFunc(c.queue, back) {
		return false
	}
	if c.knows != seen {
		c.knows = nothing
		return true
	}
	for _, t := range c.take(back) {
		name := n.get(store.Key{Bot: c.key.Bot, Conversation: t.via})
		t.via, t.unsure = "", true
		n.handOn(name, t)
		n.pump(name)
	}
	return true
}

// adopt has the conversation take the name under which a request came, where it does not
// list it: a claim is settled with it, since the name leads here.
func (n *Node) adopt(c *conversation, b *batch, t *task) {
	names := b.write.Record.Names
	if t.via == "" || t.Op == AdoptName || t.Op == DropName || names.Lists(t.via) || slices.Contains(names.Dropped, t.via) {
		return
	}
	own := &task{Request: Request{Name: t.via}}
	n.takeName(c, b, own, turn.AdoptName{Name: t.via, Key: names.Claim == t.via})
}

// takeName applies an AdoptName, and writes the entry that says so.
func (n *Node) takeName(c *conversation, b *batch, t *task, event turn.AdoptName) {
	if event.Name == c.key.Conversation {
		event.Name = ""
	}
	effects := n.step(c, b, t, event)
	if seq := effects.AppendName; seq != 0 {
		reason := "alias"
		if event.Key {
			reason = "moved"
		}
		b.appendEntry(store.Entry{
			Seq: seq, Kind: store.Name, Status: turn.ReplyCommitted, Reason: reason, At: n.now,
			Version: b.write.Record.Version, Body: store.Body{Text: t.Name},
		})
	}
}

// address is the name under which a message came, where that is not the key by which its
// conversation is shown.
func (c *conversation) address(t *task, r turn.Record) string {
	name := c.key.Conversation
	if t.via != "" {
		name = t.via
	}
	if name == r.Name(c.key.Conversation) {
		return ""
	}
	return name
}

// addressOf is the name under which somebody wrote last, for deliveries.
func addressOf(first string, r turn.Record) string {
	if r.Names.Address != "" {
		return r.Names.Address
	}
	return r.Name(first)
}

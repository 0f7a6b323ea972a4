package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// batch is a set of tasks that one write applies.
type batch struct {
	tasks   []*task
	write   store.Write // its Record from the start, as it becomes
	changed bool        // there is something to write

	// These follow once the write is durable. Until then nobody is told: a refused write
	// has no effect.
	actions []turn.Action
	events  []Event
	reply   *store.Entry // the reply that it commits
	lease   string       // nonce of the lease that the record had before
	repeats int          // how many of the conversation's repeats it notes
	refuses bool         // it is the first to refuse a call since the budget allowed one
}

// write applies the waiting tasks to the record, one after the other, and writes the
// result. If nothing changed, the tasks end at once. A task that makes the name an alias, or
// frees it, is the last of its batch: what follows is for wherever the name leads then, and
// pump forwards it there.
func (n *Node) write(c *conversation) {
	tasks := slices.Clone(c.applicable())
	c.queue = c.queue[len(tasks):]
	forgetLookups(c.queue)
	b := &batch{tasks: tasks, write: store.Write{Record: c.snap.Record, Log: c.snap.Log}, lease: c.snap.Record.Lease.Nonce}
	n.noteRepeats(c, b)
	for i, t := range tasks {
		t.earlier.recordIs(c.snap.Op)
		n.apply(c, b, t)
		if t.full && !t.stored.done { // it is applied again once its id was looked up: see refuse
			b.tasks = tasks[:i]
			c.putBack(tasks[i:])
			break
		}
		if rest := tasks[i+1:]; b.write.Record.LeadsTo != c.snap.Record.LeadsTo || slices.ContainsFunc(rest, b.outdates) {
			b.tasks = tasks[:i+1]
			c.putBack(rest)
			break
		}
	}
	switch {
	case !b.changed && b.needsRecord(c.knows):
		n.putBack(c, b, (*task).notApplied)
		n.read(c)
		return
	case !b.changed:
		n.finish(c, b)
		return
	}
	b.write.Key, b.write.Expect, b.write.Op = c.key, c.snap.Op, n.options.NewOp()
	b.write.At = n.now
	b.write.Timer, _ = b.write.Record.Wake()
	c.call, c.batch = writing, b
	n.emit(Commit{Write: &b.write})
}

// outdates reports whether the batch, as it is now, makes void what a task after it has
// looked up: it settles some of the entries, or brings some back, or keeps the first edit
// for a message that has not come.
func (b *batch) outdates(t *task) bool {
	return t.needsLookup(b.write.Record) && (len(b.write.Settle) > 0 || !t.stored.done)
}

// needsRecord reports whether the record has to be read before a batch that writes
// nothing may end. A batch that writes needs no such care, since the store compares.
//
// Two kinds of knowledge may be out of date. A guess or a hint may say wrongly that
// there is nothing to do; but ids that the store reported as claimed are certain. And an
// operator acts on what he sees: by a record that was read before he asked, he might be
// told "done" although another node has written since, and then it would never be done.
//
// A wake-up may end on a hint. Where a balancer sends each message anywhere, every node
// that took one wakes up, and all but one learn from the conflict that another node has
// written since and looks after the conversation. If the hint was out of date, the
// store's timer brings the conversation back.
func (b *batch) needsRecord(knows knowledge) bool {
	return slices.ContainsFunc(b.tasks, func(t *task) bool {
		certain := knows == seen || t.earlier.idClaimed || knows == hint && t.wakes()
		return !certain || t.showsRecord() && !t.earlier.readSince
	})
}

// putBack puts the tasks of a write that did not end them back in front of the others.
// note records the outcome of the write in each.
func (n *Node) putBack(c *conversation, b *batch, note func(*task)) {
	for _, t := range b.tasks {
		note(t)
	}
	c.putBack(b.tasks)
}

// putBack has tasks wait for the next write, in front of the others.
func (c *conversation) putBack(tasks []*task) {
	forgetLookups(tasks)
	c.queue = append(slices.Clone(tasks), c.queue...)
}

// forgetLookups lets go of the entries that tasks have looked up. They are out of date as
// soon as anything is written that these tasks are not part of.
func forgetLookups(tasks []*task) {
	for _, t := range tasks {
		t.stored = lookup{}
	}
}

// Committed takes the answer to a Commit. There are four, and each has its own way on:
// the write was applied; another write came before it; an id was claimed before; or
// nobody knows, which is settled by reading the record.
func (n *Node) Committed(now turn.Time, key store.Key, result store.Result, err error) {
	n.setTime(now)
	c := n.get(key)
	b := c.batch
	switch {
	case errors.Is(err, store.ErrNotApplied):
		c.call, c.batch = noCall, nil
		n.putBack(c, b, (*task).notApplied)
		n.storeFailed(c, err)
		return
	case err != nil: // nobody knows: see earlierWrites
		c.call, c.knows = settling, nothing
		n.emit(Load{Key: c.key})
		return
	}
	c.call, c.batch = noCall, nil
	switch result.Status {
	case store.Conflict:
		b.noteClaimed(result.Duplicates)
		n.putBack(c, b, (*task).notApplied)
		c.conflicted(b.write.Expect, result.Current)
	case store.Duplicate:
		b.noteClaimed(result.Duplicates)
		n.putBack(c, b, (*task).notApplied)
	default:
		n.applied(c, b)
	}
	n.pump(c)
}

// noteClaimed notes which messages, deletions of messages that had not come, and replies
// from outside have ids that were claimed before.
func (b *batch) noteClaimed(ids []string) {
	for _, t := range b.tasks {
		claims := t.Op == Receive || t.Op == Retract || t.Op == HumanReply
		t.earlier.idClaimed = t.earlier.idClaimed || claims && slices.Contains(ids, t.messageID())
	}
}

// maxConflicts is how many conflicts in a row are followed by a write. An answer that
// is old each time, or a conversation that many nodes write to, must not keep a node
// writing in vain.
const maxConflicts = 4

// conflicted takes the record that a conflict met, so that the next write costs one
// round trip and no read. It is only a hint: the next write expects it, and conflicts
// again where it is out of date. One that names the record which the write expected
// is out of date for certain.
//
// A node that loses a conversation each time gains nothing by reading first: a read and
// a write are two round trips as well, and the write may lose as before.
func (c *conversation) conflicted(expected store.Op, current store.Snapshot) {
	c.conflicts++
	c.knows, c.snap = hint, current
	c.forgetReply()
	if current.Op == expected || c.conflicts > maxConflicts {
		c.knows = nothing
	}
}

// settle finds out whether a write was applied, by the record as it is now. A store that
// answers, but has not written, twice in a row counts as out of reach.
func (n *Node) settle(c *conversation) {
	b := c.batch
	c.batch = nil
	switch c.snap.Op {
	case b.write.Op:
		n.applied(c, b)
	case b.write.Expect:
		n.putBack(c, b, func(t *task) { t.maybeLater(b.write.Expect) })
		if c.fails++; c.fails > 1 {
			n.storeFailed(c, errNotWritten)
		}
	default:
		n.putBack(c, b, (*task).maybeApplied)
	}
	n.pump(c)
}

// applied follows a write that is durable.
func (n *Node) applied(c *conversation, b *batch) {
	c.knows, c.snap = seen, store.Snapshot{Record: b.write.Record, Log: b.write.Log, Op: b.write.Op}
	if b.reply != nil {
		c.reply = b.reply
	}
	c.repeats = c.repeats[min(b.repeats, len(c.repeats)):]
	for _, t := range c.queue {
		t.earlier.replaced(b.write.Expect)
	}
	for i := range b.events {
		n.count(&b.events[i])
		n.emit(Tell{Event: &b.events[i]})
	}
	if b.lease != "" && !n.holds(c) {
		n.emit(Hint{Key: c.key})
	}
	n.finish(c, b)
}

// finish answers the tasks of a batch and carries out its actions.
func (n *Node) finish(c *conversation, b *batch) {
	c.conflicts, c.fails, c.retryAt = 0, 0, 0
	for _, t := range b.tasks {
		n.answer(c, t)
	}
	if c.snap.Record.Reply == nil {
		c.reply = nil
	}
	if b.refuses {
		n.emit(OverBudget{Bot: c.key.Bot, Text: BudgetUsedUp(n.bot(c).Policy.Daily, c.snap.Record.Spent, n.now)})
	}
	n.carryOut(c, b)
	n.arm(c)
}

// answer gives a caller the result of the request.
func (n *Node) answer(c *conversation, t *task) {
	if t.isOwn() {
		n.callAnswered(c, t)
		return
	}
	if t.showsRecord() {
		record := c.snap.Record
		t.result.Record = &record
	}
	n.countInput(t)
	n.keepRepeat(c, t)
	n.emit(Answer{Ticket: t.Ticket, Result: t.result})
}

// wakeTries is how often a wake-up, or a look, meets a store that is out of reach before it
// gives its slot to other conversations: it may be this record alone that
// can't be read. The store's timer brings it back.
const wakeTries = 5

// storeFailed handles a store that is out of reach: callers are told at once, this
// node's own events are tried again. A write whose outcome is unknown, and can't be
// settled now, may have been applied.
func (n *Node) storeFailed(c *conversation, err error) {
	c.knows = nothing
	c.fails++
	c.retryAt = n.now.Add(min(50*time.Millisecond<<min(c.fails, 5), time.Second))
	if b := c.batch; b != nil {
		c.batch = nil
		n.putBack(c, b, (*task).maybeApplied)
	}
	kept := c.queue[:0:0]
	for _, t := range c.queue {
		switch {
		case !t.isOwn():
			n.emit(Answer{Ticket: t.Ticket, Result: Result{Err: t.refusal(err)}})
		case (t.wakes() || t.isSignCheck()) && !t.earlier.mayBeApplied && c.fails >= wakeTries:
			c.waking, c.checkingSign = c.waking && !t.wakes(), c.checkingSign && !t.isSignCheck()
		default:
			kept = append(kept, t)
		}
	}
	c.queue = kept
	if !c.waking && (c.run == nil || c.run.ended) {
		n.freeSlot(c)
	}
	n.arm(c)
	n.release(c)
}

// refusal is a caller's error while the store is out of reach. A request with an id can be
// sent again in any case; a reply from outside may have none.
func (t *task) refusal(err error) error {
	if t.earlier.uncertain() && t.Op == HumanReply && t.ID == "" {
		return ErrOutcomeUnknown
	}
	return unavailable(err)
}

// unavailable is the error of a request that met a store out of reach.
func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

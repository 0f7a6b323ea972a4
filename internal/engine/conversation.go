package engine

import (
	"container/list"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// conversation is a node's memory of one conversation while something happens in it, and
// for a while after. At most one call of the store is under way
// for it at a time; tasks that arrive meanwhile wait in the queue and are applied
// together, in the order in which they came.
type conversation struct {
	key   store.Key
	queue []*task

	// The record, and the store.
	knows     knowledge
	snap      store.Snapshot // the record, as far as this node knows
	call      call           // of the store, under way
	load      Load           // what the read under way was asked for
	batch     *batch         // what is being written, or whose outcome is being settled
	conflicts int            // writes in a row that another node's came before
	retryAt   turn.Time      // the store failed: when to try again, 0: now
	fails     int            // times in a row that it failed

	// The next turn.
	wakeAt       turn.Time // when the timer that this node armed fires, 0: none
	claimed      bool      // its timer was claimed
	slot         slot      // whether it has one of the slots of this node's generations
	waking       bool      // a wake-up of this node waits for its write
	checkingSign bool      // a check for a sign of life does

	// The work under way here.
	run     *run
	send    *send
	reply   *store.Entry  // the reply being sent, where this node knows its text
	repeats []turn.Notice // messages that were delivered again, to be noted with the next write

	timerIndex  int           // in the heap of timers, -1: not there
	idleElement *list.Element // in the list of idle conversations, nil: not there
	idleSince   turn.Time
}

// knowledge is the source of a node's idea of a record.
//
// A write may rest on any of these. The store compares before it writes, so a wrong
// idea costs one conflict and changes nothing. Nobody compares a decision that writes
// nothing, so that rests on a record that was seen: see batch.needsRecord.
type knowledge int

const (
	nothing knowledge = iota // the record has to be read
	guess                    // that there is no record: see mayGuess
	hint                     // what the last conflict met, which may be an old answer
	seen                     // this node read it, or wrote it
)

// call is the call of the store that a conversation waits for.
type call int

const (
	noCall   call = iota
	reading       // a Load
	writing       // a Commit
	settling      // a Load that tells what became of a Commit of unknown outcome
	deleting      // a Delete
)

// slot says whether a conversation has, or waits for, one of the slots in which this
// node generates: it runs no more attempts at once than it has slots (MaxGenerations).
type slot int

const (
	noSlot       slot = iota
	waitsForSlot      // in the queue of its bot
	hasSlot           // an attempt of it runs, or is about to
	hasNode           // the same, and nothing else runs: see lone
)

// get gives the conversation, which is in use from here on.
func (n *Node) get(key store.Key) *conversation {
	c := n.all[key]
	if c == nil {
		c = &conversation{key: key, timerIndex: -1}
		n.all[key] = c
	}
	if c.idleElement != nil {
		n.idle.Remove(c.idleElement)
		c.idleElement = nil
	}
	return c
}

// sorted is all conversations in memory by key: a map's own order would make two runs of
// one simulation differ.
func (n *Node) sorted() []*conversation {
	all := make([]*conversation, 0, len(n.all))
	for _, c := range n.all {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *conversation) int { return a.key.Compare(b.key) })
	return all
}

// pump takes the next step with a conversation: it reads the record, or applies the
// waiting tasks, or lets go of the conversation.
func (n *Node) pump(c *conversation) {
	for c.call == noCall {
		switch {
		case len(c.queue) == 0:
			n.release(c)
			return
		case c.retryAt > n.now && !c.isWaitedFor(): // storeFailed has armed it
			return
		case c.queue[0].Op == Forget && !c.queue[0].earlier.readSince:
			c.queue[0].earlier.readSince = true
			n.read(c) // for the turns that are open: see tellEnds
			return
		case c.queue[0].Op == Forget:
			c.call = deleting
			n.emit(Delete{Key: c.key})
			return
		case n.forward(c) || n.sendBack(c):
		case n.mayGuess(c):
			c.knows, c.snap = guess, store.Snapshot{}
		case c.knows == nothing || c.lacksReply() || len(c.applicable()) == 0:
			n.read(c)
			return
		default:
			n.write(c)
		}
	}
}

// mayGuess reports whether to write at once, as if there were no record. That is for
// messages of a conversation that this node does not know. A new conversation takes
// one round trip that way instead of two. Any other takes two, as with a read: the
// write conflicts, and the conflict says which record it met.
//
// A store that no other process has open is read without a round trip, and a write
// waits for the disk there: the read is cheaper. Where the store has just failed, or
// has answered with a conflict, the record is read to know where things stand.
func (n *Node) mayGuess(c *conversation) bool {
	if c.knows != nothing || n.options.Alone || c.fails > 0 || c.conflicts > 0 {
		return false
	}
	return !slices.ContainsFunc(c.next(), func(t *task) bool { return t.Op != Receive || t.via != "" })
}

// lacksReply reports whether the reply under way may end here, and its entry is not known,
// in which the end is to be recorded. Another node has sent parts of it.
func (c *conversation) lacksReply() bool {
	r := c.snap.Record.Reply
	return NeedsEntry(c.snap.Record) && (c.reply == nil || c.reply.Seq != r.Seq)
}

// forgetReply lets go of an entry that is not that of the reply under way: it may have
// changed since.
func (c *conversation) forgetReply() {
	if r := c.snap.Record.Reply; c.reply != nil && (r == nil || r.Seq != c.reply.Seq) {
		c.reply = nil
	}
}

// NeedsEntry reports whether a reply is under way of which something has to be recorded
// when it ends: parts of it were delivered, its channel has reported something, or it is
// sent again.
func NeedsEntry(r turn.Record) bool {
	return r.Reply != nil && (r.Reply.Done > 0 || r.Reply.Receipts != nil || r.Reply.Kind == turn.ReplyResend)
}

// isWaitedFor reports whether a caller waits for an answer.
func (c *conversation) isWaitedFor() bool {
	return slices.ContainsFunc(c.queue, func(t *task) bool { return !t.isOwn() })
}

// next is the part of the queue that one write may apply.
func (c *conversation) next() []*task {
	for i, t := range c.queue {
		if i == maxBatch || t.Op == Forget {
			return c.queue[:i]
		}
	}
	return c.queue
}

// applicable is the part of next that needs no lookup, or has it. A task that
// arrived during a read waits for the next one, and does not hold up those before it.
func (c *conversation) applicable() []*task {
	next := c.next()
	for i, t := range next {
		if t.needsLookup(c.snap.Record) && !t.stored.done {
			return next[:i]
		}
	}
	return next
}

// read asks for the record, and in the same call for the entries that the next tasks
// need.
func (n *Node) read(c *conversation) {
	load := Load{Key: c.key}
	for _, t := range c.next() {
		load.Pending = load.Pending || t.needsWaiting(c.snap.Record)
		if t.Op == Report {
			for _, part := range t.about(c.snap.Record) {
				load.Turns = append(load.Turns, part.Turn)
			}
		}
		if t.needsMessage(c.snap.Record) {
			load.IDs = append(load.IDs, t.messageID())
			if t.Op == Retract {
				load.Quoting = append(load.Quoting, t.ID)
			}
			load.Early = load.Early || len(c.snap.Record.Early) > 0
		}
		t.earlier.readSince = true
	}
	c.call, c.load = reading, load
	n.emit(load)
}

// LoadResult answers a Load.
type LoadResult struct {
	Key      store.Key
	Snapshot store.Snapshot // zero where there is no record
	Messages []store.Entry  // those of Load.IDs that were found
	Quoting  []store.Entry  // those that quote messages of Load.Quoting
	Replies  []store.Entry  // those of Load.Turns that were found
	Reply    *store.Entry   // the one under way, where its entry has to be known: see NeedsEntry
	Pending  []store.Entry  // those that wait, where Load.Pending asked for them
	Early    []store.Entry  // the edits that are kept, where Load.Early asked for them
	Err      error          // where it is set, nothing else counts
}

// Loaded takes the answer to a Load. It settles a write of unknown outcome, gives the
// tasks the entries that they need, or finds work of a process that is gone.
func (n *Node) Loaded(now turn.Time, l LoadResult) {
	n.setTime(now)
	c := n.get(l.Key)
	asked, settles := c.load, c.call == settling
	c.call, c.load = noCall, Load{}
	if l.Err != nil {
		n.storeFailed(c, l.Err)
		return
	}
	c.knows, c.snap, c.conflicts, c.retryAt = seen, l.Snapshot, 0, 0
	c.forgetReply()
	if settles {
		n.settle(c)
		return
	}
	if l.Reply != nil {
		c.reply = l.Reply
	}
	for _, t := range c.next() {
		t.takeLookup(asked, l)
	}
	n.takeUpOrphaned(c)
	n.arm(c)
	n.pump(c)
}

// Deleted takes the answer to a Delete, which the first task of the queue asked for.
// An attempt or a send that still runs here has nothing left to write to.
func (n *Node) Deleted(now turn.Time, key store.Key, err error) {
	n.setTime(now)
	c := n.get(key)
	c.call = noCall
	t := c.queue[0]
	c.queue = c.queue[1:]
	c.knows = nothing
	if err != nil {
		t.result.Err = unavailable(err)
	} else {
		n.stopWork(c, stopDeleted)
		n.tellEnds(c)
		c.wakeAt, c.claimed = 0, false
	}
	n.emit(Answer{Ticket: t.Ticket, Result: t.result})
	n.arm(c)
	n.pump(c)
}

// tellEnds tells that the turns are over that were open when the conversation was deleted.
func (n *Node) tellEnds(c *conversation) {
	record := c.snap.Record
	for _, number := range record.OpenTurns() {
		e := NewEvent(c.key, turn.Notice{Kind: turn.KindTurnEnded, At: n.now, Reason: string(turn.EndedDeleted), Turn: number, Version: record.Version})
		e.Name = record.Names.Key
		n.emit(Tell{Event: &e})
	}
}

// release lets go of a conversation in which nothing happens here. One whose record
// is known is remembered for a while, so that the next message needs no read.
func (n *Node) release(c *conversation) {
	if c.call != noCall || len(c.queue) > 0 || n.holds(c) || c.timerIndex >= 0 || c.slot == waitsForSlot || c.idleElement != nil {
		return
	}
	if c.knows == nothing {
		delete(n.all, c.key)
		return
	}
	c.idleSince = n.now
	c.idleElement = n.idle.PushBack(c)
	n.evict()
}

// evict forgets conversations that were idle for long, and those that are too
// many.
func (n *Node) evict() {
	for e := n.idle.Front(); e != nil; e = n.idle.Front() {
		c := e.Value.(*conversation)
		if n.idle.Len() <= maxIdle && n.now.Sub(c.idleSince) < idleAge {
			return
		}
		n.idle.Remove(e)
		c.idleElement = nil
		delete(n.all, c.key)
	}
}

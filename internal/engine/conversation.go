package engine

import (
	"container/list"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// conversation is what a node remembers of one conversation while something
// happens in it. At most one read or write of it is under way at a time;
// whatever arrives meanwhile waits in the queue and is applied together.
type conversation struct {
	key      store.Key
	known    bool           // snap is the last that this node saw
	snap     store.Snapshot //
	queue    []*Request
	busy     bool         // a read or a write is under way
	reading  Load         // what the read under way was asked for
	batch    *batch       // what is being written
	settles  *batch       // a write whose outcome is unknown: the read under way settles it
	retryAt  turn.Time    // the store failed: when to try again, 0: it did not
	fails    int          // times in a row that it failed
	wakeAt   turn.Time    // when the timer that this node armed fires, 0: none
	claimed  bool         // its timer was claimed
	recovers bool         // it is read because a process that is gone may have held it
	queued   bool         // it waits for its turn to generate
	waking   bool         // a wake-up of this node is under way
	slot     bool         // it holds one of the node's generations
	run      *run         // the attempt under way here
	send     *send        // the send under way here
	spoken   *store.Entry // the reply being sent, where this node knows it
	repeats  []turn.Repeated
	index    int // in the heap of timers, -1: not there
	element  *list.Element
	usedAt   turn.Time
}

// batch is a set of requests that one write applies.
type batch struct {
	requests []*Request
	write    store.Write // its Record from the start, as it becomes
	changed  bool
	actions  []turn.Action
	events   []Event
	spoken   *store.Entry // the reply that it commits
	held     string       // nonce of the lease that the record had before
	repeats  int          // how many of the conversation's it tells
}

func (n *Node) get(key store.Key) *conversation {
	c := n.all[key]
	if c == nil {
		c = &conversation{key: key, index: -1}
		n.all[key] = c
	}
	if c.element != nil {
		n.idle.Remove(c.element)
		c.element = nil
	}
	return c
}

func (n *Node) bot(c *conversation) Bot { return n.options.Bots[c.key.Bot] }

func (n *Node) sorted() []*conversation {
	all := make([]*conversation, 0, len(n.all))
	for _, c := range n.all {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *conversation) int { return a.key.Compare(b.key) })
	return all
}

// pump goes on with a conversation: it reads what is not known, or applies
// what waits, or lets go of it.
func (n *Node) pump(c *conversation) {
	for !c.busy {
		switch {
		case len(c.queue) == 0:
			n.settleDown(c)
			return
		case c.retryAt > n.now && !c.external():
			n.arm(c)
			return
		case c.queue[0].Op == Forget:
			c.busy = true
			n.emit(Delete{Key: c.key})
			return
		case !c.known || len(c.ready()) == 0:
			n.load(c)
			return
		default:
			n.apply(c)
		}
	}
}

// external reports whether somebody waits for an answer.
func (c *conversation) external() bool {
	return slices.ContainsFunc(c.queue, func(r *Request) bool { return r.Op != internal })
}

// next is the part of the queue that one write may apply.
func (c *conversation) next() []*Request {
	for i, r := range c.queue {
		if i == maxBatch || r.Op == Forget {
			return c.queue[:i]
		}
	}
	return c.queue
}

// ready is the part of it that needs no entries, or has them. What arrived
// while they were read waits for the next read, and does not hold up the rest.
func (c *conversation) ready() []*Request {
	next := c.next()
	for i, r := range next {
		if r.needs() && !r.looked {
			return next[:i]
		}
	}
	return next
}

// needs reports whether the request can be applied only once what is stored was
// looked up. A message is looked up where its id is known, and it may be this very
// request that brought it.
func (r *Request) needs() bool {
	return r.Op == Edit || r.Op == Retract || r.Op == HumanReply || r.repeats()
}

func (r *Request) repeats() bool { return r.Op == Receive && r.again && len(r.tried) > 0 }

func (n *Node) load(c *conversation) {
	read := Load{Key: c.key}
	for _, r := range c.next() {
		switch {
		case r.Op == HumanReply:
			read.Pending = true
		case r.needs():
			read.IDs = append(read.IDs, r.ID)
		}
		r.fresh = true
	}
	c.busy, c.reading = true, read
	n.emit(read)
}

// LoadResult answers a Load. Messages holds those that were found.
type LoadResult struct {
	Key      store.Key
	Snapshot store.Snapshot
	Messages []store.Entry
	Pending  []store.Entry
	Err      error
}

// Loaded takes the answer to a Load.
func (n *Node) Loaded(now turn.Time, l LoadResult) {
	n.at(now)
	c := n.get(l.Key)
	asked := c.reading
	c.busy, c.reading = false, Load{}
	if l.Err != nil {
		n.failed(c, l.Err)
		return
	}
	c.known, c.snap, c.retryAt = true, l.Snapshot, 0
	if b := c.settles; b != nil {
		c.settles = nil
		n.settle(c, b)
		return
	}
	for _, r := range c.next() {
		r.look(asked, l)
	}
	if c.recovers {
		c.recovers = false
		n.recover(c)
	}
	n.arm(c)
	n.pump(c)
}

// settle finds out what became of a write. A store that answers, but has not
// written, twice in a row counts as out of reach.
func (n *Node) settle(c *conversation, b *batch) {
	switch c.snap.Op {
	case b.write.Op:
		n.applied(c, b)
	case b.write.Expect:
		for _, r := range b.requests {
			r.doubted, r.expected = true, b.write.Expect
			r.remember()
		}
		n.requeueBatch(c, b, false)
		if c.fails++; c.fails > 1 {
			n.failed(c, errNotWritten)
			return
		}
	default:
		n.requeueBatch(c, b, true)
	}
	n.pump(c)
}

// look takes what the request asked for out of what was read.
func (r *Request) look(asked Load, l LoadResult) {
	switch {
	case r.Op == HumanReply && asked.Pending:
		r.looked, r.pending = true, l.Pending
	case r.Op != HumanReply && r.needs() && slices.Contains(asked.IDs, r.ID):
		r.looked, r.found = true, nil
		for i := range l.Messages {
			if l.Messages[i].ID == r.ID {
				r.found = &l.Messages[i]
			}
		}
	}
}

// apply puts what waits through the core, and writes what comes of it.
func (n *Node) apply(c *conversation) {
	requests := slices.Clone(c.ready())
	c.queue = c.queue[len(requests):]
	b := &batch{requests: requests, write: store.Write{Record: c.snap.Record}, held: c.snap.Record.Lease.Nonce}
	n.tellRepeats(c, b)
	for i, r := range requests {
		r.maybe = r.maybe || r.doubted && r.expected != c.snap.Op
		n.one(c, b, r)
		if rest := requests[i+1:]; len(b.write.Settle) > 0 && slices.ContainsFunc(rest, (*Request).needs) {
			b.requests = requests[:i+1]
			c.putBack(rest) // this write settles some of the entries, or brings some back
			break
		}
	}
	switch {
	case !b.changed && b.mayBeStale():
		n.requeueBatch(c, b, false)
		n.load(c)
		return
	case !b.changed:
		n.finish(c, b)
		return
	}
	b.write.Key, b.write.Expect, b.write.Op = c.key, c.snap.Op, n.options.NewOp()
	b.write.At = n.now
	b.write.Timer, _ = b.write.Record.Wake()
	c.batch, c.busy = b, true
	n.emit(Commit{Write: &b.write})
}

// putBack has requests wait for the next write, in front of the others. What they had
// looked up is out of date.
func (c *conversation) putBack(requests []*Request) {
	for _, r := range requests {
		r.looked, r.found, r.pending = false, nil, nil
	}
	c.queue = append(slices.Clone(requests), c.queue...)
}

// mayBeStale reports whether the batch says of something that an operator asked for
// that there is nothing to do, by a record that was read before he asked. Another
// node may have written since: it would have been told as done, and never be. What
// is written needs no such care, since the store compares.
func (b *batch) mayBeStale() bool {
	return slices.ContainsFunc(b.requests, func(r *Request) bool { return r.controls() && !r.fresh })
}

// Committed takes the answer to a Commit.
func (n *Node) Committed(now turn.Time, key store.Key, result store.Result, err error) {
	n.at(now)
	c := n.get(key)
	b := c.batch
	c.batch, c.busy = nil, false
	switch {
	case errors.Is(err, store.ErrNotApplied):
		n.requeueBatch(c, b, false)
		n.failed(c, err)
		return
	case err != nil:
		c.settles, c.known, c.busy = b, false, true
		n.emit(Load{Key: c.key})
		return
	case result.Status == store.Conflict:
		c.known = false
		n.requeueBatch(c, b, false)
	case result.Status == store.Duplicate:
		for _, r := range b.requests {
			r.again = r.again || r.Op == Receive && slices.Contains(result.Duplicates, r.ID)
		}
		n.requeueBatch(c, b, false)
	default:
		c.snap = store.Snapshot{Record: b.write.Record, Op: b.write.Op}
		n.applied(c, b)
	}
	n.pump(c)
}

// requeueBatch puts the requests of a write that was not applied, or may not
// have been, back to where they were.
func (n *Node) requeueBatch(c *conversation, b *batch, maybe bool) {
	for _, r := range b.requests {
		if maybe {
			r.remember()
		}
		r.trial, r.result = try{}, Result{}
		r.maybe = r.maybe || maybe
	}
	c.putBack(b.requests)
}

// failed handles a store that is out of reach: whoever waits is told at once,
// this node's own events are tried again. A write whose outcome is unknown is
// settled when the store answers again.
func (n *Node) failed(c *conversation, err error) {
	c.known = false
	c.fails++
	c.retryAt = n.now.Add(min(50*time.Millisecond<<min(c.fails, 5), time.Second))
	if b := c.settles; b != nil {
		c.settles = nil
		n.requeueBatch(c, b, true)
	}
	kept := c.queue[:0:0]
	for _, r := range c.queue {
		switch {
		case r.Op != internal:
			n.emit(Answer{Ticket: r.Ticket, Result: Result{Err: r.refused(err)}})
		case r.wakes() && !r.maybe && c.fails >= wakeTries:
			c.waking = false
		default:
			kept = append(kept, r)
		}
	}
	c.queue = kept
	if !c.waking && c.run == nil {
		n.freeSlot(c)
	}
	n.arm(c)
	n.settleDown(c)
}

// wakeTries is how often a wake-up meets a store that is out of reach before it
// gives its place to other conversations: it may be this record alone that
// can't be read. The store's timer brings it back.
const wakeTries = 5

func (r *Request) wakes() bool {
	_, ok := r.event.(turn.Wake)
	return ok
}

// refused is what is told to whoever waits for a store that is out of reach. A
// message has an id, and can be sent again in any case; what a person wrote
// has none.
func (r *Request) refused(err error) error {
	if (r.maybe || r.doubted) && r.Op == HumanReply {
		return ErrMaybe
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// applied follows a write that is durable.
func (n *Node) applied(c *conversation, b *batch) {
	if b.spoken != nil {
		c.spoken = b.spoken
	}
	c.repeats = c.repeats[min(b.repeats, len(c.repeats)):]
	for _, r := range c.queue { // what else expected the record that this write replaced can't land any more
		r.doubted = r.doubted && r.expected != b.write.Expect
	}
	for i := range b.events {
		n.count(&b.events[i])
		n.emit(Tell{Event: &b.events[i]})
	}
	if b.held != "" && !n.holds(c) {
		n.emit(Hint{Key: c.key})
	}
	n.finish(c, b)
}

// Hinted takes a hint of another node. An attempt that runs here renews its
// lease at once, and learns with that whether it was overtaken or fenced.
func (n *Node) Hinted(now turn.Time, key store.Key) {
	n.at(now)
	c := n.all[key]
	if c == nil || c.run == nil || c.run.ended || gone(c.run.stopped) {
		return
	}
	n.own(c, &Request{event: turn.Renew{Nonce: c.run.lease.Nonce}})
}

// finish answers the requests of a batch and carries out its actions.
func (n *Node) finish(c *conversation, b *batch) {
	c.fails, c.retryAt = 0, 0
	for _, r := range b.requests {
		n.answer(c, r)
	}
	if c.snap.Record.Reply == nil {
		c.spoken = nil
	}
	n.carryOut(c, b)
	n.arm(c)
}

func (n *Node) answer(c *conversation, r *Request) {
	if r.Op == internal {
		return
	}
	if r.controls() {
		record := c.snap.Record
		r.result.Record = &record
	}
	n.countInput(r)
	n.remember(c, r)
	n.emit(Answer{Ticket: r.Ticket, Result: r.result})
}

// controls reports whether the caller is shown the record. A message, which
// must be answered quickly, carries none.
func (r *Request) controls() bool {
	switch r.Op {
	case Flush, Pause, Resume, Requeue, Resend, MarkSent:
		return true
	}
	return false
}

// Deleted takes the answer to a Delete.
func (n *Node) Deleted(now turn.Time, key store.Key, err error) {
	n.at(now)
	c := n.get(key)
	c.busy = false
	r := c.queue[0]
	c.queue = c.queue[1:]
	c.known = false
	if err != nil {
		r.result.Err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	} else {
		n.lose(c, stopDeleted)
		c.wakeAt, c.claimed = 0, false
	}
	n.emit(Answer{Ticket: r.Ticket, Result: r.result})
	n.arm(c)
	n.pump(c)
}

// settleDown lets go of a conversation in which nothing happens here.
func (n *Node) settleDown(c *conversation) {
	if c.busy || len(c.queue) > 0 || c.run != nil || c.send != nil || c.index >= 0 || c.queued || c.element != nil {
		return
	}
	if !c.known {
		delete(n.all, c.key)
		return
	}
	c.usedAt = n.now
	c.element = n.idle.PushBack(c)
	n.evict()
}

// evict forgets conversations that were idle for long, and those that are too
// many.
func (n *Node) evict() {
	for e := n.idle.Front(); e != nil; e = n.idle.Front() {
		c := e.Value.(*conversation)
		if n.idle.Len() <= maxIdle && n.now.Sub(c.usedAt) < idleAge {
			return
		}
		n.idle.Remove(e)
		c.element = nil
		delete(n.all, c.key)
	}
}

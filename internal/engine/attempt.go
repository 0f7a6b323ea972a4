package engine

import (
	"fmt"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// run is an attempt under way on this node, from the write that took its lease to
// the write of its result. It goes through these steps:
//
//	the prompt is read     startRun emits ReadPrompt, PromptRead is its answer
//	the budget is asked    askForCall queues a task, callAnswered is its end
//	the responder runs     start emits Start, Responded is its answer
//	the result is written  runEnded queues a task; endWork lets go of the run
//
// The result of an attempt that was started early may come before its window ends. Then
// the core does not take it yet: the run keeps it (keepResult), renews the lease, and
// offers it again when the window ends (tickResult).
//
// At any moment it may be stopped, because its result is not wanted any more or its
// lease is gone. A responder that runs is told, and the run goes on until it has
// returned: two responders never run for one conversation on a node.
type run struct {
	// The run works under this lease. Its Expires follows the renewals, its nonce
	// never changes: a result under another nonce is not this run's.
	lease   turn.Lease
	renewAt turn.Time // when to renew it next

	// What the attempt is to answer, as of the write that began it.
	through int64
	part    turn.Part
	turn    int64
	attempt int
	early   bool
	prompt  Prompt

	started bool   // the responder runs
	stopped string // why it was told to end, "" if it was not
	ended   bool   // it has returned; its result waits to be written

	// Of an attempt that was started early and has returned: its result, which waits for
	// the end of the window, and when that is, as far as this node knows.
	kept    *task
	offerAt turn.Time

	// Reported by the responder.
	tokens    int64     // that the model used
	firstByte turn.Time // when it gave the first piece of its text
}

// startRun begins an attempt whose lease was just written. Where a later task of the
// same write has ended that lease, nothing begins; where this node is leaving, or
// something else runs alone here, the lease goes back at once. A reply that was to be sent
// may turn out to have ended, and an attempt begins that has waited for no slot.
func (n *Node) startRun(c *conversation, a turn.Run) {
	if c.run != nil || !n.isLive(c, a.Lease) {
		return
	}
	n.working++
	c.run = &run{
		lease: a.Lease, renewAt: n.renewal(c, a.Lease),
		through: a.Through, part: a.Part, turn: a.Turn, attempt: a.Attempt, early: a.Early,
	}
	beside := n.lone.runs && c.slot != hasNode
	if c.slot == noSlot {
		n.ready.take(c.key.Bot)
		c.slot = hasSlot
	}
	if n.leaving || beside {
		n.stopRun(c, turn.HandedBack)
		n.runEnded(c, &task{})
		return
	}
	n.emit(ReadPrompt{
		Key: c.key, Nonce: a.Lease.Nonce, AfterSeq: a.AfterSeq, FreshAfter: c.snap.Record.FreshAfter, Through: a.Through,
		Bytes: n.bot(c).Policy.PromptBytes, History: n.history(c, a.Part), Observe: n.observe(c, a.Part),
	})
}

// history is how many entries of the history an attempt is shown.
func (n *Node) history(c *conversation, part turn.Part) int {
	if part.NoHistory {
		return 0
	}
	return n.bot(c).History
}

// observe is the same for messages that were not meant for the bot.
func (n *Node) observe(c *conversation, part turn.Part) int {
	if part.NoHistory {
		return 0
	}
	return n.bot(c).Observe
}

// PromptRead takes the answer to a ReadPrompt. It may come after the attempt
// was stopped.
func (n *Node) PromptRead(now turn.Time, key store.Key, nonce string, entries, tail []store.Entry, err error) {
	n.setTime(now)
	c := n.get(key)
	r := c.run
	if r == nil || r.lease.Nonce != nonce || r.started || r.ended {
		n.release(c)
		return
	}
	most := n.bot(c).Policy.PromptBytes
	r.prompt = newPrompt(entries, tail, r.through, r.part, n.history(c, r.part), n.observe(c, r.part), most)
	switch {
	case r.stopped != "":
		n.runEnded(c, &task{})
	case err != nil:
		n.runEnded(c, &task{event: n.unread(r, turn.Outage, fmt.Sprintf("what waits could not be read: %v", err))})
	case len(r.prompt.Messages) == 0:
		n.runEnded(c, &task{event: n.unread(r, turn.Failure, "nothing that waits is in the transcript")})
	case most > 0 && r.prompt.size() > most && len(r.prompt.Messages) > 1:
		n.runEnded(c, &task{event: turn.GenerateFailed{Nonce: r.lease.Nonce, Fault: turn.TooLarge, Waiting: r.prompt.waiting}})
	default:
		n.askForCall(c)
	}
}

// start runs the responder.
func (n *Node) start(c *conversation) {
	r, record := c.run, c.snap.Record
	r.started = true
	n.countCall(r.early)
	n.emit(Start{
		Key: c.key, Conversation: record.Name(c.key.Conversation), Address: addressOf(c.key.Conversation, record), Lease: r.lease, Turn: r.turn,
		Attempt: r.attempt, Early: r.early, Through: r.through, Prompt: r.prompt, NoSignalUntil: max(record.NoSendUntil, n.pausedUntil(c)),
	})
}

// unread ends an attempt whose prompt could not be read. The next try backs off, or a
// transcript that can't be read would keep the store busy for ever.
func (n *Node) unread(r *run, fault turn.Fault, text string) turn.Event {
	return turn.GenerateFailed{Nonce: r.lease.Nonce, Fault: fault, Text: text, Jitter: n.jitter()}
}

// stopRun tells an attempt to end. Its result decides nothing any more; the
// lease is kept until it has returned, so that no other one runs beside it.
// That the lease is gone outweighs any reason before.
func (n *Node) stopRun(c *conversation, reason string) {
	r := c.run
	if r.ended || r.stopped != "" && (leaseIsGone(r.stopped) || !leaseIsGone(reason)) {
		return
	}
	told := r.stopped != ""
	r.stopped = reason
	if r.kept != nil { // it has returned already
		r.kept = nil
		n.runEnded(c, &task{})
		return
	}
	if r.started && !told {
		n.emit(Stop{Key: c.key, Nonce: r.lease.Nonce, Reason: reason})
	}
}

// Response is the result of a responder. It answered with a text, it chose not to
// reply (None), or it failed (Fault).
type Response struct {
	// Key and Nonce are those of the Start.
	Key   store.Key
	Nonce string

	// Text is the reply. Parts are its parts where the responder has cut it; each
	// may be cut further, to what the channel takes.
	Text  string
	Parts []string
	None  bool

	// Fault is why there is no answer, "" where there is one. Reason says it to
	// people. After is the earliest retry that the model asked for.
	Fault  turn.Fault
	Reason string
	After  time.Duration

	// Tokens are those that the model used, FirstByte is when it gave the first
	// piece of its text. Both are 0 where that is not known.
	Tokens    int64
	FirstByte turn.Time
}

// Responded takes the result of a Start. A result of a run that is not the current one
// changes nothing: that run was settled without it.
func (n *Node) Responded(now turn.Time, response Response) {
	n.setTime(now)
	n.spendTokens(response.Key.Bot, response.Tokens)
	c := n.get(response.Key)
	r := c.run
	if r == nil || r.lease.Nonce != response.Nonce || r.ended || r.kept != nil {
		n.release(c)
		return
	}
	r.tokens, r.firstByte = response.Tokens, response.FirstByte
	t := &task{}
	switch {
	case response.Fault != "":
		t.event = turn.GenerateFailed{
			Nonce: r.lease.Nonce, Fault: response.Fault, Text: response.Reason, After: response.After, Jitter: n.jitter(),
			FirstByte: r.firstByte, Waiting: r.prompt.waiting, History: len(r.prompt.History) > 0,
		}
	case response.None:
		t.event = turn.Generated{Nonce: r.lease.Nonce, FirstByte: r.firstByte, Waiting: r.prompt.waiting}
		t.reply = store.Body{Covers: r.prompt.IDs()}
	default:
		n.cut(c, &response)
		t.event = turn.Generated{Nonce: r.lease.Nonce, Parts: n.bot(c).sends(response.Parts), FirstByte: r.firstByte, Waiting: r.prompt.waiting}
		t.reply = store.Body{Text: response.Text, Parts: response.Parts, Covers: r.prompt.IDs()}
	}
	n.runEnded(c, t)
}

// cut splits the response into parts that the channel takes.
func (n *Node) cut(c *conversation, response *Response) {
	bot := n.bot(c)
	given := response.Parts
	if len(given) == 0 {
		given = []string{response.Text}
	}
	response.Parts = nil
	for _, part := range given {
		response.Parts = append(response.Parts, bot.cut(part)...)
	}
}

// jitter spreads a back-off: 0 to 999, drawn evenly.
func (n *Node) jitter() int { return int(n.options.Random() % 1000) }

// runEnded writes the end of an attempt. A stopped attempt has no result, but if its
// text is finished, that is still offered: the final check decides. If the store was out
// of reach, this node may still hold a lease that it took for lost. It gives it back; if
// the lease is another node's by now, that changes nothing.
func (n *Node) runEnded(c *conversation, t *task) {
	r := c.run
	r.ended = true
	_, finished := t.event.(turn.Generated)
	switch {
	case leaseIsGone(r.stopped) && r.stopped != stopLost:
		n.discardTokens(r.tokens)
		n.dropRun(c)
		n.freeSlot(c)
		n.arm(c)
		n.pump(c)
		return
	case r.stopped == "" || finished:
	case r.stopped == turn.HandedBack || r.stopped == stopLost:
		t.event = turn.HandBack{Nonce: r.lease.Nonce, FirstByte: r.firstByte}
	default:
		t.event = turn.Interrupted{Nonce: r.lease.Nonce, FirstByte: r.firstByte}
	}
	t.endsWork = true
	n.submitOwn(c, t)
	if c.slot != hasNode { // that stays alone until its end is written: see carryOut
		n.freeSlot(c)
	}
}

// keepResult keeps the result of an early attempt whose window has not ended yet. If this
// node is leaving meanwhile, the lease goes back instead.
func (n *Node) keepResult(c *conversation, t *task) {
	r := c.run
	r.ended = false
	if r.stopped != "" {
		n.runEnded(c, &task{})
		return
	}
	r.kept = &task{event: t.event, reply: t.reply}
}

// tickResult offers the kept result once the window has ended.
func (n *Node) tickResult(c *conversation) {
	r := c.run
	if r == nil || r.kept == nil || n.now < r.offerAt {
		return
	}
	t := r.kept
	r.kept = nil
	n.runEnded(c, t)
}

// dropRun lets go of an attempt that is over.
func (n *Node) dropRun(c *conversation) {
	c.run = nil
	n.working--
}

package engine

import (
	"fmt"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Why work is stopped, besides the reasons of package turn.
const (
	stopLost    = "lease_lost"
	stopDeleted = "conversation_deleted"
)

// run is an attempt under way on this node.
type run struct {
	lease   turn.Lease
	renewAt turn.Time
	through int64
	turn    int64
	attempt int
	prompt  Prompt
	started bool   // the responder runs
	stopped string // why it was told to end, "" if it was not
	ended   bool   // it has returned; its result waits to be written
	tokens  int64  // that the model used for it

	firstByte turn.Time // when the responder gave the first piece of its text
}

// send is a part of a reply under way on this node.
type send struct {
	lease   turn.Lease
	renewAt turn.Time
	stopped string
	ended   bool
}

// holds reports whether this node works on the conversation.
func (n *Node) holds(c *conversation) bool { return c.run != nil || c.send != nil }

// carryOut does what the core asked for, as far as it still holds after the
// whole batch.
func (n *Node) carryOut(c *conversation, b *batch) {
	woken := false
	for _, r := range b.requests {
		woken = woken || r.wakes()
	}
	n.endWork(c, b)
	for _, action := range b.actions {
		switch a := action.(type) {
		case turn.Run:
			n.startRun(c, a)
		case turn.Cancel:
			if c.run != nil && c.run.lease.Nonce == a.Nonce {
				n.stopRun(c, a.Reason)
			}
		case turn.Send:
			n.startSend(c, a)
		}
	}
	n.keepLease(c)
	if woken {
		c.waking = false
	}
	if c.run == nil && !c.waking {
		n.freeSlot(c)
	}
}

// endWork lets go of what has returned, once its result is settled.
func (n *Node) endWork(c *conversation, b *batch) {
	for _, r := range b.requests {
		switch {
		case !r.ends:
		case c.run != nil && c.run.ended:
			if r.result.Outcome != turn.Committed {
				n.discardTokens(c.run.tokens)
			}
			n.dropRun(c)
		case c.send != nil && c.send.ended:
			n.dropSend(c)
		}
	}
}

func (n *Node) dropRun(c *conversation) {
	c.run = nil
	n.working--
}

func (n *Node) dropSend(c *conversation) {
	c.send = nil
	n.working--
}

func (n *Node) live(c *conversation, lease turn.Lease) bool {
	return c.snap.Record.Lease.Nonce == lease.Nonce
}

func (n *Node) startRun(c *conversation, a turn.Run) {
	if c.run != nil || !n.live(c, a.Lease) {
		return
	}
	n.working++
	c.run = &run{
		lease: a.Lease, renewAt: n.renewal(c, a.Lease),
		through: a.Through, turn: a.Turn, attempt: a.Attempt,
	}
	if n.leaving {
		n.stopRun(c, turn.HandedBack)
		n.runEnded(c, &Request{})
		return
	}
	n.emit(ReadPrompt{Key: c.key, Nonce: a.Lease.Nonce, AfterSeq: a.AfterSeq, History: n.bot(c).History})
}

// PromptRead takes the answer to a ReadPrompt. It may come after the attempt
// was stopped.
func (n *Node) PromptRead(now turn.Time, key store.Key, nonce string, entries, tail []store.Entry, err error) {
	n.at(now)
	c := n.get(key)
	r := c.run
	if r == nil || r.lease.Nonce != nonce || r.started || r.ended {
		n.settleDown(c)
		return
	}
	r.prompt = newPrompt(entries, tail, r.through, n.bot(c).History)
	switch {
	case r.stopped != "":
		n.runEnded(c, &Request{})
	case err != nil:
		n.runEnded(c, &Request{event: n.unread(r, turn.Outage, fmt.Sprintf("what waits could not be read: %v", err))})
	case len(r.prompt.Messages) == 0:
		n.runEnded(c, &Request{event: n.unread(r, turn.Mistake, "nothing that waits is in the transcript")})
	default:
		r.started = true
		n.emit(Start{Key: key, Lease: r.lease, Turn: r.turn, Attempt: r.attempt, Through: r.through, Prompt: r.prompt})
	}
}

// unread is an attempt whose prompt could not be made. It backs off: tried again
// at once, a transcript that can't be read would keep the store busy for ever.
func (n *Node) unread(r *run, fault turn.Fault, text string) turn.Event {
	return turn.GenerateFailed{Nonce: r.lease.Nonce, Fault: fault, Text: text, Jitter: n.jitter()}
}

// stopRun tells an attempt to end. Its result decides nothing any more; the
// lease is kept until it has returned, so that no other one runs beside it.
// That the lease is gone outweighs any reason before.
func (n *Node) stopRun(c *conversation, reason string) {
	r := c.run
	if r.ended || r.stopped != "" && (gone(r.stopped) || !gone(reason)) {
		return
	}
	told := r.stopped != ""
	r.stopped = reason
	if r.started && !told {
		n.emit(Stop{Key: c.key, Nonce: r.lease.Nonce, Reason: reason})
	}
}

// Response is what a responder returned.
type Response struct {
	Key    store.Key
	Nonce  string
	Text   string
	Parts  []string
	None   bool
	Fault  turn.Fault // "" where it answered
	Reason string     // of the fault, for people
	After  time.Duration
	Tokens int64 // that the model used

	FirstByte turn.Time // when it gave the first piece of its text, 0 if it gave none
}

// Responded takes what the responder of a Start returned.
func (n *Node) Responded(now turn.Time, response Response) {
	n.at(now)
	c := n.get(response.Key)
	r := c.run
	if r == nil || r.lease.Nonce != response.Nonce || r.ended {
		n.settleDown(c)
		return
	}
	r.tokens, r.firstByte = response.Tokens, response.FirstByte
	request := &Request{}
	switch {
	case response.Fault != "":
		request.event = turn.GenerateFailed{
			Nonce: r.lease.Nonce, Fault: response.Fault, Text: response.Reason, After: response.After, Jitter: n.jitter(),
			FirstByte: r.firstByte,
		}
	case response.None:
		request.event = turn.Generated{Nonce: r.lease.Nonce, FirstByte: r.firstByte}
		request.reply = store.Body{Covers: r.prompt.IDs()}
	default:
		n.cut(c, &response)
		request.event = turn.Generated{Nonce: r.lease.Nonce, Parts: n.bot(c).sends(response.Parts), FirstByte: r.firstByte}
		request.reply = store.Body{Text: response.Text, Parts: response.Parts, Covers: r.prompt.IDs()}
	}
	n.runEnded(c, request)
}

// cut makes parts that the channel takes of what the responder gave.
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

func (n *Node) jitter() int { return int(n.options.Random() % 1000) }

// runEnded writes what came of an attempt. One that was stopped ends without a
// result, except that a finished text is still offered: the final check
// decides. A lease that this node gave up for lost may still be its own, if the
// store was out of reach: it is given back, which changes nothing elsewhere.
func (n *Node) runEnded(c *conversation, request *Request) {
	r := c.run
	r.ended = true
	_, finished := request.event.(turn.Generated)
	switch {
	case gone(r.stopped) && r.stopped != stopLost:
		n.discardTokens(r.tokens)
		n.dropRun(c)
		n.freeSlot(c)
		n.arm(c)
		n.pump(c)
		return
	case r.stopped == "" || finished:
	case r.stopped == turn.HandedBack || r.stopped == stopLost:
		request.event = turn.HandBack{Nonce: r.lease.Nonce, FirstByte: r.firstByte}
	default:
		request.event = turn.Interrupted{Nonce: r.lease.Nonce, FirstByte: r.firstByte}
	}
	request.ends = true
	n.own(c, request)
	n.freeSlot(c)
}

// startSend begins to deliver a part, unless the lease is about to end, or this
// node, or a pause came in the same write: whoever takes over then can be sure
// that nothing was sent.
func (n *Node) startSend(c *conversation, a turn.Send) {
	if c.send != nil || !n.live(c, a.Lease) {
		return
	}
	lease := c.snap.Record.Lease
	n.working++
	c.send = &send{lease: lease, renewAt: n.renewal(c, lease)}
	paused := c.snap.Record.OnHold && !a.Reply.DespitePause()
	if n.leaving || paused || n.now >= n.deadline(c, lease) {
		c.send.ended = true
		n.own(c, &Request{event: turn.HandBack{Nonce: lease.Nonce}, ends: true})
		return
	}
	var entry *store.Entry
	if c.spoken != nil && c.spoken.Seq == a.Reply.Seq {
		entry = c.spoken
	}
	n.emit(Send{Key: c.key, Lease: lease, Reply: a.Reply, Entry: entry, Until: n.deadline(c, lease)})
}

// SendResult is what is known of a send.
type SendResult struct {
	Key     store.Key
	Nonce   string
	Part    int
	Entry   *store.Entry // the reply
	NotSent bool         // it was not even tried: the lease is about to end, or this node
	Err     string       // "" where it was delivered
	Certain bool         // it was certainly not delivered
	ForGood bool
	After   time.Duration
}

// SendEnded takes the result of a Send.
func (n *Node) SendEnded(now turn.Time, s SendResult) {
	n.at(now)
	c := n.get(s.Key)
	if c.send == nil || c.send.lease.Nonce != s.Nonce || c.send.ended {
		n.settleDown(c)
		return
	}
	c.send.ended = true
	if s.Entry != nil {
		c.spoken = s.Entry
	}
	request := &Request{entry: s.Entry, ends: true}
	switch {
	case s.NotSent:
		request.event = turn.HandBack{Nonce: s.Nonce}
	case s.Err == "":
		request.event = turn.Sent{Nonce: s.Nonce, Part: s.Part}
	case s.Certain:
		if !s.ForGood {
			n.Counters.Deliveries["retried"]++
		}
		request.event = turn.SendFailed{Nonce: s.Nonce, Part: s.Part, ForGood: s.ForGood, Text: s.Err, After: s.After, Jitter: n.jitter()}
	default:
		request.event = turn.SendUnknown{Nonce: s.Nonce, Part: s.Part, Text: s.Err, Jitter: n.jitter()}
	}
	n.own(c, request)
}

// keepLease looks whether the lease of what runs here is still this node's.
func (n *Node) keepLease(c *conversation) {
	live := c.snap.Record.Lease
	if r := c.run; r != nil && !r.ended {
		if live.Nonce == r.lease.Nonce {
			r.lease.Expires = live.Expires
		} else {
			n.stopRun(c, stopLost)
		}
	}
	if s := c.send; s != nil && !s.ended {
		if live.Nonce == s.lease.Nonce {
			s.lease.Expires = live.Expires
		} else {
			n.stopSend(c, stopLost)
		}
	}
}

func (n *Node) stopSend(c *conversation, reason string) {
	if s := c.send; s.stopped == "" && !s.ended {
		s.stopped = reason
		n.emit(Stop{Key: c.key, Nonce: s.lease.Nonce, Reason: reason})
	}
}

// renewal is when a lease is to be renewed: a third of it after the last time.
func (n *Node) renewal(c *conversation, lease turn.Lease) turn.Time {
	return lease.Expires.Add(-n.bot(c).Policy.Lease * 2 / 3)
}

// deadline is when this node stops itself, a tenth of a lease before others
// may take over. Nothing rests on it but courtesy: the nonce decides.
func (n *Node) deadline(c *conversation, lease turn.Lease) turn.Time {
	return lease.Expires.Add(-n.bot(c).Policy.Lease / 10)
}

// leaseAlarm is when a lease held here needs attention, 0: never.
func (c *conversation) leaseAlarm() turn.Time {
	switch {
	case c.run != nil && !c.run.ended && !gone(c.run.stopped):
		return c.run.renewAt
	case c.send != nil && !c.send.ended && !gone(c.send.stopped):
		return c.send.renewAt
	}
	return 0
}

// tickLease renews the lease of what runs here, or ends it where that did not
// succeed in time.
func (n *Node) tickLease(c *conversation) {
	at := c.leaseAlarm()
	if at == 0 || n.now < at {
		return
	}
	lease, next := n.currentLease(c)
	if n.now >= n.deadline(c, lease) {
		n.lose(c, stopLost)
		return
	}
	*next = min(n.now.Add(n.bot(c).Policy.Lease/3), n.deadline(c, lease))
	n.own(c, &Request{event: turn.Renew{Nonce: lease.Nonce}})
}

func (n *Node) currentLease(c *conversation) (turn.Lease, *turn.Time) {
	if c.run != nil && !c.run.ended {
		return c.run.lease, &c.run.renewAt
	}
	return c.send.lease, &c.send.renewAt
}

// lose ends what runs here without writing anything.
func (n *Node) lose(c *conversation, reason string) {
	if c.run != nil {
		n.stopRun(c, reason)
	}
	if c.send != nil {
		n.stopSend(c, reason)
	}
}

// gone reports whether work that was stopped for this reason has no lease any
// more, so that its end changes nothing.
func gone(reason string) bool {
	switch reason {
	case stopLost, stopDeleted, turn.WasPaused, turn.WasDeleted, turn.ByHuman, turn.Crashed:
		return true
	}
	return false
}

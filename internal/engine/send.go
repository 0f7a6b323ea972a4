package engine

import (
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// send is a part of a reply under way on this node.
type send struct {
	lease   turn.Lease
	renewAt turn.Time
	stopped string
	ended   bool
}

// startSend begins to deliver a part, unless the lease is about to end, or this
// node, or a pause came in the same write: whoever takes over then can be sure
// that nothing was sent.
func (n *Node) startSend(c *conversation, a turn.Send) {
	if c.send != nil || !n.isLive(c, a.Lease) {
		return
	}
	lease := c.snap.Record.Lease
	n.working++
	c.send = &send{lease: lease, renewAt: n.renewal(c, lease)}
	paused := c.snap.Record.OnHold && !a.Reply.DespitePause()
	if n.leaving || paused || n.now >= n.deadline(c, lease) {
		c.send.ended = true
		n.submitOwn(c, &task{event: turn.HandBack{Nonce: lease.Nonce}, endsWork: true})
		return
	}
	var entry *store.Entry
	if c.reply != nil && c.reply.Seq == a.Reply.Seq {
		entry = c.reply
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
	n.setTime(now)
	c := n.get(s.Key)
	if c.send == nil || c.send.lease.Nonce != s.Nonce || c.send.ended {
		n.release(c)
		return
	}
	c.send.ended = true
	if s.Entry != nil {
		c.reply = s.Entry
	}
	t := &task{sending: s.Entry, endsWork: true}
	switch {
	case s.NotSent:
		t.event = turn.HandBack{Nonce: s.Nonce}
	case s.Err == "":
		t.event = turn.Sent{Nonce: s.Nonce, Part: s.Part}
	case s.Certain:
		if !s.ForGood {
			n.Counters.Deliveries["retried"]++
		}
		t.event = turn.SendFailed{Nonce: s.Nonce, Part: s.Part, ForGood: s.ForGood, Text: s.Err, After: s.After, Jitter: n.jitter()}
	default:
		t.event = turn.SendUnknown{Nonce: s.Nonce, Part: s.Part, Text: s.Err, Jitter: n.jitter()}
	}
	n.submitOwn(c, t)
}

func (n *Node) stopSend(c *conversation, reason string) {
	if s := c.send; s.stopped == "" && !s.ended {
		s.stopped = reason
		n.emit(Stop{Key: c.key, Nonce: s.lease.Nonce, Reason: reason})
	}
}

func (n *Node) dropSend(c *conversation) {
	c.send = nil
	n.working--
}

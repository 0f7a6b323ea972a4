package engine

import (
	"time"
	"unicode/utf8"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// send is the delivery of one part of a reply under way on this node, from the write
// that asked for it to the write of its result. The lease is kept and renewed all
// the while. The next part is a send of its own.
type send struct {
	lease   turn.Lease
	renewAt turn.Time // when to renew it next
	stopped string    // why it was told to end, "" if it was not
	ended   bool      // it has returned; its result waits to be written
}

// startSend begins to deliver a part. It does not if the lease or this node is about to
// end, if a pause or a cut came in the same write, or if the bot's receiver has asked for
// a pause since: the next holder can then be sure that nothing was sent.
func (n *Node) startSend(c *conversation, a turn.Send) {
	if c.send != nil || !n.isLive(c, a.Lease) {
		return
	}
	lease := c.snap.Record.Lease
	n.working++
	c.send = &send{lease: lease, renewAt: n.renewal(c, lease)}
	paused := c.snap.Record.OnHold && !a.Reply.DespitePause()
	reply := c.snap.Record.Reply
	cut := reply != nil && reply.Cut != "" && !reply.Unsure
	if n.leaving || paused || cut || n.now < n.pausedUntil(c) || n.now >= n.deadline(c, lease) {
		c.send.ended = true
		n.submitOwn(c, &task{event: turn.HandBack{Nonce: lease.Nonce}, endsWork: true})
		return
	}
	var entry *store.Entry
	if c.reply != nil && c.reply.Seq == a.Reply.Seq {
		entry = c.reply
	}
	record := c.snap.Record
	n.emit(Send{
		Key: c.key, Conversation: record.Name(c.key.Conversation), Address: addressOf(c.key.Conversation, record), Lease: lease,
		Reply: a.Reply, Entry: entry, Until: n.deadline(c, lease),
	})
}

// SendResult is the outcome of a send. Its zero value means that the part was delivered.
type SendResult struct {
	// Key, Nonce and Part are those of the Send. Entry is the reply, which may have
	// been read for it.
	Key   store.Key
	Nonce string
	Part  int
	Entry *store.Entry

	// NotSent: it was not even tried, because the lease or this node is about to end.
	NotSent bool

	// ID is the channel's of the part that was delivered; "": it gave none.
	ID string

	// Err says why the part was not delivered, or may not have been; "": it was.
	// Certain: it certainly was not. Without that nobody knows, and the policy for
	// unknown outcomes decides.
	Err     string
	Certain bool

	// Of a certain failure. ForGood: trying again is pointless. After: the pause that the
	// receiver asked for. WholeBot: it holds for all conversations that it serves.
	ForGood  bool
	After    time.Duration
	WholeBot bool
}

// SendEnded takes the result of a Send. If the part was not tried, the lease is given
// back, and its next holder sends the part.
func (n *Node) SendEnded(now turn.Time, s SendResult) {
	n.setTime(now)
	c := n.get(s.Key)
	if c.send == nil || c.send.lease.Nonce != s.Nonce || c.send.ended {
		n.release(c)
		return
	}
	c.send.ended = true
	if s.WholeBot {
		to := n.receiver(c)
		n.pauses[to] = max(n.pauses[to], n.now.Add(min(s.After, n.bot(c).Policy.RetryFor)))
	}
	if s.Entry != nil {
		c.reply = s.Entry
	}
	t := &task{sending: s.Entry, endsWork: true}
	switch {
	case s.NotSent:
		t.event = turn.HandBack{Nonce: s.Nonce}
	case s.Err == "":
		t.event = turn.Sent{Nonce: s.Nonce, Part: s.Part, ID: s.ID, Pause: n.bot(c).Pace.before(c.reply, s.Part+1)}
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

// stopSend tells a send to end. It is answered like one that ended by itself: the part
// may have been delivered.
func (n *Node) stopSend(c *conversation, reason string) {
	if s := c.send; s.stopped == "" && !s.ended {
		s.stopped = reason
		n.emit(Stop{Key: c.key, Nonce: s.lease.Nonce, Reason: reason})
	}
}

// dropSend lets go of a send that is over.
func (n *Node) dropSend(c *conversation) {
	c.send = nil
	n.working--
}

// Pace is how long to pause before each further part of a reply, as a person would who
// writes it. The zero value is no pause.
type Pace struct {
	PerCharacter time.Duration // of the part that follows
	Least, Most  time.Duration // bounds of the sum; Most 0 means MaxPause
}

// MaxPause bounds any pause.
const MaxPause = time.Minute

// before is the pause before a part, from 0, of a reply. Where the reply is not known, the
// pause is as short as it may be.
func (p Pace) before(reply *store.Entry, part int) time.Duration {
	most := p.Most
	if most == 0 {
		most = MaxPause
	}
	characters := 0
	if reply != nil && part < len(reply.Parts) {
		characters = utf8.RuneCountInString(reply.Parts[part])
	}
	return min(max(p.Least, time.Duration(characters)*p.PerCharacter), most)
}

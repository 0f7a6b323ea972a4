package simulate

import (
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// sending is one try to deliver a part, as the channel sees it.
type sending struct {
	ledger       *ledger
	conversation *conversation // nil: of a conversation that was deleted meanwhile
	reply        *reply
	id           string // of the reply, as the channel is told
	nonce        string
	part         int
	begun        turn.Time
	text         string
	arrives      bool
	failed       bool          // the sender knows that it was not delivered
	after        time.Duration // the pause that the receiver asked for, as the sender knows
}

// sendBegins judges the begin of a send: P5 and P7.
func (l *ledger) sendBegins(n *node, o engine.Send, e store.Entry, arrives bool) *sending {
	t := l.conversation(o.Key)
	s := &sending{ledger: l, nonce: o.Lease.Nonce, part: o.Reply.Done, begun: l.now, arrives: arrives, id: l.seeded.replyID(o, e)}
	l.log(n.name, "sends part %d of reply %s: %s", o.Reply.Done+1, s.id, e.Text)
	r := t.replies[e.Seq]
	if !t.leases[o.Lease.Nonce] || r == nil {
		return s // it was deleted while the send was on its way
	}
	s.conversation, s.reply, s.text = t, r, partOf(o, e, l.whole)
	if s.part >= len(r.texts) || s.text != r.texts[s.part] {
		l.fail("P7 sent", "part %d of reply %s is sent as %q, and is one of %q", s.part+1, s.id, s.text, r.texts)
	}
	if l.now.Add(slack) < t.noSendUntil {
		l.fail("P7 receiver", "reply %s is sent %v before the end of a pause that its receiver asked for", s.id, t.noSendUntil.Sub(l.now))
	}
	l.judgeSendLease(n, o, e, t)
	l.judgeSendOrder(o, t, r)
	if isFromOutside(e, records) && o.Reply.Kind != turn.ReplyResend { // an operator may want it sent after its channel reported a failure
		l.fail("P7 elsewhere", "reply %s is sent, and a person had sent it elsewhere", s.id)
	}
	if r.last != 0 && o.Reply.Done >= r.last && o.Reply.Kind == turn.ReplyAnswer {
		l.fail("P7 cut", "part %d of reply %s is sent, and a person had said something during part %d", o.Reply.Done+1, s.id, r.last)
	}
	r.sends[s.part], t.sending = s, s
	return s
}

func partOf(o engine.Send, e store.Entry, whole bool) string {
	if o.Reply.Parts == 1 && len(e.Parts) != 1 || whole {
		return e.Text
	}
	return e.Parts[o.Reply.Done]
}

// judgeSendLease is P5: a fenced node never sends.
func (l *ledger) judgeSendLease(n *node, o engine.Send, e store.Entry, t *conversation) {
	r := l.snapshot(o.Key).Record
	if r.Lease.Nonce != o.Lease.Nonce || l.now > r.Lease.Expires {
		l.fail("P5 fenced send", "%s began to send under lease %d, and that was over or taken (now: lease %d of %q)", n.name, o.Lease.Token, r.Lease.Token, r.Lease.Holder)
	}
	operated := e.Author == turn.ReplyHuman || o.Reply.Kind == turn.ReplyResend
	if !operated && t.paused != 0 && t.paused < t.wrote[n].at {
		l.fail("P7 pause", "%s began to send although it knew that a human has the conversation", n.name)
	}
}

// judgeSendOrder is P7: parts and replies go out in order, and a part is sent
// again only where that is allowed.
func (l *ledger) judgeSendOrder(o engine.Send, t *conversation, r *reply) {
	for part := range o.Reply.Done {
		if !r.shown[part] {
			l.fail("P7 order", "part %d of reply %s was sent before part %d", o.Reply.Done+1, r.entry.ID, part+1)
		}
	}
	since := r.doneAt
	if before := r.sends[o.Reply.Done-1]; before != nil {
		since = before.begun // one write may tell that a part has arrived, and flush
	}
	flushed := l.askedFor(t.key, since, flush, resume)
	if part := o.Reply.Done; part > 0 && o.Reply.Kind == turn.ReplyAnswer && !flushed && l.now.Add(2*slack) < r.doneAt.Add(l.pace) {
		l.fail("P7 pace", "part %d of reply %s was begun %v before the pause after part %d was over", part+1, r.entry.ID, r.doneAt.Add(l.pace).Sub(l.now), part)
	}
	if o.Reply.Kind != turn.ReplyResend && o.Reply.Kind != turn.ReplyBeside {
		if o.Reply.Turn < t.begun {
			l.fail("P7 order", "reply %d was sent after reply %d", o.Reply.Turn, t.begun)
		}
		t.begun = o.Reply.Turn
	}
	if o.Reply.Done < r.done {
		l.fail("P7 once", "part %d of reply %s was sent again, and it was known to be delivered", o.Reply.Done+1, r.entry.ID)
	}
	if last := r.sends[o.Reply.Done]; last != nil && !last.failed && !l.policy.ResendUnknown {
		l.fail("P7 once", "part %d of reply %s was sent again, and nobody knows that it was not delivered", o.Reply.Done+1, r.entry.ID)
	}
}

// known is the sender learning what became of the send, and of the pause that the
// receiver asks for.
func (s *sending) known(delivered bool, after time.Duration) { s.failed, s.after = !delivered, after }

// cutOff is the sender closing the connection: what has not arrived yet never
// will.
func (s *sending) cutOff() { s.arrives = false }

// orphaned is the sender dying: what is on its way may arrive or not.
func (s *sending) orphaned(lost bool) {
	if lost {
		s.arrives = false
	}
}

// arrive shows the part to the person.
func (s *sending) arrive(n *node, life int) {
	if !s.arrives || s.conversation == nil || s.ledger.conversations[s.conversation.key] != s.conversation {
		return
	}
	s.arrives = false
	l := s.ledger
	if lease := l.snapshot(s.conversation.key).Record.Lease; lease.Nonce != s.nonce && n.life == life && n.up() && !n.frozen {
		l.fail("P5 outlived", "a send of %s arrived after its lease was over or taken, although it could have been stopped", n.name)
	}
	if l.recognises && s.conversation.spoken[s.mark()] {
		l.log("channel", "recognises %s", s.mark())
		return
	}
	if s.conversation.spoken[s.mark()] && s.reply.again {
		l.log("person", "sees once more: %s", s.text)
		return
	}
	if s.conversation.spoken[s.mark()] {
		l.fail("P7 once", "the person sees %q twice", s.text)
	}
	s.conversation.spoken[s.mark()] = true
	l.see(s)
}

// mark is by what a channel recognises a repeat.
func (s *sending) mark() string { return s.id + "#" + string(rune('1'+s.part)) }

// see is what the person sees: P1, from the visible text alone.
func (l *ledger) see(s *sending) {
	t, r := s.conversation, s.reply
	l.log("person", "sees: %s", s.text)
	first := len(r.shown) == 0
	r.shown[s.part] = true
	seen := messagesIn(s.text)
	if r.entry.Author == turn.ReplyHuman {
		seen = []shownMessage{{"human", s.text}}
	}
	for _, it := range seen {
		if other := t.visible[it]; other != "" && other != s.id {
			l.fail("P1 one reply", "%s=%s is answered by reply %s and by reply %s", it.id, it.text, other, s.id)
		}
		t.visible[it] = s.id
	}
	if first && r.entry.Author == turn.ReplyAnswer {
		l.judgeBots(t, r)
		l.waited(t, r, seen)
	}
}

// waited is how long the first of the messages waited for this reply. Where
// nothing breaks but processes, that has a bound.
func (l *ledger) waited(t *conversation, r *reply, seen []shownMessage) {
	oldest := l.now
	for _, s := range seen {
		if m := t.messages[s.id]; m != nil {
			oldest = min(oldest, m.accepted)
		}
	}
	l.sums.Replies++
	l.story.replies = append(l.story.replies, answer{at: l.now, covers: idsOf(seen), late: r.entry.Late})
	wait := l.now.Sub(oldest)
	l.sums.Waits = append(l.sums.Waits, int(wait.Milliseconds()))
	bound, bounded := l.waitBound(oldest)
	disturbed := l.askedFor(t.key, oldest, pause, resume, closes, humanSays, notifies, records, silences, stopWord, optsOut, reset, startsOver, retract, resend, forget)
	paused := func(a *ask) bool { return l.now.Add(-wait) <= a.at.Add(a.For+returnGrace) }
	disturbed = disturbed || slices.ContainsFunc(l.timed[t.key], paused)
	disturbed = disturbed || t.partAt >= oldest // it was among the rest of a turn, or of several
	if bounded && !disturbed && wait > bound {
		l.fail("P3 waiting", "a message waited %v for its reply, longer than %v", wait, bound)
	}
}

// waitBound is how long an input waits at most that was accepted at a time: the rest
// of the turn before it, then its window, the attempts that may be discarded with the
// windows that follow them, and the attempt that is not. A
// process that is killed or stands still meanwhile, or did shortly before, adds that
// time, its lease, and the time until somebody finds its timer. There is no bound
// where anything else breaks.
func (l *ledger) waitBound(accepted turn.Time) (time.Duration, bool) {
	p := l.policy
	windows := max(p.MaxWait, p.MediaWait) + time.Duration(p.MaxDiscards)*max(2*p.Debounce, p.MediaWait)
	attempts := time.Duration(p.MaxDiscards+p.EarlyAttempts+2) * (l.slowest + 200*time.Millisecond)
	sends := time.Duration(2*l.parts) * (l.slowestSend + 100*time.Millisecond + l.pace)
	bound := windows + attempts + sends
	if p.TurnsPerMinute > 0 {
		bound += time.Minute
	}
	if p.Daily.Calls > 0 {
		bound += budgetPause + time.Duration(l.end)
	}
	calm, broken := bound*time.Duration(l.queueing()), 0
	for _, e := range l.Events {
		switch _, breaks := faultKinds[e.What]; {
		case e.What == crash || e.What == freeze:
			lasts := e.For + p.Lease + claimed + l.slowest
			if begins := start.Add(e.At); begins <= l.now && begins.Add(lasts+calm) >= accepted {
				bound += lasts
				if broken++; broken >= besideBefore { // it may have to run alone, and others be held back for it
					bound += 2*lonePause(broken) + time.Duration(l.settings.conversations)*(l.slowest+200*time.Millisecond)
				}
			}
		case breaks && e.What != clockSteps:
			return 0, false
		}
	}
	return bound * time.Duration(l.queueing()), true
}

// queueing is how many conversations share a place at most.
func (l *ledger) queueing() int {
	return (l.settings.conversations + l.toBeFreed() + l.generations - 1) / l.generations
}

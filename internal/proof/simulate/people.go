package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// ask is a request under way.
type ask struct {
	Event
	key   store.Key
	node  *node
	op    engine.Op
	text  string              // that it brings
	then  func(engine.Result) // what follows its answer
	ends  func(engine.Result) // the same, also where it failed
	lost  bool                // nobody will ever answer
	at    turn.Time
	done  turn.Time // when it was answered, 0: it was not yet
	which int64     // the turn that it is about, or the token
	reply *reply    // that a report is about
}

// words are those of the texts that are not empty.
func words(first What, more ...string) string {
	return strings.Join(strings.Fields(string(first)+" "+strings.Join(more, " ")), " ")
}

// ask carries out what somebody asks for: at the node that the plan names, or
// at the next one that runs.
func (w *world) ask(e Event) {
	if w.isPolled(e) {
		w.tells(e)
		return
	}
	n := w.upFrom(e.Node)
	if n == nil {
		w.log("people", "%s: nobody is there", words(e.What, e.Message))
		return
	}
	switch e.What {
	case alias, move:
		n.giveName(e)
		return
	case unalias:
		n.freeName(e)
		return
	}
	a := &ask{Event: e, key: w.key(e.Conversation), node: n}
	r := a.request()
	w.underName(e, r)
	w.log("people", "%s to %s", words(e.What, e.Message, a.text), n.name)
	w.ledger.asks(a)
	n.submit(a, r)
}

func (n *node) submit(a *ask, r *engine.Request) {
	if r.Key == (store.Key{}) {
		r.Key = a.key
	}
	r.Ticket, r.Op = a, a.op
	n.waiting = append(n.waiting, a)
	early := n.seeded.flaws.ackBeforeWrite && a.op == engine.Receive || n.seeded.flaws.saysBeforeWrite && a.What == humanSays
	if early {
		n.ledger.acknowledged(a, engine.Result{Outcome: turn.Queued})
	}
	n.tell(n.life, func(now turn.Time) { n.engine.Submit(now, r) })
}

func (w *world) upFrom(index int) *node {
	for i := range w.nodes {
		if n := w.nodes[(index+i)%len(w.nodes)]; n.up() {
			return n
		}
	}
	return nil
}

// request is what the engine is asked.
func (a *ask) request() *engine.Request {
	r := &engine.Request{ID: a.Message}
	defer func() { a.which = r.Turn }()
	switch a.What {
	case send, again, mention, botSays:
		a.op = engine.Receive
		a.text = said(a.key, a.Message)
		r.Body = store.Body{Text: a.text, Sender: store.Sender{ID: senderOf(a.Message), Bot: a.What == botSays}, Attachments: attachments(a.Flag)}
		if a.What == mention {
			a.mention(r)
		}
	case optsOut, optsIn, startsOver:
		a.op, a.text = engine.Receive, wordOf[a.What]
		r.Body = store.Body{Text: a.text, Sender: store.Sender{ID: senderOf(a.Message)}}
	case stopWord:
		a.text = stopText
		r.Body, r.Text = store.Body{Text: stopText, Sender: store.Sender{ID: senderOf(a.Message)}}, &a.text
		a.op = engine.Receive
		if strings.HasPrefix(a.Message, "m") {
			a.op, r.Body = engine.Edit, store.Body{}
		}
	case edit:
		a.op = engine.Edit
		a.text = fmt.Sprintf("%s.edit%d", said(a.key, a.Message), a.Event.ID)
		r.Text = &a.text
		r.EditedAt = start.Add(a.When)
		if a.node.seeded.flaws.editsUndated {
			r.EditedAt = 0
		}
	case retract:
		a.op = engine.Retract
	case typing:
		a.op, r.For = engine.Typing, a.For
	case flush:
		a.op = engine.Flush
	case pause:
		a.op, r.Reason, r.For = engine.Pause, "operator", a.For
	case resume:
		a.op, r.Answer = engine.Resume, a.Flag
	case humanSays:
		a.op = engine.HumanReply
		a.text = fmt.Sprintf("human%d", a.Event.ID)
		r.Body = store.Body{Text: a.text}
	case notifies, records, silences:
		a.op, a.text = engine.HumanReply, fromOutside(a.What, a.Message)
		r.Body, r.Beside, r.Sent, r.For = store.Body{Text: a.text}, a.What == notifies, a.What == records, a.For
	case reset:
		a.op, r.Reason = engine.Reset, "operator"
	case requeue:
		a.op = engine.Requeue
	case resend:
		a.op, r.Turn = engine.Resend, a.node.unconfirmedTurn(a.key)
	case markSent:
		a.op, r.Turn = engine.MarkSent, a.node.unconfirmedTurn(a.key)
	case reports:
		a.op, r.Receipt = engine.Report, turn.Receipt(a.Message)
		if a.reply = a.node.ledger.conversation(a.key).lastShown(); a.reply != nil {
			r.Turn = a.reply.entry.Turn
			under := a.node.snapshot(a.key).Record.Reply
			a.reply.unclear = a.reply.unclear || under != nil && under.Seq == a.reply.entry.Seq
			failed := r.Receipt == turn.ReceiptFailed
			a.reply.mayFail, a.reply.mayArrive = a.reply.mayFail || failed, a.reply.mayArrive || !failed
			a.nameReport(r)
		}
	case forget:
		a.op = engine.Forget
	}
	return r
}

// nameReport has the channel say what it reports on by its own id of it, which it may have
// told nobody. The dice are of their own.
func (a *ask) nameReport(r *engine.Request) {
	last := a.reply.sends[0]
	if a.op != engine.Report || len(a.reply.texts) != 1 || last == nil || !roll(a.node.Seed, "report by id", int64(a.Event.ID)).chance(60) {
		return
	}
	r.Turn, r.ID, r.Text = 0, last.mark(), &a.reply.texts[0]
}

// unconfirmedTurn is the turn that an operator finds in the list of what needs attention, or the
// last one where there is none.
func (n *node) unconfirmedTurn(key store.Key) int64 {
	r := n.snapshot(key).Record
	if len(r.Unconfirmed) > 0 {
		return r.Unconfirmed[0].Turn
	}
	return r.Turn
}

// lastShown is the newest reply of which the person has seen all parts, nil: there is none.
func (t *conversation) lastShown() (last *reply) {
	for seq, r := range t.replies {
		if len(r.texts) > 0 && len(r.shown) == len(r.texts) && (last == nil || seq > last.entry.Seq) {
			last = r
		}
	}
	return last
}

// fromOutside is the text of a reply from outside that has an id. Whoever gives it twice
// gives it with the same one.
func fromOutside(what What, id string) string { return string(what) + " " + id }

// isFromOutside reports whether a reply is one of these.
func isFromOutside(e store.Entry, what What) bool {
	return e.Author == turn.ReplyHuman && strings.HasPrefix(e.Text, string(what)+" ")
}

// senderOf is who wrote a message: most are by one of two people.
func senderOf(id string) string {
	if strings.HasSuffix(id, "2") || strings.HasSuffix(id, "5") {
		return "bob"
	}
	return "ann"
}

// said is the text of a message before any edit. No other message has it.
func said(key store.Key, id string) string { return owner(key) + "." + id }

func attachments(pending bool) []store.Attachment {
	if !pending {
		return nil
	}
	return []store.Attachment{{Kind: "image", Pending: true}}
}

// seal is asked for by the model, through its node.
func (n *node) seal(key store.Key, lease turn.Lease) {
	a := &ask{Event: Event{What: modelSeals}, key: key, node: n, op: engine.Seal, at: n.now, which: lease.Token}
	r := &engine.Request{Token: lease.Token}
	r.Key, r.Ticket, r.Op = key, a, engine.Seal
	life := n.life
	n.after(0, func() { n.tell(life, func(now turn.Time) { n.engine.Submit(now, r) }) })
}

// answered takes the end of a request.
func (n *node) answered(a *ask, result engine.Result) {
	for i, w := range n.waiting {
		if w == a {
			n.waiting = append(n.waiting[:i], n.waiting[i+1:]...)
			break
		}
	}
	if result.Err != nil {
		n.log(n.name, "answers %s: %v", words(a.What, a.Message), result.Err)
	} else {
		n.log(n.name, "answers %s: %s", words(a.What, a.Message), words(What(result.Outcome), result.Reason))
	}
	n.ledger.acknowledged(a, result)
	if a.then != nil && result.Err == nil {
		a.then(result)
	}
	if a.ends != nil {
		a.ends(result)
	}
}

// aim releases what waits for an instant that is known now.
func (w *world) aim(key store.Key, i instant, at turn.Time) {
	kept := w.aims[key][:0:0]
	for _, e := range w.aims[key] {
		if e.Aim != i {
			kept = append(kept, e)
			continue
		}
		when := at.Add(time.Duration(e.Offset) * time.Millisecond)
		w.at(when, func() {
			if n := w.upFrom(e.Node); n != nil {
				n.rush = w.now
			}
			w.ask(e)
		})
	}
	w.aims[key] = kept
}

// aimAtWrite looks what a write that is on its way will do, if it is applied.
func (w *world) aimAtWrite(write store.Write, at turn.Time) {
	if len(w.aims[write.Key]) == 0 {
		return
	}
	before, after := w.snapshot(write.Key).Record, write.Record
	switch {
	case after.Phase == turn.Generating && after.Token != before.Token:
		w.aim(write.Key, atAcquire, at)
	case before.Phase == turn.Generating && after.Phase == turn.Sending:
		w.aim(write.Key, atCommit, at)
	case before.Phase == turn.Sending && after.Phase != turn.Sending:
		w.aim(write.Key, atRelease, at)
	case after.Phase == turn.Collecting:
		w.aim(write.Key, atDue, after.Window.Due)
	}
}

package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	shipped "github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// work is a call of the model or a send, in the outside world. It outlives
// the process that began it.
type work struct {
	stop   func() // the process tells it to end
	orphan func() // the process is gone
	over   bool
}

// begin notes work that runs for the process under a nonce.
func (n *node) begin(nonce string, w *work) { n.running[nonce] = w }

// end hands the result of some work to the process, unless it was handed over
// before.
func (n *node) end(nonce string, w *work, life int, f func(now turn.Time)) {
	if w.over {
		return
	}
	w.over = true
	n.tell(life, func(now turn.Time) {
		if n.running[nonce] == w {
			delete(n.running, nonce)
		}
		f(now)
	})
}

func (n *node) stopWork(nonce string) {
	if w := n.running[nonce]; w != nil && !n.seeded.flaws.stopsIgnored {
		w.stop()
	}
}

// prompt is what an attempt shows the model.
func (n *node) prompt(o engine.Start) []store.Entry {
	if !n.seeded.flaws.promptReadLate {
		return o.Prompt.Messages
	}
	return n.ledger.waiting(o.Key)
}

// startModel calls the model. It answers with the very texts that it was
// shown, so the ledger needs nobody's word for what a reply covers.
func (n *node) startModel(o engine.Start) {
	key, nonce, life := o.Key, o.Lease.Nonce, n.life
	d := roll(n.Seed, "model"+key.Conversation, o.Turn, int64(o.Attempt), o.Lease.Token)
	text := echo(o.Lease.Token, n.prompt(o))
	n.ledger.modelStarts(n, o, text)
	n.log(n.name, "the model starts %s", text)

	took := d.span(n.fastest, n.slowest)
	if n.strikes(modelHangs, n.index, d, 70) {
		took += d.span(0, 20*time.Second)
	}
	response := n.response(o, d, text)
	if took >= n.timeout {
		took, response = n.timeout, cutShort(key, nonce, "no answer in time")
	}
	deaf := n.strikes(modelDeaf, n.index, d, 60)
	ends := n.now.Add(took)
	w := &work{orphan: func() { n.ledger.modelEnds(nonce, engine.Response{}) }}
	respond := func(r engine.Response) {
		if !w.over {
			n.ledger.modelEnds(nonce, r)
		}
		n.end(nonce, w, life, func(now turn.Time) { n.engine.Responded(now, r) })
	}
	stopped := cutShort(key, nonce, "told to end")
	w.stop = func() {
		n.ledger.modelStops(nonce)
		if deaf {
			n.after(returnGrace, func() { respond(stopped) })
			return
		}
		n.after(d.span(0, 30*time.Millisecond), func() { respond(stopped) })
	}
	n.begin(nonce, w)
	n.aim(key, atEnd, ends)
	n.at(ends, func() { respond(response) })
	n.moreOfModel(o, d, took)
}

// cutShort is what the runtime makes of a call of the model that ended with its
// context.
func cutShort(key store.Key, nonce, cause string) engine.Response {
	r := shipped.AttemptResult(engine.Response{Fault: turn.Failure, Reason: "the connection was closed"}, nil, errors.New(cause))
	r.Key, r.Nonce = key, nonce
	return r
}

// moreOfModel is what the model does while it writes.
func (n *node) moreOfModel(o engine.Start, d *dice, took time.Duration) {
	life := n.life
	if n.strikes(modelSeals, n.index, d, 70) {
		n.after(d.span(0, took), func() {
			n.tell(life, func(turn.Time) { n.seal(o.Key, o.Lease) })
		})
	}
	if n.isDeadly(o, d) {
		n.after(d.span(0, took), func() {
			if n.life == life && n.up() && !n.frozen {
				n.ledger.sums.Crashes++
				n.die(d.span(100*time.Millisecond, 3*time.Second))
			}
		})
	}
}

// response is what the model returns in the end.
func (n *node) response(o engine.Start, d *dice, text string) engine.Response {
	r := engine.Response{Key: o.Key, Nonce: o.Lease.Nonce}
	fail := func(fault turn.Fault) engine.Response {
		r.Fault, r.Reason = fault, string(fault)
		r.After = pick(d, 0, 0, 3*time.Second)
		return r
	}
	switch {
	case n.strikes(modelFails, n.index, d, 70):
		return fail(turn.Failure)
	case n.strikes(modelOut, n.index, d, 80):
		return fail(turn.Outage)
	case n.strikes(modelRejects, n.index, d, 60):
		return fail(turn.Rejected)
	case n.isActive(modelRefuses, n.index) && n.refuses(o):
		n.count(modelRefuses)
		return fail(turn.Refused)
	case n.isActive(modelCramped, n.index) && len(n.prompt(o))+len(o.Prompt.History) > n.room:
		n.count(modelCramped)
		return fail(turn.Refused)
	case n.strikes(modelSilent, n.index, d, 50):
		r.None = true
		return r
	}
	r.Text = text
	for part := range d.between(1, n.parts) {
		r.Parts = append(r.Parts, fmt.Sprintf("%d) %s", part+1, text))
	}
	return r
}

// refuses reports whether the model refuses a prompt for what it holds, in what waits or
// in the history.
func (n *node) refuses(o engine.Start) bool {
	bad := func(e store.Entry) bool { return n.refusable(o.Key, e) }
	return slices.ContainsFunc(n.prompt(o), bad) || slices.ContainsFunc(o.Prompt.History, bad)
}

// refusable reports whether a message is one that the model refuses. Its author can edit
// it so that the model takes it.
func (w *world) refusable(key store.Key, e store.Entry) bool {
	return e.Kind == store.Message && e.Text == said(key, e.ID) && roll(w.Seed, "refusable"+e.Text).chance(30)
}

// echo is a text that says what it answers: "[token] id=text id=text". The
// token tells two attempts over the same messages apart.
func echo(token int64, messages []store.Entry) string {
	words := []string{fmt.Sprintf("[%d]", token)}
	for _, m := range messages {
		words = append(words, m.ID+"="+m.Text)
	}
	return strings.Join(words, " ")
}

// messagesIn reads back from a reply's text what it answers, in order.
func messagesIn(text string) []shownMessage {
	var seen []shownMessage
	for _, word := range strings.Fields(text) {
		if id, text, ok := strings.Cut(word, "="); ok {
			seen = append(seen, shownMessage{id, text})
		}
	}
	return seen
}

// shownMessage is one message with one of its texts.
type shownMessage struct{ id, text string }

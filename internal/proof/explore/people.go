package explore

import (
	"fmt"

	"github.com/onereply/onereply/turn"
)

// maxMessages bounds the messages of a path.
const maxMessages = 4

// peopleMoves are what people can do, at the node i.
func (w *world) peopleMoves(list []move, i uint8) []move {
	ask := func(q kind, target int) {
		list = w.answers(list, move{action: people, worker: i, choice: uint8(q), index: uint8(target)})
	}
	if w.left.Inputs > 0 {
		list = w.inputMoves(list, i)
	}
	if w.left.Mentions > 0 && w.ledger.messages < maxMessages {
		ask(mention, 0)
	}
	if w.left.Redelivered > 0 {
		for id := 1; id <= int(w.ledger.messages); id++ {
			again := receive
			if w.ledger.mentions&(1<<id) != 0 {
				again = mention
			}
			list = w.answers(list, move{action: people, worker: i, choice: uint8(again), index: uint8(id)})
		}
	}
	r := w.store.record
	if w.left.Pauses > 0 && !r.WithPeople && r.Exists() {
		ask(pause, 0)
	}
	if w.left.Pauses > 0 && w.scope.Holds && r.Exists() {
		ask(optOut, 0)
		if r.OptedOut {
			ask(optIn, 0)
		}
	}
	if r.OnHold {
		ask(resume, 0)
		ask(resumeClosing, 0)
	}
	if w.left.Humans > 0 && r.Exists() {
		ask(human, 0)
		if w.scope.Outside {
			ask(notification, 0)
			ask(sentElsewhere, 0)
			ask(humanSilences, 0)
		}
	}
	if w.left.Stops > 0 && w.ledger.messages < maxMessages {
		for sender := range w.senders() {
			ask(stopping, newBy+sender)
		}
		for _, m := range w.store.messages {
			if w.scope.Edits && m.status == turn.InputPending {
				ask(stopEditing, int(m.id))
			}
		}
	}
	if w.left.Resets > 0 && r.Exists() {
		ask(reset, 0)
	}
	for k := range r.Unconfirmed {
		if w.left.Resends > 0 {
			ask(resend, k)
			ask(markSent, k)
		}
	}
	for k := range w.store.replies {
		if e := &w.store.replies[k]; w.left.Reports > 0 && e.reportable() {
			ask(reportFailed, k)
			if e.arrived() {
				ask(reportDelivered, k)
			}
		}
	}
	if w.left.Nudges > 0 && r.Exists() {
		ask(flush, 0)
		ask(typing, 0)
		ask(requeue, 0)
	}
	if w.left.Deletions > 0 && r.Exists() && len(w.workers[i].tasks) == 0 && w.mayTick() {
		list = append(list, move{action: forget, worker: i})
	}
	return list
}

// newBy marks the target of a new message: newBy is by the first person, the next one
// by the second.
const newBy = 100

// senders is how many people write.
func (w *world) senders() int {
	if w.scope.Group {
		return 2
	}
	return 1
}

func (w *world) inputMoves(list []move, i uint8) []move {
	m := move{action: people, worker: i}
	if w.ledger.messages < maxMessages {
		for sender := range w.senders() {
			m.choice, m.index = uint8(receive), uint8(newBy+sender)
			list = w.answers(list, m)
		}
		if w.scope.Bots {
			m.choice, m.index = uint8(receive), otherBot
			list = w.answers(list, m)
		}
		if w.scope.Words {
			m.choice, m.index = uint8(resetWord), newBy
			list = w.answers(list, m)
		}
	}
	if !w.scope.Edits {
		return list
	}
	if w.scope.Early && w.ledger.messages < maxMessages {
		m.index = w.ledger.messages + 1
		for _, change := range []kind{edit, remove} {
			m.choice = uint8(change)
			list = w.answers(list, m)
		}
	}
	for _, entry := range w.store.messages {
		if entry.status == turn.InputContext && !w.scope.Settled {
			continue
		}
		m.index = entry.id
		m.choice = uint8(edit)
		list = w.answers(list, m)
		m.choice = uint8(remove)
		list = w.answers(list, m)
	}
	return list
}

// ask carries out what somebody outside asks for.
func (w *world) ask(m move) {
	q := request{kind: kind(m.choice), message: m.index}
	switch q.kind {
	case receive, mention:
		w.askMessage(&q)
	case resetWord:
		w.askMessage(&q)
		w.ledger.closed = true
	case stopping, stopEditing:
		w.askToStop(&q)
	case edit, remove:
		w.left.Inputs--
		w.ledger.changes++
		q.number = w.ledger.changes
	case pause:
		w.left.Pauses--
		if w.scope.Holds {
			q.lasts = 2 * w.scope.tick()
		}
	case optOut, optIn:
		w.left.Pauses--
	case human, notification, sentElsewhere, humanSilences:
		w.left.Humans--
		w.ledger.humans++
		q.number = w.ledger.humans
		w.ledger.closed = w.ledger.closed || q.answersByHand()
		if q.kind == humanSilences {
			q.lasts = w.scope.tick()
		}
	case resumeClosing:
		w.ledger.closed = true
	case reset:
		w.left.Resets--
		w.ledger.closed = true
	case flush, typing, requeue:
		w.left.Nudges--
	case reportFailed, reportDelivered:
		w.left.Reports--
		q.message, q.reply = 0, w.store.replies[m.index].seq
	case resend, markSent:
		w.left.Resends--
		q.message, q.number = 0, uint8(w.store.record.Unconfirmed[m.index].Turn)
	}
	w.apply(int(m.worker), q, m.answer)
}

// forget deletes the conversation with all that belongs to it. Worker i stops its
// work for it; the other worker does not know yet. It takes a tick, so that tokens,
// which begin with the time, grow.
func (w *world) forget(i int) {
	w.left.Deletions--
	w.now = w.now.Add(w.scope.tick())
	w.life++
	w.store = storage{ops: w.store.ops}
	w.workers[i].jobs = nil
	l := w.ledger
	w.ledger = ledger{messages: l.messages, changes: l.changes, humans: l.humans, tokens: l.tokens, mentions: l.mentions, otherBots: l.otherBots}
}

// askMessage sends a new message, or one that was sent before again.
func (w *world) askMessage(q *request) {
	q.media = w.scope.Media
	l := &w.ledger
	if 0 < q.message && q.message < otherBot {
		w.left.Redelivered--
		q.bot = l.otherBots&(1<<q.message) != 0
		return
	}
	q.bot = q.message == otherBot
	w.newMessage(q)
	switch {
	case q.kind == mention:
		w.left.Mentions--
		l.mentions |= 1 << q.message
	case q.bot:
		w.left.Inputs--
		l.otherBots |= 1 << q.message
	default:
		w.left.Inputs--
	}
}

// newMessage gives a new message its id.
func (w *world) newMessage(q *request) {
	if q.message >= newBy {
		q.sender = q.message - newBy
	}
	w.ledger.messages++
	q.message = w.ledger.messages
}

// askToStop sends a stop word, as a new message or as an edit.
func (w *world) askToStop(q *request) {
	w.left.Stops--
	if q.kind == stopping {
		w.newMessage(q)
		return
	}
	w.ledger.changes++
	q.number = w.ledger.changes
}

// otherBot stands in a move for a new message of another bot.
const otherBot = 99

func (w *world) describeRequest(m move) string {
	q := kind(m.choice)
	switch {
	case (q == receive || q == resetWord || q == stopping) && m.index >= newBy:
		return fmt.Sprintf("%v m%d of person %d arrives", q, w.ledger.messages+1, m.index-newBy+1)
	case q == mention && m.index == 0:
		return fmt.Sprintf("%v m%d arrives", q, w.ledger.messages+1)
	case q == receive && m.index == otherBot:
		return fmt.Sprintf("message m%d of another bot arrives", w.ledger.messages+1)
	case q == receive || q == mention:
		return fmt.Sprintf("message m%d arrives again", m.index)
	case q == resend || q == markSent:
		return fmt.Sprintf("%v: reply %d", q, w.store.record.Unconfirmed[m.index].Seq)
	case q == reportFailed || q == reportDelivered:
		return fmt.Sprintf("%v of reply %d", q, w.store.replies[m.index].seq)
	case q == edit || q == remove || q == stopEditing:
		return fmt.Sprintf("%v of m%d", q, m.index)
	}
	return q.String()
}

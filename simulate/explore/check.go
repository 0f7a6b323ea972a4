package explore

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/onereply/onereply/turn"
)

// fail records a broken promise; the first one counts.
func (w *world) fail(check, format string, arguments ...any) {
	if w.broken == nil {
		_, file, line, _ := runtime.Caller(1)
		w.broken = &Violation{Check: check, Text: fmt.Sprintf(format, arguments...), site: fmt.Sprintf("%s:%d", filepath.Base(file), line)}
	}
}

// judge checks a committed write against the state before it.
func (w *world) judge(q request, x write, before *storage) {
	was, is := before.record, w.store.record
	if holder(q) && was.Lease.Nonce != q.nonce {
		w.fail("P5 fenced", "%v under %s changed the record, and the lease was %q", q.kind, q.nonce, was.Lease.Nonce)
	}
	if took(q, was, is) {
		w.judgeTaken(x, before)
		if is.Lease.Token <= w.ledger.tokens {
			w.fail("P5 token", "a lease was given the token %d, and %d was given out before", is.Lease.Token, w.ledger.tokens)
		}
	}
	if attemptBegan(q, was, is) {
		w.judgeBegan(x, before)
	}
	if x.effects.AppendReply != 0 && q.kind == generated {
		w.judgeCommitted(q, before)
	}
	if x.effects.Outcome == turn.Discarded && w.ledger.discards >= w.scope.Policy.MaxDiscards {
		w.fail("P3 bound", "discarded %d times, and at most %d are allowed", w.ledger.discards+1, w.scope.Policy.MaxDiscards)
	}
	if x.effects.Outcome == turn.Discarded && w.ledger.sealed {
		w.fail("P2 seal", "an attempt was discarded after its agent was told that it can't be")
	}
	w.judgeSends(x)
}

// holder reports whether the request is a word from a lease's holder.
func holder(q request) bool { return q.kind >= renew }

// judgeTaken checks that a lease is taken over only when it has ended, and
// that its holder knows.
func (w *world) judgeTaken(x write, before *storage) {
	old := before.record.Lease
	if old.Nonce == "" {
		return
	}
	if x.real < old.Expires && !w.scope.Alone {
		w.fail("P5 lease", "the lease %s was taken over before its end", old.Nonce)
	}
	for _, worker := range w.workers {
		for _, j := range worker.jobs {
			if !worker.frozen && j.nonce == old.Nonce && w.now < j.expires {
				w.fail("P5 single flight", "the holder of %s still works", old.Nonce)
			}
		}
	}
}

// judgeBegan checks that nothing starts early, or while a human has the
// conversation.
func (w *world) judgeBegan(x write, before *storage) {
	l, p := &w.ledger, w.scope.Policy
	due := max(min(l.quietUntil, l.earliest.Add(p.MaxWait)), l.notBefore)
	if before.record.Phase == turn.Collecting && x.real < due {
		w.fail("P2 due", "an attempt began %v before its window ended", due.Sub(x.real))
	}
	if before.record.OnHold {
		w.fail("P2 pause", "an attempt began while a human has the conversation")
	}
	if l.crowded(w, x.at) {
		w.fail("P2 ceiling", "an attempt began, and %d had begun in that minute", l.minuteRuns)
	}
}

// judgeCommitted checks a reply of the responder at its commit: it covers what
// its prompt held, and all that waits, unless it is late and may be.
func (w *world) judgeCommitted(q request, before *storage) {
	l, is := &w.ledger, w.store.record
	waiting := before.waiting()
	late := is.Reply == nil && q.covers != waiting || is.Reply != nil && is.Reply.Late
	missing := l.answering &^ q.covers &^ l.removed
	switch {
	case q.covers&^l.answering != 0 || missing != 0:
		w.fail("P1 covers", "the reply covers %v, and its attempt was to answer %v", q.covers, l.answering)
	case late && !w.mayBeLate():
		w.fail("P2 late", "a reply that covers %v was committed while %v waited, before the bound", q.covers, waiting)
	case !late && q.covers != waiting:
		w.fail("P2 current", "a reply that covers %v was committed while %v waited", q.covers, waiting)
	}
	if before.record.OnHold && !l.sealed {
		w.fail("P2 pause", "a reply was committed while a human has the conversation")
	}
}

func (w *world) mayBeLate() bool {
	p := w.scope.Policy
	return p.OnNewInput == turn.Finish || w.ledger.sealed || w.ledger.discards >= p.MaxDiscards
}

// judgeSends checks that nothing of the responder goes out under a pause.
func (w *world) judgeSends(x write) {
	r := w.store.record
	for _, action := range x.effects.Actions {
		if _, ok := action.(turn.Send); ok && r.OnHold && r.Reply != nil && r.Reply.Kind != turn.ReplyHuman {
			w.fail("P7 pause", "a send was asked for while a human has the conversation")
		}
	}
}

// judgeSettled checks that an input is settled by what really settles it.
func (w *world) judgeSettled(q request, m message, by *reply) {
	switch m.status {
	case turn.InputAnswered:
		if by == nil || !by.covers.has(m.version) {
			w.fail("P3 answered", "m%d was settled as answered by a reply that never saw its text %d", m.id, m.version)
		}
	case turn.InputClosed:
		silent := by != nil && by.parts == 0 && by.covers.has(m.version)
		if !w.ledger.closed && !silent {
			w.fail("P3 closed", "m%d was closed, and nobody asked for it", m.id)
		}
	case turn.InputFailed:
		if q.kind != wake && q.kind != claim {
			w.fail("P3 aside", "m%d was set aside, and no worker was lost over it", m.id)
		}
	}
}

// judgeMarked checks what the transcript says of a reply against what the
// person saw.
func (w *world) judgeMarked(r reply) {
	seen := 0
	for part := range r.parts {
		if r.delivered[part] > 0 {
			seen++
		}
	}
	switch r.status {
	case turn.ReplySent:
		if seen < r.parts {
			w.fail("P7 sent", "reply %d was marked as sent after %d of %d parts", r.seq, seen, r.parts)
		}
	case turn.ReplyWithdrawn, turn.ReplyFailed:
		if seen > 0 || r.doubtful {
			w.fail("P7 withdrawn", "reply %d was marked as %s, and the person may have seen it", r.seq, r.status)
		}
	}
}

// judgeDelivered checks a part that reaches the person, and remembers it.
func (w *world) judgeDelivered(j job, r *reply) {
	live := w.store.record.Lease.Nonce
	if live != j.nonce && !j.begun {
		w.fail("P5 fenced send", "reply %d was sent under %s, and the lease was %q", r.seq, j.nonce, live)
	}
	for part := range j.part {
		if r.delivered[part] == 0 {
			w.fail("P7 order", "part %d of reply %d was sent before part %d", j.part+1, r.seq, part+1)
		}
	}
	if r.delivered[j.part] > 0 && !j.begun && !(r.doubtful && w.scope.Policy.ResendUnknown) {
		w.fail("P7 once", "part %d of reply %d was sent twice, and its first outcome was known", j.part+1, r.seq)
	}
	if j.part == 0 && r.delivered[0] == 0 {
		if again := r.covers & w.ledger.delivered; again != 0 {
			w.fail("P1 one reply", "reply %d answers %v, which a reply that was sent answers already", r.seq, again)
		}
		w.ledger.delivered |= r.covers
	}
	r.delivered[j.part] = min(r.delivered[j.part]+1, 2)
}

// check judges the state as such.
func (w *world) check() {
	s := &w.store
	if err := turn.Check(s.record); err != nil {
		w.fail("turn.Check", "%v", err)
	}
	w.checkTimer()
	w.checkLog()
	w.checkWaiting()
	w.checkWindow()
	w.checkReplies()
	w.checkFlights()
}

// checkTimer is P6: a timer if and only if there is a wake-up, and no later
// than that, unless somebody claimed it.
func (w *world) checkTimer() {
	at, wakes := w.store.record.Wake()
	switch {
	case wakes != (w.store.timer != 0):
		w.fail("P6 timer", "the record wakes: %v, and its timer is set: %v", wakes, w.store.timer != 0)
	case wakes && !w.store.claimed && w.store.timer != at:
		w.fail("P6 timer", "the timer is %v off the record's wake-up", w.store.timer.Sub(at))
	}
}

// checkLog is P4: what was acknowledged is there, and the version counts what
// was accepted and nothing else.
func (w *world) checkLog() {
	for id := uint8(1); id <= w.ledger.messages; id++ {
		if w.ledger.acknowledged&(1<<id) != 0 && w.store.message(id) == nil {
			w.fail("P4 lost", "m%d was acknowledged and is not in the log", id)
		}
	}
	if w.store.record.Version != w.ledger.accepted {
		w.fail("P4 version", "%d inputs were accepted, and the version is %d", w.ledger.accepted, w.store.record.Version)
	}
}

// checkWaiting is P3 for the counters: what waits in the log is what the
// record counts, and lies where a prompt will find it.
func (w *world) checkWaiting() {
	r, count := w.store.record, 0
	for _, m := range w.store.messages {
		switch {
		case m.status != turn.InputPending:
		case m.version > r.Answered:
			count++
			if m.seq <= r.AfterSeq {
				w.fail("P3 stranded", "m%d waits before the mark that prompts are read from", m.id)
			}
		case r.Reply == nil || m.version > r.Reply.Through:
			w.fail("P3 stranded", "m%d waits, and the record takes it for settled", m.id)
		}
	}
	if count != r.Pending {
		w.fail("P3 counted", "%d messages wait, and the record counts %d", count, r.Pending)
	}
}

// checkWindow is the hard cap.
func (w *world) checkWindow() {
	r, p, l := w.store.record, w.scope.Policy, &w.ledger
	if r.Phase != turn.Collecting || r.OnHold {
		return
	}
	most := p.MaxWait
	if w.scope.Media {
		most = max(most, p.MediaWait)
	}
	if latest := max(l.windowFrom.Add(most), l.notAfter); r.Due > latest {
		w.fail("P3 hard cap", "the window ends %v after the latest moment", r.Due.Sub(latest))
	}
}

// checkReplies is P7: a committed reply that is not settled is on its way.
func (w *world) checkReplies() {
	for _, e := range w.store.replies {
		if e.status == turn.ReplyCommitted && !onItsWay(w.store.record, e.seq) {
			w.fail("P7 forgotten", "reply %d was committed, and nobody will send it", e.seq)
		}
	}
}

func onItsWay(r turn.Record, seq int64) bool {
	for _, queued := range r.Queue {
		if queued.Seq == seq {
			return true
		}
	}
	return r.Reply != nil && r.Reply.Seq == seq
}

// checkFlights is P5: one attempt at most runs under the live lease.
func (w *world) checkFlights() {
	running := 0
	for _, worker := range w.workers {
		for _, j := range worker.jobs {
			if !j.send && j.nonce == w.store.record.Lease.Nonce {
				running++
			}
		}
	}
	if running > 1 {
		w.fail("P5 single flight", "%d attempts run under one lease", running)
	}
}

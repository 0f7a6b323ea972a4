package explore

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

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
		w.judgeCommitted(q, x, before)
	}
	w.judgeSigns(x, before)
	if x.effects.AppendReply != 0 && is.Reply != nil && is.Reply.Seq == x.effects.AppendReply && standsIn(is.Reply.Kind) && w.ledger.stoodIn {
		w.fail("P3 notice", "a text stands in for a reply once more, and no turn has succeeded since the last one")
	}
	if w.ledger.calls+callsOf(q, x, was, w.ledger.runsEarly(x, was)) > mostCalls {
		w.fail("P3 calls", "a turn called the model more than %d times over a refused prompt", mostCalls)
	}
	if x.effects.Outcome == turn.Discarded && w.ledger.discards >= w.scope.Policy.MaxDiscards {
		w.fail("P3 bound", "discarded %d times, and at most %d are allowed", w.ledger.discards+1, w.scope.Policy.MaxDiscards)
	}
	if x.effects.Outcome == turn.Discarded && w.ledger.sealed {
		w.fail("P2 seal", "an attempt was discarded after its agent was told that it can't be")
	}
	if q.kind == mention {
		w.judgeContext(x, was)
	}
	if q.settled {
		w.judgeSettledChange(x, was)
	}
	if q.kind == notification {
		w.judgeNotification(x, before)
	}
	if q.kind == sent {
		w.judgeSentID(q, was)
	}
	w.judgeFailed(q, x, was)
	w.judgeSends(q, x, was)
	w.judgeClosing(q)
	w.judgeEarly(q, x)
	w.judgeTurns(q, x, was)
	if is.Turn < was.Turn {
		w.fail("P7 turn", "turn %d follows turn %d: its reply would have an id that was given out before", is.Turn, was.Turn)
	}
}

// judgeClosing checks that what closes messages leaves none waiting, but what a reply on its
// way answers: a stop word none of its sender.
func (w *world) judgeClosing(q request) {
	if q.kind != reset && q.kind != resetWord && !q.answersByHand() && !q.stops() {
		return
	}
	r := w.store.record
	for _, m := range w.store.messages {
		others := q.stops() && m.sender != w.store.message(q.message).sender
		underWay := r.Reply != nil && m.version <= r.Reply.Through
		if m.status == turn.InputPending && !others && !underWay {
			w.fail("P3 settled", "m%d still waits after %v", m.id, q.kind)
		}
	}
}

// judgeSentID checks that a part is known by the id that the channel gave it.
func (w *world) judgeSentID(q request, was turn.Record) {
	want := turn.SentPart{ID: q.sentID(), Turn: was.Reply.Turn}
	if was.Reply.Parts > 1 {
		want.Part = q.part + 1
	}
	if got, _ := w.store.record.SentAs(want.ID); got != want {
		w.fail("P7 named", "the channel calls a part %q, which is %+v, and it is taken for %+v", want.ID, want, got)
	}
}

// judgeContext checks that context is kept and changes nothing: nothing but the sequence.
func (w *world) judgeContext(x write, was turn.Record) {
	is := w.store.record
	was.Seq, was.Schema = is.Seq, is.Schema
	if was.Phase == "" {
		was.Phase = turn.Idle
	}
	if !reflect.DeepEqual(was, is) || len(x.effects.Actions)+len(x.effects.Settles) > 0 {
		w.fail("P2 context", "a message that is context changed the record from %+v to %+v", was, is)
	}
}

// judgeSettledChange checks that a change of a settled message changes nothing that is to be
// answered: no field of the record.
func (w *world) judgeSettledChange(x write, was turn.Record) {
	if !reflect.DeepEqual(was, w.store.record) || len(x.effects.Actions)+len(x.effects.Settles) > 0 {
		w.fail("P2 settled", "a change of a settled message changed the record from %+v to %+v", was, w.store.record)
	}
}

// judgeNotification checks that a reply which closes nothing leaves all else as it is: what
// waits, the turn, and the work under way.
func (w *world) judgeNotification(x write, before *storage) {
	was, is := before.record, w.store.record
	same := is.Turn == was.Turn && is.Lease == was.Lease && is.Answered == was.Answered && w.store.waiting() == before.waiting()
	if was.Phase == turn.Generating || was.Phase == turn.Sending {
		same = same && reflect.DeepEqual(was.Reply, is.Reply) && is.Attempt == was.Attempt
	}
	if !same || len(x.effects.Actions) > 0 {
		w.fail("P2 beside", "a reply that closes nothing changed the record from %+v to %+v", was, is)
	}
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

// judgeBegan checks that nothing starts before it is due, unless it is an early attempt
// that may, and nothing while a human has the conversation.
func (w *world) judgeBegan(x write, before *storage) {
	l, most := &w.ledger, w.scope.Policy.EarlyAttempts
	mayBeEarly := most > 0 && x.real >= l.notBefore && l.announced == 0
	switch early := x.real < l.due; {
	case early && !mayBeEarly && before.record.Phase == turn.Collecting:
		w.fail("P2 due", "an attempt began %v before its window ended", l.due.Sub(x.real))
	case early && l.early >= most:
		w.fail("P3 early", "an attempt was started early, and %d of this turn had been before", l.early)
	}
	if before.record.OnHold && w.store.record.OnHold {
		w.fail("P2 pause", "an attempt began while a human has the conversation")
	}
	if l.crowded(w, x.at) {
		w.fail("P2 ceiling", "an attempt began, and %d had begun in that minute", l.minuteRuns)
	}
}

// mostCalls is how often a turn may call the model over a refused prompt, but for the
// call that is answered.
const mostCalls = 8

// callsOf is 1 where the write ends a call that was refused, or only a probe. A refusal of
// an early attempt begins no search.
func callsOf(q request, x write, was turn.Record, early bool) int {
	probe := q.kind == generated && x.effects.Outcome == turn.Done && was.Phase == turn.Generating
	if q.kind == modelRefused && !early || probe {
		return 1
	}
	return 0
}

// standsIn reports whether a reply of this kind stands in for one.
func standsIn(kind string) bool { return kind == turn.ReplyFallback || kind == turn.ReplyRefusal }

// judgeCommitted checks a reply of the responder at its commit: it covers what
// its prompt held, and all that waits, unless it is late and may be.
func (w *world) judgeCommitted(q request, x write, before *storage) {
	l, is := &w.ledger, w.store.record
	if l.runsEarly(x, before.record) && !l.sealed {
		w.fail("P2 due", "a reply was committed %v before its window ended", l.due.Sub(x.real))
	}
	w.judgePart(q)
	waiting := before.waiting()
	late := is.Reply == nil && q.covers != waiting || is.Reply != nil && is.Reply.Late
	missing := l.answering &^ q.covers &^ l.removed
	switch {
	case q.covers&^l.answering != 0 || missing != 0:
		w.fail("P1 covers", "the reply covers %v, and its attempt was to answer %v", q.covers, l.answering)
	case is.Reply != nil && is.Reply.Late && l.accepted == l.began && q.covers == waiting:
		w.fail("P2 late", "a reply is said to be late, and nothing was accepted after its attempt began")
	case late && !w.mayBeLate():
		w.fail("P2 late", "a reply that covers %v was committed while %v waited, before the bound", q.covers, waiting)
	case !late && q.covers != waiting:
		w.fail("P2 current", "a reply that covers %v was committed while %v waited", q.covers, waiting)
	}
	if before.record.OnHold && !l.sealed {
		w.fail("P2 pause", "a reply was committed while a human has the conversation")
	}
}

// judgePart checks a reply to a part of what waited, where the bytes of a prompt are
// bounded: it is the first messages, and no more of them would have fitted.
func (w *world) judgePart(q request) {
	rest := w.ledger.waited &^ q.covers
	if w.scope.Policy.PromptBytes == 0 || rest == 0 {
		return
	}
	next := input(rest.versions()[0])
	if q.covers > next || !w.tooLarge(q.covers|next) {
		w.fail("P2 part", "the reply covers %v of %v", q.covers, w.ledger.waited)
	}
}

func (w *world) mayBeLate() bool {
	p := w.scope.Policy
	tooMuch := w.scope.Room > 0 && w.ledger.calls > 0 || p.PromptBytes > 0 // what does not fit is the next turn's: see judgePart
	return tooMuch || p.OnNewInput == turn.Finish || w.ledger.sealed || w.ledger.discards >= p.MaxDiscards
}

// judgeSends checks that nothing of the responder goes out under a pause, no part before
// the pause between parts is over, and nothing at all before the end of a pause that the
// receiver asked for.
func (w *world) judgeSends(q request, x write, was turn.Record) {
	r, due := w.store.record, w.ledger.pacedUntil
	if q.kind == sent {
		due = pacedUntil(q, x, was)
	}
	for _, action := range x.effects.Actions {
		if a, ok := action.(turn.Send); ok && a.Reply.Done > 0 && x.at < due {
			w.fail("P7 pace", "a part was begun %v before the pause after the one before it was over", due.Sub(x.at))
		}
		if _, ok := action.(turn.Send); ok && r.OnHold && r.Reply != nil && !r.Reply.DespitePause() {
			w.fail("P7 pause", "a send was asked for while a human has the conversation")
		}
		if _, ok := action.(turn.Send); ok && x.at < max(w.ledger.noSendUntil, x.told) {
			w.fail("P7 receiver", "a send was asked for %v before the end of a pause that the receiver asked for", max(w.ledger.noSendUntil, x.told).Sub(x.at))
		}
		if a, ok := action.(turn.Send); ok && x.effects.Changed {
			if e := w.store.reply(a.Reply.Seq); e.last != 0 && a.Reply.Done >= int(e.last) {
				w.fail("P7 cut", "part %d of reply %d is to be sent, and a person had said something during part %d", a.Reply.Done+1, e.seq, e.last)
			}
		}
	}
}

// judgeSigns checks that people are told that it takes longer once of what waits, in time,
// and not while a human has the conversation.
func (w *world) judgeSigns(x write, before *storage) {
	l := &w.ledger
	for _, action := range x.effects.Actions {
		show, ok := action.(turn.Show)
		if !ok {
			continue
		}
		waiting, told, due := before.waiting(), l.signs.delay|l.signs.outage, before.oldest(0, true).Add(w.scope.Policy.DelayAfter)
		if show.Sign == turn.SignOutage {
			told, due = l.signs.outage, l.signs.outageSince.Add(w.scope.Policy.OutageAfter)
		}
		early := x.at < due && !l.signs.excused // an edited message waits for longer than its text
		if waiting == 0 || waiting&told != 0 || early || before.record.OnHold || x.at < max(l.noSendUntil, x.told) {
			w.fail("P3 sign", "people were told of a %s %v early; %v wait, they were told of %v before, on hold: %v", show.Sign, due.Sub(x.at), waiting, told, before.record.OnHold)
		}
	}
}

// judgeUntold checks that somebody who looks, or renews the lease, tells people what is
// due. After edits, failures and pauses it may be left out.
func (w *world) judgeUntold(q request, x write) {
	s, l, p := &w.store, &w.ledger, w.scope.Policy
	looks := q.kind == wake || q.kind == claim || q.kind == glance
	if !(looks && s.record.Phase == turn.Collecting || q.kind == renew && s.record.Phase == turn.Generating && s.record.Lease.Nonce == q.nonce) {
		return
	}
	if s.waiting() == 0 || s.record.OnHold || l.signs.excused || x.at < max(l.noSendUntil, x.told) {
		return
	}
	outage := p.OutageAfter > 0 && l.signs.outage == 0 && l.signs.outageSince != 0 && x.at >= l.signs.outageSince.Add(p.OutageAfter)
	delay := p.DelayAfter > 0 && l.signs.delay|l.signs.outage == 0 && x.at >= s.oldest(0, false).Add(p.DelayAfter)
	if (outage || delay) && !slices.ContainsFunc(x.effects.Actions, func(a turn.Action) bool { _, ok := a.(turn.Show); return ok }) {
		w.fail("P3 sign", "people are not told that it takes longer; %v wait, outage: %v", s.waiting(), outage)
	}
}

// judgeSettled checks that an input is settled by what really settles it.
func (w *world) judgeSettled(q request, m message, by *reply) {
	switch m.status {
	case turn.InputAnswered:
		if by == nil || !by.covers.has(m.version) || by.parts == 0 {
			w.fail("P3 answered", "m%d was settled as answered by a reply that never saw its text %d, or that is none", m.id, m.version)
		}
	case turn.InputClosed:
		silent := by != nil && by.parts == 0 && by.covers.has(m.version)
		if r := w.store.record.Reply; r != nil && w.store.reply(r.Seq).covers.has(m.version) {
			w.fail("P1 covers", "m%d was closed, and reply %d, which covers it, is on its way", m.id, r.Seq)
		}
		stopped := m.version <= w.ledger.stopped[m.sender] || q.stops() && m.sender == w.store.message(q.message).sender
		if !w.ledger.closed && !silent && !stopped {
			w.fail("P3 closed", "m%d was closed, and nobody asked for it", m.id)
		}
	case turn.InputFailed:
		if q.kind == modelRefused {
			if m.id != refusedMessage || m.version != m.first {
				w.fail("P3 aside", "m%d was set aside, and the model takes it", m.id)
			}
			return
		}
		if most := w.scope.Policy.MaxAttempts; q.kind != wake && q.kind != claim || w.ledger.lost+1 < most {
			w.fail("P3 aside", "m%d was set aside, and fewer than %d workers were lost over it", m.id, most)
		}
	}
}

// judgeFailed checks that a turn is given up only with a cause.
func (w *world) judgeFailed(q request, x write, was turn.Record) {
	l, p, is := &w.ledger, w.scope.Policy, w.store.record
	failed := is.Phase == turn.Failed && was.Phase != turn.Failed
	if !failed && (x.effects.AppendReply == 0 || is.Reply == nil || !standsIn(is.Reply.Kind)) {
		return
	}
	if !l.failed && !w.mayFail(q, x, was) { // what went on in a turn that was given up has ended
		w.fail("P3 cause", "a turn was given up after %v, with %d of %d attempts spent", q.kind, l.spent+spends(q, l.runsEarly(x, was)), p.MaxAttempts)
	}
}

// mayFail reports whether the write may give its turn up.
func (w *world) mayFail(q request, x write, was turn.Record) bool {
	early := w.ledger.runsEarly(x, was)
	switch q.kind {
	case modelRejected, sendRefused:
		return !early
	case modelRefused: // over what was set aside, where nothing else waits
		return !early && w.store.waiting() == 0
	case modelFailed:
		return w.ledger.spent+spends(q, early) >= w.scope.Policy.MaxAttempts
	case wake, claim:
		return w.ledger.lost+loses(q, was) >= w.scope.Policy.MaxAttempts
	case sendFailed:
		return w.overlong(x, w.store.reply(was.Reply.Seq))
	}
	return false
}

// overlong reports whether a reply was tried for as long as it may be.
func (w *world) overlong(x write, r *reply) bool { return x.at.Sub(r.since) >= w.scope.Policy.RetryFor }

// judgeGivenUp checks that a reply is given up only with a cause: it was refused
// for good, tried for as long as it may be, left to an operator, or a human has
// the conversation.
func (w *world) judgeGivenUp(q request, x write, was turn.Record, r reply) {
	if r.status != turn.ReplyFailed && r.status != turn.ReplyPartial && r.status != turn.ReplyUnknown {
		return
	}
	p := w.scope.Policy
	byHuman := was.OnHold || q.kind == pause || q.kind == optOut || q.answersByHand() || q.kind == reset || q.stops() || r.last != 0
	unknown := q.kind == sendUnknown && !p.ResendUnknown
	lost := (q.kind == wake || q.kind == claim) && (!p.ResendUnknown || int(r.lost)+1 >= p.MaxAttempts)
	long := (q.kind == sendFailed || q.kind == sendUnknown) && w.overlong(x, &r)
	if !byHuman && !unknown && !lost && !long && q.kind != sendRefused {
		w.fail("P3 cause", "reply %d was given up as %s after %v", r.seq, r.status, q.kind)
	}
}

// judgeMarked checks what the transcript says of a reply against what the
// person saw. A part of which the channel has said that it never arrived counts as not
// seen: nobody knows better.
func (w *world) judgeMarked(r reply) {
	missing := r.refuted
	for part := range r.parts {
		if r.delivered[part] == 0 {
			missing |= 1 << part
		}
	}
	switch r.status {
	case turn.ReplySent:
		if missing != 0 {
			w.fail("P7 sent", "reply %d was marked as sent, and of its %d parts these have not arrived: %b", r.seq, r.parts, missing)
		}
	case turn.ReplyWithdrawn, turn.ReplyFailed: // parts go out in order
		if seen := r.delivered[0] > 0 || r.doubtful&1 != 0; seen && r.refuted&1 == 0 {
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
	unsure := r.doubtful&(1<<j.part) != 0 && (w.scope.Policy.ResendUnknown || r.asked)
	if r.delivered[j.part] > 0 && !j.begun && !unsure {
		w.fail("P7 once", "part %d of reply %d was sent twice, and its first outcome was known", j.part+1, r.seq)
	}
	if j.part == 0 && r.delivered[0] == 0 {
		if again := r.covers & w.ledger.delivered; again != 0 {
			w.fail("P1 one reply", "reply %d answers %v, which a reply that was sent answers already", r.seq, again)
		}
		w.ledger.delivered |= r.covers
		w.judgeBots(r)
	}
	r.delivered[j.part] = min(r.delivered[j.part]+1, 2)
}

// judgeBots checks that other bots get no more replies than they may, until a person
// writes.
func (w *world) judgeBots(r *reply) {
	l, most := &w.ledger, w.scope.Policy.MaxBotTurns
	if r.people != l.byPeople {
		return
	}
	if l.botReplies++; l.botReplies > most {
		w.fail("P3 bots", "other bots got %d replies since a person wrote, and at most %d are allowed", l.botReplies, most)
	}
}

// check judges the state as such.
func (w *world) check() {
	s := &w.store
	if err := turn.Check(s.record); err != nil {
		w.fail("turn.Check", "%v", err)
	}
	w.checkLog()
	w.checkTalk()
	w.checkWaiting()
	w.checkAside()
	w.checkWindow()
	w.checkReplies()
	w.checkReports()
	w.checkFlights()
	w.checkTimer()
	w.checkBytes()
	w.breaks(w.untold)
}

// checkTimer is P6: a timer if and only if there is work, and it is at the
// moment at which somebody must look, unless a claim moved it. Neither is taken
// from [turn.Record.Wake], which set it.
func (w *world) checkTimer() {
	s, l := &w.store, &w.ledger
	if works := s.works() || l.endsByItself(); works != (s.timer != 0) {
		w.fail("P6 timer", "there is work: %v, and the timer is set: %v", works, s.timer != 0)
	}
	if s.timer == 0 || s.claimed {
		return
	}
	r := s.record
	switch {
	case l.endsByItself() && s.timer == l.heldUntil:
	case r.Lease.Nonce != "":
		if s.timer != l.leaseEnd {
			w.fail("P6 timer", "the timer is %v off the end of the lease", s.timer.Sub(l.leaseEnd))
		}
	case r.Reply != nil:
		if s.timer > max(l.retryAt, l.noSendUntil, l.told) {
			w.fail("P6 timer", "the timer is %v after the next send", s.timer.Sub(l.retryAt))
		}
	case s.timer > nextLook(r.Window), s.timer != nextLook(r.Window) && w.scope.Policy.EarlyAttempts == 0: // which is judged where it is used
		w.fail("P6 timer", "the timer is %v off the end of the window", s.timer.Sub(r.Window.Due))
	}
}

// nextLook is when somebody must look at an open window: at its end, or for a sign of life.
func nextLook(window turn.Window) turn.Time {
	if window.SignAt != 0 && window.SignAt < window.Due {
		return window.SignAt
	}
	return window.Due
}

// works reports whether something is to be done without anybody's help, as the
// transcript tells it. A notification cuts no reply, so it waits behind one that a pause
// keeps for the resume.
func (s *storage) works() bool {
	r := s.record
	if r.Lease.Nonce != "" || s.waiting() != 0 && !r.OnHold && r.Phase != turn.Failed {
		return true
	}
	committed, notified, kept := false, false, false
	for _, e := range s.replies {
		switch {
		case e.status != turn.ReplyCommitted:
		case !r.OnHold || e.kind == turn.ReplyHuman || e.asked:
			committed = true
		case e.kind == turn.ReplyBeside:
			notified = true
		default:
			kept = true
		}
	}
	return committed || notified && !kept
}

// checkLog is P4: each acknowledged message is in the transcript, and the version
// counts exactly the accepted inputs.
func (w *world) checkLog() {
	for id := uint8(1); id <= w.ledger.messages; id++ {
		if w.ledger.acknowledged&(1<<id) != 0 && w.store.message(id) == nil {
			w.fail("P4 lost", "m%d was acknowledged and is not in the log", id)
		}
		if w.store.copies(id) > 1 {
			w.fail("P4 twice", "m%d is in the log twice", id)
		}
	}
	if w.store.record.Version != w.ledger.accepted {
		w.fail("P4 version", "%d inputs were accepted, and the version is %d", w.ledger.accepted, w.store.record.Version)
	}
}

// checkTalk is P2 for the history: what a prompt may tell of before is what was said in
// this talk, all of it and nothing else.
func (w *world) checkTalk() {
	fresh := w.store.record.FreshAfter
	told := func(seq int64, talk uint8) {
		if (seq > fresh) != (talk == w.ledger.talk) {
			w.fail("P2 fresh", "entry %d is of talk %d of %d, and history begins after %d", seq, talk, w.ledger.talk, fresh)
		}
	}
	for _, m := range w.store.messages {
		told(m.seq, m.talk)
	}
	for _, r := range w.store.replies {
		told(r.seq, r.talk)
	}
}

// checkWaiting is P3 for the counters: the record counts the messages that wait in
// the transcript, and they lie where a prompt will find them.
func (w *world) checkWaiting() {
	r, count := w.store.record, 0
	for _, m := range w.store.messages {
		switch {
		case m.status != turn.InputPending:
		case m.version <= r.Answered:
			w.fail("P3 stranded", "m%d waits, and the record takes it for settled", m.id)
		case m.seq <= r.AfterSeq:
			w.fail("P3 stranded", "m%d waits before the mark that prompts are read from", m.id)
		default:
			count++
		}
	}
	if count != r.Pending {
		w.fail("P3 counted", "%d messages wait, and the record counts %d", count, r.Pending)
	}
}

// heldBytes are the bytes of a conversation that a budget bounds: of what waits, of that part
// of it which the work under way has not seen, and of what was set aside.
type heldBytes struct{ waiting, newer, aside int }

// checkBytes is P4 for the budget: the record counts the bytes in the transcript, and no
// more are held than may be.
func (w *world) checkBytes() {
	r := w.store.record
	counted := heldBytes{waiting: r.PendingBytes, newer: r.Attempt.NewerBytes}
	if r.SetAside != nil {
		counted.aside = r.SetAside.Bytes
	}
	working := r.Phase == turn.Generating || r.Phase == turn.Sending
	var there heldBytes
	for _, m := range w.store.messages {
		switch {
		case m.status == turn.InputFailed:
			there.aside += m.bytes
		case m.status == turn.InputPending && m.version > r.Answered:
			there.waiting += m.bytes
			if working && m.version > r.Attempt.Through {
				there.newer += m.bytes
			}
		}
	}
	if there != counted {
		w.fail("P4 bytes", "the transcript has these bytes: %+v, and the record counts %+v", there, counted)
	}
	if most := w.scope.Policy.WaitingBytes; most > 0 && there.waiting+there.aside > most {
		w.fail("P4 bytes", "%d bytes wait or are set aside, and %d may", there.waiting+there.aside, most)
	}
}

// checkAside is P3 for messages that were set aside: the record knows of each of
// them, so that people see them and a requeue brings them back, until a human has
// closed them.
func (w *world) checkAside() {
	count, known := 0, 0
	for _, m := range w.store.messages {
		if m.status == turn.InputFailed {
			count++
		}
	}
	if a := w.store.record.SetAside; a != nil {
		known = a.Pending
	}
	if count != known {
		w.fail("P3 aside", "%d messages are set aside, and the record knows of %d", count, known)
	}
}

// checkWindow is the hard cap.
func (w *world) checkWindow() {
	r, p, l := w.store.record, w.scope.Policy, &w.ledger
	if r.Phase != turn.Collecting || r.OnHold {
		return
	}
	latest := max(l.latest.hardCap(p), l.latest.began(), l.notAfter)
	if w.scope.Media {
		latest = max(latest, l.latest.began().Add(p.MediaWait))
	}
	if r.Window.Due > latest {
		w.fail("P3 hard cap", "the window ends %v after the latest moment", r.Window.Due.Sub(latest))
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

// checkReports is P7 for what channels say afterwards: of a reply that failed somebody is
// told, and one that has arrived counts as sent, in whatever order the reports came.
func (w *world) checkReports() {
	for _, e := range w.store.replies {
		if e.status == turn.ReplyCommitted || e.parts == 0 {
			continue
		}
		failed, arrived := false, true
		for _, receipt := range e.reported[:e.parts] {
			failed = failed || receipt == turn.ReceiptFailed
			arrived = arrived && receipt == turn.ReceiptDelivered
		}
		told := unconfirmed(w.store.record, e.seq)
		switch {
		case failed && e.status != turn.ReplyPartial && (e.status != turn.ReplyFailed || !told):
			w.fail("P7 report", "the channel said that reply %d failed, and it is %s; somebody is told: %v", e.seq, e.status, told)
		case arrived && (told || e.status != turn.ReplySent):
			w.fail("P7 report", "the channel said that reply %d has arrived, and it is %s; somebody is told: %v", e.seq, e.status, told)
		}
	}
}

func unconfirmed(r turn.Record, seq int64) bool {
	for _, t := range r.Unconfirmed {
		if t.Seq == seq {
			return true
		}
	}
	return false
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

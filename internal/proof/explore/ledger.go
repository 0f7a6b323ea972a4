package explore

import (
	"slices"
	"time"

	"github.com/onereply/onereply/turn"
)

// ledger is the memory of an onlooker, by which the checks judge. It is kept from
// visible facts (messages and their times, acknowledgements, deliveries), and never
// from the counters of the record.
type ledger struct {
	messages     uint8     // ids given out by people
	changes      uint8     // edits and deletions asked for
	humans       uint8     // replies asked for by a person
	mentions     uint16    // by message id: it is context
	otherBots    uint16    // by message id: another bot wrote it
	acknowledged uint16    // by message id: the sender was told that it is durable
	accepted     int64     // inputs written
	delivered    inputs    // inputs covered by a reply that reached the person
	answering    inputs    // what the live attempt is to answer
	waited       inputs    // what waited when it began
	calls        int       // of this turn that were refused, or only probes
	signs        given     // what people were told while they wait
	stoodIn      bool      // a person saw a text that stood in for a reply, and no turn has succeeded since
	removed      inputs    // inputs that their author deleted
	byBots       inputs    // inputs of other bots
	byPeople     int8      // how many inputs are not
	botReplies   int       // replies that other bots alone got since a person wrote
	sealed       bool      // the agent of the live attempt was told that it can't be discarded
	closed       bool      // a person closed what waited, or answered it
	heldUntil    turn.Time // the end of the pause of people, 0: there is none, forever: nobody knows
	optedOut     bool      // the person has opted out
	stopped      [2]int64  // by sender: the version of the last stop word
	discards     int       // attempts of this turn thrown away because of newer input

	latest   wait // since when the turn waits, at the latest
	earliest wait // at the earliest: inputs that were deleted again count too

	due   turn.Time // when the window ends, at the earliest
	ahead bool      // the live attempt began before that
	early int       // attempts of this turn that did

	quietUntil turn.Time // the last input and its quiet time
	notBefore  turn.Time // the end of the shortest back-off
	notAfter   turn.Time // the end of the longest one, or of the rest after too many turns
	tries      int       // attempts of this turn
	mediaUntil turn.Time // the longest wait for an announced attachment
	announced  uint16    // by message id: its attachment is waited for
	leaseEnd   turn.Time // of the live lease
	retryAt    turn.Time // the latest moment of the next send, where no lease is held
	pacedUntil turn.Time // the end of the pause before the next part

	noSendUntil turn.Time // the end of the pauses that the receiver asked for
	told        turn.Time // the end of those for the whole bot, as far as a worker knew that wrote
	talk        uint8     // the number of the current talk: a reset, or a long silence, ends one
	saidAt      turn.Time // when somebody said something last

	began  int64 // inputs accepted before the live attempt
	spent  int   // attempts of this turn that were mistakes, or whose worker was lost
	lost   int   // those of them whose worker was lost
	failed bool  // this turn was given up

	openTurns   uint64                    // by number: the turns that began and were not told to have ended
	keptEdits   [maxMessages + 2]keptEdit // by message id: the edit that came before it
	takenBack   uint16                    // by message id: its deletion came before it
	tokens      int64                     // the greatest token ever given out
	minuteStart turn.Time                 // of the minute that the ceiling on turns counts in
	minuteRuns  int                       // attempts that began in it
}

// wait is what the hard cap counts from: the first waiting input of the turn, and
// the beginning of a later window, which follows a discard, a hand-back, a failure, a
// resume or a withdrawal. One that begins in the same instant is no later one.
type wait struct{ first, again turn.Time }

// hardCap is the latest end of the window.
func (t wait) hardCap(p turn.Policy) turn.Time {
	if t.again <= t.first {
		return t.first.Add(p.MaxWait)
	}
	return max(t.first.Add(p.MaxWait), t.again.Add(2*p.Debounce))
}

// began is when the window began.
func (t wait) began() turn.Time { return max(t.first, t.again) }

// note takes a committed write into the ledger.
func (l *ledger) note(w *world, q request, x write, before *storage) {
	was, is := before.record, w.store.record
	early := l.runsEarly(x, was)
	if accepts(q, x, before) {
		l.accepted++
		l.noteAuthor(q, is.Version, before)
	}
	if was.Turn != is.Turn {
		l.discards, l.notBefore, l.notAfter, l.tries, l.early, l.calls = 0, 0, 0, 0, 0, 0
		l.failed = false
	}
	if x.effects.Outcome == turn.Discarded {
		l.discards++
	}
	if q.early {
		l.noteEarly(q, x)
	} else if q.kind == remove && !q.settled {
		l.removed |= input(before.message(q.message).version) | input(before.message(q.message).was)
	}
	l.noteSigns(w, q, x, before)
	if was.Turn == is.Turn {
		l.calls += callsOf(q, x, was, early)
	}
	l.noteSpoken(w, q, before)
	l.noteHolds(w, q, x)
	l.tokens = max(l.tokens, is.Lease.Token)
	if took(q, was, is) || q.kind == renew {
		l.leaseEnd = x.at.Add(w.scope.Policy.Lease)
	}
	switch {
	case attemptBegan(q, was, is):
		l.answering, l.waited, l.sealed, l.announced = before.waiting(), before.waiting(), false, 0
		for _, action := range x.effects.Actions {
			if run, ok := action.(turn.Run); ok {
				l.answering = before.prompt(run.Through, run.Part)
			}
		}
		l.began = l.accepted
		l.tries++
		if l.ahead = x.real < l.due; l.ahead {
			l.early++
		}
		l.countMinute(w, x.at)
	case (q.kind == wake || q.kind == claim) && l.crowded(w, x.at):
		l.notAfter = x.at.Add(time.Minute)
	}
	if q.kind == seal {
		l.sealed = true
	}
	if accepts(q, x, before) && (q.kind == receive || q.kind == stopping) || q.kind == sent || q.kind == sentElsewhere || mayHaveArrived(was, x) {
		l.saidAt = x.at
	}
	l.noteQuiet(w, q, x, before, early)
	l.noteMedia(w, q, x)
	goesOn := was.Phase == turn.Collecting && was.OnHold && !is.OnHold && is.Phase == turn.Generating // a window that was held, and ends at once
	if is.Phase == turn.Collecting || interruptBegins(was, is) || goesOn {
		if !early || q.kind == pause {
			l.noteWindow(q, x, before, &w.store)
		}
	}
	if is.Phase == turn.Collecting || early {
		l.due = l.windowEnd(w.scope.Policy)
	}
	l.noteFailures(w, q, x, was, early)
	l.noteSends(w, q, x, was)
	w.noteReports(q, was)
}

// mayHaveArrived reports whether a write ends a reply of which the person has seen
// something, as far as anybody knows.
func mayHaveArrived(was turn.Record, x write) bool {
	return was.Reply != nil && slices.ContainsFunc(x.effects.Marks, func(m turn.Mark) bool {
		arrived := m.Status == turn.ReplySent || m.Status == turn.ReplyPartial || m.Status == turn.ReplyUnknown
		return m.Seq == was.Reply.Seq && (arrived || m.Status == turn.ReplyFailed && m.Reason == turn.ByChannel)
	})
}

// silent reports whether a message that comes now ends a long silence: nothing waits, and
// no reply is on its way.
func (l *ledger) silent(w *world, now turn.Time) bool {
	limit := w.scope.Policy.SessionIdle
	if limit == 0 || l.saidAt == 0 || now.Sub(l.saidAt) < limit || w.store.waiting() != 0 {
		return false
	}
	for _, r := range w.store.replies {
		if r.status == turn.ReplyCommitted {
			return false
		}
	}
	return true
}

// noteAuthor keeps who wrote an input. One of a person starts the count of what other
// bots got.
func (l *ledger) noteAuthor(q request, version int64, before *storage) {
	bot := q.bot
	if q.kind == edit || q.kind == remove {
		bot = before.message(q.message).bot
	}
	switch {
	case bot:
		l.byBots |= input(version)
	case q.kind != remove:
		l.byPeople++
		l.botReplies = 0
	}
}

// toBots is how many inputs people wrote so far, of a reply that answers other bots
// alone; -1 of one that does not.
func (l *ledger) toBots(covers inputs) int8 {
	if covers&^l.byBots != 0 {
		return -1
	}
	return l.byPeople
}

// interrupts reports whether a reply is sent between two works: beside the turns, or once
// more.
func interrupts(r turn.Record) bool {
	return sendsAgain(r) || r.Reply != nil && r.Reply.Kind == turn.ReplyBeside
}

// interruptBegins reports whether such a reply is taken up, also right after another one.
func interruptBegins(was, is turn.Record) bool {
	return interrupts(is) && (!interrupts(was) || was.Reply.Seq != is.Reply.Seq)
}

// sendsAgain reports whether a reply is sent because an operator asked for it.
func sendsAgain(r turn.Record) bool { return r.Reply != nil && r.Reply.Kind == turn.ReplyResend }

// given is what people were told while they wait, for as long as it holds.
type given struct {
	delay       inputs    // waiting ones of which they were told that the reply takes longer
	outage      inputs    // the same, of an outage
	outageSince turn.Time // the begin of the outage of the model, 0: there is none
	excused     bool      // what waits may be left out: it was edited, or comes back
}

func (l *ledger) noteSigns(w *world, q request, x write, before *storage) {
	for _, action := range x.effects.Actions {
		switch show, _ := action.(turn.Show); show.Sign {
		case turn.SignDelay:
			l.signs.delay |= before.waiting()
		case turn.SignOutage:
			l.signs.outage |= before.waiting()
		}
	}
	waiting := w.store.waiting()
	l.signs.delay &= waiting
	l.signs.outage &= waiting
	switch q.kind {
	case edit, remove, resume, requeue:
		l.signs.excused = true
	}
	switch {
	case waiting == 0:
		l.signs = given{}
	case w.store.record.Phase == turn.Failed || w.store.record.SetAside != nil:
		l.signs.excused = true
		l.signs.outageSince = 0
	case q.kind == modelOut && l.signs.outageSince == 0:
		l.signs.outageSince = x.at
	case q.kind == modelFailed, q.kind == modelRejected, q.kind == modelRefused, q.kind == generated, q.kind == pause:
		l.signs.outageSince = 0
	}
}

// noteStandIn keeps whether a person was told that there is no reply.
func (l *ledger) noteStandIn(r reply) {
	switch r.status {
	case turn.ReplySent, turn.ReplyUnknown, turn.ReplyPartial, turn.ReplyNone:
		l.stoodIn = standsIn(r.kind) || l.stoodIn && r.kind != turn.ReplyAnswer
	}
}

// runsEarly reports whether an early attempt runs at the time of a write, whose window
// has not ended yet.
func (l *ledger) runsEarly(x write, was turn.Record) bool {
	return was.Phase == turn.Generating && l.ahead && x.real < l.due
}

// windowEnd is when the window ends at the earliest.
func (l *ledger) windowEnd(p turn.Policy) turn.Time {
	capped := l.earliest.hardCap(p)
	due := max(min(l.quietUntil, capped), l.notBefore)
	if l.announced != 0 {
		due = max(due, min(l.mediaUntil, max(capped, l.earliest.began().Add(p.MediaWait))))
	}
	return due
}

// noteMedia keeps which attachments are waited for.
func (l *ledger) noteMedia(w *world, q request, x write) {
	switch q.kind {
	case receive:
		if q.media {
			l.announced |= 1 << q.message
			l.mediaUntil = x.at.Add(w.scope.Policy.MediaWait)
		}
	case edit, remove:
		l.announced &^= 1 << q.message
	case flush:
		l.mediaUntil = min(l.mediaUntil, x.at)
	case human, sentElsewhere, humanSilences, resumeClosing, reset, resetWord:
		l.announced = 0
	case stopping, stopEditing:
		for _, m := range w.store.messages {
			if m.status == turn.InputClosed {
				l.announced &^= 1 << m.id
			}
		}
	}
}

// forever is the end of a pause that has none.
const forever = turn.Time(1 << 50)

// noteHolds keeps who has paused the conversation, and until when.
func (l *ledger) noteHolds(w *world, q request, x write) {
	switch q.kind {
	case pause:
		l.heldUntil = forever
		if q.lasts > 0 {
			l.heldUntil = x.at.Add(q.lasts)
		}
	case humanSilences:
		l.heldUntil = max(l.heldUntil, x.at.Add(q.lasts))
	case optOut:
		l.optedOut = true
	case optIn:
		l.optedOut = false
	case resume, resumeClosing:
		l.heldUntil, l.optedOut = 0, false
	}
	looks := q.kind == wake || q.kind == claim
	if looks && l.endsByItself() && x.at >= l.heldUntil {
		l.heldUntil = 0
	}
	switch held := l.heldUntil != 0 || l.optedOut; {
	case held && !w.store.record.OnHold:
		w.fail("P2 hold", "the pause is over after %v, and nobody ended it", q.kind)
	case (looks || q.kind == optIn) && !held && w.store.record.OnHold:
		w.fail("P3 pause", "the pause goes on after %v, and it is over", q.kind)
	}
}

// endsByItself reports whether there is a pause that does.
func (l *ledger) endsByItself() bool { return l.heldUntil != 0 && l.heldUntil != forever }

// noteSpoken keeps what a person said who wants no more of the bot: a stop word, or a
// reply of their own. A reply on its way that answers nobody else ends with its part.
func (l *ledger) noteSpoken(w *world, q request, before *storage) {
	shared := false
	if q.stops() {
		sender := w.store.message(q.message).sender
		l.stopped[sender] = w.store.record.Version
		shared = q.stopWord(before).Shared
		for _, m := range before.messages {
			if m.sender == sender && m.status == turn.InputPending {
				l.removed |= input(m.version) | input(m.was)
			}
		}
	} else if !q.answersByHand() {
		return
	}
	r := before.record.Reply
	if r == nil || r.Kind != turn.ReplyAnswer || r.Sealed || shared {
		return
	}
	if e := w.store.reply(r.Seq); e.last == 0 {
		e.last = uint8(r.Done) + 1
	}
}

// noteFailures counts what may give a turn up.
func (l *ledger) noteFailures(w *world, q request, x write, was turn.Record, early bool) {
	is := w.store.record
	if was.Turn != is.Turn {
		l.spent, l.lost = 0, 0
		return
	}
	again := interrupts(is) && !interrupts(was) && w.mayFail(q, x, was) // at once after it
	l.spent += spends(q, early)
	l.lost += loses(q, was)
	if survives(q) && !early {
		l.lost = 0
	}
	if again || is.Phase == turn.Failed || is.Reply != nil && standsIn(is.Reply.Kind) {
		l.failed = true
	} else if l.spent >= w.scope.Policy.MaxAttempts || q.kind == modelRejected && !early {
		l.spent = 0 // what waits now was never tried as it is
	}
}

// spends is 1 where the write ends an attempt that counts: one that failed. A failure of an early one
// does not.
func spends(q request, early bool) int {
	if q.kind == modelFailed && !early {
		return 1
	}
	return 0
}

// survives reports whether the responder has ended the attempt, well or badly: its worker
// lived. In an outage it was not asked.
func survives(q request) bool {
	return slices.Contains([]kind{generated, modelFailed, modelRejected, modelRefused}, q.kind)
}

// loses is 1 where the write takes over an attempt whose worker was lost.
func loses(q request, was turn.Record) int {
	if (q.kind == wake || q.kind == claim) && was.Phase == turn.Generating && was.Lease.Nonce != q.nonce {
		return 1
	}
	return 0
}

// accepts reports whether the write took an input in.
func accepts(q request, x write, before *storage) bool {
	change := (q.kind == edit || q.kind == remove) && !q.isNoInput(before) || q.kind == stopEditing
	return x.effects.AppendInput && !q.repeated || change
}

// attemptBegan reports whether the write took the lease for an attempt.
func attemptBegan(q request, was, is turn.Record) bool {
	return is.Phase == turn.Generating && took(q, was, is)
}

// took reports whether the write took the lease.
func took(q request, was, is turn.Record) bool {
	return is.Lease.Nonce != "" && is.Lease.Nonce == q.nonce && was.Lease.Nonce != q.nonce
}

// noteQuiet keeps the quiet time and the back-off. An early attempt that ends without a
// result leaves the quiet time as it is.
func (l *ledger) noteQuiet(w *world, q request, x write, before *storage, early bool) {
	quiet := x.at.Add(w.scope.Policy.Debounce)
	endQuiet := func() {
		if !early {
			l.endQuiet(w, x)
		}
	}
	if q.isNoInput(before) {
		return
	}
	if before.record.OnHold && !w.store.record.OnHold {
		l.quietUntil = min(l.quietUntil, x.at)
	}
	switch q.kind {
	case receive, remove:
		l.quietUntil = quiet
	case edit:
		if !before.message(q.message).media {
			l.quietUntil = quiet
		}
	case typing:
		l.quietUntil = max(l.quietUntil, x.at.Add(Tick))
	case flush:
		l.notBefore = 0
		l.quietUntil = min(l.quietUntil, x.at)
	case modelFailed, modelOut:
		l.notBefore = x.at.Add(Tick)
		endQuiet()
		l.notAfter = x.at.Add(Tick << max(l.tries-1, 0))
	case modelRejected:
		l.notAfter = x.at.Add(Tick << max(l.tries-1, 0))
		endQuiet()
	case modelRefused:
		if early {
			l.notAfter = x.at.Add(Tick)
		}
		endQuiet()
	case interrupted, handBack, promptTooLarge, generated:
		endQuiet()
	case requeue:
		l.quietUntil = min(l.quietUntil, x.at)
	}
}

// crowded reports whether the ceiling on turns is reached.
func (l *ledger) crowded(w *world, now turn.Time) bool {
	most := w.scope.Policy.TurnsPerMinute
	return most > 0 && now < l.minuteStart.Add(time.Minute) && l.minuteRuns >= most
}

// countMinute counts an attempt in its minute.
func (l *ledger) countMinute(w *world, now turn.Time) {
	if w.scope.Policy.TurnsPerMinute == 0 {
		return
	}
	if now >= l.minuteStart.Add(time.Minute) {
		l.minuteStart, l.minuteRuns = now, 0
	}
	l.minuteRuns++
}

// endQuiet is a try of the same inputs, which were quiet before.
func (l *ledger) endQuiet(w *world, x write) {
	if w.store.waiting() == l.waited&^w.store.aside() {
		l.quietUntil = min(l.quietUntil, x.at)
	}
}

// noteWindow keeps since when the turn waits. A take-over leaves it.
func (l *ledger) noteWindow(q request, x write, before, s *storage) {
	was := before.record
	latest, earliest := s.oldest(was.Attempt.Through, false), s.oldest(was.Attempt.Through, true)
	switch {
	case q.kind == requeue: // what was set aside may have waited for long
		long := x.at.Add(-time.Hour)
		l.latest = wait{first: min(l.latest.first, x.at-1), again: x.at}
		l.earliest = wait{first: long, again: max(l.earliest.began(), long)}
	case interrupts(was) && was.Turn == s.record.Turn: // back to what it interrupted
	case was.Phase == turn.Collecting && was.OnHold && !s.record.OnHold:
		l.latest.again, l.earliest.again = x.at, x.at
	case was.Phase == turn.Collecting:
	case was.Phase == turn.Generating && (q.kind == wake || q.kind == claim) && was.Turn == s.record.Turn:
	case was.Reply != nil && was.Reply.Kind == turn.ReplyFallback && s.waitsUpTo(was.Attempt.Through): // for what it stood in for, too
		l.latest.again, l.earliest.again = latest, earliest
	case interrupts(was),
		was.Reply != nil && s.reply(was.Reply.Seq).status != turn.ReplyWithdrawn && s.reply(was.Reply.Seq).status != turn.ReplyFailed,
		(q.kind == generated || q.kind == remove || q.stops() && was.Reply == nil) && was.Turn != s.record.Turn,
		q.kind == wake, q.kind == claim:
		l.latest, l.earliest = wait{first: latest}, wait{first: earliest}
	case before.waiting() == 0:
		l.latest, l.earliest = wait{first: x.at}, wait{first: x.at}
	default:
		l.latest.again, l.earliest.again = x.at, x.at
	}
	if l.latest.first == 0 {
		l.latest.first, l.earliest.first = x.at, x.at
	}
}

// oldest is when the first input after through was accepted, of those that
// wait, or also of those that were deleted or closed.
func (s *storage) oldest(through int64, deleted bool) turn.Time {
	var at turn.Time
	for _, m := range s.messages {
		counts := m.status == turn.InputPending || deleted && (m.status == turn.InputDeleted || m.status == turn.InputClosed)
		if counts && m.version > through && (at == 0 || m.since < at) {
			at = m.since
		}
	}
	return at
}

// waitsUpTo reports whether an input up to a version waits.
func (s *storage) waitsUpTo(version int64) bool {
	return slices.ContainsFunc(s.messages, func(m message) bool { return m.status == turn.InputPending && m.version <= version })
}

// noteReports keeps what the channel has said. A part that is sent once more may arrive
// now, whatever was said of it before.
func (w *world) noteReports(q request, was turn.Record) {
	is := w.store.record
	if is.Reply != nil {
		r := w.store.reply(is.Reply.Seq)
		switch {
		case sendsAgain(is) && !sendsAgain(was):
			r.sendsAll()
		case took(q, was, is):
			r.forgetFailures(is.Reply.Done)
		}
	}
	if !q.reports() {
		return
	}
	r := w.store.reply(q.reply)
	for part := range r.parts {
		switch known := &r.reported[part]; {
		case part >= takenOf(was, r): // it is not sent yet, or never was
		case q.kind == reportDelivered:
			*known = turn.ReceiptDelivered
			r.refuted &^= 1 << part
		case *known == turn.NoReceipt:
			*known = turn.ReceiptFailed
			r.doubtful |= 1 << part
		}
	}
}

// takenOf is how many parts of a reply the channel may have taken.
func takenOf(was turn.Record, r *reply) int {
	for _, t := range was.Unconfirmed {
		switch {
		case t.Seq != r.seq:
		case t.Status == turn.ReplyPartial:
			return t.Done
		default:
			return min(t.Done+1, t.Parts)
		}
	}
	switch under := was.Reply; {
	case !onItsWay(was, r.seq):
		return r.parts
	case under.Seq != r.seq:
		return 0
	case was.Lease.Nonce != "" || under.Unsure || under.Tries > 0:
		return under.Done + 1
	default:
		return under.Done
	}
}

// noteSends keeps the facts about the reply that is being sent: since when, how
// often a send failed, when the next try is due, and for which parts the outcome
// can't be known.
func (l *ledger) noteSends(w *world, q request, x write, was turn.Record) {
	is := w.store.record
	if q.kind == resend {
		w.store.reply(troubleOf(was, q)).again = true
	}
	if was.Reply != nil {
		l.noteDoubt(w, q, was)
	}
	if q.pauses {
		l.noSendUntil = max(l.noSendUntil, x.at.Add(min(q.asked(w.scope.tick()), w.scope.Policy.RetryFor)))
	}
	l.told = max(l.told, x.told)
	if is.Reply == nil {
		return
	}
	r := w.store.reply(is.Reply.Seq)
	same := was.Reply != nil && was.Reply.Seq == is.Reply.Seq
	if !same {
		r.since, r.fails, r.lost = x.at, 0, 0
	}
	if sendsAgain(is) && !sendsAgain(was) {
		r.again, r.asked = false, true
	}
	resumed := was.OnHold && !is.OnHold && was.Lease.Nonce == ""
	if resumed {
		r.since = x.at
	}
	switch {
	case !same:
		l.pacedUntil = x.at
	case resumed, q.kind == flush:
		l.pacedUntil = min(l.pacedUntil, x.at)
	case q.kind == sent:
		l.pacedUntil = pacedUntil(q, x, was)
	}
	switch {
	case is.Lease.Nonce != "":
	case same && q.kind == sent:
		l.retryAt = l.pacedUntil
	case same && (q.kind == sendFailed || q.kind == sendUnknown):
		l.retryAt = x.at.Add(Tick << (r.fails - 1))
	case !same || resumed || was.Lease.Nonce != "":
		l.retryAt = x.at
	case q.kind == flush:
		l.retryAt = min(l.retryAt, x.at)
	}
}

// pacedUntil is the end of the pause that follows a delivered part. What a person wrote
// has none.
func pacedUntil(q request, x write, was turn.Record) turn.Time {
	if was.Reply == nil || was.Reply.Kind == turn.ReplyHuman || was.Reply.Kind == turn.ReplyBeside {
		return x.at
	}
	return x.at.Add(q.pause)
}

// troubleOf is the reply in trouble that a request is about.
func troubleOf(r turn.Record, q request) int64 {
	for _, t := range r.Unconfirmed {
		if t.Turn == int64(q.number) {
			return t.Seq
		}
	}
	return 0
}

// noteDoubt remembers when nobody can know whether a part was delivered, and
// forgets it once that part was delivered for certain.
func (l *ledger) noteDoubt(w *world, q request, was turn.Record) {
	r := w.store.reply(was.Reply.Seq)
	part := uint8(1) << was.Reply.Done
	switch {
	case q.kind == sent:
		r.doubtful &^= part
		r.fails, r.lost = 0, 0
	case q.kind == sendFailed || q.kind == sendUnknown:
		r.fails++
	case was.Lease.Nonce != "" && was.Lease.Nonce != w.store.record.Lease.Nonce && (q.kind == wake || q.kind == claim):
		r.doubtful |= part // its holder was lost while it sent
		r.refuted &^= part
		r.lost++
	}
}

package explore

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/onereply/onereply/turn"
)

// digest names a state. Two states with one digest have the same future.
type digest [16]byte

// encoder writes what the future depends on, and nothing else: not the troubles
// where no operator sees to one, and not the trace, which is
// switched off here and decides nothing; times relative
// to now and cut off where only "past" matters; of nonces, whether they are
// the live one, and which are the same; of writes on their way, whether they still fit.
type encoder struct {
	w      *world
	out    []byte
	one    [2][]byte // what was written of each worker
	fenced []string  // the dead nonces of a worker, in order of appearance
}

func (e *encoder) digest(w *world) digest {
	e.w, e.out, e.fenced = w, e.out[:0], e.fenced[:0]
	e.record(w.store.record)
	e.storage()
	e.ledger()
	b := w.left
	e.small(int(b.Inputs), int(b.Redelivered), int(b.Pauses), int(b.Humans), int(b.Stops), int(b.Nudges), int(b.Seals), int(b.Deletions), int(b.Resends), int(b.Resets), int(b.Reports), int(b.Mentions), int(b.Faults))
	e.flag(w.store.record.Seq == w.store.record.FreshAfter) // the rest of a mark is checked in each state
	if idle := w.scope.Policy.SessionIdle; idle > 0 {
		e.time(w.store.record.SaidAt, idle)
		e.time(w.ledger.saidAt, idle)
	}
	e.small(len(w.orphans))
	for _, t := range w.orphans {
		e.task(t)
	}
	e.workers()
	return e.sum()
}

// sum is the digest of what was written.
func (e *encoder) sum() digest {
	sum := sha256.Sum256(e.out)
	return digest(sum[:16])
}

// workers are interchangeable, unless their clocks differ.
func (e *encoder) workers() {
	for i := range e.w.workers {
		e.one[i] = e.workerAlone(e.one[i], &e.w.workers[i])
	}
	first, second := 0, 1
	if e.w.scope.flaws.localClock == 0 && bytes.Compare(e.one[0], e.one[1]) > 0 {
		first, second = 1, 0
	}
	e.out = append(append(e.out, e.one[first]...), e.one[second]...)
}

func (e *encoder) workerAlone(buffer []byte, k *worker) []byte {
	kept := e.out
	e.out, e.fenced = buffer[:0], e.fenced[:0]
	e.flag(k.frozen)
	e.time(max(k.told, e.w.now), 0)
	e.small(len(k.tasks), len(k.jobs))
	for _, t := range k.tasks {
		e.task(t)
	}
	for _, j := range k.jobs {
		e.job(j)
	}
	buffer, e.out = e.out, kept
	return buffer
}

// alike reports whether both workers have empty memories, so that only one of
// them needs to be tried.
func (w *world) alike() bool {
	a, b := &w.workers[0], &w.workers[1]
	return w.scope.flaws.localClock == 0 && a.idle() && b.idle() && a.frozen == b.frozen && max(a.told, w.now) == max(b.told, w.now)
}

func (e *encoder) small(values ...int) {
	for _, v := range values {
		e.out = append(e.out, byte(v))
	}
}

func (e *encoder) wide(v uint32) { e.out = append(e.out, byte(v), byte(v>>8), byte(v>>16)) }

func (e *encoder) flag(v bool) {
	if v {
		e.small(1)
		return
	}
	e.small(0)
}

// time writes t relative to now. All times further back than past are alike.
func (e *encoder) time(t turn.Time, past time.Duration) {
	if t == 0 {
		e.small(255)
		return
	}
	e.small(100 + int(max(t.Sub(e.w.now), -past)/e.w.scope.tick()))
}

func (e *encoder) nonce(nonce string) {
	switch nonce {
	case "":
		e.small(0)
	case e.w.store.record.Lease.Nonce:
		e.small(1)
	default:
		e.small(2 + e.fencedIndex(nonce))
	}
}

func (e *encoder) fencedIndex(nonce string) int {
	i := slices.Index(e.fenced, nonce)
	if i < 0 {
		i = len(e.fenced)
		e.fenced = append(e.fenced, nonce)
	}
	return i
}

// record writes what decides anything. An audit does not.
func (e *encoder) record(r turn.Record) {
	p := e.w.scope.Policy
	e.text(string(r.Phase))
	e.flag(r.OnHold)
	e.flag(r.WithPeople)
	e.flag(r.OptedOut)
	e.time(r.PausedUntil, 0)
	e.flag(r.Attempt.Edited)
	e.flag(r.Attempt.Sealed)
	e.small(int(r.Version), int(r.Answered), r.Pending, int(r.Attempt.Through), r.Attempt.Newer, r.Window.Media)
	e.small(r.Tries.Discards, r.Tries.Attempts, r.Tries.Lost.Count, r.Tries.Outages, e.place(r.Attempt.ThroughSeq), e.place(r.AfterSeq))
	e.time(r.Window.Start, max(p.MaxWait, p.MediaWait, 2*p.Debounce))
	e.time(r.Window.WaitingSince, p.MaxWait)
	e.flag(r.Window.Start > r.Window.WaitingSince)
	e.time(r.Attempt.NewerSince, max(p.MaxWait, p.MediaWait))
	for _, t := range [...]turn.Time{r.Window.QuietUntil, r.Window.MediaUntil, r.Window.NotBefore, r.Window.Due, r.Lease.Expires} {
		e.time(t, 0)
	}
	if p.EarlyAttempts > 0 {
		e.time(r.Window.Early, 0)
		e.flag(r.Attempt.Early)
		e.small(r.Tries.Early)
	}
	if p.TurnsPerMinute > 0 {
		e.minute(r.Minute.Start, r.Minute.Runs)
	}
	e.flag(r.StoodIn)
	if e.refusals() {
		e.search(r)
	}
	if p.DelayAfter+p.OutageAfter > 0 {
		e.signs(r)
	}
	e.time(max(r.NoSendUntil, e.w.now), 0)
	if p.MaxBotTurns > 0 {
		e.small(r.Bots.Count, int(r.Bots.Person))
	}
	e.nonce(r.Lease.Nonce)
	e.flag(r.Reply != nil)
	if r.Reply != nil {
		e.reply(*r.Reply)
	}
	e.small(len(r.Queue))
	for _, q := range r.Queue {
		e.reply(q)
	}
	if e.w.scope.Budget.Resends+e.w.scope.Budget.Reports > 0 {
		e.troubles(r.Unconfirmed)
	}
	if e.w.scope.Early {
		e.early(r)
	}
	e.flag(r.SetAside != nil)
	if a := r.SetAside; a != nil {
		e.small(int(a.Answered), int(a.Through), e.place(a.AfterSeq), a.Pending)
		e.flag(a.Turn == r.Turn)
	}
}

// refusals reports whether the model refuses anything in this scope, or a prompt may be too
// large for it.
func (e *encoder) refusals() bool {
	return e.w.scope.Refuses || e.w.scope.Room > 0 || e.w.scope.Policy.PromptBytes > 0
}

// signs writes what people were told, and when they are told next.
func (e *encoder) signs(r turn.Record) {
	l, p := &e.w.ledger, e.w.scope.Policy
	e.small(int(max(r.Signs.Delay, r.Answered)), int(max(r.Signs.Outage, r.Answered)))
	e.time(r.Window.WaitingSince, max(p.DelayAfter, p.MaxWait))
	e.time(r.Signs.OutageSince, p.OutageAfter)
	e.time(r.Window.SignAt, 0)
	e.wide(uint32(l.signs.delay))
	e.wide(uint32(l.signs.outage))
	e.time(l.signs.outageSince, p.OutageAfter)
	e.flag(l.signs.excused)
	e.time(e.w.store.oldest(0, true), p.DelayAfter)
	e.time(e.w.store.oldest(0, false), p.DelayAfter)
}

// search writes how far the search for a refused message is.
func (e *encoder) search(r turn.Record) {
	s := r.Tries.Search
	e.small(s.Calls, int(s.Good), int(s.Bad))
	e.flag(s.FoundOne)
	e.part(s.Next)
	e.part(r.Attempt.Part)
	e.flag(r.Attempt.Outdated)
	e.flag(e.w.store.hasHistory())
	for _, m := range e.w.store.messages {
		e.small(int(m.first))
	}
}

func (e *encoder) part(p turn.Part) {
	e.flag(p.NoHistory)
	e.small(int(p.After), int(p.Through), p.Answers)
}

// early writes the edits that are kept for messages that have not come.
func (e *encoder) early(r turn.Record) {
	e.small(len(r.Early))
	for _, kept := range r.Early {
		for _, entry := range e.w.store.early {
			if entry.seq == kept.Seq {
				e.small(int(entry.id), int(entry.edit))
			}
		}
		e.time(kept.Until, 0)
	}
	l := &e.w.ledger
	e.small(int(l.takenBack))
	for id, kept := range l.keptEdits {
		if kept.until > e.w.now {
			e.small(id, int(kept.number))
			e.time(kept.until, 0)
		}
	}
}

// troubles writes the replies that an operator may see to.
func (e *encoder) troubles(list []turn.Unconfirmed) {
	e.small(len(list))
	for _, t := range list {
		e.text(string(t.Status))
		e.small(e.place(t.Seq), t.Parts, t.Done, t.Failed)
		e.flag(t.Resend)
	}
}

// minute writes what the ceiling on turns counts; a minute that is over counts
// no more.
func (e *encoder) minute(from turn.Time, runs int) {
	if e.w.now >= from.Add(time.Minute) {
		from, runs = 0, 0
	}
	e.time(from, time.Minute)
	e.small(runs)
}

func (e *encoder) reply(r turn.Reply) {
	e.small(e.place(r.Seq), int(r.Through), int(r.From), e.place(r.AfterSeq), e.place(r.ThroughSeq))
	if e.refusals() {
		e.small(int(r.Rest))
	}
	e.small(r.Parts, r.Done, r.Tries, r.Lost.Count, int(r.Settled), len(r.Stopped))
	for _, m := range r.Stopped {
		e.small(int(m.Version))
	}
	e.text(r.Kind)
	e.flag(r.Sealed)
	e.flag(r.Late)
	e.flag(r.Unsure)
	e.flag(r.Cut != "")
	e.time(r.Since, e.w.scope.Policy.RetryFor)
	e.time(r.RetryAt, 0)
	for _, receipt := range r.Receipts {
		e.text(string(receipt))
	}
}

// text writes a name, with an end.
func (e *encoder) text(name string) {
	e.out = append(append(e.out, name...), 0)
}

// place is a sequence as the number of messages up to it: replies take up
// sequences too, and nobody asks for those of settled ones.
func (e *encoder) place(seq int64) int {
	place := 0
	for _, m := range e.w.store.messages {
		if m.seq <= seq {
			place++
		}
	}
	return place
}

func (e *encoder) storage() {
	s := &e.w.store
	e.time(s.timer, 0)
	e.flag(s.claimed)
	for _, m := range s.messages {
		e.message(m)
	}
	for _, r := range s.replies {
		if e.writes(r) {
			e.text(string(r.status))
			e.text(r.kind)
			e.wide(uint32(r.covers))
			e.small(r.parts, int(r.delivered[0]), int(r.delivered[1]), int(r.human))
			e.small(int(r.people), int(r.doubtful), int(r.fails), int(r.lost), int(r.last))
			e.flag(r.again)
			e.flag(r.asked)
			e.receipts(r)
			e.time(r.since, e.w.scope.Policy.RetryFor)
		}
		if r.human != 0 {
			e.small(200 + int(r.human))
		}
	}
}

// open is the set of inputs that a reply may still answer. What was delivered
// of others is done with.
func (e *encoder) open() inputs {
	var set inputs
	if e.w.store.record.Phase == turn.Generating {
		set = e.w.ledger.answering
	}
	for _, m := range e.w.store.messages {
		if m.status == turn.InputPending || m.status == turn.InputFailed {
			set |= input(m.version) | input(m.was)
		}
	}
	for _, r := range e.w.store.replies {
		if e.writes(r) {
			set |= r.covers
		}
	}
	return set
}

// writes reports whether a reply is part of what is written: it is on its way, or
// an operator may see to it.
func (e *encoder) writes(r reply) bool {
	return r.status == turn.ReplyCommitted || e.w.scope.Budget.Reports > 0 && r.reportable() || e.wanted(r.seq) || e.w.scope.Budget.Resends > 0 && e.troubled(r.seq)
}

// receipts writes what the channel has said of a reply, where it says anything.
func (e *encoder) receipts(r reply) {
	if e.w.scope.Budget.Reports == 0 {
		return
	}
	for _, receipt := range append(r.reported[:], r.receipts...) {
		e.text(string(receipt))
	}
	e.small(254, int(r.refuted))
}

func (e *encoder) troubled(seq int64) bool {
	for _, t := range e.w.store.record.Unconfirmed {
		if t.Seq == seq {
			return true
		}
	}
	return false
}

// wanted reports whether a worker still has the reply in its hands, or will
// when an answer arrives.
func (e *encoder) wanted(seq int64) bool {
	for i := range e.w.workers {
		for _, j := range e.w.workers[i].jobs {
			if j.send && j.life == e.w.life && j.seq == seq {
				return true
			}
		}
		for _, t := range e.w.workers[i].tasks {
			if t.write.life == e.w.life && t.sends(seq) {
				return true
			}
		}
	}
	return false
}

func (t *task) sends(seq int64) bool {
	for _, action := range t.write.effects.Actions {
		if a, ok := action.(turn.Send); ok && t.stage != onWire && a.Reply.Seq == seq {
			return true
		}
	}
	return false
}

// message writes an entry. Of a settled one only that it is settled matters, and which
// edit it has, where it can still be edited.
func (e *encoder) message(m message) {
	e.small(int(m.id), int(m.sender))
	if m.status != turn.InputPending && m.status != turn.InputFailed {
		e.settled(m)
		return
	}
	e.small(int(m.version), int(m.was), int(m.edit), m.bytes)
	e.flag(m.media)
	e.flag(m.bot)
	e.flag(m.status == turn.InputFailed)
	e.time(m.since, e.w.scope.Policy.MaxWait)
}

// settled writes a message that nothing can touch any more. When it was deleted, or
// closed by a stop word, under an attempt that never saw it, it still counts for the
// window.
func (e *encoder) settled(m message) {
	e.small(0)
	if e.w.scope.Settled {
		e.small(int(m.edit))
		e.flag(m.settled())
	}
	r := e.w.store.record
	gone := m.status == turn.InputDeleted || m.status == turn.InputClosed && e.w.scope.Budget.Stops > 0
	if gone && m.version > r.Attempt.Through && r.Phase != turn.Idle {
		e.time(m.since, e.w.scope.Policy.MaxWait)
	}
}

func (e *encoder) ledger() {
	l, p := &e.w.ledger, e.w.scope.Policy
	e.small(int(l.messages), int(l.mentions), int(l.otherBots), int(l.changes), int(l.humans), l.discards, int(l.stopped[0]), int(l.stopped[1]))
	if e.w.scope.Bots {
		e.wide(uint32(l.byBots & e.open()))
		e.small(int(l.byPeople), l.botReplies)
	}
	e.flag(l.closed)
	e.flag(l.optedOut)
	e.flag(l.heldUntil == forever)
	if l.heldUntil != forever {
		e.time(l.heldUntil, 0)
	}
	e.flag(l.sealed && e.w.store.record.Phase == turn.Generating)
	e.wide(uint32(l.delivered & e.open()))
	if e.w.store.record.Phase == turn.Generating {
		e.wide(uint32(l.answering))
		e.wide(uint32(l.waited))
		e.wide(uint32(l.removed & l.answering))
		e.flag(l.accepted == l.began)
	}
	e.failures()
	e.flag(l.stoodIn)
	if e.refusals() {
		e.small(l.calls)
	}
	if e.w.scope.Media {
		e.small(int(l.announced))
		e.time(l.mediaUntil, 0)
	}
	switch r := e.w.store.record; {
	case r.Lease.Nonce != "":
		e.time(l.leaseEnd, 0)
	case r.Reply != nil:
		e.time(l.retryAt, 0)
	}
	e.time(max(l.noSendUntil, e.w.now), 0)
	e.time(max(l.told, e.w.now), 0)
	if e.w.scope.Pace > 0 {
		e.time(l.pacedUntil, 0)
	}
	for _, t := range [...]wait{l.latest, l.earliest} {
		e.time(t.first, max(p.MaxWait, p.MediaWait))
		e.time(t.again, max(p.MediaWait, 2*p.Debounce))
	}
	if p.EarlyAttempts > 0 {
		e.time(l.due, 0)
		e.flag(l.ahead)
		e.small(l.early)
	}
	e.time(l.quietUntil, 0)
	e.time(l.notBefore, 0)
	e.time(l.notAfter, 0)
	if e.w.scope.Faults.Model {
		e.small(l.tries)
	}
	if p.TurnsPerMinute > 0 {
		e.minute(l.minuteStart, l.minuteRuns)
	}
}

// failures writes what may give the turn up, where there can still be an attempt
// of it.
func (e *encoder) failures() {
	r, l := e.w.store.record, &e.w.ledger
	e.flag(l.failed)
	if r.Phase == turn.Collecting || r.Phase == turn.Generating || interrupts(r) && r.Window.Start != 0 {
		e.small(l.spent, l.lost)
	}
}

// job writes work under a lease. Of what is fenced only that it is there
// matters.
func (e *encoder) job(j job) {
	e.flag(j.send)
	e.nonce(j.nonce)
	e.time(j.expires, 0)
	e.flag(j.begun)
	if j.send {
		e.small(int(j.part))
		e.flag(j.life == e.w.life)
		if j.life == e.w.life {
			e.replyIndex(j.seq)
		}
		return
	}
	if j.nonce == e.w.store.record.Lease.Nonce {
		e.wide(uint32(j.saw))
		e.flag(j.cancelled)
		if e.refusals() {
			e.wide(uint32(j.waited))
			e.flag(j.history)
			e.flag(j.refused)
			e.flag(j.tooLarge)
		}
	}
}

// replyIndex names a reply by its place among those that are written.
func (e *encoder) replyIndex(seq int64) {
	place := 0
	for _, r := range e.w.store.replies {
		if r.seq < seq && e.writes(r) {
			place++
		}
	}
	e.small(place)
}

// task writes a request under way, and of its write what may still come of it.
func (e *encoder) task(t task) {
	q := t.request
	e.small(int(q.kind), int(q.message), int(q.sender), int(q.number), q.part, q.parts, int(t.stage))
	e.nonce(q.nonce)
	e.wide(uint32(q.covers))
	if e.refusals() {
		e.wide(uint32(q.waited))
		e.flag(q.history)
	}
	e.flag(q.media)
	e.flag(q.bot)
	e.flag(q.pauses)
	if q.reports() {
		e.replyIndex(q.reply)
	}
	e.flag(t.write.told > t.write.at)
	e.flag(t.write.early != 0)
	switch t.stage {
	case onWire:
		e.flag(t.write.expect == e.w.store.op)
		e.time(t.write.real, 100*e.w.scope.tick())
		if e.w.scope.flaws.plainWrite {
			e.record(t.write.record)
		}
	default:
		e.flag(t.write.op == e.w.store.op)
		e.flag(t.write.life == e.w.life)
		e.follows(t.write)
	}
}

// follows writes the work that an applied write asks its worker to do.
func (e *encoder) follows(x write) {
	e.text(string(x.effects.Outcome))
	e.time(x.record.Lease.Expires, 0)
	for _, action := range x.effects.Actions {
		switch a := action.(type) {
		case turn.Run:
			e.small(1, int(a.Through))
			e.nonce(a.Lease.Nonce)
			e.part(a.Part)
		case turn.Send:
			e.small(2, a.Reply.Done)
			if x.life == e.w.life {
				e.replyIndex(a.Reply.Seq)
			}
			e.nonce(a.Lease.Nonce)
		case turn.Cancel:
			e.small(3)
			e.nonce(a.Nonce)
			e.text(a.Reason)
		}
	}
}

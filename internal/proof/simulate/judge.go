package simulate

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// wrote judges a write that was applied, against what was there before.
func (l *ledger) wrote(n *node, write store.Write, before turn.Record, waiting []store.Entry) {
	if write.Key == dutyKey {
		return
	}
	if l.isName(write.Key) && (l.freed[write.Key].asked == 0 || write.Record.LeadsTo != "") {
		l.judgeName(write)
		return
	}
	t, after := l.conversation(write.Key), write.Record
	l.log("store", "%s of %s: %s", t.key.Conversation, n.name, describe(before, after))
	if at := wakeUp(after); write.Timer != at {
		l.fail("P6 timer", "the record is to be looked at at %s, and the timer is set for %s", clock(at), clock(write.Timer))
	}
	for _, e := range write.Change {
		if e.Kind == store.Message && e.Version > before.Version {
			t.edited[e.ID] = write.At
		}
	}
	l.judgeInputs(n, t, write, before)
	l.judgeLease(n, t, write, before)
	l.judgeWindow(t, write, before)
	for _, e := range write.Append {
		if e.Kind == store.Reply {
			l.committed(n, t, write, before, waiting, e)
		}
	}
	l.judgeEnd(t, write, before, waiting)
	l.judgeCovered(write, before, waiting)
	l.followSpoken(t, write, before)
	l.judgeGivenUp(t, write, before)
	l.judgeStandIn(t, write)
	l.judgeTalk(t, write, before)
	l.judgeBytes(t.key, after)
	l.follow(n, t, write, before)
	if err := turn.Check(after); err != nil {
		l.fail("turn.Check", "%v", err) // last: what breaks a promise is told by the name of the promise
	}
}

// judgeBytes is P4 for the budget: the record counts the bytes of what waits and of what was
// set aside, and they are no more than may be. A wrong count is told at the end: what breaks
// another promise too is told by the name of that one.
func (l *ledger) judgeBytes(key store.Key, r turn.Record) {
	sum := func(status turn.Status) int {
		bytes := 0
		for _, e := range l.entries(key, store.EntryQuery{Status: status}) {
			if status == turn.InputFailed || e.Version > r.Answered {
				bytes += e.Size
			}
		}
		return bytes
	}
	waiting, aside := sum(turn.InputPending), sum(turn.InputFailed)
	counted := 0
	if r.SetAside != nil {
		counted = r.SetAside.Bytes
	}
	if l.miscounted == "" && (waiting != r.PendingBytes || aside != counted) {
		l.miscounted = fmt.Sprintf("at %s %d bytes waited and %d were set aside, and the record counted %d and %d", clock(l.now), waiting, aside, r.PendingBytes, counted)
	}
	if most := l.policy.WaitingBytes; most > 0 && waiting+aside > most {
		l.fail("P4 bytes", "%d bytes wait or are set aside, and %d may", waiting+aside, most)
	}
}

// wakeUp is when somebody must look at a record: at the end of a lease, for the
// next try to send, for an early attempt, or at the end of a window. It is said here once more, since
// what the engine says of it is what is judged.
func wakeUp(r turn.Record) turn.Time {
	at := workDue(r)
	if r.PausedUntil != 0 && (at == 0 || r.PausedUntil < at) {
		return r.PausedUntil
	}
	return at
}

func workDue(r turn.Record) turn.Time {
	switch {
	case r.Lease.Nonce != "":
		return r.Lease.Expires
	case r.Reply != nil && (!r.OnHold || slices.Contains([]string{turn.ReplyHuman, turn.ReplyBeside, turn.ReplyResend}, r.Reply.Kind)):
		return max(r.Reply.RetryAt, r.NoSendUntil)
	case r.Phase == turn.Collecting && !r.OnHold:
		at := r.Window.Due
		for _, other := range []turn.Time{r.Window.Early, r.Window.SignAt} {
			if other != 0 && other < at {
				at = other
			}
		}
		return at
	}
	return 0
}

// follow remembers what later writes are judged by.
func (l *ledger) follow(n *node, t *conversation, write store.Write, before turn.Record) {
	after := write.Record
	if after.Lease.Nonce != "" {
		t.leases[after.Lease.Nonce] = true
	}
	// A holder that gives its lease back after a send has written what became of it.
	if s := t.sending; s != nil && s.after > 0 && s.nonce == before.Lease.Nonce && s.nonce != after.Lease.Nonce && before.Lease.Holder == n.name {
		t.noSendUntil = max(t.noSendUntil, write.At.Add(min(s.after, l.policy.RetryFor)))
	}
	l.followRemedy(t, write, before)
	t.openState = openStates(after, t.openState, l.now)
	if after.Lease.Nonce != before.Lease.Nonce && after.Lease.Nonce != "" {
		t.taken = l.now
		t.holder = life{n, n.life}
	}
	if after.Phase == turn.Idle {
		t.first = 0
	}
	switch {
	case !before.OnHold && after.OnHold && !l.askedFor(t.key, 0, pause, silences, optsOut):
		l.fail("P2 pause", "a pause began, and nobody asked for it")
	case before.OnHold && !after.OnHold && !l.mayResume(t) && !l.isOver(t.key):
		l.fail("P2 pause", "the pause ended, and nobody asked for it")
	case before.OnHold && !after.OnHold:
		t.resumed(func(a *ask) bool { return a.node == n })
		l.judgeHolds(t)
	}
	switch {
	case !after.OnHold:
		t.paused = 0
	case !before.OnHold:
		t.paused = l.now
	}
	t.wrote[n] = lastWrite{at: l.now, over: before.Version}
	if after.Phase == turn.Collecting && !after.OnHold {
		l.aim(write.Key, atDue, after.Window.Due)
	}
}

// followRemedy is P7 for operators: a reply is sent again, or marked as sent, if
// one of them asked for it, and what was sent before does not count any more.
func (l *ledger) followRemedy(t *conversation, write store.Write, before turn.Record) {
	after := write.Record
	for _, mark := range write.Mark {
		if mark.Reason == turn.ByOperator && !l.askedFor(t.key, 0, resend, markSent) {
			l.fail("P7 once", "reply %d is %s by an operator, and nobody asked for it", mark.Seq, mark.Status)
		}
	}
	for _, e := range write.Change {
		if r := t.replies[e.Seq]; r != nil {
			r.done = max(r.done, e.Delivered)
		}
	}
	if after.Reply != nil && t.replies[after.Reply.Seq] != nil {
		r := t.replies[after.Reply.Seq]
		if after.Reply.Done > r.done {
			r.done, r.doneAt = after.Reply.Done, write.At
		}
	}
	// One write may end a reply as unknown and begin it again, for an operator.
	if !sentAgain(after) || sentAgain(before) && before.Reply.Seq == after.Reply.Seq {
		return
	}
	if r := t.replies[after.Reply.Seq]; r != nil {
		r.again, r.sends = true, map[int]*sending{}
		if r.mayFail { // what was delivered may have been reported as failed since
			r.done = min(r.done, after.Reply.Done)
		}
	}
}

// sentAgain reports whether a reply is under way that an operator has sent again.
func sentAgain(r turn.Record) bool { return r.Reply != nil && r.Reply.Kind == turn.ReplyResend }

// judgeInputs is P4: the version counts what was accepted and nothing else.
func (l *ledger) judgeInputs(n *node, t *conversation, write store.Write, before turn.Record) {
	visible, folded, changed := int64(0), false, false
	for _, e := range slices.Concat(write.Append, write.Change) {
		if e.Kind != store.Message || e.IsClaim() {
			continue
		}
		l.judgeErased(e)
		if mentioned(e.ID) {
			l.judgeContext(t, e)
			continue
		}
		l.judgeChanged(t, e, l.now)
		if isSettled(e) && (e.Recorded || !closesOwn(e.Text)) { // a stop word is an input, and settled at once
			l.judgeText(t.key, e)
			continue
		}
		l.noteAuthor(t, e)
		if !touches(before.SetAside, e) {
			visible++
		}
		l.judgeText(t.key, e)
		if t.first == 0 {
			t.first = write.At
		}
		folded = folded || e.EditedAt != 0 || e.Status == turn.InputDeleted
		changed = changed || t.messages[e.ID] != nil || closesOwn(e.Text)
		if t.messages[e.ID] == nil {
			t.messages[e.ID] = &message{id: e.ID, accepted: l.now}
			l.sums.Inputs++
			l.story.arrivals = append(l.story.arrivals, arrival{id: e.ID, at: l.now, node: n.index})
		}
		t.messages[e.ID].accepted = l.now
	}
	grown := write.Record.Version - before.Version
	if changed || grown > visible { // what waits now was never tried as it is
		clear(t.refusals)
		t.changed = l.now
	}
	if grown < visible || grown > visible && !folded {
		l.fail("P4 version", "%d inputs were accepted, and the version grew by %d", visible, grown)
	}
}

// judgeContext is P2 for messages that are context: they are no inputs, and wait for
// nothing. That they change nothing else, the version tells.
func (l *ledger) judgeContext(t *conversation, e store.Entry) {
	l.judgeText(t.key, e)
	if e.Status != turn.InputContext {
		l.fail("P2 context", "%s is context, and it is %s", e.ID, e.Status)
	}
	if !l.policy.Observe && !meant(e.ID) {
		l.fail("P2 context", "%s is not meant for the bot, and is kept although that observes nothing", e.ID)
	}
	if t.messages[e.ID] == nil {
		t.messages[e.ID] = &message{id: e.ID, accepted: l.now}
	}
}

// touches reports whether a change is of a message that was set aside: it is no input,
// since it changes only what a requeue brings back.
func touches(a *turn.SetAside, e store.Entry) bool {
	open := e.Status == turn.InputFailed || e.Status == turn.InputDeleted
	return a != nil && open && a.Answered < e.Version && e.Version <= a.Through
}

// slack is what two nodes may disagree about the time.
const slack = 2 * clockError * time.Millisecond

// judgeLease is P5: a lease is taken when it is free, and kept by its holder.
func (l *ledger) judgeLease(n *node, t *conversation, write store.Write, before turn.Record) {
	was, is := before.Lease, write.Record.Lease
	took := is.Nonce != "" && is.Nonce != was.Nonce
	operated := before.OnHold != write.Record.OnHold || len(write.Append)+len(write.Change)+len(write.Settle) > 0 || // by the same write
		l.askedFor(t.key, t.taken, pause, optsOut) // and a resume with it, in one write
	l.followLost(n, t, write, before, operated)
	switch {
	case took && was.Nonce != "" && was.Holder != n.name && !operated && !l.alone:
		l.judgeTakeOver(n, was)
	case is.Nonce == was.Nonce && is.Expires != was.Expires && was.Holder != n.name:
		l.fail("P5 renewal", "%s renewed the lease of %s", n.name, was.Holder)
	}
	if took && write.Record.Phase == turn.Generating {
		l.judgeBegin(t, write, before)
	}
}

func (l *ledger) judgeTakeOver(n *node, was turn.Lease) {
	if l.now.Add(slack) < was.Expires {
		l.fail("P5 lease", "%s took the lease of %s %v before its end", n.name, was.Holder, was.Expires.Sub(l.now))
	}
	c := l.calls[was.Nonce]
	if c != nil && !c.over && !c.stopped && c.node.life == c.life && c.node.up() && !c.node.frozen {
		l.fail("P5 single flight", "%s took the lease of %s, whose call of the model goes on", n.name, was.Holder)
	}
}

// judgeBegin is P2 for the start of an attempt: not while a human has the
// conversation, and not before the window has ended, unless it is an early one. Of
// these a turn has only so many.
func (l *ledger) judgeBegin(t *conversation, write store.Write, before turn.Record) {
	if write.Record.Tries.Runs == 1 {
		l.sums.Turns++
	}
	if write.Record.OnHold && !write.Record.Attempt.Sealed {
		l.fail("P2 pause", "an attempt began while a human has the conversation")
	}
	l.judgeSuspect(t, write)
	tries := write.Record.Tries
	if write.Record.Attempt.Early {
		t.early[write.Record.Turn]++
		if t.early[write.Record.Turn] > l.policy.EarlyAttempts {
			l.fail("P3 early", "%d attempts of turn %d were started early, and %d are allowed", t.early[write.Record.Turn], write.Record.Turn, l.policy.EarlyAttempts)
		}
		return
	}
	due := l.earliest(t, write, l.waiting(write.Key))
	flushed := l.flushed(t)
	t.first, t.shown = 0, write.Record.Attempt.Through
	if write.Record.Version > write.Record.Attempt.Through {
		t.first = write.At // of what came behind the wake-up, in the same write
	}
	if tries.Runs-tries.Early != 1 || before.Phase != turn.Collecting || flushed {
		return
	}
	if l.now.Add(2*slack) < due { // its inputs came by other clocks than the wake-up
		l.fail("P2 due", "an attempt began %v before the window can have ended", due.Sub(l.now))
	}
}

// flushed reports whether somebody may have ended the quiet time of the window.
func (l *ledger) flushed(t *conversation) bool {
	return l.askedFor(t.key, t.first.Add(-l.longestBackoff()), flush, requeue)
}

// judgeEarly is P2 for the reply of an attempt that was started early: it waits for the
// end of the window, unless the attempt was sealed.
func (l *ledger) judgeEarly(t *conversation, write store.Write, before turn.Record, waiting []store.Entry) {
	if !before.Attempt.Early || before.Attempt.Sealed || before.Tries.Runs != before.Tries.Early || l.flushed(t) {
		return
	}
	if due := l.earliest(t, write, waiting); l.now.Add(2*slack) < due {
		l.fail("P2 due", "a reply was committed %v before its window can have ended", due.Sub(l.now))
	}
}

// earliest is when a window can end at the earliest: a quiet time after the
// last message, or the hard cap after the first; and where an attachment is on
// its way, when that is waited for no longer. It is told what waits. For the rest of what a
// turn answered in part the cap may count from the first message of that turn.
func (l *ledger) earliest(t *conversation, write store.Write, waiting []store.Entry) turn.Time {
	first := t.first
	var last, media turn.Time
	for _, e := range waiting {
		if e.Version > write.Record.Attempt.Through {
			continue // it came behind the wake-up, in the same write
		}
		if first == 0 || e.At < first {
			first = e.At
		}
		last = max(last, e.At)
		if e.Version > t.shown && slices.ContainsFunc(e.Attachments, func(a store.Attachment) bool { return a.Pending }) {
			media = max(media, e.At.Add(l.policy.MediaWait))
		}
	}
	if t.restSince != 0 {
		first = min(first, t.restSince)
	}
	capped := first.Add(l.policy.MaxWait)
	if window := write.Record.Window; window.Start > window.WaitingSince {
		capped = min(capped, t.since.Add(2*l.policy.Debounce)) // after a failure, whose first message may be deleted
	}
	due := min(last.Add(l.policy.Debounce), capped)
	return max(due, min(media, first.Add(max(l.policy.MaxWait, l.policy.MediaWait))))
}

// longestBackoff is the longest back-off, and the rest after too many turns in a
// minute. No model of the simulation asks for more; a budget that is used up does.
func (s settings) longestBackoff() time.Duration {
	if s.policy.Daily.Calls > 0 {
		return budgetPause
	}
	return time.Minute
}

// judgeWindow is P3's hard cap. The ledger keeps by itself since when a turn waits and
// when its window began; a resume begins one too.
func (l *ledger) judgeWindow(t *conversation, write store.Write, before turn.Record) {
	after := write.Record
	if after.Window.NotBefore != before.Window.NotBefore {
		t.rested = write.At // perhaps while a reply is sent, and the window goes on behind it
	}
	t.waited = t.waits
	if t.waits == 0 || before.Turn != after.Turn {
		t.waits = l.firstWaiting(t)
	}
	if after.Phase != turn.Collecting {
		return
	}
	optedIn := slices.ContainsFunc(write.Append, func(e store.Entry) bool { return e.Text == backText }) // after an opt-out in the same write
	if before.Phase != turn.Collecting || l.mayResume(t) || optedIn || before.OnHold != after.OnHold || before.Turn != after.Turn {
		t.since = write.At
	}
	latest := max(t.waits.Add(l.policy.MaxWait), t.since.Add(2*l.policy.Debounce)).Add(slack)
	if after.Window.Media > 0 {
		latest = max(latest, t.since.Add(l.policy.MediaWait+slack))
	}
	if after.Window.NotBefore != 0 {
		latest = max(latest, t.rested.Add(l.longestBackoff()))
	}
	if !after.OnHold && after.Window.Due > latest {
		l.fail("P3 hard cap", "the window that began at %s ends at %s, %v after the latest moment", clock(t.since), clock(after.Window.Due), after.Window.Due.Sub(latest))
	}
	if before.Attempt.Sealed && after.Tries.Discards > before.Tries.Discards {
		l.fail("P2 seal", "a sealed attempt was discarded")
	}
}

// firstWaiting is when the first of the inputs that wait was accepted. One that was
// edited may have been taken up by a reply before; when its author edited it, by the clock
// of the channel, does not count.
func (l *ledger) firstWaiting(t *conversation) turn.Time {
	var first turn.Time
	for _, e := range l.waiting(t.key) {
		if at := max(e.At, t.edited[e.ID]); first == 0 || at < first {
			first = at
		}
	}
	return first
}

// committed judges a reply as it is committed, and remembers it.
func (l *ledger) committed(n *node, t *conversation, write store.Write, before turn.Record, waiting []store.Entry, e store.Entry) {
	r := &reply{entry: e, texts: []string{e.Text}, sends: map[int]*sending{}, shown: map[int]bool{}}
	for seq, other := range t.replies {
		if other.entry.ID == e.ID {
			l.fail("P7 id", "the replies %d and %d have one id, %s", seq, e.Seq, e.ID)
		}
		withID := isFromOutside(e, notifies) || isFromOutside(e, records) || isFromOutside(e, silences)
		if withID && other.entry.Text == e.Text {
			l.fail("P4 twice", "the reply %q was given twice with one id, and is stored as %s and as %s", e.Text, other.entry.ID, e.ID)
		}
	}
	t.replies[e.Seq] = r
	if isFromOutside(e, records) {
		r.shown[0] = true // elsewhere
	}
	if e.Author != turn.ReplyAnswer {
		return
	}
	c := l.calls[before.Lease.Nonce]
	if c == nil || e.Text != "" && e.Text != c.text {
		l.fail("P5 fenced result", "%s committed %q, and the lease is that of %s, whose prompt was %q", n.name, e.Text, before.Lease.Holder, textOf(c))
		return
	}
	l.judgeEarly(t, write, before, waiting)
	rest := t.restSince
	t.restSince = 0
	if (e.Late || e.Text == "") && l.mayBePart(t, before) { // it may answer a part of what waits, or of such a rest
		t.restSince, t.partAt = t.waited, l.now
		if rest != 0 {
			t.restSince = min(rest, t.waited)
		}
	}
	r.seen = messagesIn(c.text)
	r.noteReader(t, write)
	r.texts = l.partsOf(c)
	if ids := idsOf(r.seen); !slices.Equal(ids, e.Covers) {
		l.fail("P1 covers", "the reply says that it covers %v, and its prompt held %v", e.Covers, ids)
	}
	if e.Text == "" {
		changed := slices.ContainsFunc(write.Change, func(e store.Entry) bool { return e.Version > before.Version })
		if changed || l.mayBePart(t, before) {
			return // nobody can see whether that came before or after it, or it is the reply to a part
		}
		e.Late, e.Version = l.isLate(c, r, write, before, waiting, e.Seq), c.through // nobody sees it, so nobody is told that it is late
	}
	l.judgePart(t, before, waiting)
	l.judgeCurrent(t, write, before, waiting, e, r.seen)
}

// isLate reports whether something newer than the call came before an entry of a write. A
// stop word of somebody else leaves what the call has seen as it is, and waits for nothing.
func (l *ledger) isLate(c *call, r *reply, write store.Write, before turn.Record, waiting []store.Entry, seq int64) bool {
	newer := func(e store.Entry) bool {
		return e.Kind == store.Message && e.Status == turn.InputPending && e.Version > c.through && e.Seq < seq
	}
	gone := func(m shownMessage) bool {
		return !slices.ContainsFunc(waiting, func(e store.Entry) bool { return e.ID == m.id })
	}
	return before.Version > c.through && slices.ContainsFunc(r.seen, gone) || slices.ContainsFunc(slices.Concat(waiting, write.Append), newer)
}

func textOf(c *call) string {
	if c == nil {
		return ""
	}
	return c.text
}

// partsOf are the texts that a person is to see, one a send, of what the model
// returned.
func (l *ledger) partsOf(c *call) []string {
	if l.whole && len(c.parts) > 0 {
		return []string{c.text}
	}
	return c.parts
}

func idsOf(seen []shownMessage) []string {
	var ids []string
	for _, s := range seen {
		ids = append(ids, s.id)
	}
	return ids
}

// judgeCurrent is P2: the reply has seen all that waits at its commit, as it
// is now, and nothing else. One that is late, and may be, has seen all that
// waited at its version, as it was then; and something newer came.
func (l *ledger) judgeCurrent(t *conversation, write store.Write, before turn.Record, waiting []store.Entry, e store.Entry, seen []shownMessage) {
	through := write.Record.Version
	part := e.Late && l.mayBePart(t, before) // the rest is the next turn's
	if e.Late {
		sealed := before.Attempt.Sealed || write.Record.Reply != nil && write.Record.Reply.Sealed
		if l.policy.OnNewInput != turn.Finish && !sealed && !part && before.Tries.Discards < l.policy.MaxDiscards {
			l.fail("P2 late", "a reply was committed although it is late, after %d discards of %d", before.Tries.Discards, l.policy.MaxDiscards)
		}
		if e.Version >= write.Record.Version {
			l.fail("P2 late", "a reply says that it is late, and nothing newer came")
		}
		through = e.Version
	}
	unseen := map[shownMessage]bool{}
	for _, m := range slices.Concat(waiting, write.Append) {
		if m.Kind == store.Message && m.Seq < e.Seq && m.Status == turn.InputPending {
			if part && m.EditedAt != 0 && m.Version > through {
				continue // it is among the rest, and not as it was either
			}
			l.asOf(unseen, m, through)
		}
	}
	for _, s := range seen {
		if !unseen[s] && !(e.Late && l.isGone(write.Key, s.id)) && !changedWith(write, s.id) {
			l.fail("P2 current", "the reply answers %s=%s, which does not wait", s.id, s.text)
		}
		delete(unseen, s)
	}
	for s := range unseen {
		if !changedWith(write, s.id) {
			l.fail("P2 current", "a reply to %v was committed while %s=%s waited", seen, s.id, s.text)
			return
		}
	}
}

// mayBePart reports whether the reply of a turn may answer a part of what waits: the model
// refused the prompt of all of it, and takes each message by itself, or it has more bytes
// than a prompt may have.
func (l *ledger) mayBePart(t *conversation, before turn.Record) bool {
	return t.refusals[before.Turn] > 0 || before.Attempt.Part.Answers > 0 && l.policy.PromptBytes > 0
}

// judgePart is P2 for what a prompt leaves to the next turn, since it has no room for it: the
// first message that is left, by version, is one too many. While a stop word may have closed
// the one that was, that is not known.
func (l *ledger) judgePart(t *conversation, before turn.Record, waiting []store.Entry) {
	part := before.Attempt.Part
	if part.Answers == 0 || t.refusals[before.Turn] > 0 || l.askedFor(t.key, 0, stopWord, optsOut, startsOver, reset) {
		return
	}
	size, next := 0, store.Entry{Version: math.MaxInt64}
	for _, m := range waiting {
		switch {
		case m.Version <= part.Through:
			size += m.Size
		case m.Version < next.Version:
			next = m
		}
	}
	if next.Version < math.MaxInt64 && size+next.Size <= l.policy.PromptBytes {
		l.fail("P2 part", "%s was left to the next turn, and its %d bytes fit beside the %d of the reply: a prompt may have %d", next.ID, next.Size, size, l.policy.PromptBytes)
	}
}

// judgePrompt is P4 for the budget of a prompt: only a single message is larger.
func (l *ledger) judgePrompt(o engine.Start) {
	size := 0
	for _, entries := range [][]store.Entry{o.Prompt.Messages, o.Prompt.History} {
		for i := range entries {
			size += entries[i].Bytes()
		}
	}
	if most := l.policy.PromptBytes; most > 0 && size > most && len(o.Prompt.Messages)+len(o.Prompt.History) > 1 {
		l.fail("P4 bytes", "a prompt has %d bytes, and it may have %d", size, most)
	}
}

// asOf adds a message as it was at a version, if it was there.
func (l *ledger) asOf(all map[shownMessage]bool, m store.Entry, version int64) {
	switch {
	case m.Version <= version:
		all[shownMessage{m.ID, m.Text}] = true
	case m.Was != nil && m.Was.Version <= version:
		all[shownMessage{m.ID, m.Was.Text}] = true
	}
}

// isGone reports whether a message was deleted, or closed by a stop word.
func (l *ledger) isGone(key store.Key, id string) bool {
	found := l.entries(key, store.EntryQuery{ID: id, Limit: 1})
	return len(found) == 1 && (found[0].Status == turn.InputDeleted || found[0].Status == turn.InputClosed)
}

// followSpoken remembers that a person said something while a reply was on its way: a
// reply of their own, or a stop word of the one whom that reply answers.
func (l *ledger) followSpoken(t *conversation, write store.Write, before turn.Record) {
	if before.Reply == nil || before.Reply.Kind != turn.ReplyAnswer || before.Reply.Sealed || t.replies[before.Reply.Seq] == nil {
		return
	}
	r := t.replies[before.Reply.Seq]
	for _, e := range slices.Concat(write.Append, write.Change) {
		stops := e.Kind == store.Message && closesOwn(e.Text) && e.Status != turn.InputFailed && !e.Recorded
		others := slices.ContainsFunc(r.seen, func(s shownMessage) bool { return senderOf(s.id) != senderOf(e.ID) })
		spoken := e.Author == turn.ReplyHuman && e.Status == turn.ReplyCommitted && !isFromOutside(e, notifies)
		if r.last == 0 && (spoken || stops && !others) {
			r.last = before.Reply.Done + 1
		}
	}
}

// judgeCovered is P1 for what people close: nothing that a reply on its way covers.
func (l *ledger) judgeCovered(write store.Write, before turn.Record, waiting []store.Entry) {
	r := write.Record.Reply
	if r == nil || r.Kind != turn.ReplyAnswer || before.Reply == nil || before.Reply.Seq != r.Seq {
		return
	}
	for _, e := range waiting {
		closes := func(s turn.Settle) bool {
			return s.Status == turn.InputClosed && e.Seq > s.AfterSeq && s.From < e.Version && e.Version <= s.Through
		}
		if r.From < e.Version && e.Version <= r.Through && slices.ContainsFunc(write.Settle, closes) {
			l.fail("P1 covers", "%s is closed, and a reply on its way covers it", e.ID)
		}
	}
}

// changedWith reports whether the write itself changes a message: nobody can
// see whether that came before or after the reply.
func changedWith(write store.Write, id string) bool {
	return slices.ContainsFunc(write.Change, func(e store.Entry) bool { return e.Kind == store.Message && e.ID == id })
}

// clock shows a moment as seconds since the start.
func clock(t turn.Time) string {
	if t == 0 {
		return "never"
	}
	return fmt.Sprintf("%.3fs", t.Sub(start).Seconds())
}

// describe is what a write did, in a few words.
func describe(before, after turn.Record) string {
	text := fmt.Sprintf("%s → %s, version %d → %d, answered %d, pending %d", before.Shown(), after.Shown(), before.Version, after.Version, after.Answered, after.Pending)
	if after.Phase == turn.Collecting {
		text += ", due " + clock(after.Window.Due)
	}
	if after.Lease.Nonce != "" {
		text += fmt.Sprintf(", lease %d of %s until %s", after.Lease.Token, after.Lease.Holder, clock(after.Lease.Expires))
	}
	if after.Tries.Discards > 0 {
		text += fmt.Sprintf(", discards %d", after.Tries.Discards)
	}
	return text
}

package simulate

import (
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// closes is a resume that answers nothing of what waits.
const closes What = "resume, closing"

// kind is what is asked for, with the two kinds of a resume apart.
func (a *ask) kind() What {
	if a.What == resume && !a.Flag {
		return closes
	}
	return a.What
}

// asks notes that somebody asks for something.
func (l *ledger) asks(a *ask) {
	a.at = l.now
	l.mayHappenUntil(a, l.now)
	l.conversation(a.key).changes.ask(a)
	switch a.What {
	case resume:
		t := l.conversation(a.key)
		t.resumes = append(t.resumes, a)
	case pause:
		if a.For > 0 {
			l.timed[a.key] = append(l.timed[a.key], a)
		} else {
			l.kept[a.key] = true
		}
	case silences:
		l.timed[a.key] = append(l.timed[a.key], a)
	case optsOut:
		l.kept[a.key] = true
		fallthrough
	case stopWord:
		if l.stops[a.key] == nil {
			l.stops[a.key] = map[string]bool{}
		}
		l.stops[a.key][senderOf(a.Message)] = true
	}
}

// resumed takes back the first resume of a kind: it has happened, or never will.
func (t *conversation) resumed(which func(*ask) bool) {
	if i := slices.IndexFunc(t.resumes, which); i >= 0 {
		t.resumes = slices.Delete(t.resumes, i, i+1)
	}
}

// mayHappenUntil notes when a request is carried out at the latest.
func (l *ledger) mayHappenUntil(a *ask, at turn.Time) {
	if l.asked[a.key] == nil {
		l.asked[a.key] = map[What]turn.Time{}
	}
	l.asked[a.key][a.kind()] = max(l.asked[a.key][a.kind()], at)
}

// mayResume reports whether a resume was asked for and not seen to happen yet, or
// is under way since before a deletion, with which the former count went.
func (l *ledger) mayResume(t *conversation) bool {
	return len(t.resumes) > 0 || l.askedFor(t.key, l.now, resume, closes)
}

// isOver reports whether a pause that ends by itself may be over, or an opt-in ended one.
func (l *ledger) isOver(key store.Key) bool {
	over := func(a *ask) bool { return l.now.Add(slack) >= a.at.Add(a.For) }
	return slices.ContainsFunc(l.timed[key], over) || l.askedFor(key, 0, optsIn)
}

// askedFor reports whether one of these may have happened since a time because
// somebody asked for it: it was asked for since, or is still under way, as at a
// node that stands still, or was until then.
func (l *ledger) askedFor(key store.Key, since turn.Time, any ...What) bool {
	for _, what := range any {
		if at := l.asked[key][what]; at != 0 && at >= since {
			return true
		}
	}
	for _, n := range l.nodes {
		for _, a := range n.waiting {
			if a.key == key && slices.Contains(any, a.kind()) {
				return true
			}
		}
	}
	return false
}

// acknowledged takes what somebody was told. What was asked before a deletion
// may have gone with it.
func (l *ledger) acknowledged(a *ask, result engine.Result) {
	l.mayHappenUntil(a, l.now)
	a.done = l.now
	if result.Err == nil {
		l.judgeWhere(a, result)
	}
	if result.Err != nil || a.lost || l.gone[a.key] >= a.at && l.gone[a.key] != 0 {
		return
	}
	t := l.conversation(a.key)
	t.resumed(func(other *ask) bool { return other == a }) // where nothing was paused
	switch a.op {
	case engine.Receive:
		l.acknowledgedMessage(t, a, result)
	case engine.Edit, engine.Retract:
		l.acknowledgedChange(t, a, result)
	case engine.Report:
		l.acknowledgedReport(a, result)
	case engine.HumanReply:
		t.sayings = append(t.sayings, a.text)
	default:
		l.acknowledgedControl(t, a, result)
	}
	if a.holds(result) {
		l.acknowledgedHold(t, a)
	}
	if a.closesAll(result.Outcome) && !result.Duplicate && result.Outcome != turn.Ignored {
		l.judgeClosed(t, a)
	}
	if a.What == reset && result.Outcome == turn.Done || a.What == startsOver && result.Outcome == turn.Closed {
		l.judgeReset(t, a)
	}
	if a.What == optsIn && !result.Duplicate {
		l.judgeOptIn(t, a)
	}
}

// acknowledgedMessage is P4: what was acknowledged is in the store already.
func (l *ledger) acknowledgedMessage(t *conversation, a *ask, result engine.Result) {
	m := t.messages[a.Message]
	if m == nil && (t.changes.takenBack[a.Message] && result.Outcome == turn.Ignored || leftOut(result.Outcome, result.Reason)) {
		return // its deletion came before it, or it is none that is taken in
	}
	if m == nil {
		l.fail("P4 lost", "%s was acknowledged (%s) and is not in the store", a.Message, result.Outcome)
		return
	}
	m.acked = true
}

// acknowledgedChange is P4 for second thoughts: the message reads as its author
// was told, or has changed again since; and one that is deleted stays so.
func (l *ledger) acknowledgedChange(t *conversation, a *ask, result engine.Result) {
	if result.Outcome == turn.Ignored {
		switch result.Reason {
		case engine.Older, engine.Unchanged, engine.OwnMessage, turn.WasDeleted:
		default:
			l.fail("P4 change", "the %s of %s changes nothing: %s", a.What, a.Message, result.Reason)
		}
		return
	}
	t.changes.acknowledge(a, l.now)
	for _, e := range l.entries(a.key, store.EntryQuery{ID: a.Message, Limit: 1}) {
		newer := a.What == stopWord || t.changes.written[e.Text] >= a.When // a stop word says no time: any edit that comes later is newer
		kept := e.Text == a.text || e.Version > result.Version || e.Recorded && newer
		kept = kept && a.op == engine.Edit
		if !kept && e.Status != turn.InputDeleted {
			l.fail("P4 lost", "the %s of %s was acknowledged, and it is still %s, %q", a.What, e.ID, e.Status, e.Text)
		}
	}
}

// acknowledgedReport notes what is recorded of a reply: the greatest of all reports.
func (l *ledger) acknowledgedReport(a *ask, result engine.Result) {
	if a.reply == nil || result.Outcome == turn.Ignored && result.Reason != turn.NothingNew {
		return
	}
	under := l.snapshot(a.key).Record.Reply
	a.reply.unclear = a.reply.unclear || under != nil && under.Seq == a.reply.entry.Seq
	order := []turn.Receipt{turn.NoReceipt, turn.ReceiptFailed, turn.ReceiptDelivered, turn.ReceiptRead}
	if receipt := turn.Receipt(a.Message); slices.Index(order, receipt) > slices.Index(order, a.reply.said) {
		a.reply.said = receipt
	}
}

// judgeText is P4 for what is stored: each message reads as its author wrote it.
func (l *ledger) judgeText(key store.Key, e store.Entry) {
	first := said(key, e.ID)
	if closesOwn(e.Text) && l.stops[key][senderOf(e.ID)] || isWord(e) {
		return
	}
	if e.Status != turn.InputDeleted && e.Text != first && !strings.HasPrefix(e.Text, first+".") {
		l.fail("P4 lost", "%s is stored as %q, which its author never wrote", e.ID, e.Text)
	}
}

// openState is a state of a conversation that a request ends.
type openState struct {
	by    What
	which int64
	since turn.Time
}

// openStates are the states of a record that a request would end. Those that
// were there before stand since then.
func openStates(r turn.Record, before []openState, now turn.Time) []openState {
	all := make([]openState, 0, 4)
	opens := func(by What, which int64) {
		s := openState{by, which, now}
		for _, old := range before {
			if old.by == by && old.which == which {
				s.since = old.since
			}
		}
		all = append(all, s)
	}
	if r.OnHold {
		opens(resume, 0)
	} else {
		opens(pause, 0)
	}
	if r.Phase == turn.Failed || r.SetAside != nil && (r.Phase == turn.Idle || r.Phase == turn.Collecting) {
		opens(requeue, 0)
	}
	switch {
	case r.Phase == turn.Collecting && r.Window.Due != r.Minute.Start.Add(time.Minute):
		// No flush ends the rest after too many turns in a minute.
		opens(flush, int64(r.Window.Due))
	case r.Phase == turn.Generating && !r.Attempt.Sealed:
		opens(modelSeals, r.Lease.Token)
	}
	for _, u := range r.Unconfirmed {
		opens(markSent, u.Turn)
		if !u.Resend {
			opens(resend, u.Turn)
		}
	}
	return all
}

// undoes is what makes a request void that is carried out together with it.
var undoes = map[What][]What{
	pause: {resume, closes, optsIn}, resume: {pause, optsOut}, closes: {pause, optsOut},
	flush: {send, again, botSays, edit, retract, typing}, // they begin the quiet time anew
}

// acknowledgedControl is P4 for operators and agents: what they were told is
// done has ended the state that it ends.
func (l *ledger) acknowledgedControl(t *conversation, a *ask, result engine.Result) {
	if result.Outcome != turn.Done {
		return
	}
	since := a.at.Add(-storeTimeout)
	if a.What == flush {
		since = a.at // a message before it is flushed with the others
	}
	for _, s := range t.openState {
		of := s.which == a.which || s.by == flush && turn.Time(s.which) > result.At.Add(slack)
		if s.by == a.What && of && s.since < a.at && !l.askedFor(a.key, since, undoes[a.What]...) {
			l.fail("P4 lost", "the %s was acknowledged, and all is as it was before", a.What)
		}
	}
	if lease := l.snapshot(a.key).Record.Lease; a.op == engine.Seal && lease.Token > a.which && t.taken < a.at {
		l.fail("P5 fenced", "a seal under lease %d was accepted under lease %d", a.which, lease.Token)
	}
}

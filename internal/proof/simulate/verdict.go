package simulate

import (
	"context"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// atRest reports whether nothing is under way and nothing will be.
func (w *world) atRest() bool {
	if len(w.platform.updates) > 0 {
		return false
	}
	for _, n := range w.nodes {
		if !n.up() || n.frozen || len(n.waiting) > 0 || n.engine.Working() > 0 || n.engine.Writing() > 0 {
			return false
		}
	}
	for _, key := range w.keys() {
		if _, wakes := w.snapshot(key).Record.Wake(); wakes {
			return false
		}
	}
	return true
}

// failRest is P3: all comes to rest once faults have stopped.
func (w *world) failRest() {
	if w.atRest() {
		return
	}
	for _, key := range w.keys() {
		r := w.snapshot(key).Record
		if at, wakes := r.Wake(); wakes {
			w.fail("P3 rest", "%s is %s still, with %d waiting, and wanted to be looked at at %s", key.Conversation, r.Shown(), r.Pending, clock(at))
		}
	}
	if waiting := len(w.platform.updates); waiting > 0 {
		w.fail("P3 polled", "nobody fetches %d messages that wait at the platform", waiting)
	}
	w.fail("P3 rest", "a node does not come to rest")
}

// verdict judges the end, from what a person saw and what the store holds.
func (w *world) verdict() {
	w.sweep()
	for _, key := range w.keys() {
		if w.broken == nil {
			w.ledger.verdict(w.ledger.conversation(key))
		}
	}
	if w.ledger.miscounted != "" {
		w.fail("P4 bytes", "%s", w.ledger.miscounted)
	}
}

// sweep is P6: there is a timer if and only if there is something to do.
func (w *world) sweep() {
	found, _, err := w.store.Sweep(context.Background(), "", 100)
	w.mustBeNil(err)
	for _, f := range found {
		if _, wakes := f.Snapshot.Record.Wake(); wakes != (f.Timer != 0) {
			w.fail("P6 timer", "%s has work: %v, and a timer: %v", f.Key.Conversation, wakes, f.Timer != 0)
		}
	}
}

func (l *ledger) verdict(t *conversation) {
	record := l.snapshot(t.key).Record
	entries := l.entries(t.key, store.EntryQuery{})
	there, fates := map[string]bool{}, map[int64]turn.Status{}
	for _, e := range entries {
		fates[e.Seq] = e.Status
	}
	for _, e := range entries {
		if e.Kind == store.Message {
			there[e.ID] = true
			l.judgeText(t.key, e)
			l.judgeChanged(t, e, l.now)
			l.judgeMessage(t, record, e, fates[e.ReplySeq])
		} else if e.Kind == store.Reply {
			there[e.Text] = there[e.Text] || e.Author == turn.ReplyHuman
			l.judgeReply(t, record, e)
		}
	}
	if record.OnHold && !l.kept[t.key] {
		l.fail("P3 pause", "the conversation is paused for good, and every pause was to end by itself")
	}
	l.judgeAside(record, entries)
	l.judgeTurns(t, entries)
	for id, m := range t.messages {
		if m.acked && !there[id] {
			l.fail("P4 lost", "%s was acknowledged and is gone", id)
		}
	}
	for _, text := range t.sayings {
		if !there[text] {
			l.fail("P4 lost", "the reply %q of a person was acknowledged and is gone", text)
		}
	}
}

// judgeAside is P3 for what was set aside: the record knows how much it is, so that
// somebody hears of it and can have it back.
func (l *ledger) judgeAside(record turn.Record, entries []store.Entry) {
	count, known := 0, 0
	for _, e := range entries {
		if e.Status == turn.InputFailed {
			count++
		}
	}
	if record.SetAside != nil {
		known = record.SetAside.Pending
	}
	if count != known {
		l.fail("P3 aside", "%d messages are set aside, and the record knows of %d", count, known)
	}
}

// judgeTurns is P3 for who watches: the steps that are kept tell the end of each turn
// once, unless it is not over.
func (l *ledger) judgeTurns(t *conversation, entries []store.Entry) {
	snapshot := l.snapshot(t.key)
	traces := []store.Trace{snapshot.Log.Trace}
	for _, e := range entries {
		traces = append(traces, e.Trace)
	}
	ends := map[int64]int{}
	for _, trace := range traces {
		if trace.Lost > 0 {
			return
		}
		for _, step := range trace.Steps {
			if step.Kind == turn.KindTurnEnded {
				ends[step.Turn]++
			}
		}
	}
	for number := int64(1); number <= snapshot.Record.LastTurn(); number++ {
		want := 1
		if snapshot.Record.TurnOpen(number) {
			want = 0
		}
		if ends[number] != want {
			l.fail("P3 ended", "turn %d of %s ended %d times, and %d times is right", number, t.key.Conversation, ends[number], want)
		}
	}
}

// judgeMessage is P3: every message ends in a reply that was sent, or in a
// state that says why not. fate is what became of the reply that settled it.
func (l *ledger) judgeMessage(t *conversation, record turn.Record, e store.Entry, fate turn.Status) {
	by := t.replies[e.ReplySeq]
	answers := by != nil && slices.ContainsFunc(by.seen, func(s shownMessage) bool {
		return s.id == e.ID && (s.text == e.Text || e.Recorded || closesOwn(e.Text)) // the stop word came when the reply was on its way
	})
	switch e.Status {
	case turn.InputAnswered:
		switch {
		case by != nil && by.entry.Author == turn.ReplyHuman && !isFromOutside(by.entry, notifies) && e.Seq < e.ReplySeq:
		case !answers:
			l.fail("P3 answered", "%s=%s is marked as answered, by a reply that has not seen it", e.ID, e.Text)
		case by.mayFail && fate == turn.ReplyFailed:
		case fate != turn.ReplySent && fate != turn.ReplyPartial && fate != turn.ReplyUnknown:
			l.fail("P3 answered", "%s=%s is marked as answered, by a reply that is %s", e.ID, e.Text, fate)
		}
	case turn.InputPending:
		if !record.OnHold && record.Phase != turn.Failed {
			l.fail("P3 stranded", "%s waits, and the conversation is %s", e.ID, record.Shown())
		}
	case turn.InputClosed:
		silent := answers && by.entry.Text == ""
		if !silent && !l.stops[t.key][senderOf(e.ID)] && !l.askedFor(t.key, 0, closes, humanSays, records, silences, reset, startsOver) {
			l.fail("P3 closed", "%s was closed, and nobody asked for it", e.ID)
		}
	}
}

// judgeReply is P7: what the transcript says of a reply is what the person
// saw.
func (l *ledger) judgeReply(t *conversation, record turn.Record, e store.Entry) {
	r := t.replies[e.Seq]
	l.judgeReported(r, e)
	switch e.Status {
	case turn.ReplyCommitted:
		if !record.OnHold {
			l.fail("P7 fate", "reply %s was committed, and nothing became of it", e.ID)
		}
	case turn.ReplySent:
		if e.Reason == turn.ByOperator {
			return // who marked it as sent knows better
		}
		if len(r.shown) != len(r.texts) {
			l.fail("P7 fate", "reply %s is marked as sent, and the person saw %d of %d parts", e.ID, len(r.shown), len(r.texts))
		}
	case turn.ReplyPartial:
		if len(r.shown) < e.Delivered || len(r.shown) == 0 {
			l.fail("P7 fate", "reply %s is marked as sent in part (%d), and the person saw %d parts", e.ID, e.Delivered, len(r.shown))
		}
	case turn.ReplyWithdrawn, turn.ReplyFailed, turn.ReplyNone:
		if len(r.shown) > 0 && !r.mayFail {
			l.fail("P7 withdrawn", "reply %s is marked as %s, and the person saw it", e.ID, e.Status)
		}
	}
}

// judgeReported is P7 for what the channel says afterwards: a reply that failed is
// undelivered, and one that has arrived is sent, in whatever order that was reported.
func (l *ledger) judgeReported(r *reply, e store.Entry) {
	if r == nil || r.again || r.unclear || e.Reason == turn.ByOperator {
		return // it was sent again since, or somebody knows better
	}
	switch r.said {
	case turn.ReceiptFailed:
		if e.Status != turn.ReplyFailed && !r.mayArrive {
			l.fail("P7 report", "the channel said that reply %s failed, and it is %s", e.ID, e.Status)
		}
	case turn.ReceiptDelivered, turn.ReceiptRead:
		if e.Status == turn.ReplyFailed || e.Status == turn.ReplyUnknown {
			l.fail("P7 report", "the channel said that reply %s has arrived, and it is %s", e.ID, e.Status)
		}
	}
}

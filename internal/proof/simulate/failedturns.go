package simulate

import (
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// judgeEnd is P3 for what is given up: a turn fails over a rejection or over as
// many attempts as are allowed, and its inputs are set aside over as many
// workers that were lost while they ran nothing else.
func (l *ledger) judgeEnd(t *conversation, write store.Write, before turn.Record, waiting []store.Entry) {
	after := write.Record
	for _, s := range write.Settle {
		for _, e := range waiting {
			if s.Status == turn.InputFailed && s.From < e.Version && e.Version <= s.Through {
				t.aside[e.ID] = true
			}
		}
	}
	if before.Phase == turn.Generating && after.Lease.Nonce != before.Lease.Nonce {
		l.countEnd(t, write, before)
	}
	refused := false
	ended := before.Phase == turn.Generating && after.Lease.Nonce != before.Lease.Nonce
	if c := l.calls[before.Lease.Nonce]; c != nil && ended {
		refused = c.fault == turn.Refused
	}
	failed := after.Phase == turn.Failed || after.Reply != nil && standsIn(after.Reply.Kind)
	if refused && l.judgeRefused(t, write, before, waiting) {
		return
	}
	proven := t.suspects[before.Turn].proven
	if before.Phase == turn.Generating && failed && t.spent[before.Turn] < l.policy.MaxAttempts && proven < l.policy.MaxAttempts {
		l.fail("P3 failed", "turn %d was given up after %d of %d attempts", before.Turn, t.spent[before.Turn], l.policy.MaxAttempts)
	}
	for _, s := range write.Settle {
		if s.Status == turn.InputFailed && proven < l.policy.MaxAttempts {
			l.fail("P3 aside", "inputs up to version %d were set aside after %d of %d workers were lost that ran nothing else", s.Through, proven, l.policy.MaxAttempts)
		}
	}
}

// standsIn reports whether a reply of this kind stands in for one.
func standsIn(kind string) bool { return kind == turn.ReplyFallback || kind == turn.ReplyRefusal }

// mostCalls is how often a turn calls the model at most over prompts that it refuses.
const mostCalls = 8

// judgeRefused is P3 for what is set aside because the model refuses it: it does refuse
// that message, and the turn has not called it more often than is allowed. Early attempts
// come on top: they begin no search. It reports whether anything was set aside.
func (l *ledger) judgeRefused(t *conversation, write store.Write, before turn.Record, waiting []store.Entry) bool {
	if t.changed < t.taken { // else what waits now was not in that prompt
		t.refusals[before.Turn]++
	}
	// An early attempt is no call of the search, and what a lost worker was told is lost too.
	if most := mostCalls + before.Tries.Early + t.workers[before.Turn]; t.refusals[before.Turn] > most {
		l.fail("P3 calls", "turn %d had %d prompts refused, and %d calls are allowed", before.Turn, t.refusals[before.Turn], most)
	}
	var aside []store.Entry
	for _, s := range write.Settle {
		for _, e := range waiting {
			if s.Status == turn.InputFailed && s.From < e.Version && e.Version <= s.Through {
				aside = append(aside, e)
			}
		}
	}
	lost := l.now.Add(slack) >= before.Lease.Expires && t.workers[before.Turn] >= l.policy.MaxAttempts // nobody was told of the refusal
	if len(aside) == 1 && !l.refusable(t.key, aside[0]) && !lost {
		l.fail("P3 aside", "%s was set aside as refused, and the model takes it", aside[0].ID)
	}
	return len(aside) > 0
}

// countEnd counts an attempt that ended, by what its model returned or by its
// worker being lost.
func (l *ledger) countEnd(t *conversation, write store.Write, before turn.Record) {
	c := l.calls[before.Lease.Nonce]
	switch {
	case c != nil && (c.fault == turn.Rejected || c.fault == turn.Refused && before.Attempt.Sealed):
		t.spent[before.Turn] += l.policy.MaxAttempts
	case c != nil && c.fault == turn.Failure:
		t.spent[before.Turn]++
	}
	if l.now.Add(slack) >= before.Lease.Expires || l.alone {
		t.workers[before.Turn]++
	}
}

// judgeGivenUp is P3 for what is not delivered: the channel refused it, it was
// tried for as long as is allowed, or a human stepped in.
func (l *ledger) judgeGivenUp(t *conversation, write store.Write, before turn.Record) {
	human := before.OnHold || write.Record.OnHold || slices.ContainsFunc(write.Append, func(e store.Entry) bool { return e.Author == turn.ReplyHuman })
	for _, mark := range write.Mark {
		r := t.replies[mark.Seq]
		if r == nil || human || mark.Status != turn.ReplyFailed && mark.Status != turn.ReplyPartial {
			continue
		}
		if r.mayFail && mark.Status == turn.ReplyFailed {
			continue // the channel took it, and said later that it failed
		}
		if mark.Reason == turn.Stopped {
			l.judgeStopped(t, r)
			continue
		}
		if r.last != 0 && mark.Reason == turn.ByHuman {
			continue
		}
		if mark.Reason == turn.WasPaused && l.askedFor(t.key, r.entry.At, pause, silences, optsOut) {
			continue // which may be over already, in the same write
		}
		if mark.Reason == turn.WasReset && l.askedFor(t.key, r.entry.At, reset, startsOver) {
			continue
		}
		if tried := write.At.Sub(r.entry.At); !r.refused && tried+slack < l.policy.RetryFor {
			l.fail("P3 failed", "reply %s is %s after %v, and is to be tried for %v", r.entry.ID, mark.Status, tried, l.policy.RetryFor)
		}
	}
}

// judgeStopped is P7 for a reply that a stop word has cut: all whose messages it answers
// have said one. It answers none that was closed, or deleted, when that word came.
func (l *ledger) judgeStopped(t *conversation, r *reply) {
	for _, s := range r.seen {
		found := l.entries(t.key, store.EntryQuery{ID: s.id, Limit: 1})
		answered := len(found) == 1 && found[0].Status == turn.InputAnswered
		if answered && !l.stops[t.key][senderOf(s.id)] {
			l.fail("P7 cut", "reply %s was cut by a stop word, and the sender of %s has said none", r.entry.ID, s.id)
		}
	}
}

// judgeStandIn is P3 for texts that stand in for a reply: one until a turn succeeds.
func (l *ledger) judgeStandIn(t *conversation, write store.Write) {
	ended := func(kind func(string) bool, any ...turn.Status) bool {
		return slices.ContainsFunc(write.Mark, func(m turn.Mark) bool {
			r := t.replies[m.Seq]
			return r != nil && kind(r.entry.Author) && slices.Contains(any, m.Status)
		})
	}
	answers := func(author string) bool { return author == turn.ReplyAnswer }
	if ended(answers, turn.ReplySent, turn.ReplyPartial, turn.ReplyUnknown, turn.ReplyNone, turn.ReplyFailed) {
		t.stoodIn = false
	}
	for _, e := range write.Append {
		if e.Kind == store.Reply && standsIn(e.Author) && t.stoodIn {
			l.fail("P3 notice", "%q stands in for a reply once more, and no turn has succeeded since the last time", e.Text)
		}
	}
	if ended(standsIn, turn.ReplySent, turn.ReplyUnknown) {
		t.stoodIn = true
	}
}

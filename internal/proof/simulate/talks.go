package simulate

import (
	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// judgeTalk is P2 for the end of a talk: it ends where somebody asked for it, or with a
// message that comes after a long silence, and not otherwise.
func (l *ledger) judgeTalk(t *conversation, write store.Write, before turn.Record) {
	silence := write.At.Sub(t.said)
	limit, ended, replied, said := l.policy.SessionIdle, false, false, false
	for _, e := range write.Append {
		if e.IsClaim() {
			continue
		}
		switch e.Kind {
		case store.Reset:
			t.fresh, t.freshAt, ended = e.Seq, l.now, true
			silent := e.Reason == turn.SessionIdle && limit > 0 && silence+slack >= limit
			if !silent && !l.askedFor(t.key, 0, reset, startsOver) {
				l.fail("P2 fresh", "the talk ended after a silence of %v, and nobody asked for it", silence)
			}
		case store.Reply:
			replied = true // by a person, in the same write
			said = said || isFromOutside(e, records)
		case store.Message:
			quiet := before.Phase == turn.Idle && !replied && t.said != 0 && !ended && !l.askedFor(t.key, write.At, resend)
			if quiet && limit > 0 && silence > limit+slack {
				l.fail("P2 fresh", "%s came after a silence of %v, and the talk goes on", e.ID, silence)
			}
			t.said, silence = write.At, 0
		}
	}
	said = said || before.Reply != nil && write.Record.Reply != nil && write.Record.Reply.Done > before.Reply.Done
	for _, mark := range write.Mark {
		ended := before.Reply != nil && mark.Seq == before.Reply.Seq // a report of the channel marks a reply that ended before
		arrived := mark.Status == turn.ReplySent || mark.Status == turn.ReplyPartial || mark.Status == turn.ReplyUnknown
		said = said || ended && (arrived || mark.Status == turn.ReplyFailed && mark.Reason == turn.ByChannel)
	}
	if said {
		t.said = write.At
	}
}

// judgeFresh is P2 for what the model is told of before: nothing of an earlier talk. A
// node that has lost its lease may not know of a reset yet, and its result is fenced.
func (l *ledger) judgeFresh(o engine.Start) {
	if l.snapshot(o.Key).Record.Lease.Nonce != o.Lease.Nonce {
		return
	}
	for _, e := range o.Prompt.History {
		if fresh := l.conversation(o.Key).fresh; e.Seq < fresh {
			l.fail("P2 fresh", "the model is told of %s, which was said before the reset %d", e.ID, fresh)
		}
	}
}

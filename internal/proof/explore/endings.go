package explore

import "github.com/onereply/onereply/turn"

// judgeTurns is P3 for who watches: each turn that began ends once, and turn.ended says
// how. What is open then is told by the record alone. A write that breaks another
// promise too is told by the name of that one, so what is wrong here is kept in untold.
func (w *world) judgeTurns(q request, x write, was turn.Record) {
	l, is := &w.ledger, w.store.record
	for number := was.LastTurn() + 1; number <= is.LastTurn(); number++ {
		l.openTurns |= 1 << number
	}
	for _, n := range x.effects.Notices {
		if n.Kind != turn.KindTurnEnded {
			continue
		}
		if l.openTurns&(1<<n.Turn) == 0 {
			w.mistold(violated("P3 ended", "turn %d ended (%s), and had ended before", n.Turn, n.Reason))
		}
		l.openTurns &^= 1 << n.Turn
		w.judgeEnding(q, x, was, n)
	}
	if open := openTurns(is); open != l.openTurns {
		w.mistold(violated("P3 ended", "the turns %b are open, and by what was told these are: %b", open, l.openTurns))
	}
}

// mistold keeps the first thing that is wrong with what was told of turns.
func (w *world) mistold(v *Violation) {
	if w.untold == nil {
		w.untold = v
	}
}

// openTurns are the turns that are not over, by number: of the replies that people wait
// to have sent, of the reply on its way, and of the inputs that wait.
func openTurns(r turn.Record) uint64 {
	var open uint64
	for _, queued := range r.Queue {
		open |= 1 << queued.Turn
	}
	waits := r.Phase == turn.Collecting || r.Phase == turn.Generating
	switch {
	case r.Reply == nil:
	case interrupts(r):
		waits = r.Window.Start != 0
	}
	if r.Reply != nil && !sendsAgain(r) {
		open |= 1 << r.Reply.Turn
	}
	if waits {
		open |= 1 << r.Turn
	}
	return open
}

// judgeEnding checks that a turn ended as it was told.
func (w *world) judgeEnding(q request, x write, was turn.Record, n turn.Notice) {
	var status turn.Status
	if was.Reply != nil && was.Reply.Turn == n.Turn && was.Reply.Kind != turn.ReplyResend {
		status = w.store.reply(was.Reply.Seq).status
	}
	how, so := turn.Ending(n.Reason), false
	switch how {
	case turn.EndedSent:
		so = status == turn.ReplySent || q.kind == sentElsewhere
	case turn.EndedSilent:
		so = q.kind == generated && q.parts == 0
	case turn.EndedClosed:
		so = w.ledger.closed || q.stops() || w.ledger.stopped != [2]int64{}
	case turn.EndedReset:
		so = q.kind == reset || q.kind == resetWord
	case turn.EndedStopped:
		so = status == turn.ReplyPartial
	case turn.EndedDeleted:
		so = q.kind == remove || w.ledger.removed != 0
	case turn.EndedUndelivered:
		so = status != turn.ReplySent && status != ""
	case turn.EndedFailed:
		stoodIn := was.Reply != nil && was.Reply.Turn == n.Turn && was.Reply.Kind == turn.ReplyFallback
		so = stoodIn || w.ledger.failed || w.mayFail(q, x, was)
	}
	if !so {
		w.mistold(violated("P3 ended", "turn %d is said to have ended as %s after %v", n.Turn, how, q.kind))
	}
}

package explore

import "github.com/onereply/onereply/turn"

// earlyEdit is an edit that is kept for a message that has not come.
type earlyEdit struct {
	id   uint8
	seq  int64
	edit uint8
}

// kept is the sequence of the edit that is kept for a message, 0 if there is none.
func (s *storage) kept(id uint8, now turn.Time) int64 {
	for _, e := range s.early {
		if e.id == id && s.record.KeepsEarly(e.seq, now) {
			return e.seq
		}
	}
	return 0
}

// editOf is the edit that is kept at a sequence.
func (s *storage) editOf(seq int64) uint8 {
	for _, e := range s.early {
		if e.seq == seq {
			return e.edit
		}
	}
	return 0
}

// writeEarly keeps the edit of a message that has not come, or has its deletion claim
// the id.
func (w *world) writeEarly(q request, x write) {
	s := &w.store
	switch {
	case q.kind == remove && w.scope.flaws.claimsForgotten:
	case q.kind == remove:
		s.messages = append(s.messages, message{id: q.message, seq: x.effects.AppendEarly, status: turn.InputDeleted})
	case x.effects.AppendEarly != 0:
		s.early = append(s.early, earlyEdit{q.message, x.effects.AppendEarly, q.number})
	default:
		for i := range s.early {
			if s.early[i].seq == x.early {
				s.early[i].edit = q.number
			}
		}
	}
}

// keptEdit is an edit that came before its message, as an onlooker knows it, and until
// when it is kept.
type keptEdit struct {
	number uint8
	until  turn.Time
}

// noteEarly takes the edit or the deletion of a message that has not come.
func (l *ledger) noteEarly(q request, x write) {
	if q.kind == remove {
		l.takenBack |= 1 << q.message
		return
	}
	l.keptEdits[q.message] = keptEdit{q.number, x.at.Add(turn.EarlyFor)}
}

// judgeEarly is P4 for what came before its message: the message is accepted as it was
// edited, and not at all if it was deleted.
func (w *world) judgeEarly(q request, x write) {
	if q.kind != receive || !x.effects.AppendInput {
		return
	}
	m := w.store.message(q.message)
	want := w.ledger.keptEdits[q.message]
	if x.at >= want.until {
		want.number = 0
	}
	switch {
	case w.ledger.takenBack&(1<<q.message) != 0:
		w.fail("P4 early", "m%d was accepted, and its author had deleted it before it came", m.id)
	case m.edit != want.number:
		w.fail("P4 early", "m%d was accepted with edit %d, and edit %d is kept for it", m.id, m.edit, want.number)
	}
}

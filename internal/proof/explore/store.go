package explore

import (
	"math/bits"
	"slices"

	"github.com/onereply/onereply/turn"
)

// storage is the store: record, transcript and timer of one conversation.
type storage struct {
	record   turn.Record
	op       int // of the last write: the revision
	ops      int // given out
	timer    turn.Time
	claimed  bool // a claim pushed the timer, and nobody wrote it since
	messages []message
	replies  []reply
	early    []earlyEdit
}

// message is an entry of the transcript. Its text is named by its version.
type message struct {
	id      uint8
	sender  uint8
	seq     int64
	version int64
	first   int64     // the text as it was first written
	was     int64     // the text before the last edit, where an attempt may still need it
	edit    uint8     // the last edit that was applied
	bytes   int       // its size
	since   turn.Time // when it was accepted, or first touched after an attempt had read it
	media   bool      // its attachment is still being processed
	bot     bool      // another bot wrote it
	status  turn.Status
	talk    uint8 // in which it came: see ledger.talk

	forgotten bool // only with flaws.idsAnew
}

// bytesOf is the size of a message by its last edit: each makes it longer.
func bytesOf(edit uint8) int { return 1 + int(edit) }

// reply is an entry of the transcript.
type reply struct {
	seq       int64
	kind      string
	human     uint8 // which of the replies that people wrote
	covers    inputs
	parts     int
	delivered [2]uint8 // times that the person saw each part
	doubtful  uint8    // a bit for each part: the outcome of a send of it is truly unknown
	status    turn.Status

	people   int8 // inputs of people accepted before its commit, of one that only other bots get; -1: of all others
	turn     int64
	receipts turn.Receipts
	reported [2]turn.Receipt // what the channel said of each part since it was last sent
	refuted  uint8           // a bit for each part: it is to be sent again, since the channel said that it never arrived

	last  uint8     // the part that is the last one, because a person said something: its number; 0: none is
	again bool      // an operator was told that it is sent again, and it has not begun
	asked bool      // it is sent because an operator asked for it
	since turn.Time // when it became the one to be sent, or was resumed
	fails uint8     // sends without success since the last delivered part
	lost  uint8     // workers lost over the current part
	talk  uint8     // in which it was committed
}

// reportable reports whether the channel may say something of the reply: it may have taken
// some of it, and the rest was not given up.
func (r *reply) reportable() bool {
	switch r.status {
	case turn.ReplyCommitted, turn.ReplySent, turn.ReplyUnknown, turn.ReplyFailed:
		return r.delivered[0] > 0
	}
	return false
}

// arrived reports whether the person has all parts.
func (r *reply) arrived() bool {
	for part := range r.parts {
		if r.delivered[part] == 0 {
			return false
		}
	}
	return true
}

// forgetFailures is for parts that are sent once more.
func (r *reply) forgetFailures(parts ...int) {
	for _, part := range parts {
		if r.reported[part] == turn.ReceiptFailed {
			r.reported[part] = turn.NoReceipt
		}
	}
}

// sendsAll is for a reply that an operator has sent again, from the first part on that did
// not arrive. Those after it go out again too, whatever is known of them: he has been told
// that the person may see them twice.
func (r *reply) sendsAll() {
	failed := false
	for part := range r.parts {
		if r.reported[part] == turn.ReceiptFailed {
			failed = true
			r.refuted |= 1 << part
		}
		if failed {
			r.doubtful |= 1 << part
		}
	}
	r.reported = [2]turn.Receipt{}
}

// write is a commit that was prepared: what Step made of the record that was
// read.
type write struct {
	expect, op int
	at         turn.Time
	record     turn.Record
	effects    turn.Effects
	early      int64     // the edit that was kept for the message of the request
	life       int       // of the conversation
	told       turn.Time // the end of a pause for the whole bot, as far as the worker knew
	real       turn.Time // the true time of Step, whatever the worker's clock says
}

func (s *storage) message(id uint8) *message {
	for i := range s.messages {
		if s.messages[i].id == id {
			return &s.messages[i]
		}
	}
	return nil
}

// copies is how often a message is in the transcript.
func (s *storage) copies(id uint8) int {
	count := 0
	for _, m := range s.messages {
		if m.id == id {
			count++
		}
	}
	return count
}

func (s *storage) reply(seq int64) *reply {
	for i := range s.replies {
		if s.replies[i].seq == seq {
			return &s.replies[i]
		}
	}
	return nil
}

// waiting is the set of inputs that wait.
func (s *storage) waiting() inputs {
	var set inputs
	for _, m := range s.messages {
		if m.status == turn.InputPending {
			set |= input(m.version)
		}
	}
	return set
}

// asked are the messages that waited when an attempt began, as its result tells of them.
func (s *storage) asked(waited inputs) []turn.Waiting {
	var list []turn.Waiting
	for _, version := range waited.versions() {
		told := turn.Waiting{Version: version}
		for _, m := range s.messages {
			if m.version == version {
				told.Media, told.Bytes = m.media, m.bytes
			}
		}
		list = append(list, told)
	}
	return list
}

// aside is the set of inputs that were set aside.
func (s *storage) aside() inputs {
	var set inputs
	for _, m := range s.messages {
		if m.status == turn.InputFailed {
			set |= input(m.version)
		}
	}
	return set
}

// prompt is what an attempt reads: all that waits, as it was at a version, or the part of
// it that it is to answer.
func (s *storage) prompt(through int64, part turn.Part) inputs {
	var set inputs
	for _, m := range s.messages {
		switch {
		case m.status != turn.InputPending:
		case m.version <= through && part.Holds(m.version):
			set |= input(m.version)
		case m.version > through && m.was != 0 && m.was <= through && part.Holds(m.was):
			set |= input(m.was)
		}
	}
	return set
}

// hasHistory reports whether somebody has seen a reply.
func (s *storage) hasHistory() bool {
	for _, r := range s.replies {
		if r.delivered[0] > 0 {
			return true
		}
	}
	return false
}

// refuses reports whether the model refuses a prompt.
func (w *world) refuses(prompt inputs) bool {
	room := w.scope.Room
	if room > 0 && bits.OnesCount32(uint32(prompt)) > room {
		return true
	}
	m := w.store.message(refusedMessage)
	return w.scope.Refuses && m != nil && prompt.has(m.first)
}

// tooLarge reports whether a prompt has more bytes than it may. A single message may.
func (w *world) tooLarge(prompt inputs) bool {
	most := w.scope.Policy.PromptBytes
	return most > 0 && bits.OnesCount32(uint32(prompt)) > 1 && w.store.sizeOf(prompt) > most
}

// sizeOf is how many bytes these messages have.
func (s *storage) sizeOf(prompt inputs) int {
	size := 0
	for _, m := range s.asked(prompt) {
		size += m.Bytes
	}
	return size
}

// refusedMessage is the one that the model does not take.
const refusedMessage = 2

// commit applies a write: record, transcript and timer at once.
func (w *world) commit(q request, x write) {
	before := w.store
	before.messages, before.early = slices.Clone(w.store.messages), slices.Clone(w.store.early) // entries change in place
	s := &w.store
	s.record, s.op = x.record, x.op
	if q.kind == reset {
		w.endTalk()
	}
	w.writeEntries(q, x, before.record)
	for _, settle := range x.effects.Settles {
		w.settle(q, settle)
	}
	if q.kind == sentElsewhere {
		w.ledger.delivered |= s.reply(x.effects.AppendReply).covers
	}
	for _, mark := range x.effects.Marks {
		w.mark(q, x, before.record, mark)
	}
	for _, p := range x.effects.Progress {
		r := s.reply(p.Seq)
		r.receipts = r.receipts.Merge(p.Receipts, p.Again)
	}
	s.timer, s.claimed = 0, false
	if at, wakes := s.record.Wake(); wakes {
		s.timer = at
	}
	if s.record.Phase == w.scope.flaws.timerLate && s.timer != 0 {
		s.timer = s.timer.Add(w.scope.tick())
	}
	if w.scope.flaws.timerKept && q.kind == renew {
		s.timer = before.timer
	}
	if w.scope.flaws.timerCleared && before.record.Reply != nil && s.record.Reply == nil {
		s.timer = 0
	}
	w.judge(q, x, &before)
	w.ledger.note(w, q, x, &before)
}

// writeEntries appends and changes entries, as the engine does with each
// request.
func (w *world) writeEntries(q request, x write, before turn.Record) {
	s := &w.store
	r := s.record
	switch {
	case x.effects.AppendInput && !q.repeated:
		m := message{
			id: q.message, sender: q.sender, seq: r.Seq, version: r.Version, first: r.Version, since: x.at, media: q.media, bot: q.bot,
			status: turn.InputPending, talk: w.talkOf(q, x), edit: s.editOf(x.early), bytes: bytesOf(s.editOf(x.early)),
		}
		if q.kind == stopping {
			m.status = turn.InputClosed
		}
		s.messages = append(s.messages, m)
	case x.effects.AppendContext:
		s.messages = append(s.messages, message{id: q.message, seq: r.Seq, status: turn.InputContext})
	case q.early:
		w.writeEarly(q, x)
	case q.settled:
		m := s.message(q.message)
		m.edit = q.number
		if q.kind == remove {
			m.status = turn.InputDeleted
		}
	case q.kind == stopEditing:
		m := s.message(q.message)
		m.was, m.edit, m.media = 0, q.number, false
	case q.touches(s): // what its author thinks better of waits for a requeue
		m := s.message(q.message)
		m.edit, m.bytes, m.media = q.number, q.bytes(), false
		if q.kind == remove {
			m.status = turn.InputDeleted
		}
	case q.kind == edit:
		m := s.message(q.message)
		if m.version <= before.Attempt.Through {
			m.was, m.since = m.version, x.at
		} else if m.was > before.Attempt.Through {
			m.was = 0
		}
		m.version, m.edit, m.bytes, m.media = r.Version, q.number, q.bytes(), false
	case q.kind == remove:
		m := s.message(q.message)
		if m.version <= before.Attempt.Through {
			m.since = x.at
		}
		m.version, m.was, m.status = r.Version, 0, turn.InputDeleted
	}
	s.early = slices.DeleteFunc(s.early, func(e earlyEdit) bool { return slices.Contains(x.effects.DropEarly, e.seq) })
	if seq := x.effects.AppendReply; seq != 0 {
		e := w.newReply(r, q, seq)
		e.talk = w.ledger.talk
		s.replies = append(s.replies, e)
	}
}

// endTalk ends the talk because somebody asked for it.
func (w *world) endTalk() {
	w.ledger.talk++
	for i := range w.store.messages {
		w.store.messages[i].forgotten = w.scope.flaws.idsAnew
	}
}

// talkOf is the talk to which a message belongs: the next one, where it comes after a
// silence that ends the last.
func (w *world) talkOf(q request, x write) uint8 {
	if (q.kind == receive || q.kind == stopping) && w.ledger.silent(w, x.at) {
		w.ledger.talk++
	}
	return w.ledger.talk
}

// open reports whether its author may still change the message.
func (m *message) open() bool { return m.status == turn.InputPending || m.status == turn.InputFailed }

// settled reports whether nobody waits for an answer to the message, and its author has
// not deleted it.
func (m *message) settled() bool { return !m.open() && m.status != turn.InputDeleted }

// isNoInput reports whether the request changes a message for whose answer nobody waits
// now.
func (q request) isNoInput(before *storage) bool { return q.early || q.settled || q.touches(before) }

// touches reports whether the request changes a message that was set aside.
func (q request) touches(s *storage) bool {
	m := s.message(q.message)
	return (q.kind == edit || q.kind == remove) && m != nil && m.status == turn.InputFailed
}

// newReply is the entry of a reply. A reply of the responder covers the inputs of
// its prompt; a person's reply covers the inputs that its write settles; a fallback
// text answers nothing.
func (w *world) newReply(r turn.Record, q request, seq int64) reply {
	e := reply{seq: seq, status: turn.ReplyCommitted, people: -1}
	if r.Reply != nil && r.Reply.Seq == seq {
		e.kind, e.parts, e.turn = r.Reply.Kind, r.Reply.Parts, r.Reply.Turn
	}
	switch q.kind {
	case generated:
		e.covers = q.covers
		e.people = w.ledger.toBots(q.covers)
	case human, sentElsewhere, humanSilences:
		e.kind, e.parts, e.human, e.turn = turn.ReplyHuman, 1, q.number, r.Turn
	case notification:
		e.kind, e.parts, e.human, e.turn = turn.ReplyBeside, 1, q.number, r.LastTurn()
	}
	if q.kind == sentElsewhere {
		e.delivered[0] = 1
	}
	return e
}

// settle carries out a [turn.Settle]. A person's reply covers what it closes.
func (w *world) settle(q request, settle turn.Settle) {
	from, to := turn.InputPending, settle.Status
	if settle.Reopen {
		from, to = turn.InputFailed, turn.InputPending
	}
	for i := range w.store.messages {
		m := &w.store.messages[i]
		inRange := m.seq > settle.AfterSeq && settle.From < m.version && m.version <= settle.Through
		if !inRange || m.status != from {
			continue
		}
		m.status = to
		by := w.store.reply(settle.ReplySeq)
		if by != nil && by.kind == turn.ReplyHuman {
			by.covers |= input(m.version)
		}
		w.judgeSettled(q, *m, by)
	}
}

func (w *world) mark(q request, x write, was turn.Record, mark turn.Mark) {
	r := w.store.reply(mark.Seq)
	if r == nil {
		return
	}
	r.status = mark.Status
	switch {
	case q.kind == markSent:
		r.again = false // somebody knows better
		r.forgetFailures(0, 1)
		return
	case mark.Reason == turn.ByChannel, q.reports():
		r.again = r.again && mark.Status != turn.ReplySent // it has arrived after all
		return                                             // see checkReports
	}
	w.ledger.noteStandIn(*r)
	w.judgeMarked(*r)
	w.judgeGivenUp(q, x, was, *r)
}

package turn_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onereply/onereply/turn"
)

// ledger is the transcript as a store would keep it, told by nothing but the
// effects of Step. The tests read from it what a person would see.
type ledger struct {
	messages []*message
	replies  map[int64]*reply
	prompt   []sight        // what the attempt under way was shown
	waited   []turn.Waiting // all that waited then
	token    int64          // of the lease under which it runs
	sender   string         // who writes, or has written the last message

	full      bool           // whether the record had room for another reply in trouble
	oldest    int64          // the one of them that began first and is not to be sent again; 0 is none
	tried     int64          // the greatest version that an attempt has seen
	forgotten map[int64]bool // unconfirmed replies that there was no room for
}

// message is an input, with the status that Step's effects gave it.
type message struct {
	id      string
	sender  string
	seq     int64
	version int64 // of the last input that touched it
	media   bool  // an attachment is still being processed
	bytes   int   // its size
	status  turn.Status
	by      int64 // the reply that answered it

	told map[turn.Sign]int64 // its version when people were told that it takes longer
}

// sight is one message as an attempt saw it.
type sight struct {
	id      string
	version int64
}

// reply is a committed reply and what its channel went through.
type reply struct {
	seq       int64
	kind      string
	sealed    bool
	status    turn.Status
	prompt    []sight
	delivered int  // parts that are known to have arrived
	doubt     bool // the next one may have, by a send that is over
	underWay  bool // a part was handed to the channel, which has not answered
	unknown   bool // and for one of them it never will
	again     bool // an operator had it sent again, or marked it
	turn      int64
	parts     int
	receipts  turn.Receipts // as the transcript has them
	cut       bool          // it was ended on purpose, because a person said something
}

func newLedger() *ledger { return &ledger{replies: map[int64]*reply{}, forgotten: map[int64]bool{}} }

// record applies what one step asked for. touched is the target of an edit or
// a deletion.
func (l *ledger) record(event turn.Event, touched *message, before, after turn.Record, effects turn.Effects) error {
	l.input(event, touched, after, effects)
	if effects.AppendReply != 0 {
		l.append(event, before, after, effects)
	}
	for _, settle := range effects.Settles {
		if err := l.settle(settle); err != nil {
			return err
		}
	}
	for _, p := range effects.Progress {
		r := l.replies[p.Seq]
		r.receipts = r.receipts.Merge(p.Receipts, p.Again)
	}
	_, reported := event.(turn.Report)
	for _, mark := range effects.Marks {
		if err := l.mark(mark, reported); err != nil {
			return err
		}
	}
	return nil
}

// report is what a channel says of a part of a reply, 0: of all.
func (r *reply) report(part int, receipt turn.Receipt) turn.Report {
	return turn.Report{
		Turn: r.turn, Seq: r.seq, Texts: r.parts, Sends: r.parts, Status: r.status, Receipts: r.receipts,
		Part: part, Receipt: receipt,
	}
}

func (l *ledger) input(event turn.Event, touched *message, after turn.Record, effects turn.Effects) {
	if !effects.Changed {
		return
	}
	switch e := event.(type) {
	case turn.Message:
		id := fmt.Sprintf("m%d", len(l.messages)+1)
		m := &message{told: map[turn.Sign]int64{}, id: id, sender: l.sender, seq: after.Seq, version: after.Version, media: e.Media, bytes: e.Bytes, status: turn.InputPending}
		if effects.AppendContext {
			m.status = turn.InputContext
		}
		l.messages = append(l.messages, m)
	case turn.StopWord:
		if e.Edited == 0 {
			id := fmt.Sprintf("m%d", len(l.messages)+1)
			m := &message{told: map[turn.Sign]int64{}, id: id, sender: l.sender, seq: after.Seq, version: after.Version, status: turn.InputClosed}
			if effects.AppendContext {
				m.status = turn.InputContext
			}
			l.messages = append(l.messages, m)
		}
	case turn.Edit:
		touched.version, touched.media, touched.bytes = after.Version, e.HasMedia, e.Bytes
	case turn.Delete:
		touched.version, touched.status = after.Version, turn.InputDeleted
	case turn.SetAsideChanged:
		touched.bytes = e.Bytes
		if e.Deleted {
			touched.status = turn.InputDeleted
		}
	case turn.SettledChanged:
		if e.Deleted {
			touched.status = turn.InputDeleted
		}
	}
}

// change is the edit, or the deletion, of a message, by what the transcript says of it. An
// edit makes it longer.
func (m *message) change(deleted, media, bot bool) turn.Event {
	bytes := m.bytes
	switch {
	case deleted:
		bytes = 0
	case bytes > 0:
		bytes++
	}
	switch {
	case m.status == turn.InputFailed:
		return turn.SetAsideChanged{Target: m.version, Deleted: deleted, Bytes: bytes, Had: m.bytes, Seq: m.seq}
	case m.status != turn.InputPending && m.status != turn.InputDeleted:
		return turn.SettledChanged{Seq: m.seq, Deleted: deleted}
	case deleted:
		return turn.Delete{Target: m.version, HadMedia: m.media, Had: m.bytes}
	}
	return turn.Edit{Target: m.version, HadMedia: m.media, HasMedia: media, Bot: bot, Bytes: bytes, Had: m.bytes}
}

// stopWord is what the sender says: a new message, or the edit of one.
func (l *ledger) stopWord(r turn.Record, edited *message) turn.StopWord {
	var e turn.StopWord
	if edited != nil {
		l.sender, e.Edited, e.Seq = edited.sender, edited.version, edited.seq
	}
	for _, m := range l.messages {
		if m.status == turn.InputPending && m.sender == l.sender {
			e.Own = append(e.Own, turn.Waiting{Version: m.version, Media: m.media, Bytes: m.bytes})
		}
	}
	slices.SortFunc(e.Own, func(a, b turn.Waiting) int { return int(a.Version - b.Version) })
	for _, s := range l.underWay(r) {
		m := l.find(s.id)
		e.Shared = e.Shared || m.status == turn.InputPending && m.sender != l.sender
	}
	return e
}

// underWay is what the attempt, or the reply, under way answers.
func (l *ledger) underWay(r turn.Record) []sight {
	switch {
	case r.Phase == turn.Generating:
		return l.prompt
	case r.Phase == turn.Sending:
		return l.replies[r.Reply.Seq].prompt
	}
	return nil
}

// hear takes in what the channel answered: a result of the live lease for the
// current part, a reply given back before it was handed to the channel, or the
// silence of a worker that was lost.
func (l *ledger) hear(event turn.Event, before, after turn.Record, effects turn.Effects) {
	if before.Reply == nil || effects.Outcome != turn.Done || !effects.Changed {
		return
	}
	r := l.replies[before.Reply.Seq]
	switch event.(type) {
	case turn.Sent:
		r.delivered++
		r.underWay, r.unknown, r.doubt = false, false, false
	case turn.SendUnknown:
		r.unknown, r.underWay, r.doubt = true, false, true
	case turn.SendFailed, turn.HandBack:
		r.underWay = false
	case turn.Wake:
		r.unknown, r.underWay, r.doubt = r.unknown || r.underWay, false, r.doubt || r.underWay
	}
	if after.Reply != nil && after.Reply.Seq == r.seq {
		r.endDoubt(after.Reply.Receipts)
	}
}

// endDoubt counts the part in doubt if the channel has said that it arrived.
func (r *reply) endDoubt(receipts turn.Receipts) {
	arrived := r.delivered < len(receipts) && (receipts[r.delivered] == turn.ReceiptDelivered || receipts[r.delivered] == turn.ReceiptRead)
	if r.doubt && !r.underWay && arrived {
		r.delivered++
		r.unknown, r.doubt = false, false
	}
}

// begin takes in the work that a step asked for: what the attempt is shown,
// and which reply goes to the channel.
func (l *ledger) begin(actions []turn.Action) {
	for _, action := range actions {
		switch a := action.(type) {
		case turn.Run:
			l.prompt, l.token = l.see(a), a.Lease.Token
			l.waited = nil
			whole := a
			whole.Part = turn.Part{}
			for _, s := range l.see(whole) {
				l.waited = append(l.waited, turn.Waiting{Version: s.version, Bytes: l.find(s.id).bytes})
			}
			slices.SortFunc(l.waited, func(a, b turn.Waiting) int { return int(a.Version - b.Version) })
		case turn.Send:
			l.replies[a.Reply.Seq].underWay = true
		case turn.Show:
			for _, m := range l.waiting(0) {
				m.told[a.Sign] = m.version
			}
		}
	}
}

// append adds a reply. One that the responder wrote carries its prompt.
func (l *ledger) append(event turn.Event, before, after turn.Record, effects turn.Effects) {
	r := &reply{seq: effects.AppendReply, kind: turn.ReplyAnswer, status: turn.ReplyCommitted}
	for _, candidate := range append(slices.Clone(after.Queue), current(after)...) {
		if candidate.Seq == r.seq {
			r.kind, r.sealed = candidate.Kind, before.Attempt.Sealed
			r.turn, r.parts = candidate.Turn, candidate.Parts
		}
	}
	if e, ok := event.(turn.HumanReply); ok && e.Sent {
		r.kind, r.turn, r.parts, r.delivered = turn.ReplyHuman, after.LastTurn(), e.Parts, e.Parts
	}
	if r.kind == turn.ReplyAnswer && l.token == before.Lease.Token {
		r.prompt = l.prompt
	}
	l.replies[r.seq] = r
}

func current(r turn.Record) []turn.Reply {
	if r.Reply == nil {
		return nil
	}
	return []turn.Reply{*r.Reply}
}

// settle marks messages as effects.go says.
func (l *ledger) settle(s turn.Settle) error {
	from := turn.InputPending
	if s.Reopen {
		from = turn.InputFailed
	}
	for _, m := range l.messages {
		if m.status != from || m.version <= s.From || m.version > s.Through {
			continue
		}
		if m.seq <= s.AfterSeq {
			return fmt.Errorf("%s is to be settled as %s, but the mark %d lies behind its sequence %d", m.id, s.Status, s.AfterSeq, m.seq)
		}
		m.status, m.by = s.Status, s.ReplySeq
	}
	return nil
}

func (l *ledger) mark(mark turn.Mark, reported bool) error {
	r := l.replies[mark.Seq]
	if r == nil {
		return fmt.Errorf("reply %d is marked %s, but was never committed", mark.Seq, mark.Status)
	}
	if reported {
		switch allowed := r.status == turn.ReplySent || r.status == turn.ReplyUnknown || r.status == turn.ReplyFailed; {
		case allowed:
		case r.status == turn.ReplyPartial && mark.Status == turn.ReplySent: // the rest arrived after all
		case r.status == turn.ReplyCommitted && r.doubt && !r.underWay && (mark.Status == turn.ReplySent || mark.Status == turn.ReplyPartial): // what was in doubt has arrived
		default:
			return fmt.Errorf("reply %d is %s, and a report makes it %s", mark.Seq, r.status, mark.Status)
		}
		r.status = mark.Status
		if mark.Status == turn.ReplyPartial { // the part in doubt has arrived
			r.countArrived()
			r.unknown, r.underWay = false, false
		}
		return nil
	}
	if mark.Reason == turn.ByOperator {
		return r.remedy(mark)
	}
	if r.status != turn.ReplyCommitted {
		return fmt.Errorf("reply %d is marked %s, but was %s already", mark.Seq, mark.Status, r.status)
	}
	if mark.Status == turn.ReplyWithdrawn && r.reached() {
		return fmt.Errorf("reply %d is withdrawn, but somebody may have seen it", mark.Seq)
	}
	if mark.Reason == turn.Withdrawn && r.sealed {
		return fmt.Errorf("reply %d is withdrawn, but something irreversible stands behind it", mark.Seq)
	}
	r.status = mark.Status
	if mark.Status == turn.ReplyPartial {
		r.countArrived()
	}
	r.cut = mark.Status == turn.ReplyPartial && slices.Contains([]string{turn.WasPaused, turn.ByHuman, turn.Stopped}, mark.Reason)
	return nil
}

// countArrived counts the parts that have arrived, as their channel says.
func (r *reply) countArrived() {
	for r.delivered < len(r.receipts) && (r.receipts[r.delivered] == turn.ReceiptDelivered || r.receipts[r.delivered] == turn.ReceiptRead) {
		r.delivered++
	}
}

// remedy is what an operator does about a reply that ended in trouble. A part
// of which nobody knows may be sent once more then, and the person may see it
// twice: that is what the operator decided.
func (r *reply) remedy(mark turn.Mark) error {
	switch r.status {
	case turn.ReplyUnknown, turn.ReplyFailed, turn.ReplyPartial:
		r.doubt = r.status == turn.ReplyUnknown
		r.status, r.again, r.unknown, r.underWay = mark.Status, true, false, false
		if mark.Status == turn.ReplySent {
			r.delivered = r.parts // by the operator's word
		}
		if failed := slices.Index(r.receipts, turn.ReceiptFailed); failed >= 0 && mark.Status == turn.ReplyCommitted {
			r.delivered = min(r.delivered, failed) // the channel said later that this part did not arrive
		}
		return nil
	}
	return fmt.Errorf("reply %d is %s: nobody needs to do anything about it", r.seq, r.status)
}

// reached reports whether anybody can have seen the reply.
func (r *reply) reached() bool { return r.delivered > 0 || r.unknown || r.underWay || r.again }

// waiting returns the messages that the next prompt would hold: pending, and
// not closed by a reply that is still on its way.
func (l *ledger) waiting(answered int64) []*message {
	var waiting []*message
	for _, m := range l.messages {
		if m.status == turn.InputPending && m.version > answered {
			waiting = append(waiting, m)
		}
	}
	return waiting
}

// see returns what an attempt that is started now is shown.
func (l *ledger) see(run turn.Run) []sight {
	var seen []sight
	for _, m := range l.messages {
		if m.status == turn.InputPending && m.seq > run.AfterSeq && m.version <= run.Through && run.Part.Holds(m.version) {
			seen = append(seen, sight{m.id, m.version})
		}
	}
	return seen
}

func (l *ledger) find(id string) *message {
	for _, m := range l.messages {
		if m.id == id {
			return m
		}
	}
	return nil
}

// names lists messages for people to read.
func names(seen []sight) string {
	ids := make([]string, len(seen))
	for i, s := range seen {
		ids[i] = s.id
	}
	return strings.Join(ids, " ")
}

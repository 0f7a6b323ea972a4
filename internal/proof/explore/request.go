package explore

import (
	"slices"
	"strconv"
	"time"

	"github.com/onereply/onereply/turn"
)

// kind is the kind of a request.
type kind uint8

const (
	receive   kind = iota
	resetWord      // closes all that waits
	edit
	remove
	mention
	typing
	flush
	requeue
	pause
	resume
	resumeClosing
	optOut
	optIn
	stopping    // a message that is a stop word
	stopEditing // the edit of a message into one
	human
	notification  // a reply that closes nothing
	sentElsewhere // a reply that is only recorded
	humanSilences // a reply with a pause after it
	resend
	markSent
	reset
	reportFailed
	reportDelivered
	// From here on: by the workers themselves.
	wake
	claim
	glance
	renew
	handBack
	seal
	interrupted
	generated
	modelFailed
	modelRejected
	modelOut
	modelRefused
	promptTooLarge
	sent
	sendFailed
	sendRefused
	sendUnknown
)

var kindNames = [...]string{
	"message", "reset word", "edit", "delete", "context", "typing", "flush", "requeue", "pause", "resume", "resume and close", "opt-out", "opt-in", "stop word", "edit into a stop word",
	"a person's reply", "a notification", "a person's reply from elsewhere", "a person's reply with a pause", "send again", "mark as sent", "reset", "the channel reports a failure", "the channel reports a delivery", "wake-up", "claim and wake-up", "look for a sign", "renew", "hand back", "seal", "interrupted", "generated",
	"the model failed", "the model rejected it", "the model is out of reach", "the model refuses the prompt", "the prompt is too large", "sent", "send failed",
	"send refused for good", "send with unknown outcome",
}

func (k kind) String() string { return kindNames[k] }

// request is one change that a worker applies to the conversation. After a conflict
// it is applied again, to the record that is there then.
type request struct {
	kind     kind
	message  uint8         // of an input: the message's id
	sender   uint8         // of a new message: one of two people
	number   uint8         // of an edit, or of a person's reply: which one; of a reply in trouble: its turn
	nonce    string        // of the lease that it comes from, or takes
	token    int64         // of a seal
	lasts    time.Duration // of a pause, also after a person's reply; 0: it does not end by itself
	part     int           // of a send's result
	parts    int           // of a reply
	reply    int64         // of a report: the reply's sequence
	pause    time.Duration // after a delivered part, before the next one
	pauses   bool          // of a send that failed: the receiver asks for a pause
	waited   inputs        // of an attempt's result: what waited when its prompt was read
	history  bool          // of an attempt's result: its prompt had a history
	covers   inputs        // of a reply: what its prompt held
	media    bool          // of a message: its attachment is still being processed
	bot      bool          // of a message: another bot wrote it
	early    bool          // an edit or a deletion: the message has not come
	settled  bool          // an edit or a deletion: nobody waits for an answer to the message
	repeated bool          // only with flaws.dedupeAfterBump
}

// event is a request as the core sees it. A wake-up says where tokens begin,
// and whether anybody else can hold a lease.
func (w *world) event(q request, kept int64) turn.Event {
	if q.early {
		return turn.Early{Seq: kept, Deleted: q.kind == remove}
	}
	e := q.event(&w.store, w.scope.tick())
	if message, ok := e.(turn.Message); ok {
		message.Early = kept
		message.Bytes = bytesOf(w.store.editOf(kept))
		if q.kind == mention {
			w.asContext(&message)
		}
		return message
	}
	if look, ok := e.(turn.Wake); ok {
		look.Alone = w.scope.Alone
		if !w.scope.flaws.tokensAnew {
			look.First = int64(w.now)
		}
		return look
	}
	return e
}

// asContext makes a message context: it comes too late, it is not meant for a bot that
// observes, or its sender says so.
func (w *world) asContext(m *turn.Message) {
	switch p := w.scope.Policy; {
	case p.MaxAge > 0:
		m.SentAt = w.now.Add(-p.MaxAge - w.scope.tick())
	case p.Observe:
		m.Unaddressed = true
	default:
		m.Context = true
	}
}

// event is the request alone.
func (q request) event(s *storage, tick time.Duration) turn.Event {
	switch q.kind {
	case receive:
		return turn.Message{Media: q.media, Bot: q.bot}
	case resetWord:
		return turn.Message{Closes: turn.EndedReset}
	case mention:
		return turn.Message{}
	case edit, remove:
		m := s.message(q.message)
		if q.settled {
			return turn.SettledChanged{Seq: m.seq, Deleted: q.kind == remove}
		}
		if q.touches(s) {
			return turn.SetAsideChanged{Target: m.version, Deleted: q.kind == remove, Bytes: q.bytes(), Had: m.bytes}
		}
		if q.kind == edit {
			return turn.Edit{Target: m.version, HadMedia: m.media, Bot: m.bot, Bytes: q.bytes(), Had: m.bytes}
		}
		return turn.Delete{Target: m.version, HadMedia: m.media, Had: m.bytes}
	case typing:
		return turn.Typing{For: Tick}
	case flush:
		return turn.Flush{}
	case requeue:
		return turn.Requeue{}
	case pause:
		return turn.Pause{For: q.lasts}
	case optOut:
		return turn.OptOut{}
	case optIn:
		return turn.OptIn{}
	case resume, resumeClosing:
		return turn.Resume{Answer: q.kind == resume}
	case stopping, stopEditing:
		return q.stopWord(s)
	case human, notification, sentElsewhere, humanSilences:
		return turn.HumanReply{Parts: 1, Beside: q.kind == notification, Sent: q.kind == sentElsewhere, Claims: true, PauseFor: q.lasts}
	case resend:
		return turn.Resend{Turn: int64(q.number)}
	case markSent:
		return turn.MarkSent{Turn: int64(q.number)}
	case reset:
		return turn.Reset{}
	case reportFailed, reportDelivered:
		return q.report(s)
	case wake, claim:
		return turn.Wake{Nonce: q.nonce, Lone: true, Moved: q.kind == claim}
	case glance:
		return turn.CheckSign{}
	case renew:
		return turn.Renew{Nonce: q.nonce}
	case handBack:
		return turn.HandBack{Nonce: q.nonce}
	case seal:
		return turn.Seal{Token: q.token}
	case interrupted:
		return turn.Interrupted{Nonce: q.nonce}
	}
	return q.result(s, tick)
}

// answersByHand reports whether a person's reply settles what waits.
func (q request) answersByHand() bool {
	return q.kind == human || q.kind == sentElsewhere || q.kind == humanSilences
}

// stops reports whether a person says a stop word.
func (q request) stops() bool { return q.kind == stopping || q.kind == stopEditing }

// stopWord is a stop word with what its sender has waiting.
func (q request) stopWord(s *storage) turn.StopWord {
	var e turn.StopWord
	sender := q.sender
	if q.kind == stopEditing {
		m := s.message(q.message)
		sender, e.Edited, e.Seq = m.sender, m.version, m.seq
	}
	through := s.record.Attempt.Through
	for _, m := range s.messages {
		seen := m.version <= through || m.was != 0 && m.was <= through
		switch {
		case m.status != turn.InputPending:
		case m.sender == sender:
			e.Own = append(e.Own, turn.Waiting{Version: m.version, Media: m.media, Bytes: m.bytes})
		default:
			e.Shared = e.Shared || seen
		}
	}
	slices.SortFunc(e.Own, func(a, b turn.Waiting) int { return int(a.Version - b.Version) })
	return e
}

// bytes is the size of the message after the change.
func (q request) bytes() int {
	if q.kind == remove {
		return 0
	}
	return bytesOf(q.number)
}

// reports reports whether it is a word of the channel.
func (q request) reports() bool { return q.kind == reportFailed || q.kind == reportDelivered }

// report is what the channel says of a reply, found in the transcript as it is now.
func (q request) report(s *storage) turn.Report {
	r := s.reply(q.reply)
	receipt := turn.ReceiptFailed
	if q.kind == reportDelivered {
		receipt = turn.ReceiptDelivered
	}
	return turn.Report{
		Turn: r.turn, Seq: r.seq, Texts: r.parts, Sends: r.parts, Status: r.status, Receipts: r.receipts, Receipt: receipt,
	}
}

// result is the event of a finished attempt or send. tick is the unit of time.
func (q request) result(s *storage, tick time.Duration) turn.Event {
	switch q.kind {
	case generated:
		return turn.Generated{Nonce: q.nonce, Parts: q.parts, Waiting: s.asked(q.waited)}
	case modelFailed:
		return turn.GenerateFailed{Nonce: q.nonce, Fault: turn.Failure}
	case modelRejected:
		return turn.GenerateFailed{Nonce: q.nonce, Fault: turn.Rejected}
	case modelOut:
		return turn.GenerateFailed{Nonce: q.nonce, Fault: turn.Outage}
	case modelRefused:
		return turn.GenerateFailed{Nonce: q.nonce, Fault: turn.Refused, Waiting: s.asked(q.waited), History: q.history}
	case promptTooLarge:
		return turn.GenerateFailed{Nonce: q.nonce, Fault: turn.TooLarge, Waiting: s.asked(q.waited)}
	case sent:
		return turn.Sent{Nonce: q.nonce, Part: q.part, Pause: q.pause, ID: q.sentID()}
	case sendFailed, sendRefused:
		return turn.SendFailed{Nonce: q.nonce, Part: q.part, ForGood: q.kind == sendRefused, After: q.asked(tick)}
	default:
		return turn.SendUnknown{Nonce: q.nonce, Part: q.part}
	}
}

// sentID is the channel's id of the part that was sent.
func (q request) sentID() string { return q.nonce + "." + strconv.Itoa(q.part) }

// asked is the pause that the receiver asks for.
func (q request) asked(tick time.Duration) time.Duration {
	if !q.pauses {
		return 0
	}
	return askedPause * tick
}

// known reports whether the store already holds what the request asks for, so
// that Step must not see it again: a claimed id, an edit whose text is there,
// a person's reply that is in the transcript.
func (q request) known(s *storage) bool {
	m := s.message(q.message)
	switch q.kind {
	case receive, resetWord, stopping, mention:
		return m != nil && !m.forgotten
	case stopEditing:
		return m == nil || m.status != turn.InputPending || m.edit == q.number
	case edit:
		return m != nil && (!m.open() && !q.settled || m.edit == q.number)
	case remove:
		return m != nil && !m.open() && !q.settled
	case human, notification, sentElsewhere, humanSilences:
		for _, r := range s.replies {
			if r.human == q.number {
				return true
			}
		}
	}
	return false
}

// nonce makes a nonce that was never given out on this path.
func (w *world) nonce() string {
	w.given++
	return "n" + strconv.Itoa(w.given)
}

// clock is what the worker takes for the store's time.
func (w *world) clock(i int) turn.Time {
	if i == 1 {
		return w.now.Add(w.scope.flaws.localClock)
	}
	return w.now
}

package turn

import (
	"cmp"
	"slices"
)

// Receipts.
//
// A channel takes a reply, and may say only later what became of it: that it was delivered
// to the person's phone, that it was read, or that it failed after all, hours after it
// counted as sent. Such reports come in any order, twice, or not at all. So what is known
// of a part only ever grows: failed, delivered, read. A report of a failure after one of a
// delivery is an old one.
//
// A reply with a failed part is undelivered, and somebody has to look at it. What it
// answered stays answered, as with any reply that may not have arrived.

// Receipt is what a channel says of a part of a reply that it has taken.
type Receipt string

// The receipts, in the order in which each outweighs those before it.
const (
	NoReceipt        Receipt = ""
	ReceiptFailed    Receipt = "failed"
	ReceiptDelivered Receipt = "delivered"
	ReceiptRead      Receipt = "read"
)

var receiptOrder = []Receipt{NoReceipt, ReceiptFailed, ReceiptDelivered, ReceiptRead}

func (r Receipt) outweighs(other Receipt) bool {
	return slices.Index(receiptOrder, r) > slices.Index(receiptOrder, other)
}

// Receipts are those of the parts of a reply, in order. Parts that are not there have none.
type Receipts []Receipt

// with adds a report about a part, from 1, or about all up to last (part 0). It reports
// whether that says anything new. The list that is given is not changed.
func (r Receipts) with(part, last int, receipt Receipt) (Receipts, bool) {
	out := append(Receipts(nil), r...)
	for len(out) < last {
		out = append(out, NoReceipt)
	}
	changed := false
	for i := range out {
		if (part == 0 && i < last || i == part-1) && receipt.outweighs(out[i]) {
			out[i], changed = receipt, true
		}
	}
	return out, changed
}

// Merge adds what became known while a reply was sent to what was known before. If it was
// sent again, the failures before that do not count any more.
func (r Receipts) Merge(newer Receipts, again bool) Receipts {
	out := append(Receipts(nil), r...)
	for i := range out {
		if again && out[i] == ReceiptFailed {
			out[i] = NoReceipt
		}
	}
	for i, receipt := range newer {
		out, _ = out.with(i+1, i+1, receipt)
	}
	return out
}

// Whole is the receipt of a reply with so many parts: the least of theirs, where all have
// arrived.
func (r Receipts) Whole(parts int) Receipt {
	if len(r) < parts || len(r) == 0 {
		return NoReceipt
	}
	least := ReceiptRead
	for _, receipt := range r {
		if least.outweighs(receipt) {
			least = receipt
		}
	}
	if least == ReceiptFailed {
		return NoReceipt
	}
	return least
}

// failed is the first part that failed, from 1, 0 if none did.
func (r Receipts) failed() int { return slices.Index(r, ReceiptFailed) + 1 }

// upToFailure is how many parts come before one that the channel reported as failed, at
// most so many.
func (r Receipts) upToFailure(done int) int {
	if failed := r.failed(); failed > 0 {
		return min(done, failed-1)
	}
	return done
}

// arrivedParts is how many parts of a reply on its way have arrived, from the first one on.
// So many of them were certainly delivered when they were sent; the channel knows better.
// One part may carry all texts, and arrives as a whole.
func (r Receipts) arrivedParts(done, parts int) int {
	if r.Whole(parts) != NoReceipt {
		return parts
	}
	for parts > 1 && done < len(r) && r[done].outweighs(ReceiptFailed) {
		done++
	}
	return min(r.upToFailure(done), parts)
}

// ArrivedTexts is how many texts of a settled reply certainly reached the person, from the
// first one on. It is settled with this status, and so many texts were delivered by then.
func (r Receipts) ArrivedTexts(status Status, texts, delivered int) int {
	failed := r.failed()
	switch {
	case status == ReplySent:
		return texts
	case status == ReplyFailed && failed > 0: // it counted as sent
		return failed - 1
	case status == ReplyPartial, status == ReplyUnknown, status == ReplyFailed:
		return min(delivered, texts)
	}
	return 0
}

// statusByReceipts corrects the status of a reply that ends by the channel's receipts. One
// that was sent, or whose outcome is unknown, is undelivered if a part has failed meanwhile.
// One of unknown outcome is sent if all parts have arrived. One that is given up is partial,
// or sent, if parts have arrived: where it was sent again, an earlier send may have brought
// them.
func (r *Reply) statusByReceipts(status Status, reason string) (Status, string) {
	failed := r.Receipts.failed()
	switch {
	case failed > 0 && (status == ReplySent || status == ReplyUnknown):
		return ReplyFailed, cmp.Or(r.Failure, ByChannel)
	case status == ReplySent || status == ReplyNone:
		return status, reason
	}
	switch arrived := r.Receipts.arrivedParts(r.Done, r.Parts); {
	case arrived == r.Parts:
		r.Done = arrived
		return ReplySent, ByChannel
	case arrived > r.Done:
		r.Done = arrived
		return ReplyPartial, reason
	}
	return status, reason
}

// tried forgets the failure of what is sent once more: of one part, or, where one send
// carries all, of all.
func (r *Reply) tried() {
	receipts := append(Receipts(nil), r.Receipts...)
	for i := range receipts {
		if receipts[i] == ReceiptFailed && (i == r.Done || r.Parts == 1) {
			receipts[i] = NoReceipt
		}
	}
	r.Receipts = receipts
}

// report takes in what a channel says of a reply.
func (s *step) report(e Report) {
	known, last := e.Receipts, e.Texts
	reply := s.onItsWay(e.Seq)
	if reply != nil {
		known, last = reply.Receipts, s.takenTexts(reply, e.Texts)
	} else if i := s.unconfirmedIndex(e.Turn); i >= 0 && e.Sends > 1 {
		last = s.Unconfirmed[i].takenParts()
	}
	receipts, changed := known.with(e.Part, last, e.Receipt)
	switch {
	case e.Part > last, last == 0, reply == nil && !e.mayBeTaken():
		s.ignore(NotSent)
	case !changed:
		s.ignore(NothingNew)
	case reply != nil:
		s.Changed, reply.Receipts = true, receipts
		s.keepSentID(SentPart{ID: e.ID, Turn: e.Turn, Part: e.Part})
		if e.Receipt == ReceiptFailed {
			reply.Failure = e.Reason
		}
		if reply == s.Reply && s.Lease.Nonce == "" {
			s.endDoubt()
		}
	default:
		s.Changed = true
		s.keepSentID(SentPart{ID: e.ID, Turn: e.Turn, Part: e.Part})
		s.Progress = append(s.Progress, Progress{Seq: e.Seq, Receipts: receipts})
		s.reportSettled(e, receipts)
	}
}

// takenTexts is how many texts of a reply on its way the channel may have taken: those that
// are delivered, and the next one if a send of it has begun. One send may carry all.
func (s *step) takenTexts(r *Reply, texts int) int {
	taken := r.Done
	if r == s.Reply && (s.Lease.Nonce != "" || r.Unsure || r.Tries > 0) {
		taken++
	}
	if r.Parts == 1 && taken > 0 {
		return texts
	}
	return taken
}

// mayBeTaken reports whether the channel may have taken anything of a settled reply.
func (e Report) mayBeTaken() bool {
	switch e.Status {
	case ReplySent, ReplyPartial, ReplyFailed, ReplyUnknown:
		return true
	}
	return false
}

// onItsWay is the reply with a sequence, if it is being sent or waits to be; nil otherwise.
func (s *step) onItsWay(seq int64) *Reply {
	if s.Reply != nil && s.Reply.Seq == seq {
		return s.Reply
	}
	for i := range s.Queue {
		if s.Queue[i].Seq == seq {
			return &s.Queue[i]
		}
	}
	return nil
}

// reportSettled is what a report makes of a reply that is settled. A failure makes it
// undelivered, until a later report says that no part failed after all. A reply of unknown
// outcome of which all parts have arrived is sent.
func (s *step) reportSettled(e Report, receipts Receipts) {
	i := s.unconfirmedIndex(e.Turn)
	failed := min(receipts.failed(), e.Sends)
	switch {
	case failed > 0 && (e.Status == ReplySent || e.Status == ReplyUnknown):
		s.reportFailed(e, i, failed)
	case i >= 0:
		s.Unconfirmed[i].Failed = failed
		s.reportArrived(e, i, receipts)
	}
}

// reportFailed makes a reply undelivered that counted as sent, or of which nobody knew.
func (s *step) reportFailed(e Report, i, failed int) {
	reason := cmp.Or(e.Reason, ByChannel)
	if i < 0 {
		s.addUnconfirmed(Reply{Turn: e.Turn, Seq: e.Seq, Parts: e.Sends, Done: e.Sends}, ReplyFailed, reason)
		i = len(s.Unconfirmed) - 1
	}
	u := &s.Unconfirmed[i]
	u.Status, u.At, u.Failed, u.Reason = ReplyFailed, s.now, failed, reason
	s.Marks = append(s.Marks, Mark{Seq: e.Seq, Status: ReplyFailed, Reason: reason})
	s.notifyReport(KindReplyFailed, reason, e)
}

// reportArrived confirms a reply once nothing about it is in doubt: also where an operator has
// asked to send it again, and that has not begun. Where only the part in doubt has arrived,
// the rest is what is left to send.
func (s *step) reportArrived(e Report, i int, receipts Receipts) {
	u := &s.Unconfirmed[i]
	recovered := u.Status == ReplyFailed && e.Receipts.failed() > 0 && u.Failed == 0
	arrived, done := receipts.Whole(e.Texts) != NoReceipt, u.Done
	if u.Status == ReplyUnknown {
		done = receipts.arrivedParts(u.Done, u.Parts)
	}
	switch {
	case arrived, done > u.Done && done == u.Parts, recovered && u.Done == u.Parts:
		s.Unconfirmed = slices.Delete(s.Unconfirmed, i, i+1)
		s.Marks = append(s.Marks, Mark{Seq: e.Seq, Status: ReplySent, Reason: ByChannel})
		s.notifyReport(KindReplySent, ByChannel, e)
	case done > u.Done: // the part in doubt has arrived
		u.Status, u.Done, u.Reason = ReplyPartial, done, ByChannel
		s.Marks = append(s.Marks, Mark{Seq: e.Seq, Status: ReplyPartial, Reason: ByChannel})
		s.Progress = append(s.Progress, Progress{Seq: e.Seq, Delivered: u.Done})
	case recovered: // what was unknown of its last part still is
		u.Status, u.Reason = ReplyUnknown, ""
		s.Marks = append(s.Marks, Mark{Seq: e.Seq, Status: ReplyUnknown, Reason: ByChannel})
	}
}

func (s *step) notifyReport(kind Kind, reason string, e Report) {
	s.notify(kind, reason)
	n := &s.Notices[len(s.Notices)-1]
	n.Turn, n.Seq, n.Parts = e.Turn, e.Seq, e.Sends
}

package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Prompt is what an attempt answers.
type Prompt struct {
	Messages []store.Entry // in the order in which they were sent
	History  []store.Entry // what came before: messages, and replies that were sent

	// waiting are all messages that waited, by version. Messages may be a part of them: see
	// turn.Part.
	waiting []turn.Waiting
}

// newPrompt makes a prompt of the entries as they were at the version through. They are
// read after the write that began the attempt, so they may be newer: what came since is
// left out, or the reply would cover more than its lease saw.
//
// A message that was settled between the two reads is in both. It is left out of the
// history: whatever settled it decides about the attempt.
//
// A part that bounds the prompt bounds it as of that version too.
//
// most is how many bytes the prompt may have, 0: any number. The history gives way first,
// its oldest entries before the newer ones.
func newPrompt(entries, tail []store.Entry, through int64, part turn.Part, history, observe, most int) Prompt {
	var p Prompt
	asked := map[int64]bool{}
	for _, e := range entries {
		seen, ok := asOf(e, through)
		if !ok {
			continue
		}
		asked[e.Seq] = true
		p.waiting = append(p.waiting, turn.Waiting{Version: seen.Version, Media: anyPending(seen.Attachments), Bytes: seen.Size})
		if part.Holds(seen.Version) {
			p.Messages = append(p.Messages, seen)
		}
	}
	sortByVersion(p.waiting)
	sortBySent(p.Messages)
	p.History = History(tail, history, observe)
	if most > 0 {
		p.History = newest(p.History, most-p.size())
	}
	p.History = slices.DeleteFunc(p.History, func(e store.Entry) bool { return asked[e.Seq] })
	dropDeletedQuotes(p.Messages, tail)
	dropDeletedQuotes(p.History, tail)
	return p
}

// First are those of the messages read so far, by rising sequence, that come first by
// version, and whether they are enough for the prompt: they are all that it can hold, or they
// are more than it may have, and at least two, so that the attempt is ended for that. An edit
// raises the version of a message. The others were accepted in the order of their
// sequences, so all that were not read have greater versions than these.
func (o ReadPrompt) First(read []store.Entry) (first []store.Entry, enough bool) {
	unread := int64(0) // what was not read is newer than this version
	for i := range read {
		if read[i].EditedAt == 0 {
			unread = max(unread, read[i].Version)
		}
	}
	size := 0
	for _, e := range read {
		if seen, ok := asOf(e, o.Through); ok && seen.Version <= unread {
			first = append(first, e)
			size += seen.Size
		}
	}
	if unread >= o.Through {
		return read, true
	}
	return first, o.Bytes > 0 && size > o.Bytes && len(first) > 1
}

// DropTexts drops the texts that the history of a tail can't show, in the tail itself. What
// is read later stands before its lines or among them, and brings none back that was left
// out.
func (o ReadPrompt) DropTexts(tail []store.Entry) {
	shown := map[int64]bool{}
	lines := History(tail, o.History, o.Observe)
	if o.Bytes > 0 {
		lines = newest(lines, o.Bytes)
	}
	for i := range lines {
		shown[lines[i].Seq] = true
	}
	for i := range tail {
		if e := &tail[i]; !shown[e.Seq] {
			size := max(e.Bytes(), e.Size)
			*e = WithoutTexts(*e)
			e.Size = size
		}
	}
}

// WithoutTexts is an entry without what people wrote: it shows all the same what became of
// it, whose it is, and what it counts for.
func WithoutTexts(e store.Entry) store.Entry {
	was := e.Body
	e.Body = store.Body{
		Sender: was.Sender, Size: was.Size, EditedAt: was.EditedAt, Recorded: was.Recorded, Turn: was.Turn, Parts: make([]string, len(was.Parts)),
		Delivered: was.Delivered, Receipts: was.Receipts, Covers: was.Covers, Late: was.Late, Author: was.Author,
	}
	if anyPending(was.Attachments) {
		e.Attachments = []store.Attachment{{Pending: true}}
	}
	if was.Was != nil {
		e.Was = &store.Was{Version: was.Was.Version}
	}
	return e
}

// size is how many bytes the messages of the prompt have.
func (p Prompt) size() int {
	size := 0
	for i := range p.Messages {
		size += p.Messages[i].Size
	}
	return size
}

// newest are the last entries that have at most so many bytes together. One whose texts were
// dropped counts with the bytes that it had.
func newest(entries []store.Entry, most int) []store.Entry {
	for i := len(entries) - 1; i >= 0; i-- {
		if most -= max(entries[i].Bytes(), entries[i].Size); most < 0 {
			return entries[i+1:]
		}
	}
	return entries
}

// dropDeletedQuotes leaves out what a message quotes of one that its author deleted: its
// text must not come back in somebody else's message.
func dropDeletedQuotes(entries, tail []store.Entry) {
	deleted := map[string]bool{}
	for _, e := range tail {
		if e.Kind == store.Message && e.Status == turn.InputDeleted {
			deleted[e.ID] = true
		}
	}
	for i := range entries {
		if q := entries[i].ReplyTo; q != nil && deleted[q.ID] {
			eraseQuote(&entries[i], q.ID)
		}
	}
}

// asOf is a waiting message as it was at a version: a message that was accepted later is
// left out, and one that was edited later has its earlier text.
func asOf(e store.Entry, through int64) (store.Entry, bool) {
	switch {
	case e.Kind != store.Message || e.Status != turn.InputPending:
		return e, false
	case e.Version <= through:
		return e, true
	case e.Was != nil && e.Was.Version <= through:
		e.Version, e.Text, e.Attachments = e.Was.Version, e.Was.Text, e.Was.Attachments
		e.Size = e.Bytes()
		return e, true
	}
	return e, false
}

// sortBySent orders messages by when they were sent. Those that do not say
// keep their place in the order of acceptance; the others share the remaining
// places by their times, equal ones as accepted.
func sortBySent(messages []store.Entry) {
	var indexes []int
	var dated []store.Entry
	for i, m := range messages {
		if m.SentAt != 0 {
			indexes = append(indexes, i)
			dated = append(dated, m)
		}
	}
	slices.SortStableFunc(dated, func(a, b store.Entry) int { return cmp.Compare(a.SentAt, b.SentAt) })
	for i, index := range indexes {
		messages[index] = dated[i]
	}
}

// IDs are the ids of the messages that the prompt holds.
func (p Prompt) IDs() []string {
	ids := make([]string, len(p.Messages))
	for i, m := range p.Messages {
		ids[i] = m.ID
	}
	return ids
}

// History holds the earlier entries that a prompt shows, at most limit of them, in the
// order of the replies: the messages that a reply answered stand before it, whenever they
// were accepted. Only what reached the person counts as said. Messages that nobody
// answered stand where they were accepted, also after the last reply. Besides, it holds at
// most observe messages that were not meant for the bot.
func History(tail []store.Entry, limit, observe int) []store.Entry {
	lines, _ := newestLines(historyLines(tail), limit, observe)
	out := make([]store.Entry, len(lines))
	for i, l := range lines {
		out[i] = l.entry
	}
	return out
}

// historyLine is an entry and its place in the history.
type historyLine struct {
	at, rank int64 // by the reply, then by the place in its prompt
	entry    store.Entry
}

// unanswered reports whether the line is a message that nobody answered.
func (l historyLine) unanswered() bool { return unanswered(l.entry) }

func unanswered(e store.Entry) bool {
	return e.Kind == store.Message && (e.Status == turn.InputClosed || e.Status == turn.InputContext)
}

// observed reports whether the line is a message that was not meant for the bot.
func (l historyLine) observed() bool {
	return l.entry.Status == turn.InputContext && l.entry.Reason == turn.NotAddressed
}

// historyLines are all lines that a tail of the transcript gives, in order.
func historyLines(tail []store.Entry) []historyLine {
	var lines []historyLine
	asked := promptOrder(tail)
	for _, e := range tail {
		switch {
		case e.Kind == store.Reply && said(&e):
			lines = append(lines, historyLine{e.Seq, last, e})
		case e.Kind == store.Message && e.Status == turn.InputAnswered && e.ReplySeq != 0:
			lines = append(lines, historyLine{e.ReplySeq, asked[e.ID], e})
		case unanswered(e):
			lines = append(lines, historyLine{e.Seq, 0, e})
		}
	}
	slices.SortStableFunc(lines, func(a, b historyLine) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
	})
	return lines
}

// newestLines are the last lines of a history, in order, and whether older ones can't
// change them. Messages that nobody answered are at most half of the limit, so that they
// can't push what was said out of the history. With no history at all, what was observed
// since the last reply is shown.
func newestLines(lines []historyLine, limit, observe int) (newest []historyLine, full bool) {
	spoken, silent, observed := 0, 0, 0
	for _, l := range slices.Backward(lines) {
		switch {
		case l.observed():
			if observed++; observed > observe {
				continue
			}
		case l.unanswered():
			if silent == limit/2 {
				continue
			}
			silent++
		case limit == 0:
			full = true
		default:
			spoken++
		}
		if !full {
			newest = append(newest, l)
		}
		if full = full || limit > 0 && spoken+silent == limit; full {
			break
		}
	}
	slices.Reverse(newest)
	return newest, full
}

// HistoryComplete reports whether the history of a tail is the same whatever is in the
// transcript before it. An older message belongs among its lines where one of their
// replies answered it.
func HistoryComplete(tail []store.Entry, limit, observe int) bool {
	lines, full := newestLines(historyLines(tail), limit, observe)
	if !full || len(lines) == 0 {
		return full
	}
	first := lines[0]
	there := make(map[string]bool, len(tail))
	for _, e := range tail {
		there[e.ID] = true
	}
	for _, e := range tail {
		if e.Kind != store.Reply || e.Seq < first.at {
			continue
		}
		for i, id := range e.Covers {
			if (e.Seq > first.at || int64(i) > first.rank) && !there[id] {
				return false
			}
		}
	}
	return true
}

// last is the rank of a reply among the messages that it answers.
const last = math.MaxInt64

// promptOrder is the place that each answered message had in its prompt.
func promptOrder(tail []store.Entry) map[string]int64 {
	indexes := map[string]int64{}
	for _, e := range tail {
		for i, id := range e.Covers {
			indexes[id] = int64(i)
		}
	}
	return indexes
}

// said reports whether a person saw the reply, and cuts it to what they saw.
func said(e *store.Entry) bool {
	texts := max(len(e.Parts), 1)
	arrived := e.Receipts.ArrivedTexts(e.Status, texts, e.Delivered)
	if arrived < texts && arrived > 0 {
		e.Text = strings.Join(e.Parts[:arrived], "\n")
	}
	return arrived > 0
}

package turn

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Trace is what happened in a conversation, oldest first: the notices of its
// steps, in a form so short that it can be written with every record. [Step]
// adds to it and never reads it. [Trace.Steps] gives the notices back; Since is
// not kept, and texts are cut.
//
// It begins with how many steps were dropped because of the bound and with the
// moment that times and tokens count from; each step follows a bar. Numbers are
// in base 36, fields that are zero are left out. Messages of a burst differ in
// little, so a small letter says what follows from the steps before, see [Trace.Steps]:
//
//	0,m8x0k1c0|A0T1V1S1|B0T1V1D15o|a9k|c
type Trace string

// The bounds of what one step keeps, in bytes.
const (
	maxStepText  = 160 // of a reason, an id or a holder
	maxStepBytes = 64  // on average: more bytes than that times the steps are not kept
)

// kindLetters are what the kinds of notices are written as. A letter is never
// given to another kind: records outlive programs.
var kindLetters = [...]struct {
	letter byte
	kind   Kind
}{
	{'A', MessageAccepted}, {'B', TurnScheduled}, {'C', TurnStarted}, {'D', ReplyDiscardedKind}, {'E', ReplyCommittedKind},
	{'F', ReplySentKind}, {'G', ReplyFailedKind}, {'H', TurnFailed}, {'I', ConversationPaused}, {'J', ConversationResumed},
	{'K', MessageRepeated}, {'L', AttemptFailed}, {'M', PartSent}, {'N', PartFailed}, {'O', PartUnknown}, {'P', LeaseLost},
	{'Q', TurnRequeued}, {'R', ReplyResent}, {'S', ReplyMarked},
}

// trace keeps what the step told.
func (s *step) trace() {
	if s.p.TraceSteps <= 0 {
		s.Trace = ""
		return
	}
	if len(s.Notices) == 0 {
		return
	}
	var room [256]byte // where most of what a step tells fits
	added := room[:0]
	base := s.Trace.base()
	if s.Trace == "" {
		base = s.now
		added = appendHead(added, 0, base)
	}
	last := where{base: base}
	if kind := s.Notices[0].Kind; kind == MessageAccepted || kind == TurnScheduled {
		last = s.Trace.last(base)
	}
	for i := range s.Notices {
		added = last.append(added, &s.Notices[i])
	}
	s.Trace = (s.Trace + Trace(added)).within(s.p.TraceSteps)
}

// within drops the oldest steps, a few more than needed, so that a long burst
// does not pay for it with each message.
func (t Trace) within(limit int) Trace {
	if len(t) <= 2*limit { // a step has two bytes at least
		return t
	}
	count := strings.Count(string(t), "|")
	if count <= limit && len(t) <= limit*maxStepBytes {
		return t
	}
	head, rest, _ := strings.Cut(string(t), "|")
	kept := max(limit-limit/8, 1)
	dropped := 0
	for ; count-dropped > kept || count-dropped > 1 && len(rest) > kept*maxStepBytes; dropped++ {
		_, rest, _ = strings.Cut(rest, "|")
	}
	lost, _, _ := strings.Cut(head, ",")
	out := appendHead(make([]byte, 0, len(t)), int(read36(lost))+dropped, t.base())
	before, after := where{base: t.base()}, where{base: t.base()}
	for i, text := range strings.Split(string(t), "|")[1:] {
		n, ok := before.read(text)
		if i < dropped {
			continue
		}
		// What a small letter counts from may be among the dropped. All else is kept as
		// it is, with what a newer program has added to it.
		then := after
		if again, _ := then.read(text); ok && again != n {
			out = appendStep(out, &n, t.base())
			after.note(n)
			continue
		}
		out, after = append(append(out, '|'), text...), then
	}
	return Trace(out)
}

// where is where somebody is who writes or reads a trace: what small letters count
// from.
type where struct {
	base                Time
	accepted, scheduled Notice // the last ones; no kind: none yet
}

// maxSmall is how many steps back a small letter may have what it counts from, so
// that writing the next one need not read the whole trace.
const maxSmall = 16

// last is where the writer of the next step is, or the beginning, if it would have
// to go further back than maxSmall steps.
func (t Trace) last(base Time) where {
	at := where{base: base}
	from := len(t)
	var accepted, scheduled bool
	for count := 0; !accepted || !scheduled; count++ {
		bar := strings.LastIndexByte(string(t[:from]), '|')
		if bar < 0 || count == maxSmall {
			return at
		}
		if from = bar; bar+1 < len(t) {
			accepted = accepted || t[bar+1] == MessageAccepted.letter()
			scheduled = scheduled || t[bar+1] == TurnScheduled.letter()
		}
	}
	for text := range strings.SplitSeq(string(t[from+1:]), "|") {
		at.read(text)
	}
	return at
}

// The small letters.
const (
	oneMore   = 'a' // accepted: with the next version and sequence, in the same turn
	sameDue   = 'b' // scheduled at that moment, due then as before, for the same reason
	sameDelay = 'c' // likewise, due as long after it as before
)

// follows is the step that a small letter stands for, without a kind if it lacks what
// it counts from. The time is for oneMore.
func (at *where) follows(letter byte, time Time) Notice {
	if letter == oneMore {
		n := at.accepted
		n.At, n.Version, n.Seq = time, n.Version+1, n.Seq+1
		return n
	}
	if at.accepted.Kind == "" {
		return Notice{}
	}
	n := at.scheduled
	n.At, n.Turn, n.Version = at.accepted.At, at.accepted.Turn, at.accepted.Version
	if letter == sameDelay {
		n.Due = n.At + (at.scheduled.Due - at.scheduled.At)
	}
	return n
}

// append appends a step, by a small letter if that says it all.
func (at *where) append(to []byte, n *Notice) []byte {
	kept := *n
	kept.Since = 0
	small := byte(0)
	switch {
	case kept.Kind == MessageAccepted && at.follows(oneMore, kept.At) == kept:
		small = oneMore
	case kept.Kind == TurnScheduled && at.follows(sameDue, 0) == kept:
		small = sameDue
	case kept.Kind == TurnScheduled && at.follows(sameDelay, 0) == kept:
		small = sameDelay
	}
	at.note(kept)
	switch small {
	case 0:
		return appendStep(to, n, at.base)
	case oneMore:
		return strconv.AppendInt(append(to, '|', oneMore), int64(kept.At-at.base), 36)
	}
	return append(to, '|', small)
}

func (at *where) note(n Notice) {
	switch n.Kind {
	case MessageAccepted:
		at.accepted = n
	case TurnScheduled:
		at.scheduled = n
	}
}

// read reads a step; not ok is one that a newer program wrote, and one that lacks
// what it counts from, because an older program dropped that, or the writer did not
// go back so far. What would count from that one lacks it too.
func (at *where) read(text string) (n Notice, ok bool) {
	if text == "" {
		return n, false
	}
	switch text[0] {
	case oneMore:
		number, _ := cutNumber(text[1:])
		n = at.follows(oneMore, at.base+Time(number))
		at.accepted = n
	case sameDue, sameDelay:
		n = at.follows(text[0], 0)
		at.scheduled = n
	default:
		n = readStep(text, at.base)
		at.note(n)
	}
	return n, n.Kind != ""
}

func appendHead(to []byte, lost int, base Time) []byte {
	to = strconv.AppendInt(to, int64(lost), 36)
	return strconv.AppendInt(append(to, ','), int64(base), 36)
}

// base is the moment that times and tokens count from. Tokens begin with one
// too, so they lie near it.
func (t Trace) base() Time {
	head, _, _ := strings.Cut(string(t), "|")
	_, base, _ := strings.Cut(head, ",")
	return Time(read36(base))
}

func appendStep(to []byte, n *Notice, base Time) []byte {
	to = append(to, '|', n.Kind.letter())
	to = strconv.AppendInt(to, int64(n.At-base), 36)
	field := func(tag byte, value, less int64) {
		if value != 0 {
			to = strconv.AppendInt(append(to, tag), value-less, 36)
		}
	}
	field('T', n.Turn, 0)
	field('K', n.Token, int64(base))
	field('A', int64(n.Attempt), 0)
	field('V', n.Version, 0)
	field('H', n.Through, 0)
	field('D', int64(n.Due), int64(n.At))
	field('F', int64(n.FirstByte), int64(n.At))
	field('S', n.Seq, 0)
	field('P', int64(n.Part), 0)
	field('N', int64(n.Parts), 0)
	if n.Late {
		to = append(to, 'L')
	}
	if text := *n.text(); text != "" {
		to = appendText(append(to, '='), text)
	}
	return to
}

// text is the one text that a notice of its kind carries.
func (n *Notice) text() *string {
	switch n.Kind {
	case TurnStarted, LeaseLost:
		return &n.Holder
	case MessageRepeated:
		return &n.MessageID
	}
	return &n.Reason
}

// appendText appends a text without a bar in it, cut where it is too long.
func appendText(to []byte, text string) []byte {
	for i, c := range text {
		switch {
		case i+utf8.RuneLen(c) > maxStepText:
			return append(to, "…"...)
		case c == '|':
			to = append(to, "%7"...)
		case c == '%':
			to = append(to, "%5"...)
		default:
			to = utf8.AppendRune(to, c)
		}
	}
	return to
}

var readText = strings.NewReplacer("%7", "|", "%5", "%")

func (k Kind) letter() byte {
	for _, known := range kindLetters {
		if known.kind == k {
			return known.letter
		}
	}
	return '?'
}

// Steps reads the trace: its steps, oldest first, and how many before them were
// dropped because of the bound. A step of a kind that a newer program wrote is
// left out.
//
// A small letter stands for a step that follows from the ones before: "a" and a
// time for a message in the turn of the one before, whose version and sequence are
// the next; "b" for the schedule that it led to, due when the turn was due anyway,
// and "c" for one that is due as long after it as the last one was, both for the
// same reason as that one.
func (t Trace) Steps() (steps []Notice, lost int) {
	if t == "" {
		return nil, 0
	}
	all := strings.Split(string(t), "|")
	first, _, _ := strings.Cut(all[0], ",")
	at := where{base: t.base()}
	for _, text := range all[1:] {
		if n, ok := at.read(text); ok {
			steps = append(steps, n)
		}
	}
	return steps, int(read36(first))
}

func readStep(text string, base Time) (n Notice) {
	for _, known := range kindLetters {
		if known.letter == text[0] {
			n.Kind = known.kind
		}
	}
	fields, words, _ := strings.Cut(text[1:], "=")
	if strings.Contains(words, "%") {
		words = readText.Replace(words)
	}
	*n.text() = words
	number, fields := cutNumber(fields)
	n.At = base + Time(number)
	for fields != "" {
		tag := fields[0]
		number, fields = cutNumber(fields[1:])
		n.read(tag, number, base)
	}
	return n
}

func (n *Notice) read(tag byte, number int64, base Time) {
	switch tag {
	case 'T':
		n.Turn = number
	case 'K':
		n.Token = number + int64(base)
	case 'A':
		n.Attempt = int(number)
	case 'V':
		n.Version = number
	case 'H':
		n.Through = number
	case 'D':
		n.Due = n.At + Time(number)
	case 'F':
		n.FirstByte = n.At + Time(number)
	case 'S':
		n.Seq = number
	case 'P':
		n.Part = int(number)
	case 'N':
		n.Parts = int(number)
	case 'L':
		n.Late = true
	}
}

// cutNumber takes a number off the beginning.
func cutNumber(text string) (int64, string) {
	end := 0
	for end < len(text) && (text[end] == '-' || '0' <= text[end] && text[end] <= '9' || 'a' <= text[end] && text[end] <= 'z') {
		end++
	}
	if end == 0 {
		return 0, text
	}
	return read36(text[:end]), text[end:]
}

// read36 reads a number; what is none counts as 0: a timeline is for people.
func read36(text string) int64 {
	n, err := strconv.ParseInt(text, 36, 64)
	if err != nil {
		return 0
	}
	return n
}

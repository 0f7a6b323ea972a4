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
// in base 36, fields that are zero are left out:
//
//	0,m8x0k1c0|A0T1V1S1|B0T1V1D15o
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
	for i := range s.Notices {
		added = appendStep(added, &s.Notices[i], base)
	}
	s.Trace = (s.Trace + Trace(added)).within(s.p.TraceSteps)
}

// within drops the oldest steps, a few more than needed, so that a long burst
// does not pay for it with each message.
func (t Trace) within(limit int) Trace {
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
	out := appendHead(make([]byte, 0, len(head)+len(rest)+8), int(read36(lost))+dropped, t.base())
	return Trace(append(append(out, '|'), rest...))
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
func (t Trace) Steps() (steps []Notice, lost int) {
	if t == "" {
		return nil, 0
	}
	all := strings.Split(string(t), "|")
	first, _, _ := strings.Cut(all[0], ",")
	base := t.base()
	for _, text := range all[1:] {
		if n, ok := readStep(text, base); ok {
			steps = append(steps, n)
		}
	}
	return steps, int(read36(first))
}

func readStep(text string, base Time) (n Notice, ok bool) {
	if text == "" {
		return n, false
	}
	for _, known := range kindLetters {
		if known.letter == text[0] {
			n.Kind = known.kind
		}
	}
	fields, words, _ := strings.Cut(text[1:], "=")
	*n.text() = readText.Replace(words)
	number, fields := cutNumber(fields)
	n.At = base + Time(number)
	for fields != "" {
		tag := fields[0]
		number, fields = cutNumber(fields[1:])
		n.read(tag, number, base)
	}
	return n, n.Kind != ""
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

package split

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What a text looks like as Markdown (CommonMark 0.31), as far as a cut may break it. It is
// read line by line, once. Whatever is not recognised is plain text.

// text is a text with what was found in it.
type text struct {
	runes []rune
	limit int
	weigh func(rune) int // how much of the limit a code point takes
	lines []line
	lists []stretch // from the first item to the end of the last, in order
	codes []stretch // blocks of code that can be opened again
	spans []stretch // links and code within a line: not to be cut
	marks []stretch // marks within a line, which a cut would turn into a fence
}

// stretch is a part of the text: from <= at < to.
type stretch struct{ from, to int }

// line is one line of the text.
type line struct {
	stretch        // without its line break
	fence   *fence // of the block of code that it belongs to
	edge    edge   // whether it is the first or the last line of that block
	blank   bool
	item    bool // it begins an item of a list
	list    bool // it belongs to one
	leads   bool // the next line that is not blank belongs to one
	heading bool
}

// edge says which line of a block of code a line is.
type edge int

const (
	inside edge = iota
	first
	last
)

// fence is the line that opens a block of code: three or more backticks or tildes, and
// the language. Indentation and quotation marks may stand before it.
type fence struct {
	prefix string
	marker string
	quotes int    // quotation marks of the prefix
	info   string // the language, as far as it is given again
	plain  bool   // there is no room to close it and to open it again: cut as plain text
}

var (
	fenceLine   = regexp.MustCompile("^([ \t>]*)(`{3,}|~{3,})[ \t]*(.*?)[ \t\r]*$")
	itemLine    = regexp.MustCompile(`^[ \t>]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\S`)
	headingLine = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]`)
	unbroken    = regexp.MustCompile("!?\\[[^\\[\\]\n]*\\]\\((?:[^()\n]|\\([^()\n]*\\))*\\)|`[^`\n]+`")
	fenceMark   = regexp.MustCompile("[ \t>]*(?:`{3,}|~{3,})")
)

// opening opens the block again.
func (f *fence) opening() string {
	if f == nil {
		return ""
	}
	return f.prefix + f.marker + f.info + "\n"
}

// closing closes the block.
func (f *fence) closing() string {
	if f == nil {
		return ""
	}
	return "\n" + f.prefix + f.marker
}

// openedBy is the fence that a line opens, nil where it opens none. What is given again
// must leave half of a part for the code: the language is shortened, or left out.
func openedBy(text string, limit int) *fence {
	m := fenceLine.FindStringSubmatch(text)
	if m == nil || m[2][0] == '`' && strings.Contains(m[3], "`") {
		return nil
	}
	f := &fence{prefix: m[1], marker: m[2], quotes: strings.Count(m[1], ">")}
	language, _, _ := strings.Cut(m[3], " ")
	for _, f.info = range []string{m[3], language, ""} {
		if length(f.opening())+length(f.closing()) <= limit/2 && length(text) <= limit/2 {
			return f
		}
	}
	f.plain = true
	return f
}

// closedBy reports whether a line closes the block.
func (f *fence) closedBy(text string) bool {
	m := fenceLine.FindStringSubmatch(text)
	return m != nil && m[3] == "" && m[2][0] == f.marker[0] && len(m[2]) >= len(f.marker) && strings.Count(m[1], ">") == f.quotes
}

// readLines reads a text.
func readLines(runes []rune, limit int) *text {
	t := &text{runes: runes, limit: limit}
	var open *fence
	for from := 0; from <= len(runes); {
		to := from
		for to < len(runes) && runes[to] != '\n' {
			to++
		}
		l := line{stretch: stretch{from, to}, fence: open}
		switch written := string(runes[from:to]); {
		case open != nil:
			if open.closedBy(written) {
				open.plain = open.plain || to-from > limit/2
				l.edge, open = last, nil
				break
			}
			t.addMarks(l.stretch, written)
		default:
			if open = openedBy(written, limit); open != nil {
				l.fence, l.edge = open, first
				break
			}
			l.blank = strings.TrimSpace(written) == ""
			l.item, l.heading = itemLine.MatchString(written), headingLine.MatchString(written)
			t.addSpans(from, written)
			t.addMarks(l.stretch, written)
		}
		t.lines = append(t.lines, l)
		from = to + 1
	}
	t.findLists()
	t.findCodes()
	return t
}

// addSpans finds what must not be cut within a line. What alone is beyond the limit has
// to be.
func (t *text) addSpans(from int, written string) {
	for _, m := range unbroken.FindAllStringIndex(written, -1) {
		begin := from + length(written[:m[0]])
		if s := (stretch{begin, begin + length(written[m[0]:m[1]])}); s.to-s.from <= t.limit {
			t.spans = append(t.spans, s)
		}
	}
}

// addMarks finds what would look like a fence at the start of the next part, or at the end
// of this one, if the line that is none were cut there.
func (t *text) addMarks(l stretch, written string) {
	for i, m := range fenceMark.FindAllStringIndex(written, -1) {
		from, to := l.from+length(written[:m[0]]), l.from+length(written[:m[1]])
		if i == 0 && m[0] == 0 {
			end := l.to
			if next := strings.IndexByte(written[m[1]:], '`'); written[m[1]-1] == '`' && next >= 0 {
				end = to + length(written[m[1]:m[1]+next]) + 1
			}
			t.marks = append(t.marks, stretch{l.from, end})
			continue
		}
		t.marks = append(t.marks, stretch{from - 1, to - 2})
	}
}

// findLists finds the lines of lists: items, and what is indented below them. A line that
// follows without a blank one belongs to the item too.
func (t *text) findLists() {
	in, blank := false, false
	for i := range t.lines {
		l := &t.lines[i]
		indented := l.to > l.from && unicode.IsSpace(t.runes[l.from])
		switch {
		case l.item:
			if !in {
				t.lists = append(t.lists, stretch{l.from, l.to})
			}
			in = true
		case l.blank:
			blank = true
			continue
		case l.heading, blank && !indented:
			in = false
		}
		blank = false
		if l.list = in; in {
			t.lists[len(t.lists)-1].to = l.to
		}
	}
	for i := len(t.lines) - 2; i >= 0; i-- {
		next := t.lines[i+1]
		t.lines[i].leads = next.list || next.blank && next.leads
	}
}

// findCodes finds the blocks of code.
func (t *text) findCodes() {
	for _, l := range t.lines {
		switch {
		case l.fence == nil || l.fence.plain:
		case l.edge == first:
			t.codes = append(t.codes, l.stretch)
		default:
			t.codes[len(t.codes)-1].to = l.to
		}
	}
}

// lineAt is the number of the line in which a place is; a line's end belongs to it.
func (t *text) lineAt(at int) int {
	i, _ := slices.BinarySearchFunc(t.lines, at, func(l line, at int) int { return cmp.Compare(l.to, at) })
	return i
}

// fenceAt is the block of code that a cut at this place would break, nil where it breaks
// none: before a block's first line, and at the end of its last one.
func (t *text) fenceAt(at int) *fence {
	l := t.lines[t.lineAt(at)]
	switch {
	case l.fence == nil || l.fence.plain:
	case l.edge == first && at < l.to, l.edge == last && at == l.to:
	default:
		return l.fence
	}
	return nil
}

// blocksAt are the list and the block of code around a place, the larger one first.
func (t *text) blocksAt(at int) (found []stretch) {
	for _, list := range [][]stretch{t.lists, t.codes} {
		if b, ok := around(list, at); ok {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return found
}

// around is the stretch of an ordered list that a cut at this place would break.
func around(list []stretch, at int) (stretch, bool) {
	i, _ := slices.BinarySearchFunc(list, at, func(s stretch, at int) int { return cmp.Compare(s.to, at+1) })
	if i < len(list) && list[i].from < at {
		return list[i], true
	}
	return stretch{}, false
}

// Each of these reports whether something ends at a place: there is text before it, and
// after it. The first five are ends of lines and sentences outside of code, but for
// codeLineEnds.

// blockEnds is the end of a paragraph, of a block of code, or of whatever comes before one
// or before a heading. It is not between the items of a list.
func (t *text) blockEnds(at int) bool {
	if !t.lineEnds(at) {
		return false
	}
	i := t.lineAt(at)
	before, after := t.lines[i], t.lines[i+1]
	if before.leads && (before.list || before.blank) {
		return false
	}
	return before.blank || after.blank || before.edge == last || after.edge == first || after.heading
}

// itemEnds is the end of an item of a list, before the next one.
func (t *text) itemEnds(at int) bool {
	return t.lineEnds(at) && t.lines[t.lineAt(at)+1].item
}

// lineEnds is the end of a line outside of code.
func (t *text) lineEnds(at int) bool {
	return t.runes[at] == '\n' && t.fenceAt(at) == nil
}

// codeLineEnds is the end of a line of code. Neither the line that opens the block nor the
// one that closes it may be alone in a part.
func (t *text) codeLineEnds(at int) bool {
	return t.runes[at] == '\n' && t.fenceAt(at) != nil && !t.splitsFence(at)
}

// anyLineEnds is the end of a line, even if it leaves a line that opens or closes a block
// of code alone.
func (t *text) anyLineEnds(at int) bool { return t.runes[at] == '\n' }

func (t *text) sentenceEnds(at int) bool {
	if t.fenceAt(at) != nil || t.isBroken(at) || t.splitsFence(at) {
		return false
	}
	switch t.runes[at-1] {
	case '.', '!', '?', '…':
		return unicode.IsSpace(t.runes[at])
	case '。', '！', '？':
		return true // no space follows these
	}
	return false
}

func (t *text) wordEnds(at int) bool { return t.brokenWordEnds(at) && !t.isBroken(at) }

func (t *text) characterEnds(at int) bool { return t.brokenCharacterEnds(at) && !t.isBroken(at) }

// isBroken reports whether a cut breaks a link, or code within a line.
func (t *text) isBroken(at int) bool {
	_, broken := around(t.spans, at)
	return broken
}

// brokenWordEnds is the end of a word, also within what should not be cut.
func (t *text) brokenWordEnds(at int) bool {
	return unicode.IsSpace(t.runes[at]) && !unicode.IsSpace(t.runes[at-1]) && !t.splitsFence(at)
}

// brokenCharacterEnds is the end of a character, also within what should not be cut.
func (t *text) brokenCharacterEnds(at int) bool {
	return characterEnds(t.runes, at) && !t.splitsFence(at)
}

// anyCharacterEnds is the end of a character, whatever it breaks.
func (t *text) anyCharacterEnds(at int) bool { return characterEnds(t.runes, at) }

// splitsFence reports whether a cut falls into a line that opens or closes a block of code,
// leaves one of them without any code, or makes one of what is none.
func (t *text) splitsFence(at int) bool {
	if _, marked := around(t.marks, at); marked {
		return true
	}
	i := t.lineAt(at)
	l := t.lines[i]
	if l.fence == nil || l.fence.plain {
		return false
	}
	switch l.edge {
	case first:
		return at > l.from
	case last:
		return at < l.to
	}
	return at == l.to && i+1 < len(t.lines) && t.lines[i+1].edge == last
}

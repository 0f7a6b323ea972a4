// Package split cuts a text into parts that fit a channel. Its one job is to
// cut where it hurts least; it must never import anything of this module.
//
// Channels bound the length of a message, in code points, in units of UTF-16 or in bytes.
// A reply that is longer goes out as several messages, so a person reads each part by
// itself: a cut between paragraphs is not noticed, and one within a word is.
//
// Models write Markdown, and a part is shown by itself. So a block of code that has to be
// cut is closed at the end of its part and opened again at the start of the next one, with
// its language; these added lines are the only ones that the text did not have. Blocks of
// code and lists that fit into a part are not cut, and neither are links and code within a
// line. See markdown.go for what is recognised, and characters.go for what is one character
// to a reader.
package split

import (
	"strings"
	"unicode"
)

// Text cuts text into parts of at most limit characters (code points), in order. No part
// is blank. Without the lines that close and open blocks of code again, joining them
// loses only white space at the cuts, and within a block only the line break. A text that
// fits is its own only part; a blank one has none, and a limit below 1 cuts nothing.
func Text(text string, limit int) []string {
	return Weighed(text, limit, func(rune) int { return 1 })
}

// Weighed is [Text] for a channel that counts something else: weigh says how much of the
// limit a code point takes, at least 1, such as utf16.RuneLen or utf8.RuneLen. A limit must
// have room for any one of them.
func Weighed(text string, limit int, weigh func(rune) int) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	runes := []rune(text)
	if limit < 1 || weight(runes, weigh) <= limit {
		return []string{text} // never cut, so not even its bytes change
	}
	var parts []string
	for _, p := range cutAll(runes, limit, weigh) {
		parts = append(parts, p.String())
	}
	return parts
}

// part is a piece of the text, with what was added so that it can stand alone.
type part struct {
	opening string // opens a block of code again, with its line break; "": it begins in none
	body    string
	closing string // a line break, and what closes the block; "": it ends in none
}

func (p part) String() string { return p.opening + p.body + p.closing }

func weight(runes []rune, weigh func(rune) int) (sum int) {
	for _, r := range runes {
		sum += weigh(r)
	}
	return sum
}

// fitting is how many of the code points fit into the room, at least one.
func fitting(runes []rune, room int, weigh func(rune) int) int {
	for i, r := range runes {
		if room -= weigh(r); room < 0 {
			return max(i, 1)
		}
	}
	return len(runes)
}

// cutAll cuts a text that is longer than limit.
func cutAll(runes []rune, limit int, weigh func(rune) int) (parts []part) {
	t := readLines(runes, limit)
	t.weigh = weigh
	add := func(p part) {
		if strings.TrimSpace(p.body) != "" { // channels refuse a part without anything to read
			parts = append(parts, p)
		}
	}
	from := t.skip(0)
	for from < len(runes) {
		opening := t.fenceAt(from).opening()
		added := weight([]rune(opening), weigh)
		if added > limit/2 { // a language in letters that weigh much
			opening, added = "", 0
		}
		room := fitting(runes[from:], limit-added, weigh)
		if len(runes)-from <= room {
			add(part{opening: opening, body: string(runes[from:])})
			break
		}
		at := t.cut(from, room)
		p := part{opening: opening, body: string(runes[from:at]), closing: t.fenceAt(at).closing()}
		if p.closing == "" {
			p.body = strings.TrimRightFunc(p.body, unicode.IsSpace)
		}
		add(p)
		from = t.skip(at)
	}
	return parts
}

func length(text string) int { return len([]rune(text)) }

// skip is where the next part begins after a cut: behind the white space there, but not
// behind the indentation of a line. Within a block of code only the line break goes.
func (t *text) skip(at int) int {
	if t.fenceAt(at) != nil {
		if t.runes[at] == '\n' {
			at++
		}
		return at
	}
	begin := at
	for at < len(t.runes) && unicode.IsSpace(t.runes[at]) {
		at++
		if t.runes[at-1] == '\n' {
			begin = at
		}
	}
	if begin < at && (begin == 0 || t.runes[begin-1] == '\n') {
		return begin
	}
	return at
}

// cut is where the part that begins at from ends: at most room later, what closes a block
// of code included. There is more text than that.
//
// A block of code, or a list, that begins in this part and would fit into one of its own
// is left to the next part. Else each rule in turn looks for its last place, so the part
// is as long as that rule allows. The rules of the first loop must fill half of the part:
// a short first sentence would otherwise make many small messages.
func (t *text) cut(from, room int) int {
	least := t.solid(from, room)
	if least > room {
		return from + room // there is nothing to read in it
	}
	if at := t.beforeBlock(from, room); at > 0 {
		return at
	}
	for _, ends := range []func(int) bool{t.blockEnds, t.itemEnds, t.lineEnds, t.sentenceEnds, t.codeLineEnds} {
		if at := t.last(from, room, max(least, (room+1)/2), ends); at > 0 {
			return at
		}
	}
	for _, ends := range []func(int) bool{
		t.wordEnds, t.characterEnds, t.anyLineEnds, t.brokenWordEnds, t.brokenCharacterEnds, t.anyCharacterEnds,
	} {
		if at := t.last(from, room, least, ends); at > 0 {
			return at
		}
	}
	if least > 1 {
		return from + least - 1 // the white space alone
	}
	return t.last(from, room, 1, func(int) bool { return true })
}

// solid is how much of the room is filled with the first thing to read in it.
func (t *text) solid(from, room int) int {
	n := 1
	for n <= room && unicode.IsSpace(t.runes[from+n-1]) {
		n++
	}
	return n
}

// last is the last place that at least fills least of the room, and at which ends holds;
// 0 if there is none.
func (t *text) last(from, room, least int, ends func(int) bool) int {
	for at := from + room; at >= from+least; at-- {
		if ends(at) && at-from+length(t.fenceAt(at).closing()) <= room {
			return at
		}
	}
	return 0
}

// beforeBlock is the end of the line before a block of code, or a list, that goes on
// beyond the room and fits into a part of its own; 0 if there is none.
func (t *text) beforeBlock(from, room int) int {
	for _, b := range t.blocksAt(from + room) {
		if b.from > from && weight(t.runes[b.from:b.to], t.weigh) <= t.limit && strings.TrimSpace(string(t.runes[from:b.from])) != "" {
			return b.from - 1
		}
	}
	return 0
}

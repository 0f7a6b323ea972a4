// Package split cuts a text into parts that fit a channel. Its one job is to
// cut where it hurts least; it must never import anything of this module.
//
// Channels bound the length of a message; here it is counted in code points. A reply that
// is longer goes out as several messages, so a person reads each part by itself: a cut
// between paragraphs is not noticed, and one within a word is. The package looks at the
// text only. It knows no markup, so a cut may fall within a list or a block of code.
package split

import (
	"strings"
	"unicode"
)

// Text cuts text into parts of at most limit characters (code points), in
// order. No part is blank, and joining them loses only white space at the
// cuts. A text that fits is its own only part; a blank one has none, and a
// limit below 1 cuts nothing.
//
// It prefers the end of a paragraph, then of a line, then of a sentence, as
// long as the part gets at least half full; then the end of any word. Only a
// word beyond the limit is cut within. Several code points that are one character to
// a reader (an emoji, a letter and its accents) stay together, unless they alone
// are beyond the limit.
func Text(text string, limit int) []string {
	var parts []string
	rest := []rune(text)
	for limit > 0 && len(rest) > limit {
		at := cut(rest, limit)
		parts = appendUnlessBlank(parts, strings.TrimRightFunc(string(rest[:at]), unicode.IsSpace))
		rest = trimLeft(rest[at:])
	}
	if len(parts) == 0 && len(rest) == len([]rune(text)) {
		return appendUnlessBlank(nil, text) // never cut, so not even its bytes change
	}
	return appendUnlessBlank(parts, string(rest))
}

// appendUnlessBlank drops parts without anything to read: channels refuse them.
func appendUnlessBlank(parts []string, part string) []string {
	if strings.TrimSpace(part) == "" {
		return parts
	}
	return append(parts, part)
}

// trimLeft drops the white space after a cut: a new message needs no line break before
// it.
func trimLeft(runes []rune) []rune {
	for len(runes) > 0 && unicode.IsSpace(runes[0]) {
		runes = runes[1:]
	}
	return runes
}

// cut is where the first part ends: 1 to limit. There are more runes than limit. Each
// rule in turn looks for its last place, so the part is as long as that rule allows.
// The first three must fill half of the limit: a short first sentence would otherwise
// make many small messages.
func cut(runes []rune, limit int) int {
	half := (limit + 1) / 2
	for _, ends := range []func([]rune, int) bool{paragraphEnds, lineEnds, sentenceEnds} {
		if at := last(runes, limit, half, ends); at > 0 {
			return at
		}
	}
	if at := last(runes, limit, 1, wordEnds); at > 0 {
		return at
	}
	if at := last(runes, limit, 1, characterEnds); at > 0 {
		return at
	}
	return limit
}

// last is the last place from least to limit at which ends holds, 0 if there
// is none.
func last(runes []rune, limit, least int, ends func([]rune, int) bool) int {
	for at := limit; at >= least; at-- {
		if ends(runes, at) {
			return at
		}
	}
	return 0
}

// Each of these reports whether something ends before runes[at], which exists,
// as does runes[at-1].

func paragraphEnds(runes []rune, at int) bool {
	if runes[at] != '\n' {
		return false
	}
	for _, r := range runes[at+1:] {
		if r == '\n' || !unicode.IsSpace(r) {
			return r == '\n'
		}
	}
	return false
}

func lineEnds(runes []rune, at int) bool { return runes[at] == '\n' }

func sentenceEnds(runes []rune, at int) bool {
	switch runes[at-1] {
	case '.', '!', '?', '…':
		return unicode.IsSpace(runes[at])
	case '。', '！', '？':
		return true // no space follows these
	}
	return false
}

func wordEnds(runes []rune, at int) bool {
	return unicode.IsSpace(runes[at]) && !unicode.IsSpace(runes[at-1])
}

// characterEnds knows the common ways in which several code points are one character:
// marks, joiners, skin tones, and flags. Two letters make one flag, so between such
// letters a cut is right only after an even number of them. The full rules of Unicode
// need tables that are not worth their size here.
func characterEnds(runes []rune, at int) bool {
	const joiner = '\u200D'
	before, after := runes[at-1], runes[at]
	switch {
	case before == joiner, after == joiner, before == '\r' && after == '\n':
		return false
	case unicode.In(after, unicode.Mn, unicode.Me, unicode.Mc), isSkinTone(after), isTag(after):
		return false
	case isFlagLetter(before) && isFlagLetter(after):
		return flagLettersBefore(runes, at)%2 == 0
	}
	return true
}

func isSkinTone(r rune) bool   { return r >= 0x1F3FB && r <= 0x1F3FF }
func isTag(r rune) bool        { return r >= 0xE0020 && r <= 0xE007F }
func isFlagLetter(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

func flagLettersBefore(runes []rune, at int) int {
	n := 0
	for n < at && isFlagLetter(runes[at-1-n]) {
		n++
	}
	return n
}

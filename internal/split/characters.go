package split

import "unicode"

// characterEnds reports whether a character as a reader sees it (a grapheme cluster of
// Unicode's Standard Annex 29) ends before runes[at]. It knows the ways in which several
// code points are one: marks, joiners, skin tones, flags, the syllables of Hangul and the
// conjuncts of the Indic scripts. Two letters make one flag, so between such letters a
// cut is right only after an even number of them. The tables of the full rules are not
// worth their size here.
func characterEnds(runes []rune, at int) bool {
	const joiner, nonJoiner = '\u200D', '\u200C'
	before, after := runes[at-1], runes[at]
	switch {
	case before == joiner, after == joiner, after == nonJoiner, before == '\r' && after == '\n':
		return false
	case unicode.In(after, unicode.Mn, unicode.Me, unicode.Mc), isSkinTone(after), isTag(after):
		return false
	case isLinker(before) && unicode.Is(unicode.Lo, after):
		return false
	case hangulOf(before).joins(hangulOf(after)):
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

// isLinker reports whether r joins the consonants around it: the virama of Devanagari,
// Bengali, Gujarati, Oriya, Telugu and Malayalam.
func isLinker(r rune) bool {
	switch r {
	case 0x094D, 0x09CD, 0x0ACD, 0x0B4D, 0x0C4D, 0x0D4D:
		return true
	}
	return false
}

// hangul is what a code point is in a syllable of Hangul.
type hangul int

const (
	noHangul hangul = iota
	leading
	vowel
	trailing
	open   // a whole syllable, to which a trailing consonant can be added
	closed // a whole syllable with one
)

func hangulOf(r rune) hangul {
	switch {
	case r < 0x1100:
		return noHangul
	case r <= 0x115F, r >= 0xA960 && r <= 0xA97C:
		return leading
	case r <= 0x11A7, r >= 0xD7B0 && r <= 0xD7C6:
		return vowel
	case r <= 0x11FF, r >= 0xD7CB && r <= 0xD7FB:
		return trailing
	case r >= 0xAC00 && r <= 0xD7A3 && (r-0xAC00)%28 == 0:
		return open
	case r >= 0xAC00 && r <= 0xD7A3:
		return closed
	}
	return noHangul
}

// joins reports whether both are of one syllable.
func (h hangul) joins(next hangul) bool {
	switch h {
	case leading:
		return next == leading || next == vowel || next == open || next == closed
	case vowel, open:
		return next == vowel || next == trailing
	case trailing, closed:
		return next == trailing
	}
	return false
}

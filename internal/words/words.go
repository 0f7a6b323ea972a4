// Package words compares what people write with the words of a bot's
// configuration, such as stop words.
//
// People write "Stop.", "STOP!", “stop” or "@bot stop" and mean one word. A phone
// adds marks that nobody sees, and some keyboards write full-width letters. So two
// texts are the same word where they agree after all of this is taken away:
// see [Key].
//
// It must never import another package of this module.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MaxBytes is the longest text that is compared: a longer one is no word. It leaves
// room for marks that nobody sees.
const MaxBytes = 512

// List is a list of words. The zero List has none.
type List map[string]bool

// NewList makes a list. Words that are written differently may be the same one.
func NewList(texts []string) List {
	list := make(List, len(texts))
	for _, text := range texts {
		if key := Key(text); key != "" {
			list[key] = true
		}
	}
	return list
}

// Has reports whether the whole of a text is one of the words.
func (l List) Has(text string) bool {
	return len(l) > 0 && l[Key(text)]
}

// Key is what is compared of a text: its letters, digits and symbols after NFKC and
// case folding (Unicode Standard Annex 15 and section 3.13), with single spaces
// between. Punctuation, quotes, invisible marks, and the names of those whom a text
// begins with ("@bot stop") do not count. It is "" where nothing is left, and for a
// text that is longer than [MaxBytes]; such a text is no word.
func Key(text string) string {
	if len(text) > MaxBytes || !utf8.ValidString(text) {
		return ""
	}
	// Some quotes become a space and an accent by NFKC, so they go before it.
	text = withoutNames(norm.NFKC.String(strings.Map(visible, text)))
	text = norm.NFKC.String(cases.Fold().String(text)) // folding may leave what is not normal
	return strings.Join(strings.Fields(strings.Map(counts, text)), " ")
}

// withoutNames is a text without the mentions at its start. A mention ends with a
// space: nobody can tell where a name with spaces in it ends. Some channels write
// one as <@name>.
func withoutNames(text string) string {
	for {
		text = strings.TrimSpace(text)
		if !strings.HasPrefix(text, "@") && !strings.HasPrefix(text, "<@") {
			return text
		}
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			return ""
		}
		text = text[end:]
	}
}

// visible drops the marks that nobody sees, and those that only modify what stands
// beside them, such as an accent that is used as a quote.
func visible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Sk, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	return r
}

// counts drops what makes no difference to a word.
func counts(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsPunct(r), unicode.IsControl(r):
		return -1
	}
	return visible(r)
}

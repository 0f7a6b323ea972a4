package split

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// check holds for every text and limit.
func check(t *testing.T, text string, limit int) {
	t.Helper()
	if limit < 1 || utf8.RuneCountInString(text) <= limit {
		return
	}
	runes := []rune(text)
	parts := cutAll(runes, limit, func(rune) int { return 1 })
	for _, p := range parts {
		if strings.TrimSpace(p.body) == "" {
			t.Fatalf("%q by %d: a blank part in %q", text, limit, parts)
		}
		if length(p.String()) > limit {
			t.Fatalf("%q by %d: %q is too long", text, limit, p)
		}
	}
	checkBodies(t, string(runes), limit, parts)
	checkFences(t, readLines(runes, limit), limit, parts)
}

// checkWeight holds for every text and limit of a channel that counts something else.
func checkWeight(t *testing.T, text string, limit int) {
	t.Helper()
	for _, weigh := range []func(rune) int{utf16.RuneLen, utf8.RuneLen} {
		for _, p := range Weighed(text, limit, weigh) {
			if got := weight([]rune(p), weigh); got > limit {
				t.Fatalf("%q by %d: %q weighs %d", text, limit, p, got)
			}
		}
	}
}

// checkBodies: without what was added, the parts are the text, but for white space between
// them; before a line of code that is opened again, indentation is none.
func checkBodies(t *testing.T, text string, limit int, parts []part) {
	t.Helper()
	rest := text
	for i, p := range parts {
		gap, after, ok := strings.Cut(rest, p.body)
		if !ok || strings.TrimSpace(gap) != "" {
			t.Fatalf("%q by %d: %q is not in order in %q", text, limit, p.body, parts)
		}
		if p.opening != "" && gap != "" && gap != "\n" && length(gap) < limit/2 {
			t.Fatalf("%q by %d: %q lost its indentation %q", text, limit, p.body, gap)
		}
		if i > 0 && gap == "" && !characterEnds([]rune(parts[i-1].body+p.body), length(parts[i-1].body)) {
			checkCharacter(t, text, limit, parts[i-1].body+p.body, length(parts[i-1].body))
		}
		rest = after
	}
	if strings.TrimSpace(rest) != "" {
		t.Fatalf("%q by %d: %q was lost in %q", text, limit, rest, parts)
	}
}

// checkCharacter: a character is cut only where no part has room for it.
func checkCharacter(t *testing.T, text string, limit int, around string, at int) {
	t.Helper()
	runes := []rune(around)
	from, to := at, at
	for from > 0 && !characterEnds(runes, from) {
		from--
	}
	for to < len(runes) && !characterEnds(runes, to) {
		to++
	}
	if to-from <= limit/2 {
		t.Fatalf("%q by %d: the character %q was cut", text, limit, string(runes[from:to]))
	}
}

// checkFences: each part opens and closes its blocks of code by itself, unless the text
// itself does not. Where there is no room for that, and where a long row of marks has to be
// cut, nothing is promised.
func checkFences(t *testing.T, whole *text, limit int, parts []part) {
	t.Helper()
	closes := true
	for _, l := range whole.lines {
		if l.fence != nil && l.fence.plain || len(whole.marks) > 0 {
			return
		}
		closes = l.fence == nil || l.edge == last
	}
	for i, p := range parts {
		var open *fence
		for line := range strings.SplitSeq(p.String(), "\n") {
			switch {
			case open == nil:
				open = openedBy(line, 1<<20)
			case open.closedBy(line):
				open = nil
			}
		}
		if open != nil && (closes || i < len(parts)-1) {
			t.Fatalf("%q by %d: part %d leaves a block of code open: %q", string(whole.runes), limit, i+1, parts)
		}
	}
}

func TestProperties(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	alphabets := [][]string{
		{"a", "bc", " ", "  ", "\n", "\n\n", ". ", "!", "é", "e\u0301", "👍🏽", "👨‍👩‍👧", "🇩🇪", "。", "\t", "\r\n", "\u00a0"},
		{"a", "bc ", "\n", "\n", "\n\n", "\n```go\n", "\n```\n", "\n~~~\n", "    ", "- a\n", "\n1. b", "[a b](c)", "`a b`", "> ", "# a\n"},
		{"a", "`", "``", "```", "~~~", "\n", "\n", " ", "x y ", "e\u0301", "````"},
	}
	for range 10_000 {
		alphabet := alphabets[random.IntN(len(alphabets))]
		var b strings.Builder
		for range random.IntN(60) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		check(t, b.String(), random.IntN(40))
		checkWeight(t, b.String(), 16+random.IntN(40))
	}
}

func FuzzText(f *testing.F) {
	f.Add("hello world. How are you?\n\nFine", 10)
	f.Add("👨‍👩‍👧🇩🇪🇫🇷e\u0301", 1)
	f.Add("\xff\xfe   \x00", 2)
	f.Add("so:\n```go\na := 1\nb := 2\n```\n- a\n- [b c](d)\n~~~\n```\n~~~\n> ```\n> a", 20)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) < 1<<12 {
			check(t, text, limit)
			checkWeight(t, text, max(limit, 16))
		}
	})
}

// TestSolid: nothing but white space is lost without a fence in the text.
func TestSolid(t *testing.T) {
	solid := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, text)
	}
	text := strings.Repeat("One two. Three!\n\n- four\n- five six\n\n", 20)
	for limit := 1; limit < 100; limit++ {
		if got := solid(strings.Join(Text(text, limit), "")); got != solid(text) {
			t.Fatalf("by %d: %q", limit, got)
		}
	}
}

package split_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/onereply/onereply/internal/split"
)

func TestText(t *testing.T) {
	tests := map[string]struct {
		text  string
		limit int
		want  []string
	}{
		"fits":                        {"hello", 5, []string{"hello"}},
		"fits, spaces are kept":       {" hi \n", 5, []string{" hi \n"}},
		"no limit":                    {"hello world", 0, []string{"hello world"}},
		"negative limit":              {"hello world", -1, []string{"hello world"}},
		"nothing":                     {"", 5, nil},
		"blank":                       {" \n\t ", 2, nil},
		"paragraph before line":       {"aaa\n\nbb\ncc dd", 10, []string{"aaa\n\nbb", "cc dd"}},
		"paragraph":                   {"aaaaaa\n\nbb\ncc dd", 12, []string{"aaaaaa", "bb\ncc dd"}},
		"paragraph with spaces":       {"aaaaaa\n \nbb\ncc dd", 12, []string{"aaaaaa", "bb\ncc dd"}},
		"line":                        {"aaaa bb\ncc dd", 10, []string{"aaaa bb", "cc dd"}},
		"sentence":                    {"Yes it is. And more", 14, []string{"Yes it is.", "And more"}},
		"no sentence end in a number": {"about 3.14 and so", 12, []string{"about 3.14", "and so"}},
		"sentence without spaces":     {"你好吗。我很好你呢", 6, []string{"你好吗。", "我很好你呢"}},
		"an early end is no good":     {"A. bbbb cccc dddd", 12, []string{"A. bbbb cccc", "dddd"}},
		"word":                        {"aaa bbb ccc", 7, []string{"aaa bbb", "ccc"}},
		"long word":                   {"aaaaaaaaaa", 4, []string{"aaaa", "aaaa", "aa"}},
		"limit 1":                     {"ab c", 1, []string{"a", "b", "c"}},
		"white space beyond limit":    {"          a", 3, []string{"a"}},
		"white space in the middle":   {"a         b", 3, []string{"a", "b"}},
		"white space at the end":      {"a          ", 3, []string{"a"}},
		"accents":                     {"xe\u0301e\u0301", 3, []string{"xe\u0301", "e\u0301"}},
		"family stays together":       {"ab👨‍👩‍👧", 6, []string{"ab", "👨‍👩‍👧"}},
		"skin tone":                   {"a👍🏽", 2, []string{"a", "👍🏽"}},
		"flags":                       {"🇩🇪🇫🇷", 3, []string{"🇩🇪", "🇫🇷"}},
		"flags after a letter":        {"a🇩🇪🇫🇷", 4, []string{"a🇩🇪", "🇫🇷"}},
		"family beyond the limit":     {"👨‍👩‍👧", 2, []string{"👨\u200d", "👩\u200d", "👧"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := split.Text(test.text, test.limit); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// check holds for every text and limit.
func check(t *testing.T, text string, limit int) {
	t.Helper()
	parts := split.Text(text, limit)
	for _, part := range parts {
		if strings.TrimSpace(part) == "" {
			t.Fatalf("%q by %d: a blank part in %q", text, limit, parts)
		}
		if limit > 0 && utf8.RuneCountInString(part) > limit {
			t.Fatalf("%q by %d: a part is too long in %q", text, limit, parts)
		}
	}
	if want := solid(text); solid(strings.Join(parts, "")) != want {
		t.Fatalf("%q by %d: something was lost in %q", text, limit, parts)
	}
	// Each part stands in the text, after the one before it, with only white
	// space between them.
	rest := text
	if !utf8.ValidString(text) {
		rest = string([]rune(text))
	}
	for _, part := range parts {
		if !utf8.ValidString(text) {
			part = string([]rune(part))
		}
		before, after, ok := strings.Cut(rest, part)
		if !ok || strings.TrimSpace(before) != "" {
			t.Fatalf("%q by %d: %q is not in order in %q", text, limit, part, parts)
		}
		rest = after
	}
}

func solid(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

func TestTextProperties(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	alphabet := []string{"a", "bc", " ", "  ", "\n", "\n\n", ". ", "!", "é", "e\u0301", "👍🏽", "👨‍👩‍👧", "🇩🇪", "。", "\t", "\r\n", "\u00a0"}
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(60) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		check(t, b.String(), random.IntN(25))
	}
}

func FuzzText(f *testing.F) {
	f.Add("hello world. How are you?\n\nFine", 10)
	f.Add("👨‍👩‍👧🇩🇪🇫🇷e\u0301", 1)
	f.Add("\xff\xfe   \x00", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) < 1<<12 {
			check(t, text, limit)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 6000)
	for b.Loop() {
		split.Text(text, 4096)
	}
}

func ExampleText() {
	for _, part := range split.Text("Hello there. How can I help you today?", 20) {
		fmt.Printf("%q\n", part)
	}
	// Output:
	// "Hello there."
	// "How can I help you"
	// "today?"
}

package split_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

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
		"a syllable of Hangul":        {"a\u1112\u1161\u11ab", 3, []string{"a", "\u1112\u1161\u11ab"}},
		"syllables of Hangul":         {"한글한글", 3, []string{"한글한", "글"}},
		"a conjunct of Devanagari":    {"a\u0915\u094d\u0937", 3, []string{"a", "\u0915\u094d\u0937"}},
		"indentation after a cut":     {"aaaa:\n\n  bb", 8, []string{"aaaa:", "  bb"}},
		"a link":                      {"see the [new docs](http://x.y/z) now", 30, []string{"see the", "[new docs](http://x.y/z) now"}},
		"a link with parentheses":     {"so [a b](http://x/(y)) it", 20, []string{"so", "[a b](http://x/(y))", "it"}},
		"a link beyond the limit":     {"[a b](http://x.y/zzzzz)", 8, []string{"[a", "b](http:", "//x.y/zz", "zzz)"}},
		"a sentence in a link":        {"a [b? c](http://x.y) d", 19, []string{"a", "[b? c](http://x.y)", "d"}},
		"code within a line":          {"run `go test ./...` or so", 20, []string{"run `go test ./...`", "or so"}},
		"code within a line is whole": {"run it: `go test ./...`", 20, []string{"run it:", "`go test ./...`"}},
		"a list is whole":             {"Do this:\n- one\n- two\n- three", 24, []string{"Do this:", "- one\n- two\n- three"}},
		"a list between its items":    {"- one is\n  long\n- two\n- three", 20, []string{"- one is\n  long", "- two\n- three"}},
		"a loose list":                {"Some text.\n\n1. one\n\n2. two\n\nAnd more of it.", 30, []string{"Some text.\n\n1. one\n\n2. two", "And more of it."}},
		"before a heading":            {"Some text here\n## More\nof this text", 24, []string{"Some text here", "## More\nof this text"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := split.Text(test.text, test.limit); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestCode cuts blocks of code.
func TestCode(t *testing.T) {
	tests := map[string]struct {
		text  string
		limit int
		want  []string
	}{
		"closed and opened again, with its language": {
			"```go\na := 1\nb := 2\nc := 3\n```", 26,
			[]string{"```go\na := 1\nb := 2\n```", "```go\nc := 3\n```"},
		},
		"whole, where it fits into a part": {
			"Like this:\n```go\na := 1\nb := 2\n```\nDone.", 30,
			[]string{"Like this:", "```go\na := 1\nb := 2\n```\nDone."},
		},
		"text before it fills half of the part": {
			"A text that is long enough.\n```\naaaa\nbbbb\ncccc\n```", 40,
			[]string{"A text that is long enough.", "```\naaaa\nbbbb\ncccc\n```"},
		},
		"a block longer than a part, after a little text": {
			"So:\n```py\naaaaaa\nbbbbbb\ncccccc\ndddddd\n```", 28,
			[]string{"So:\n```py\naaaaaa\nbbbbbb\n```", "```py\ncccccc\ndddddd\n```"},
		},
		"indentation and blank lines of the code stay": {
			"```\nif a {\n\n    b()\n}\n    c()\n```", 24,
			[]string{"```\nif a {\n\n    b()\n```", "```\n}\n    c()\n```"},
		},
		"tildes, and backticks within them": {
			"~~~md\n```\naaaa\n```\nbbbb\ncccc\n~~~", 26,
			[]string{"~~~md\n```\naaaa\n```\n~~~", "~~~md\nbbbb\ncccc\n~~~"},
		},
		"a longer fence around a shorter one": {
			"````\n```go\naaaaaa\n```\nbbbbbb\n````", 30,
			[]string{"````\n```go\naaaaaa\n```\n````", "````\nbbbbbb\n````"},
		},
		"within a list": {
			"1. do\n   ```sh\n   aaaa\n   bbbb\n   cccc\n   ```", 38,
			[]string{"1. do\n   ```sh\n   aaaa\n   bbbb\n   ```", "   ```sh\n   cccc\n   ```"},
		},
		"within a quotation": {
			"> ```\n> aaaa\n> bbbb\n> cccc\n> ```", 28,
			[]string{"> ```\n> aaaa\n> bbbb\n> ```", "> ```\n> cccc\n> ```"},
		},
		"a line longer than a part": {
			"```go\naaaaaaaaaaaa bbbbbb\n```", 24,
			[]string{"```go\naaaaaaaaaaaa\n```", "```go\n bbbbbb\n```"},
		},
		"never closed": {
			"```go\naaaaaa\nbbbbbb\ncccccc", 24,
			[]string{"```go\naaaaaa\nbbbbbb\n```", "```go\ncccccc"},
		},
		"the language alone, where there is no room for more": {
			"```go title=here\naaaaaa\nbbbbbb\ncccccc\n```", 34,
			[]string{"```go title=here\naaaaaa\nbbbbbb\n```", "```go\ncccccc\n```"},
		},
		"no room to open it again: plain text": {
			"```go\naaaa\n```", 10, []string{"```go\naaaa", "```"},
		},
		"three backticks within a line are no fence": {
			"a `b` ```c``` dddd eeee ffff gggg", 20, []string{"a `b` ```c``` dddd", "eeee ffff gggg"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := split.Text(test.text, test.limit); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 6000)
	for b.Loop() {
		split.Text(text, 4096)
	}
}

func BenchmarkHardTexts(b *testing.B) {
	for name, text := range map[string]string{
		"lines": strings.Repeat("\n", 256<<10), "spaces": strings.Repeat(" ", 256<<10) + "a", "backticks": strings.Repeat("`", 256<<10),
		"brackets": strings.Repeat("[a](", 64<<10), "code": "```go\n" + strings.Repeat("aaaa bbbb\n", 26<<10), "letters": strings.Repeat("a", 256<<10),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				split.Text(text, 4096)
			}
		})
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

// A list that fits into a part by its characters, and not by what they weigh, is not left to
// the next part: it would be cut there too.
func TestWeighedBlock(t *testing.T) {
	text := "Do it:\n- 🙂🙂🙂🙂🙂🙂🙂🙂\n- 🙂🙂🙂🙂🙂🙂🙂🙂\n- 🙂🙂🙂🙂🙂🙂🙂🙂"
	got := split.Weighed(text, 44, utf16.RuneLen)
	if len(got) != 2 || !strings.HasPrefix(got[0], "Do it:\n- ") {
		t.Errorf("cut into %q", got)
	}
}

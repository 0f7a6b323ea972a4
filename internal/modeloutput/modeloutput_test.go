package modeloutput

import (
	"strings"
	"testing"
)

func TestThinkingIsKeptFromPeople(t *testing.T) {
	tests := map[string]string{
		"hello":                                   "hello",
		"  hello ":                                "  hello ",
		"<think>hm</think>hello":                  "hello",
		"<think>hm</think>\n\n hello":             "hello",
		"<THINK>hm</Think>hello":                  "hello",
		"< think >hm< / think >hello":             "hello",
		"<thinking>a < b <x> </thinking>hello":    "hello",
		"one <think>hm</think> two":               "one  two",
		"<think>a</think>b<thinking>c</thinking>": "b",
		"hello <think>never closed":               "hello ",
		"<think>all of it":                        "",
		"a thought\n</think>\nhello":              "hello",
		"<think>a<think>b</think>c":               "c",
		"1 < 2, <b>bold</b> and <thin ice>":       "1 < 2, <b>bold</b> and <thin ice>",
		"the end <thi":                            "the end <thi",
		"<" + strings.Repeat(" ", 100) + "think>": "<" + strings.Repeat(" ", 100) + "think>",
		"<thinker>x</thinker>":                    "<thinker>x</thinker>",
		"":                                        "",
	}
	for text, want := range tests {
		if got := WithoutThinking([]string{text})[0]; got != want && !strings.HasPrefix(text, "<"+strings.Repeat(" ", 100)) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		for at := range len(text) + 1 { // a stream may be cut anywhere
			var f Thinking
			first, _ := f.Write(text[:at])
			second, void := f.Write(text[at:])
			if void {
				first = ""
			}
			if got := first + second + f.End(); got != want && len(text) < 100 {
				t.Errorf("%q and %q become %q, want %q", text[:at], text[at:], got, want)
			}
		}
	}
	parts := WithoutThinking([]string{"<think>hm", "still</think>one", "two"})
	if parts[0] != "" || parts[1] != "one" || parts[2] != "two" {
		t.Errorf("the parts are %q", parts)
	}
	if parts := WithoutThinking([]string{"hm", "</think>one"}); parts[0] != "" || parts[1] != "one" {
		t.Errorf("the parts are %q", parts)
	}
}

// Package modeloutput takes out of a model's reply what people must not see: the text in
// which the model thinks before it answers, and the marker by which it says that it stays
// silent. A reply may come whole or in pieces.
//
// Models put their thinking between tags, and some endpoints hand it on as a part of the
// reply. The package knows texts only; it must never import the root or the engine.
package modeloutput

import (
	"regexp"
	"strings"
)

// Thinking takes the text between <think> or <thinking> and the end tag out of a
// reply that comes in pieces. A tag that is never closed hides the rest.
type Thinking struct {
	inside bool
	seen   bool   // there was a tag
	begun  bool   // something visible came
	held   string // may be the beginning of a tag
}

// Write returns what can be shown of the text so far and was not shown before. An end tag
// without a beginning says that all before it was thinking too: some models begin with
// their thoughts, and only end them by a tag. What was returned before is void then.
func (f *Thinking) Write(piece string) (shown string, void bool) {
	text := f.held + piece
	f.held = ""
	var out strings.Builder
	for {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			f.show(&out, text)
			return out.String(), void
		}
		f.show(&out, text[:at])
		text = text[at:]
		match := thinkTag.FindStringSubmatchIndex(text)
		switch {
		case match != nil && match[2] < 0: // a beginning
			f.inside, f.seen = true, true
			text = text[match[1]:]
		case match != nil:
			if !f.seen {
				out.Reset()
				void, f.begun = true, false
			}
			f.inside, f.seen = false, true
			text = text[match[1]:]
		case len(text) <= longestTag && beginsTag.MatchString(text):
			f.held = text
			return out.String(), void
		default:
			f.show(&out, text[:1])
			text = text[1:]
		}
	}
}

// End returns what was held back and is no tag after all.
func (f *Thinking) End() string {
	var out strings.Builder
	f.show(&out, f.held)
	f.held = ""
	return out.String()
}

// show adds text, unless it is thinking. The space that stood around the thoughts is
// left out before the first word.
func (f *Thinking) show(out *strings.Builder, text string) {
	if f.inside {
		return
	}
	if f.seen && !f.begun {
		text = strings.TrimLeft(text, " \t\r\n")
	}
	f.begun = f.begun || strings.TrimSpace(text) != ""
	out.WriteString(text)
}

var (
	thinkTag  = regexp.MustCompile(`(?i)^<\s*(/)?\s*think(?:ing)?\s*>`)
	beginsTag = regexp.MustCompile(`(?i)^<\s*(?:/\s*)?(?:t|th|thi|thin|think\s*|thinki|thinkin|thinking\s*)?$`)
)

// longestTag bounds what is held back: spaces within a tag could go on for ever.
const longestTag = 64

// WithoutThinking is the texts of one reply, its parts in order, without thinking.
func WithoutThinking(texts []string) []string {
	var f Thinking
	out := make([]string, len(texts))
	for i, text := range texts {
		shown, void := f.Write(text)
		if void {
			clear(out[:i])
		}
		out[i] = shown + f.End()
	}
	return out
}

// Silence holds back a reply that comes in pieces, as long as it may be the marker
// by which a model says that it stays silent.
type Silence struct {
	Marker string // "": there is none
	held   string
	passed bool // it is no marker
}

// Write returns what can be shown of the text so far and was not shown before.
func (f *Silence) Write(piece string) string {
	if f.passed || f.Marker == "" {
		return piece
	}
	f.held += piece
	if strings.HasPrefix(strings.TrimSpace(f.Marker), strings.TrimSpace(f.held)) {
		return ""
	}
	f.passed = true
	return f.held
}

package onereply

import (
	"regexp"
	"strings"
	"sync"
)

// Models that think before they answer put that between tags, and some endpoints hand it
// on as a part of the reply. People, and later prompts, get the reply without it.

// thinkingFilter takes the text between <think> or <thinking> and the end tag out of a
// reply that comes in pieces. A tag that is never closed hides the rest.
type thinkingFilter struct {
	inside bool
	seen   bool   // there was a tag
	begun  bool   // something visible came
	held   string // may be the beginning of a tag
}

// write returns what can be shown of the text so far and was not shown before. An end tag
// without a beginning says that all before it was thinking too: some models begin with
// their thoughts, and only end them by a tag. What was returned before is void then.
func (f *thinkingFilter) write(piece string) (shown string, void bool) {
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

// end returns what was held back and is no tag after all.
func (f *thinkingFilter) end() string {
	var out strings.Builder
	f.show(&out, f.held)
	f.held = ""
	return out.String()
}

// show adds text, unless it is thinking. The space that stood around the thoughts is
// left out before the first word.
func (f *thinkingFilter) show(out *strings.Builder, text string) {
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

// withoutThinking is the texts of one reply, its parts in order, without thinking.
func withoutThinking(texts []string) []string {
	var f thinkingFilter
	out := make([]string, len(texts))
	for i, text := range texts {
		shown, void := f.write(text)
		if void {
			clear(out[:i])
		}
		out[i] = shown + f.end()
	}
	return out
}

// silenceFilter holds back a reply that comes in pieces, as long as it may be the marker
// by which a model says that it stays silent.
type silenceFilter struct {
	marker string // "": there is none
	held   string
	passed bool // it is no marker
}

func (f *silenceFilter) write(piece string) string {
	if f.passed || f.marker == "" {
		return piece
	}
	f.held += piece
	if strings.HasPrefix(strings.TrimSpace(f.marker), strings.TrimSpace(f.held)) {
		return ""
	}
	f.passed = true
	return f.held
}

// cleaned is a reply as people get it: without thinking, and silent where all of it is
// the marker for that.
func (b Bot) cleaned(r Reply) Reply {
	if !b.KeepThinking {
		r.Text = withoutThinking([]string{r.Text})[0]
		r.Parts = withoutThinking(r.Parts)
	}
	whole := r.Text
	if strings.TrimSpace(whole) == "" {
		whole = strings.Join(r.Parts, "\n")
	}
	if b.Silence != "" && strings.TrimSpace(whole) == strings.TrimSpace(b.Silence) {
		r.Silent = true
	}
	return r
}

// cleanedDelta passes on the pieces of a reply as cleaned would leave them, as far as that
// shows before the end.
func (b Bot) cleanedDelta(show func(string)) func(string) {
	var mu sync.Mutex // pieces may come from many goroutines
	var thinking thinkingFilter
	silence := silenceFilter{marker: b.Silence}
	return func(piece string) {
		mu.Lock()
		defer mu.Unlock()
		if !b.KeepThinking {
			piece, _ = thinking.write(piece)
		}
		if piece = silence.write(piece); piece != "" {
			show(piece)
		}
	}
}

package onereply

import (
	"strings"
	"sync"

	"github.com/onereply/onereply/internal/modeloutput"
)

// cleaned returns a reply as people get it: without the model's thinking, and Silent if its
// whole text is the bot's Silence.
func (b Bot) cleaned(r Reply) Reply {
	if !b.KeepThinking {
		r.Text = modeloutput.WithoutThinking([]string{r.Text})[0]
		r.Parts = modeloutput.WithoutThinking(r.Parts)
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
	var thinking modeloutput.Thinking
	silence := modeloutput.Silence{Marker: b.Silence}
	return func(piece string) {
		mu.Lock()
		defer mu.Unlock()
		if !b.KeepThinking {
			piece, _ = thinking.Write(piece)
		}
		if piece = silence.Write(piece); piece != "" {
			show(piece)
		}
	}
}

// Package echo answers by naming the messages of its prompt. It exists for demos and
// tests: it understands nothing. Its one job is to take its time as a model does, and to
// show in its reply the content of the prompt. It must never import a store, a channel,
// the engine or another responder.
package echo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onereply/onereply"
)

const (
	defaultDelay = 2 * time.Second
	pieces       = 8 // of the answer, shown while it is waited for

	// The quoted part of many or long messages: far less than a reply may hold.
	maxQuotedBytes = onereply.MaxReplyBytes / 4
)

// Responder is a [onereply.Responder] for demos and tests. The zero value is ready to
// use, by many goroutines at once. It calls nothing and never fails by itself, so a test
// of the engine sees only the engine.
type Responder struct {
	// Delay is how long it takes to answer. 0 means 2s, [onereply.Zero] no time
	// at all.
	Delay time.Duration
}

// Respond waits, showing pieces of the answer meanwhile, and names the waiting messages
// in their order. The pieces come at equal intervals and end with words, as those of a
// model mostly do. If the context ends meanwhile, its cause is the error.
func (r Responder) Respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	text := answer(t.Messages)
	shown := 0
	for i := range pieces {
		if err := sleep(ctx, r.step()); err != nil {
			return onereply.Reply{}, err
		}
		end := wordEnd(text, len(text)*(i+1)/pieces)
		if end > shown {
			t.Delta(text[shown:end])
			shown = end
		}
	}
	return onereply.Reply{Text: text}, nil
}

// step is the pause before each piece. A negative delay, such as [onereply.Zero], is
// none.
func (r Responder) step() time.Duration {
	delay := r.Delay
	if delay == 0 {
		delay = defaultDelay
	}
	return max(delay, 0) / pieces
}

// sleep waits, or ends early with the cause of the context's end.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wordEnd is the first end of a word at or after a place in the text. Pieces end there,
// so that no character of several bytes is cut in two.
func wordEnd(text string, from int) int {
	if i := strings.IndexByte(text[from:], ' '); i >= 0 {
		return from + i
	}
	return len(text)
}

// answer is for example: You said 2 things: "hello", "are you there?".
func answer(messages []onereply.PromptEntry) string {
	things := "things"
	if len(messages) == 1 {
		things = "thing"
	}
	return fmt.Sprintf("You said %d %s: %s.", len(messages), things, quoteAll(messages))
}

// quoteAll quotes messages until the reply is long enough, and counts the rest. The first
// message is always quoted.
func quoteAll(messages []onereply.PromptEntry) string {
	var quotes []string
	size := 0
	for i, m := range messages {
		quote := `"` + describe(m) + `"`
		size += len(quote) + len(", ")
		if i > 0 && size > maxQuotedBytes {
			return strings.Join(quotes, ", ") + fmt.Sprintf(" and %d more", len(messages)-i)
		}
		quotes = append(quotes, quote)
	}
	return strings.Join(quotes, ", ")
}

// describe is a message's text, with a word for each attachment. An attachment without a
// kind is shown too, so that a test sees that it arrived.
func describe(m onereply.PromptEntry) string {
	words := make([]string, 0, 1+len(m.Attachments))
	if text := strings.TrimSpace(m.Text); text != "" {
		words = append(words, text)
	}
	for _, a := range m.Attachments {
		kind := a.Kind
		if kind == "" {
			kind = "attachment"
		}
		words = append(words, "["+kind+"]")
	}
	return strings.Join(words, " ")
}

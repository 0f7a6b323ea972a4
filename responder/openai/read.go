package openai

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// read makes a reply of an answer, streamed or not.
func read(answer *upstream.Answer, listener upstream.Listener) (onereply.Reply, error) {
	r := &reading{answer: answer, text: upstream.Text{Listener: listener}}
	defer r.spend()
	if err := answer.WholeOrStream(r.whole, r.stream); err != nil {
		return onereply.Reply{}, err
	}
	return r.reply()
}

// reading is what is known of an answer so far.
type reading struct {
	answer *upstream.Answer
	text   upstream.Text
	finish string
	done   bool
	usage  *usage
}

// chunk is a completion, or a piece of one.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        content `json:"delta"`
	Message      content `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type usage struct {
	Input  int64 `json:"prompt_tokens"`
	Output int64 `json:"completion_tokens"`
}

// content is the text of a message or of a piece of one.
type content struct {
	Content contentText `json:"content"`
	Refusal string      `json:"refusal"` // the model's own words why it does not answer
}

func (c content) text() string { return string(c.Content) + c.Refusal }

// contentText is a text, or a list of which the texts count.
type contentText string

// UnmarshalJSON reads both forms, and null as nothing.
func (c *contentText) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	err := json.Unmarshal(raw, &parts)
	var b strings.Builder
	for _, part := range parts {
		if part.Type == "text" {
			b.WriteString(part.Text)
		}
	}
	*c = contentText(b.String())
	return err
}

func (r *reading) whole() error {
	body, err := r.answer.All()
	if err != nil {
		return r.answer.ReadFault(err)
	}
	return r.take(body)
}

// stream reads events until the one that says that there are no more. What
// follows the reason for the end is only the count of tokens, so losing that
// loses no reply.
func (r *reading) stream() error {
	events := r.answer.Events()
	for !r.done {
		event, err := events.Next()
		if err != nil && r.finish != "" && r.answer.Ended() == nil {
			return nil
		}
		if err == io.EOF {
			return r.answer.Broken("the stream was cut short: it ended without a finish_reason or [DONE]")
		}
		if err != nil {
			return r.answer.ReadFault(err)
		}
		if err := r.event(event.Data); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) event(data string) error {
	if strings.TrimSpace(data) == "[DONE]" {
		r.done = true
		return nil
	}
	return r.take([]byte(data))
}

// take reads one document: a completion, a piece of one, or an error.
func (r *reading) take(data []byte) error {
	if detail, ok := upstream.ParseError(data); ok {
		return r.answer.RefusedFor(detail)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return r.answer.Broken("it is not what a chat completion looks like: %w", err)
	}
	if c.Usage != nil {
		r.usage = c.Usage
	}
	for _, choice := range c.Choices {
		if err := r.choose(choice); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) choose(c choice) error {
	if c.Index != 0 {
		return nil
	}
	if c.FinishReason != "" {
		r.finish = c.FinishReason
	}
	for _, piece := range []string{c.Delta.text(), c.Message.text()} {
		if err := r.text.Add(piece); err != nil {
			return r.answer.Broken("%w", err)
		}
	}
	return nil
}

func (r *reading) reply() (onereply.Reply, error) {
	if r.text.Blank() && r.finish == "content_filter" {
		return onereply.Reply{}, r.answer.Fault(onereply.ResponderBadRequest, "the content filter kept all of it back; change the prompt or the filter")
	}
	reply, err := r.text.Reply()
	if err != nil {
		return reply, r.answer.Broken("%w, finish_reason %q", err, r.answer.Excerpt(r.finish))
	}
	return reply, nil
}

// spend reports what the endpoint counted, also for a reply that failed.
func (r *reading) spend() {
	if r.usage != nil {
		r.text.Listener.Spend(onereply.Usage{Input: r.usage.Input, Output: r.usage.Output})
	}
}

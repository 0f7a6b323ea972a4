package openai

import (
	"encoding/json"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/chatmodel"
	"github.com/onereply/onereply/internal/upstream"
)

// format is how a chat completions endpoint answers. A reply that stops for its length is
// a reply, and is sent as far as it goes.
var format = chatmodel.Format{
	Whole:     readDocument,
	Event:     readEvent,
	StopField: "finish_reason",
	LastEvent: "a finish_reason or [DONE]",
	Withheld:  "content_filter",
	Advice:    "the content filter kept all of it back; change the prompt or the filter",
}

// chunk is a completion, or a piece of one.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

// choice is one of several replies to a prompt; one is asked for. Its text is in Delta
// in a stream, and in Message otherwise.
type choice struct {
	Index        int     `json:"index"`
	Delta        content `json:"delta"`
	Message      content `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

// usage is the tokens of the whole call. In a stream it comes last, in a piece without
// choices.
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

// contentText is a text, or a list of which the texts count. Some endpoints send the list
// even for a plain text.
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

// readEvent reads one event of a stream. [DONE] is its last one, and no JSON.
func readEvent(r *chatmodel.Reading, data []byte) error {
	if strings.TrimSpace(string(data)) == "[DONE]" {
		r.Done = true
		return nil
	}
	return readDocument(r, data)
}

// readDocument reads a completion, a piece of one, or an error. Errors are looked for
// first: some endpoints send them with a status of success, and an error would otherwise
// look like a completion without a text.
func readDocument(r *chatmodel.Reading, data []byte) error {
	if detail, ok := upstream.ParseError(data); ok {
		return r.Refused(detail)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return r.Broken("it does not look like a chat completion: %w", err)
	}
	if c.Usage != nil {
		r.Usage = onereply.Usage{Input: c.Usage.Input, Output: c.Usage.Output}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 { // one reply is asked for
			continue
		}
		if choice.FinishReason != "" {
			r.Stop = choice.FinishReason
		}
		if err := r.Add(choice.Delta.text() + choice.Message.text()); err != nil {
			return err
		}
	}
	return nil
}

package anthropic

import (
	"encoding/json"

	"github.com/onereply/onereply/internal/chatmodel"
	"github.com/onereply/onereply/internal/upstream"
)

// format is how the Messages API answers. The request always asks for a stream; a proxy
// between here and the API may collect it into one document. The [chatmodel.Reading]
// looks at the first byte and takes either.
var format = chatmodel.Format{
	Whole:     readWhole,
	Event:     readEvent,
	StopField: "stop_reason",
	LastEvent: "message_stop",
	Withheld:  "refusal",
	Advice:    "the model refuses this prompt; change it",
}

// event is any event of a stream; its type says which fields it has.
type event struct {
	Type         string  `json:"type"`
	Message      *whole  `json:"message"`       // message_start
	ContentBlock block   `json:"content_block"` // content_block_start
	Delta        delta   `json:"delta"`         // content_block_delta, message_delta
	Usage        *tokens `json:"usage"`         // message_delta
}

// whole is a complete message.
type whole struct {
	Content    []block `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      *tokens `json:"usage"`
}

// block is a part of a message. Only those of type text are shown to people.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// delta is a piece of a block, or in message_delta the reason for the end.
type delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	StopReason string `json:"stop_reason"`
}

// tokens are counted cumulatively: a later count replaces an earlier one. A pointer tells
// a count of 0 from none: the last event may name only some of them. Input excludes
// cached tokens in this API, so they are added.
type tokens struct {
	Input       *int64 `json:"input_tokens"`
	CacheWrites int64  `json:"cache_creation_input_tokens"`
	CacheReads  int64  `json:"cache_read_input_tokens"`
	Output      *int64 `json:"output_tokens"`
}

// readWhole reads a message that came as one document. An error is looked for first: a
// proxy may send it with a status of success.
func readWhole(r *chatmodel.Reading, body []byte) error {
	if detail, ok := upstream.ParseError(body); ok {
		return r.Refused(detail)
	}
	var w whole
	if err := json.Unmarshal(body, &w); err != nil {
		return r.Broken("it does not look like a message: %w", err)
	}
	count(r, w.Usage)
	r.Stop = w.StopReason
	return addAll(r, w.Content)
}

// addAll adds the text of blocks. Other blocks hold the model's thinking, or calls of
// tools.
func addAll(r *chatmodel.Reading, blocks []block) error {
	for _, b := range blocks {
		if b.Type != "text" {
			continue
		}
		if err := r.Add(b.Text); err != nil {
			return err
		}
	}
	return nil
}

// readEvent reads one event of a stream. Their order is: message_start, for each block
// content_block_start and its deltas, message_delta with the reason for the end,
// message_stop. The reason for the end completes the reply; message_stop only ends the
// stream. An error may come as an event at any time, after a status of success.
func readEvent(r *chatmodel.Reading, data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return r.Broken("an event of the stream can't be read: %w", err)
	}
	switch e.Type {
	case "error":
		detail, _ := upstream.ParseError(data)
		return r.Refused(detail)
	case "message_start":
		if e.Message != nil {
			count(r, e.Message.Usage)
		}
	case "content_block_start":
		return addAll(r, []block{e.ContentBlock})
	case "content_block_delta":
		if e.Delta.Type == "text_delta" {
			return r.Add(e.Delta.Text)
		}
	case "message_delta":
		count(r, e.Usage)
		if e.Delta.StopReason != "" {
			r.Stop = e.Delta.StopReason
		}
	case "message_stop":
		r.Done = true
	}
	return nil // pings, thinking, and types that the API adds later
}

// count takes over the tokens that an event names, and keeps those that it does not.
func count(r *chatmodel.Reading, t *tokens) {
	if t == nil {
		return
	}
	if t.Input != nil {
		r.Usage.Input = *t.Input + t.CacheWrites + t.CacheReads
	}
	if t.Output != nil {
		r.Usage.Output = *t.Output
	}
}

package anthropic

import (
	"encoding/json"
	"io"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// read makes a reply of an answer. It is a stream, unless something between
// here and the API has collected it.
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
	stop   string
	done   bool
	input  int64
	output int64
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

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	StopReason string `json:"stop_reason"`
}

// tokens are counted cumulatively: a later count replaces an earlier one.
type tokens struct {
	Input       *int64 `json:"input_tokens"`
	CacheWrites int64  `json:"cache_creation_input_tokens"`
	CacheReads  int64  `json:"cache_read_input_tokens"`
	Output      *int64 `json:"output_tokens"`
}

func (r *reading) whole() error {
	body, err := r.answer.All()
	if err != nil {
		return r.answer.ReadFault(err)
	}
	if detail, ok := upstream.ParseError(body); ok {
		return r.answer.RefusedFor(detail)
	}
	var w whole
	if err := json.Unmarshal(body, &w); err != nil {
		return r.answer.Broken("it is not what a message looks like: %w", err)
	}
	r.count(w.Usage)
	r.stop = w.StopReason
	return r.addAll(w.Content)
}

func (r *reading) addAll(blocks []block) error {
	for _, b := range blocks {
		if b.Type != "text" {
			continue
		}
		if err := r.add(b.Text); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) add(text string) error {
	if err := r.text.Add(text); err != nil {
		return r.answer.Broken("%w", err)
	}
	return nil
}

// stream reads events until message_stop. Once there is a reason for the stop
// the text is complete, so losing the rest loses no reply.
func (r *reading) stream() error {
	events := r.answer.Events()
	for !r.done {
		event, err := events.Next()
		if err != nil && r.stop != "" && r.answer.Ended() == nil {
			return nil
		}
		if err == io.EOF {
			return r.answer.Broken("the stream was cut short: it ended without message_stop")
		}
		if err != nil {
			return r.answer.ReadFault(err)
		}
		if err := r.take([]byte(event.Data)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) take(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return r.answer.Broken("an event of the stream can't be read: %w", err)
	}
	switch e.Type {
	case "error":
		detail, _ := upstream.ParseError(data)
		return r.answer.RefusedFor(detail)
	case "message_start":
		if e.Message != nil {
			r.count(e.Message.Usage)
		}
	case "content_block_start":
		return r.addAll([]block{e.ContentBlock})
	case "content_block_delta":
		if e.Delta.Type == "text_delta" {
			return r.add(e.Delta.Text)
		}
	case "message_delta":
		r.count(e.Usage)
		if e.Delta.StopReason != "" {
			r.stop = e.Delta.StopReason
		}
	case "message_stop":
		r.done = true
	}
	return nil // pings, thinking, and whatever the API adds later
}

func (r *reading) count(t *tokens) {
	if t == nil {
		return
	}
	if t.Input != nil {
		r.input = *t.Input + t.CacheWrites + t.CacheReads
	}
	if t.Output != nil {
		r.output = *t.Output
	}
}

func (r *reading) reply() (onereply.Reply, error) {
	if r.text.Blank() && r.stop == "refusal" {
		return onereply.Reply{}, r.answer.Fault(onereply.ResponderBadRequest, "the model refuses this prompt; change it")
	}
	reply, err := r.text.Reply()
	if err != nil {
		return reply, r.answer.Broken("%w, stop_reason %q", err, r.answer.Excerpt(r.stop))
	}
	return reply, nil
}

// spend reports what was counted so far, also for a reply that failed or was
// interrupted: its prompt was read all the same.
func (r *reading) spend() {
	if r.input != 0 || r.output != 0 {
		r.text.Listener.Spend(onereply.Usage{Input: r.input, Output: r.output})
	}
}

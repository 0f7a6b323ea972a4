package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

const eventStream = "text/event-stream"

// read makes a reply of an answer. The status decides first. 204 is a reply too: the
// program chose to say nothing. Any other status of success is a failed attempt: the
// program may have meant something else by it. The content type decides between a
// document and a stream.
func read(answer *upstream.Answer, listener upstream.Listener) (onereply.Reply, error) {
	switch {
	case !answer.OK():
		return onereply.Reply{}, answer.Refusal()
	case answer.Status == http.StatusNoContent:
		return onereply.Reply{Silent: true}, nil
	case answer.Status != http.StatusOK:
		return onereply.Reply{}, answer.Broken("it has the status %d; answer 200 with the reply, or 204 for no reply", answer.Status)
	case answer.MediaType() == eventStream:
		s := &stream{answer: answer, text: upstream.Text{Listener: listener}}
		return s.read()
	}
	body, err := answer.All()
	if err != nil {
		return onereply.Reply{}, answer.ReadError(err)
	}
	d, err := parse(answer, body)
	if err != nil {
		return onereply.Reply{}, err
	}
	return d.reply(answer)
}

// document is a whole answer, or the data of one event of a stream.
type document struct {
	Delta string   `json:"delta"`
	Text  string   `json:"text"`
	Parts []string `json:"parts"`
}

// final reports whether the document is a reply by itself.
func (d document) final() bool { return d.Text != "" || d.Parts != nil }

// parse reads a document, or the refusal that it is. An error in the form of a model's
// API is a refusal, also with the status 200: the program may pass on the answer of a
// model.
func parse(answer *upstream.Answer, data []byte) (document, error) {
	if detail, ok := upstream.ParseError(data); ok {
		return document{}, answer.RefusedFor(detail)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return document{}, answer.Broken(`it must be JSON such as {"text":"…"}: %w`, err)
	}
	return d, nil
}

// reply makes a reply of a document, or says why it is none. Blank parts are dropped.
// Blank parts would be refused by channels. A document with parts and no text gets the
// text that the parts make together: transcripts and prompts need one.
func (d document) reply(answer *upstream.Answer) (onereply.Reply, error) {
	reply := onereply.Reply{Text: d.Text}
	size := len(d.Text)
	for _, part := range d.Parts {
		if strings.TrimSpace(part) != "" {
			reply.Parts = append(reply.Parts, part)
			size += len(part)
		}
	}
	if strings.TrimSpace(reply.Text) == "" {
		reply.Text = strings.Join(reply.Parts, "\n")
	}
	switch {
	case strings.TrimSpace(reply.Text) == "":
		return onereply.Reply{}, answer.Broken(`empty answer; it needs a "text" or "parts" that are not blank, or the status 204 for no reply`)
	case len(reply.Parts) > onereply.MaxParts:
		return onereply.Reply{}, answer.Broken("it has %d parts, the most is %d", len(reply.Parts), onereply.MaxParts)
	case size > onereply.MaxReplyBytes:
		return onereply.Reply{}, answer.Broken("it has %d bytes, the most is %d", size, onereply.MaxReplyBytes)
	}
	return reply, nil
}

// stream is an answer that comes in pieces. Pieces are shown as they come. A final
// document in the stream replaces them.
type stream struct {
	answer *upstream.Answer
	text   upstream.Text
	final  *document
}

// read collects the stream. A final document in it is the whole reply; otherwise the
// pieces are. The pieces are complete only if the stream ended as it should: see all.
func (s *stream) read() (onereply.Reply, error) {
	if err := s.all(); err != nil {
		return onereply.Reply{}, err
	}
	if s.final == nil {
		s.final = &document{Text: s.text.String()}
	}
	return s.final.reply(s.answer)
}

// all reads to the end of the stream: [DONE], a final document, or a clean end. A lost
// connection is none. If only the end of the connection marks the end of the body, half a
// reply would look like a whole one. So such a stream must end with [DONE] or a final
// document.
func (s *stream) all() error {
	events := s.answer.Events()
	for s.final == nil {
		event, err := events.Next()
		switch {
		case err == io.EOF && s.answer.EndShows():
			return nil
		case err == io.EOF:
			return s.answer.Broken("the end of the stream can't be told from a lost connection; end it with data: [DONE]")
		case err != nil:
			return s.answer.ReadError(err)
		}
		if strings.TrimSpace(event.Data) == "[DONE]" {
			return nil
		}
		if err := s.take(event.Data); err != nil {
			return err
		}
	}
	return nil
}

// take reads one event. One event may have a piece and be final; the piece is then shown,
// and not part of the reply.
func (s *stream) take(data string) error {
	d, err := parse(s.answer, []byte(data))
	if err != nil {
		return err
	}
	if err := s.text.Add(d.Delta); err != nil {
		return s.answer.Broken("%w", err)
	}
	if d.final() {
		s.final = &d
	}
	return nil
}

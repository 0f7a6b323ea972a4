package chatmodel

import (
	"io"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// Format is the way in which one API writes its answers. Whole and Event put their
// findings into the [Reading]; they return its errors.
type Format struct {
	Whole func(r *Reading, body []byte) error // reads an answer that is one document
	Event func(r *Reading, data []byte) error // reads one event of a stream

	StopField string // the API's name of the reason for the end, for errors
	LastEvent string // the API's name of the end of a stream, for errors
	Withheld  string // the reason for the end that means: the reply was kept back
	Advice    string // tells a person what to do about a reply that was kept back
}

// Reading is an answer while it is read. One is made for each answer and used by one
// goroutine. The functions of the [Format] set Stop, Done and Usage, and add the text.
type Reading struct {
	Stop  string         // the reason for the end; "": the text may go on
	Done  bool           // the stream has said that nothing follows
	Usage onereply.Usage // as counted by the API so far

	format Format
	answer *upstream.Answer
	text   upstream.Text
}

// Read makes a reply of an answer with a status of success. The listener hears of each
// piece of text, and of the tokens that were used: also for a reply that failed or was
// interrupted, because its prompt was read all the same. The steps: the first byte of
// the body decides between one document and a stream; the format reads it; then the
// reply is checked. Errors are a [*onereply.ResponderError], or the cause of the end of
// the caller's context. The caller closes the answer.
func Read(answer *upstream.Answer, listener upstream.Listener, format Format) (onereply.Reply, error) {
	r := &Reading{format: format, answer: answer, text: upstream.Text{Listener: listener}}
	defer func() {
		if r.Usage != (onereply.Usage{}) {
			listener.Spend(r.Usage)
		}
	}()
	if err := answer.WholeOrStream(r.whole, r.stream); err != nil {
		return onereply.Reply{}, err
	}
	return r.reply()
}

// Add appends a piece of the reply's text.
func (r *Reading) Add(piece string) error {
	if err := r.text.Add(piece); err != nil {
		return r.answer.Broken("%w", err)
	}
	return nil
}

// Refused is the error for an answer that turned out to be a refusal.
func (r *Reading) Refused(detail upstream.Detail) error { return RefusedFor(r.answer, detail) }

// Broken is the error for an answer that can't be understood.
func (r *Reading) Broken(format string, args ...any) error { return r.answer.Broken(format, args...) }

// whole reads an answer that is one document.
func (r *Reading) whole() error {
	body, err := r.answer.All()
	if err != nil {
		return r.answer.ReadError(err)
	}
	return r.format.Whole(r, body)
}

// stream reads events until the one that says that nothing follows. The text is complete
// once there is a reason for the end: only the count of tokens may come after it, so a
// stream that is lost from there on loses no reply.
func (r *Reading) stream() error {
	events := r.answer.Events()
	for !r.Done {
		event, err := events.Next()
		switch {
		case err != nil && r.Stop != "" && r.answer.Ended() == nil:
			return nil
		case err == io.EOF:
			return r.answer.Broken("the stream was cut short: it ended without %s", r.format.LastEvent)
		case err != nil:
			return r.answer.ReadError(err)
		}
		if err := r.format.Event(r, []byte(event.Data)); err != nil {
			return err
		}
	}
	return nil
}

// reply is the collected text. A blank one is a failed attempt, unless the model or its
// provider has kept it back: asking again would end the same way, so that prompt is
// refused.
func (r *Reading) reply() (onereply.Reply, error) {
	if r.text.Blank() && r.Stop == r.format.Withheld {
		return onereply.Reply{}, r.answer.ErrorOfKind(onereply.ResponderRefused, "%s", r.format.Advice)
	}
	reply, err := r.text.Reply()
	if err != nil {
		return reply, r.answer.Broken("%w, %s %q", err, r.format.StopField, r.answer.Excerpt(r.Stop))
	}
	return reply, nil
}

package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/onereply/onereply/internal/sse"
)

// errSilent ends a call whose answer has stalled. It is the cause of the call's own
// context, never of the caller's, so [Answer.Ended] can tell the two apart.
var errSilent = errors.New("the answer stalled")

// Answer is the answer of the other program. Its body is read within bounds, and must be
// closed. There is one as soon as the headers have come, whatever the status is. It is
// for one goroutine.
type Answer struct {
	Status int
	Header http.Header

	endpoint *Endpoint
	call     context.Context // ends with the caller's, or by the answer's own fault
	cancel   context.CancelCauseFunc
	body     io.ReadCloser
	endShows bool
	begun    bool // the first byte of the body is there
}

// newAnswer takes over the response. HTTP/2, a Content-Length and chunks each mark the
// end of a body; without any of them a body ends where the connection does. A stream of
// the last kind that was cut looks as if it had ended.
func newAnswer(e *Endpoint, response *http.Response, call context.Context, cancel context.CancelCauseFunc) *Answer {
	return &Answer{
		Status: response.StatusCode, Header: response.Header,
		endpoint: e, call: call, cancel: cancel, body: response.Body,
		endShows: response.ProtoMajor > 1 || response.ContentLength >= 0 || len(response.TransferEncoding) > 0,
	}
}

// EndShows reports whether the end of the body can be told from a lost
// connection. It can't where only the connection's end marks it.
func (a *Answer) EndShows() bool { return a.endShows }

// Ended is the cause of the end of the caller's context, nil while it lasts. The end of
// the call by our own idle time-out is none.
func (a *Answer) Ended() error {
	if cause := context.Cause(a.call); !errors.Is(cause, errSilent) {
		return cause
	}
	return nil
}

// OK reports whether the status is one of success.
func (a *Answer) OK() bool { return a.Status/100 == 2 }

// MediaType is the content type without its parameters, in lower case.
func (a *Answer) MediaType() string {
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return media
}

// Read reads from the body. After its first byte, silence for the endpoint's idle
// time-out ends the call. Before the first byte there is no such limit: a model may think
// for long before it writes, and the time-out of the whole call bounds that.
func (a *Answer) Read(p []byte) (int, error) {
	if a.begun && a.endpoint.idle > 0 {
		timer := time.AfterFunc(a.endpoint.idle, func() { a.cancel(errSilent) })
		defer timer.Stop()
	}
	n, err := a.body.Read(p)
	a.begun = a.begun || n > 0
	if err != nil && err != io.EOF && errors.Is(context.Cause(a.call), errSilent) {
		err = fmt.Errorf("%w: no byte of it for %v; a longer idle_timeout allows longer pauses", errSilent, a.endpoint.idle)
	}
	return n, err
}

// Events reads the body as a stream of events.
func (a *Answer) Events() *sse.Reader { return sse.NewReader(a, MaxEventBytes) }

// All reads the whole body, at most [MaxAnswerBytes].
func (a *Answer) All() ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(a, MaxAnswerBytes+1))
	if err == nil && len(body) > MaxAnswerBytes {
		err = fmt.Errorf("the answer has more than %d bytes", MaxAnswerBytes)
	}
	return body, err
}

// WholeOrStream calls whole where the answer is one document, and stream where it is a
// stream of events. It looks at the first byte and not at the content type: many
// endpoints that imitate a model's API send the wrong one. A web page is told apart
// first, since it is the usual answer of a wrong address.
func (a *Answer) WholeOrStream(whole, stream func() error) error {
	if a.MediaType() == "text/html" {
		return a.Broken("it is a web page; check the base URL")
	}
	document, err := a.StartsLikeJSON()
	switch {
	case err != nil:
		return a.ReadError(err)
	case document:
		return whole()
	}
	return stream()
}

// StartsLikeJSON drops white space and reports whether a JSON object or array
// follows. A stream of events never begins with one. It blocks until there is
// something to see.
func (a *Answer) StartsLikeJSON() (bool, error) {
	first := make([]byte, 1)
	for {
		if _, err := io.ReadFull(a, first); err != nil {
			return false, err
		}
		if !bytes.ContainsAny(first, " \t\r\n") {
			break
		}
	}
	a.body = &unread{first: first, ReadCloser: a.body}
	return first[0] == '{' || first[0] == '[', nil
}

// unread gives back a byte that was read to look at it. All other reads go to the body
// itself.
type unread struct {
	first []byte
	io.ReadCloser
}

func (u *unread) Read(p []byte) (int, error) {
	if len(u.first) == 0 {
		return u.ReadCloser.Read(p)
	}
	n := copy(p, u.first)
	u.first = u.first[n:]
	return n, nil
}

// Close ends the call. It first reads the little that may be left, for a moment at most,
// so that the connection can serve again. A new connection costs more than that moment;
// an answer that goes on for longer is cut off instead.
func (a *Answer) Close() {
	timer := time.AfterFunc(drainTime, func() { a.cancel(nil) })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, a.body, drainBytes)
	_ = a.body.Close()
	a.cancel(nil)
}

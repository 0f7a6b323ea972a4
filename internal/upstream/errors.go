package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onereply/onereply"
)

// Ask is [Endpoint.Post] for responders: its error is a [*onereply.ResponderError], or
// the cause of the context's end. A call that never had a connection is an outage: the
// turn waits, and uses up no attempt. Any other loss is a failed attempt.
func (e *Endpoint) Ask(ctx context.Context, header http.Header, body []byte) (*Answer, error) {
	answer, err := e.Post(ctx, header, body)
	if err == nil {
		return answer, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	kind := onereply.ResponderFailed // the request itself may break the other program
	if lost, ok := errors.AsType[*Lost](err); ok && lost.Unsent {
		kind = onereply.ResponderUnavailable
	}
	return nil, &onereply.ResponderError{Kind: kind, Err: err}
}

// Broken is the error for an answer that can't be used. It counts as a failed attempt.
func (a *Answer) Broken(format string, args ...any) error {
	return a.ErrorOfKind(onereply.ResponderFailed, format, args...)
}

// ErrorOfKind is the error for an answer that can't be used, of a certain kind.
func (a *Answer) ErrorOfKind(kind onereply.ResponderErrorKind, format string, args ...any) error {
	return &onereply.ResponderError{Kind: kind, RetryAfter: a.RetryAfter(), Err: a.endpoint.wrap("gave a bad answer", fmt.Errorf(format, args...))}
}

// ReadError explains an error of a read of the answer: the cause of the context's end, or
// a failed attempt. The first goes before the second: a superseded attempt is no fault of
// the model.
func (a *Answer) ReadError(err error) error {
	if ended := a.Ended(); ended != nil {
		return ended
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return a.Broken("it was cut short")
	}
	return a.Broken("%w", err)
}

// Refusal is the error for a status that is none of success, worded from the body, which
// it reads.
func (a *Answer) Refusal() error {
	detail, err := a.Detail()
	if err != nil {
		return err
	}
	return a.RefusedFor(detail)
}

// Detail reads the body of a refusal. Where the body can't be read, the status
// alone has to do; only the context's end is an error.
func (a *Answer) Detail() (Detail, error) {
	text := a.Text()
	if err := a.Ended(); err != nil {
		return Detail{}, err
	}
	return parseRefusal([]byte(text)), nil
}

// Text is the beginning of the body, as far as it comes within a moment. It words a
// refusal whose status is known, so the rest is not worth a wait.
func (a *Answer) Text() string {
	timer := time.AfterFunc(errorTime, func() { a.cancel(errSilent) })
	defer timer.Stop()
	body, _ := io.ReadAll(io.LimitReader(a, maxErrorBytes))
	return string(body)
}

// RefusedFor is a refusal whose body was read before, or that a stream brought. Where the
// answer itself was one of success, the status within the body counts, if there is one.
func (a *Answer) RefusedFor(detail Detail) error {
	status := a.Status
	if a.OK() {
		status = detail.Status
	}
	kind := Classify(status, detail)
	return &onereply.ResponderError{Kind: kind, RetryAfter: a.RetryAfter(), Err: a.endpoint.refused(status, kind, detail)}
}

// refused words a refusal for the operator: the host, its answer, and advice.
func (e *Endpoint) refused(status int, kind onereply.ResponderErrorKind, detail Detail) error {
	what := "answered with an error"
	if status != 0 {
		what = fmt.Sprintf("answered %d", status)
	}
	text := detail.Message
	if code := firstOf(detail.Code, detail.Type); code != "" && !strings.Contains(text, code) {
		text += " (" + code + ")"
	}
	return e.wrap(what, errors.New(text+advice(status, kind)))
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// advice tells the operator what to do about a refusal.
func advice(status int, kind onereply.ResponderErrorKind) string {
	switch {
	case kind == onereply.ResponderQuotaSpent:
		return "; add credit or raise the limit at the provider"
	case status == http.StatusUnauthorized:
		return "; check the key"
	case status == http.StatusForbidden:
		return "; check what the key may do, and the model's name"
	case status == http.StatusNotFound:
		return "; check the URL and the model's name"
	case status == http.StatusRequestEntityTooLarge:
		return "; the prompt is too long: lower history"
	case status/100 == 3:
		return "; redirects are not followed: configure the URL that it points to"
	}
	return ""
}

// RetryAfter is when the other side wants to be asked again, 0 where it does
// not say.
func (a *Answer) RetryAfter() time.Duration { return RetryAfter(a.Header, time.Now()) }

// Excerpt makes text from outside fit for an error: one short line of valid
// UTF-8 without secrets.
func (a *Answer) Excerpt(text string) string { return a.endpoint.excerpt(text) }

// excerpt replaces secrets, and shortens the text to one line.
func (e *Endpoint) excerpt(text string) string {
	for _, secret := range e.secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if utf8.RuneCountInString(text) > maxExcerptRunes {
		text = string([]rune(text)[:maxExcerptRunes]) + "…"
	}
	return text
}

package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/onereply/onereply"
)

// The whole error policy: what can go wrong, its status, and what the client
// is told. Clients see kind and advice; the chain of causes is for the log.

// kind names a problem. Its type, "urn:onereply:problem:" + kind, is part of
// the API.
type kind string

const (
	kindMalformedBody    kind = "malformed-body"
	kindWrongType        kind = "wrong-type"
	kindMalformedQuery   kind = "malformed-query"
	kindUnauthorized     kind = "unauthorized"
	kindCrossOrigin      kind = "cross-origin"
	kindCSRF             kind = "csrf-token"
	kindUnknownRoute     kind = "unknown-route"
	kindUnknownBot       kind = "unknown-bot"
	kindNotFound         kind = "not-found"
	kindMethodNotAllowed kind = "method-not-allowed"
	kindBodyTimeout      kind = "body-timeout"
	kindConflict         kind = "conflict"
	kindBodyTooLarge     kind = "body-too-large"
	kindPathTooLong      kind = "path-too-long"
	kindMediaType        kind = "unsupported-media-type"
	kindWrongHost        kind = "wrong-host"
	kindInvalid          kind = "invalid"
	kindTooMany          kind = "too-many"
	kindClientGone       kind = "client-gone" // never seen by a client
	kindInternal         kind = "internal"
	kindUnavailable      kind = "unavailable"
	kindOutcomeUnknown   kind = "outcome-unknown"
	kindNewerVersion     kind = "newer-version"
	kindCorrupt          kind = "corrupt"
)

// statusClientGone stands in logs and metrics for a client that left before
// it was answered.
const statusClientGone = 499

// retryAfter is how many seconds a client should wait before it tries again.
const retryAfter = 1

func (k kind) describe() (status int, title string) {
	switch k {
	case kindMalformedBody:
		return http.StatusBadRequest, "The body is not the JSON that is needed"
	case kindWrongType:
		return http.StatusBadRequest, "A field has the wrong type"
	case kindMalformedQuery:
		return http.StatusBadRequest, "The query can't be read"
	case kindUnauthorized:
		return http.StatusUnauthorized, "An API key is needed"
	case kindCrossOrigin:
		return http.StatusForbidden, "Another site's page sent this"
	case kindCSRF:
		return http.StatusForbidden, "The session's token is missing or wrong"
	case kindUnknownRoute:
		return http.StatusNotFound, "No such path"
	case kindUnknownBot:
		return http.StatusNotFound, "No such bot"
	case kindNotFound:
		return http.StatusNotFound, "Not found"
	case kindMethodNotAllowed:
		return http.StatusMethodNotAllowed, "The path has no such method"
	case kindBodyTimeout:
		return http.StatusRequestTimeout, "The body did not arrive in time"
	case kindConflict:
		return http.StatusConflict, "The conversation's state does not allow it"
	case kindBodyTooLarge:
		return http.StatusRequestEntityTooLarge, "The body is too large"
	case kindPathTooLong:
		return http.StatusRequestURITooLong, "The path is too long"
	case kindMediaType:
		return http.StatusUnsupportedMediaType, "The body must be JSON"
	case kindWrongHost:
		return http.StatusMisdirectedRequest, "The request is meant for another host"
	case kindInvalid:
		return http.StatusUnprocessableEntity, "The input is not valid"
	case kindTooMany:
		return http.StatusTooManyRequests, "Too much at once"
	case kindClientGone:
		return statusClientGone, "The client left"
	case kindUnavailable:
		return http.StatusServiceUnavailable, "Not available for now"
	case kindOutcomeUnknown:
		return http.StatusServiceUnavailable, "Nobody knows whether it was stored"
	case kindCorrupt:
		return http.StatusInternalServerError, "What is stored can't be read"
	case kindNewerVersion:
		return http.StatusServiceUnavailable, "This node is older than what is stored"
	}
	return http.StatusInternalServerError, "Something went wrong in the server"
}

// problem is an error that a client is told about, as RFC 9457 has it.
type problem struct {
	kind   kind
	detail string
	field  string // of the input, where one is at fault
	allow  string // the methods that a path has
	cause  error  // for the log only

	retryAfter int // seconds to wait, where it is not retryAfter
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.cause.Error()
	}
	return string(p.kind) + ": " + p.detail
}

func (p *problem) Unwrap() error { return p.cause }

func newProblem(k kind, format string, args ...any) *problem {
	return &problem{kind: k, detail: fmt.Sprintf(format, args...)}
}

func errField(field, format string, args ...any) *problem {
	p := newProblem(kindInvalid, format, args...)
	p.field = field
	return p
}

func errUnknownBot(bot string) *problem {
	p := newProblem(kindUnknownBot, "This node's configuration has no bot %q.", bot)
	p.field = "bot"
	return p
}

// problemOf says what a client is told about err.
func problemOf(err error) *problem {
	var known *problem
	var refused *onereply.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		return problemOfApp(refused, err)
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable(err)
	}
	return &problem{kind: kindInternal, detail: "The log of the server says more.", cause: err}
}

func problemOfApp(refused *onereply.Error, err error) *problem {
	p := &problem{field: refused.Field, cause: err}
	if refused.Err != nil {
		p.detail = refused.Err.Error()
	}
	switch refused.Code {
	case onereply.CodeInvalid:
		p.kind = kindInvalid
	case onereply.CodeNotFound:
		p.kind = kindNotFound
	case onereply.CodeConflict:
		p.kind = kindConflict
	case onereply.CodeTooMany:
		p.kind = kindTooMany
	case onereply.CodeUnavailable:
		return unavailable(err)
	case onereply.CodeNewer:
		p.kind = kindNewerVersion
		p.detail = "A newer version of onereply wrote this conversation. A node that was upgraded can serve it; this one changes nothing of it."
	case onereply.CodeCorrupt:
		p.kind = kindCorrupt
		p.detail = "What is stored of this conversation is not what was written. Nothing of it was changed; the log of the server says more, and so does onereply doctor."
	case onereply.CodeUnknown: // no Retry-After: a repeat would be a second reply
		p.kind, p.detail = kindOutcomeUnknown, "Look at the transcript before you send it again."
	default:
		p.kind, p.detail = kindInternal, "The log of the server says more."
	}
	return p
}

// unavailable hides the cause: it names hosts and files.
func unavailable(cause error) *problem {
	p := newProblem(kindUnavailable, "The store is out of reach, or the node is closing. Send the same request again later; a message with its id is never taken twice.")
	p.cause = cause
	return p
}

// document is a problem as it is sent.
type document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`
}

// fail answers with the problem that err is, and logs what an operator must
// know.
func (s *Server) fail(w *recorder, r *http.Request, found *route, err error) {
	p := problemOf(err)
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		p = &problem{kind: kindClientGone, cause: err}
	}
	status, title := p.kind.describe()
	s.logFailure(r, found, status, err)
	switch {
	case w.started:
	case p.kind == kindClientGone:
		w.status = status
	default:
		p.setHeader(w.Header())
		body := document{"urn:onereply:problem:" + string(p.kind), title, status, p.detail, p.field}
		_ = writeBody(w, status, "application/problem+json", body) // the client is gone: nobody is left to tell
	}
}

func (p *problem) setHeader(h http.Header) {
	switch p.kind {
	case kindUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="onereply"`)
	case kindMethodNotAllowed:
		h.Set("Allow", p.allow)
	case kindUnavailable, kindTooMany, kindNewerVersion:
		h.Set("Retry-After", strconv.Itoa(max(retryAfter, p.retryAfter)))
	case kindBodyTimeout, kindBodyTooLarge:
		h.Set("Connection", "close") // what is left of the body is of no use
	}
}

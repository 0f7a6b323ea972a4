package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/onereply/onereply"
)

// This file is the whole error policy: the kinds of problems, the kind that each error
// is, and what a client is told. A client sees the kind and the detail; the log gets the
// chain of causes, which may name hosts, files and texts.

// kind is a kind of problem. Its name and its status are part of the API. Clients tell
// errors apart by the name; the title and the detail may change.
type kind struct {
	name   string // "urn:onereply:problem:" and this is the type in the document
	status int
	title  string // for people
}

// The kinds, in the order of their status. docs/api.md has a line for each that a client
// can meet, with what to do; a new kind needs one too.
var (
	kindMalformedBody    = kind{"malformed-body", http.StatusBadRequest, "The body is not the JSON that is needed"}
	kindWrongType        = kind{"wrong-type", http.StatusBadRequest, "A field has the wrong type"}
	kindMalformedQuery   = kind{"malformed-query", http.StatusBadRequest, "The query can't be read"}
	kindUnauthorized     = kind{"unauthorized", http.StatusUnauthorized, "An API key is needed"}
	kindCrossOrigin      = kind{"cross-origin", http.StatusForbidden, "Another site's page sent this"}
	kindCSRF             = kind{"csrf-token", http.StatusForbidden, "The session's token is missing or wrong"}
	kindForbidden        = kind{"forbidden", http.StatusForbidden, "The key does not open this"}
	kindUnknownRoute     = kind{"unknown-route", http.StatusNotFound, "No such path"}
	kindUnknownBot       = kind{"unknown-bot", http.StatusNotFound, "No such bot"}
	kindNotFound         = kind{"not-found", http.StatusNotFound, "Not found"}
	kindMethodNotAllowed = kind{"method-not-allowed", http.StatusMethodNotAllowed, "The path has no such method"}
	kindBodyTimeout      = kind{"body-timeout", http.StatusRequestTimeout, "The body did not arrive in time"}
	kindConflict         = kind{"conflict", http.StatusConflict, "The conversation's state does not allow it"}
	kindBodyTooLarge     = kind{"body-too-large", http.StatusRequestEntityTooLarge, "The body is too large"}
	kindPathTooLong      = kind{"path-too-long", http.StatusRequestURITooLong, "The path is too long"}
	kindMediaType        = kind{"unsupported-media-type", http.StatusUnsupportedMediaType, "The body must be JSON"}
	kindWrongHost        = kind{"wrong-host", http.StatusMisdirectedRequest, "The request is meant for another host"}
	kindInvalid          = kind{"invalid", http.StatusUnprocessableEntity, "The input is not valid"}
	kindTooMany          = kind{"too-many", http.StatusTooManyRequests, "Too much at once"}
	kindClientGone       = kind{"client-gone", statusClientGone, "The client left"} // no client sees it
	kindInternal         = kind{"internal", http.StatusInternalServerError, "Something went wrong in the server"}
	kindCorrupt          = kind{"corrupt", http.StatusInternalServerError, "What is stored can't be read"}
	kindUnavailable      = kind{"unavailable", http.StatusServiceUnavailable, "Not available for now"}
	kindOutcomeUnknown   = kind{"outcome-unknown", http.StatusServiceUnavailable, "Nobody knows whether it was stored"}
	kindNewerVersion     = kind{"newer-version", http.StatusServiceUnavailable, "This node is older than what is stored"}
)

// statusClientGone stands in logs and metrics for a client that left before it was
// answered. No standard has this status; proxies use it in the same sense.
const statusClientGone = 499

// leastRetryAfter is how many seconds a client should wait before it tries again, unless
// the problem says more. It is the least that the header can say: a provider that repeats
// too late makes a person wait.
const leastRetryAfter = 1

// problem is an error that a client is told about, as a problem document of RFC 9457.
// Handlers make one for mistakes of the client. All other errors become one in problemOf.
type problem struct {
	kind   kind
	detail string
	field  string // the field of the input that is wrong; "": none
	allow  string // the methods that the path has; for kindMethodNotAllowed
	right  Right  // that the key lacks; "": none
	by     string // the name of the key that was refused, for the audit; "": not known
	cause  error  // for the log only

	retryAfter int // seconds to wait; leastRetryAfter if that is more
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.cause.Error()
	}
	return p.kind.name + ": " + p.detail
}

func (p *problem) Unwrap() error { return p.cause }

// newProblem makes a problem whose detail a client may see.
func newProblem(k kind, format string, args ...any) *problem {
	return &problem{kind: k, detail: fmt.Sprintf(format, args...)}
}

// errField is a problem with one field of the input.
func errField(field, format string, args ...any) *problem {
	p := newProblem(kindInvalid, format, args...)
	p.field = field
	return p
}

// errUnknownBot is a bot that this node does not serve. Another node may, with another
// configuration.
func errUnknownBot(bot string) *problem {
	p := newProblem(kindUnknownBot, "This node's configuration has no bot %q.", bot)
	p.field = "bot"
	return p
}

// errNoRight is a call for which the key lacks a right.
func errNoRight(who caller, right Right) *problem {
	p := newProblem(kindForbidden, "This needs a key with the right %s; the key %s lacks it.", right, who.by)
	p.right, p.by = right, who.by
	return p
}

// errOtherBot is a call about a bot for which the key is not good. The answer does not tell
// whether there is such a bot.
func errOtherBot(who caller, bot string) *problem {
	p := newProblem(kindForbidden, "The key %s is not for the bot %q.", who.by, bot)
	p.field, p.by = "bot", who.by
	return p
}

// errNotForAll is a call that is about all bots, with a key that is for some.
func errNotForAll(who caller) *problem {
	p := newProblem(kindForbidden, "This is about all bots at once; the key %s is for some of them only.", who.by)
	p.field, p.by = "bot", who.by
	return p
}

// errExpired is a key that was right, and is good no more.
func errExpired(who caller) *problem {
	p := newProblem(kindUnauthorized, "The key %s has expired.", who.by)
	p.by = who.by
	return p
}

// problemOf is the problem that a client is told about err. An error that nobody has
// foreseen is internal, and the client learns nothing of it. A problem that a handler
// made goes before the App's error within it.
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

// problemOfApp is the problem for an error of the App. Details of mistakes of the client
// are the App's own words; other details could tell of the inside, so they are replaced.
// The cases are all codes of the App. An unknown outcome is the one error after which a
// repeat may do harm, so its text says where to look first.
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
		p.detail = "A newer version of onereply wrote this conversation. Upgraded nodes can serve it; this one changes nothing of it."
	case onereply.CodeCorrupt:
		p.kind = kindCorrupt
		p.detail = "The stored conversation is damaged. Nothing of it was changed. The log of the server says more, and so does onereply doctor."
	case onereply.CodeUnknown: // no Retry-After: a repeat would be a second reply
		p.kind, p.detail = kindOutcomeUnknown, "Look at the transcript before you send it again."
	default:
		p.kind, p.detail = kindInternal, "The log of the server says more."
	}
	return p
}

// unavailable hides the cause: it names hosts and files. The text fits all of the causes,
// since the client can only wait in each case.
func unavailable(cause error) *problem {
	p := newProblem(kindUnavailable, "The store is out of reach, or the node is closing. Send the same request again later; a message with its id is never taken twice.")
	p.cause = cause
	return p
}

// document is a problem as it is sent. Title belongs to the kind; Detail is about this
// request. Field is an addition to the standard, so that a form can show the mistake
// where it was made. Right is one too: the one that the key lacks.
type document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`
	Right  Right  `json:"right,omitempty"`
}

// fail answers with the problem that err is, and logs it. Once the header of an answer is
// out, nothing else can be answered. A client that has left gets no answer; the log and
// the metrics get a status of their own, so that it does not count as a failure of the
// server.
func (s *Server) fail(w *recorder, r *http.Request, found *route, err error) {
	p := problemOf(err)
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		p = &problem{kind: kindClientGone, cause: err}
	}
	s.logFailure(r, found, p.kind.status, err)
	if p.kind.status == http.StatusUnauthorized || p.kind.status == http.StatusForbidden {
		s.noteRefused(r, found, p)
	}
	switch {
	case w.started:
	case p.kind == kindClientGone:
		w.status = p.kind.status
	default:
		p.setHeader(w.Header())
		body := document{"urn:onereply:problem:" + p.kind.name, p.kind.title, p.kind.status, p.sentence(), p.field, p.right}
		_ = writeBody(w, p.kind.status, "application/problem+json", body) // an error means that the client is gone
	}
}

// sentence is the detail as people read it: a sentence whose subject is the field, where
// one is at fault. The App and the handlers say "it must …".
func (p *problem) sentence() string {
	text := p.detail
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	if rest := text[size:]; p.field != "" && strings.ContainsRune("Ii", first) && strings.HasPrefix(rest, "t ") {
		text = p.field + rest[1:]
	} else {
		text = string(unicode.ToUpper(first)) + rest
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}

// setHeader sets the headers that belong to a kind. Retry-After stands only where the
// same request may succeed later.
func (p *problem) setHeader(h http.Header) {
	switch p.kind {
	case kindUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="onereply"`)
	case kindMethodNotAllowed:
		h.Set("Allow", p.allow)
	case kindUnavailable, kindTooMany, kindNewerVersion:
		h.Set("Retry-After", strconv.Itoa(max(leastRetryAfter, p.retryAfter)))
	case kindBodyTimeout, kindBodyTooLarge:
		h.Set("Connection", "close") // nobody will read the rest of the body
	}
}

package server

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onereply/onereply"
)

// http.ServeMux cleans paths before it matches them: a conversation named ".." or "a/b"
// would become another one. This router matches the path as it was sent, segment by
// segment, and decodes each segment once.

const (
	// maxPathBytes bounds a path as it was sent. Three names of 512 bytes, each
	// byte as %XX, take 4608.
	maxPathBytes = 8 << 10
	maxSegments  = 8

	// nameInQuery in the place of a conversation's name says that the query has the
	// name. Browsers and proxies remove the segments "." and ".." from a path, however
	// they are escaped, so a conversation with such a name has no path of its own.
	nameInQuery = "-"
)

// handler answers a request, or returns an error that [problemOf] understands
// and has then written nothing.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one line of the API. The pattern also names the call in logs and metrics.
type route struct {
	method  string
	pattern string // "/v1/bots/{bot}/…": the path of openapi.json
	handle  handler
	access  access
	needs   Right // of a route that is open by key: the right that the key must have
	allBots bool  // it is about all bots at once: a key that is for some does not open it
	byGrant bool  // a grant for the attempt that the path names opens it too
	counted bool  // it counts against the rates of messages
	stream  bool  // the answer goes on until the client leaves
	audited bool  // the App records the call, with its caller

	segments []string
}

// router finds routes. The fallback, if there is one, gets GET and HEAD of all paths
// outside the API. It compares the path with every route in turn. There are few, and each
// comparison ends at the first segment that differs.
type router struct {
	routes   []*route
	fallback *route
}

// newRouter takes the patterns apart once.
func newRouter(routes []*route, fallback *route) router {
	for _, t := range routes {
		t.segments = strings.Split(t.pattern[1:], "/")
	}
	return router{routes: routes, fallback: fallback}
}

// match is a route and the decoded segments of the path that led to it.
type match struct {
	route *route
	path  []string
}

// find returns the route of an escaped path, or a problem: path too long, no such route,
// or another method is needed. The order of the checks keeps the answers apart: 414, then
// 404 for a path that can't be decoded, 405 with the methods that would fit, and 404 for
// all else.
func (t router) find(method, escaped string) (match, error) {
	if len(escaped) > maxPathBytes {
		return match{}, newProblem(kindPathTooLong, "The path has %d bytes, at most %d are allowed.", len(escaped), maxPathBytes)
	}
	path, err := split(escaped)
	if err != nil {
		return match{}, err
	}
	var allowed []string
	for _, candidate := range t.routes {
		switch {
		case !candidate.matches(path):
		case candidate.accepts(method):
			return match{candidate, path}, nil
		default:
			allowed = append(allowed, candidate.method)
		}
	}
	if allowed != nil {
		return match{}, errMethod(method, allowed)
	}
	if t.fallback != nil && path[0] != "v1" && t.fallback.accepts(method) {
		return match{route: t.fallback}, nil
	}
	return match{}, newProblem(kindUnknownRoute, "There is no such path; see /openapi.json. A slash within a name is written %%2F.")
}

// split decodes the segments of an escaped path. The last one holds everything after
// maxSegments: no route is that long. A slash that was sent as %2F stays within its name,
// since the path is cut before it is decoded.
func split(escaped string) ([]string, error) {
	path := strings.SplitN(strings.TrimPrefix(escaped, "/"), "/", maxSegments+1)
	for i, segment := range path {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return nil, newProblem(kindUnknownRoute, "The path has an invalid escape; a percent sign within a name is written %%25.")
		}
		path[i] = decoded
	}
	return path, nil
}

// matches compares segment by segment. A variable matches every segment; bind checks its
// value.
func (t *route) matches(path []string) bool {
	if len(path) != len(t.segments) {
		return false
	}
	for i, segment := range t.segments {
		if !isVariable(segment) && segment != path[i] {
			return false
		}
	}
	return true
}

// accepts reports whether the route answers method; HEAD is a GET whose body
// net/http drops.
func (t *route) accepts(method string) bool {
	return method == t.method || method == http.MethodHead && t.method == http.MethodGet
}

// bind checks the variables of the path and gives them to r.PathValue. A conversation
// whose own name is "-" still works: without a name in the query, the path's counts.
func (m match) bind(r *http.Request) error {
	for i, segment := range m.route.segments {
		if !isVariable(segment) {
			continue
		}
		name, value := segment[1:len(segment)-1], m.path[i]
		if name == "conversation" && value == nameInQuery && r.URL != nil {
			value = cmp.Or(r.URL.Query().Get(name), value)
		}
		if err := checkName(name, value); err != nil {
			return err
		}
		r.SetPathValue(name, value)
	}
	return nil
}

// isVariable tells a name in braces from a fixed segment. Patterns have no empty
// segments.
func isVariable(segment string) bool { return segment[0] == '{' }

// checkName refuses a name of a bot, a conversation or a message that no store takes. The
// limit is the same for all three, [onereply.MaxNameBytes]: they are keys of the store.
func checkName(field, name string) error {
	switch {
	case name == "":
		return errField(field, "It must not be empty.")
	case len(name) > onereply.MaxNameBytes:
		return errField(field, "It has %d bytes, at most %d are allowed.", len(name), onereply.MaxNameBytes)
	case !utf8.ValidString(name):
		return errField(field, "It is not valid UTF-8.")
	case strings.Contains(name, "\x00"):
		return errField(field, "It must not contain NUL.")
	}
	return nil
}

// errMethod names the methods that the path has, also for the Allow header.
func errMethod(method string, allowed []string) error {
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	p := newProblem(kindMethodNotAllowed, "This path does not take %.20q; it takes %s.", method, list)
	p.allow = list
	return p
}

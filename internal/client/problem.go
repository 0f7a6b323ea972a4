package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Error is the problem document (RFC 9457) of a call that the node refused. If the
// answer is no such document, because a proxy has sent it, Title tells the HTTP status.
type Error struct {
	Status int    `json:"status"` // of HTTP
	Type   string `json:"type"`   // stable, for programs
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Field  string `json:"field"` // the part of the request that is at fault; "": none
}

// Error is the title, the field and the detail, and advice for a missing key. A field
// that the detail names itself is left out.
func (e *Error) Error() string {
	text := e.Title
	if e.Detail != "" && e.Detail != e.Title {
		if e.Field != "" && !strings.Contains(e.Detail, e.Field) {
			text += ": " + e.Field
		}
		text += ": " + e.Detail
	}
	if e.Status == http.StatusUnauthorized {
		text += " (give a key with --api-key or ONEREPLY_API_KEY)"
	}
	return text
}

// problem reads the answer of a call that failed. The status is that of HTTP, also where
// the document names another one, or none.
func problem(response *http.Response) error {
	e := &Error{}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "application/problem+json" {
		// If the document can't be read, the status below takes its place.
		_ = json.NewDecoder(io.LimitReader(response.Body, maxProblem)).Decode(e)
	}
	e.Status = response.StatusCode
	if e.Title == "" {
		e.Title = "the server answered " + response.Status
	}
	if to, err := response.Location(); err == nil && e.Status < 400 {
		e.Detail = fmt.Sprintf("it leads elsewhere, and nobody follows with the key; if you trust that address, give it: --server %s://%s", to.Scheme, to.Host)
	}
	return e
}

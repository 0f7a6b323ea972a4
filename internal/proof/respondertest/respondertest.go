// Package respondertest has what the tests of responders and channels share: programs
// that answer in a certain way, and a listener that remembers. It is for tests only, and
// must never be imported by anything else.
package respondertest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onereply/onereply"
)

// Listener hears of a reply while it is made, as a turn does, and remembers.
type Listener struct {
	Deltas  []string
	Usage   []onereply.Usage
	OnDelta func() // called after each delta; nil: nothing is
}

// Delta remembers a piece of the reply.
func (l *Listener) Delta(text string) {
	l.Deltas = append(l.Deltas, text)
	if l.OnDelta != nil {
		l.OnDelta()
	}
}

// Spend remembers tokens that were used.
func (l *Listener) Spend(u onereply.Usage) { l.Usage = append(l.Usage, u) }

// Serve starts a server for the handler, which ends with the test, and returns its URL.
func Serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// Always answers every request alike.
func Always(status int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Stalls sends a body and then nothing more, until the caller hangs up; then it closes
// the channel, where there is one.
func Stalls(body string, closed chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, body)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		if closed != nil {
			close(closed)
		}
	}
}

// ErrorOf is the responder's error that err is; the test fails where it is none.
func ErrorOf(t testing.TB, err error) *onereply.ResponderError {
	t.Helper()
	found, ok := errors.AsType[*onereply.ResponderError](err)
	if !ok {
		t.Fatalf("got %v, want an *onereply.ResponderError", err)
	}
	return found
}

// Canned is a transport that answers each request with one body, without a connection.
type Canned struct {
	ContentType string
	Body        string
}

// RoundTrip gives the answer.
func (c *Canned) RoundTrip(*http.Request) (*http.Response, error) {
	header := http.Header{}
	if c.ContentType != "" {
		header.Set("Content-Type", c.ContentType)
	}
	return &http.Response{StatusCode: 200, ProtoMajor: 1, Header: header, ContentLength: int64(len(c.Body)), Body: io.NopCloser(strings.NewReader(c.Body))}, nil
}

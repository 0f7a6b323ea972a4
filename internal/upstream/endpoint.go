package upstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply"
)

// Options describe an [Endpoint].
type Options struct {
	URL         string            // absolute, http or https
	Headers     map[string]string // of every request; their values are never shown in an error
	IdleTimeout time.Duration     // silence within an answer that ends it; 0: [DefaultIdleTimeout], [onereply.Zero]: never
	Client      *http.Client      // nil: one of its own; its redirects are not followed
}

// DefaultIdleTimeout is the idle time-out of an endpoint that sets none.
const DefaultIdleTimeout = 20 * time.Second

// idle is the idle time-out in force; 0: never.
func (o Options) idle() time.Duration {
	if o.IdleTimeout == onereply.Zero {
		return 0
	}
	return cmp.Or(o.IdleTimeout, DefaultIdleTimeout)
}

// Endpoint is one address that is posted to. It may be used by many goroutines at once.
// It knows the secret parts of its headers and of its address, so that they can be removed
// from every error: a provider may quote a wrong key, or the whole request, in its answer.
type Endpoint struct {
	address string
	host    string
	headers http.Header
	secrets []string // the longest first: one may contain another
	idle    time.Duration
	client  *http.Client
}

// New checks the options and reports all mistakes at once.
func New(o Options) (*Endpoint, error) {
	address, err := ParseURL(o.URL)
	if err := errors.Join(err, CheckHeaders(o.Headers)); err != nil {
		return nil, err
	}
	e := &Endpoint{address: address.String(), host: address.Host, headers: http.Header{}, idle: o.idle(), client: newClient(o.Client)}
	for name, value := range o.Headers {
		e.headers.Set(name, value)
		e.hide(minSecretBytes, value)
		e.hide(minSecretBytes, strings.Fields(value)...) // the key of "Bearer key"
	}
	e.hideAddress(address)
	slices.SortFunc(e.secrets, func(a, b string) int { return len(b) - len(a) })
	return e, nil
}

// ParseURL reads an absolute http or https URL. Its errors do not show the text, which
// may hold a password.
func ParseURL(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, errors.New("the URL must be absolute, such as https://example.com/path")
	}
	return address, nil
}

// CheckHeaders refuses header names and values that HTTP can't carry.
func CheckHeaders(headers map[string]string) error {
	var problems []error
	for name, value := range headers {
		if name == "" || strings.ContainsFunc(name, notToken) {
			problems = append(problems, fmt.Errorf("%q is no header name", name))
		}
		if strings.ContainsFunc(value, isControl) {
			problems = append(problems, fmt.Errorf("the value of header %q (a key, maybe) has a line break or another control character in it", name))
		}
	}
	return errors.Join(problems...)
}

// isControl takes in the line breaks: with one, a value could add a header of its own.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }

// notToken leaves the letters, digits and marks that RFC 9110 allows in the name of a
// header.
func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7F || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// newClient makes the client of one endpoint. It follows no redirect: that would carry
// the request, and its key, to another address than the configured one.
func newClient(given *http.Client) *http.Client {
	client := &http.Client{Transport: newTransport()}
	if given != nil {
		own := *given
		client = &own
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// newTransport bounds everything that net/http leaves unbounded: the time to connect,
// the size of headers, and how long an HTTP/2 connection may be silent before it is
// tested.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleConnection,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // it would hold back the pieces of a stream
	}
}

// Lost is the error of a request that got no answer. Unsent decides whether a repeat
// could be a duplicate, so in doubt it is false.
type Lost struct {
	Unsent bool // it never had a connection: certainly nothing of it was sent
	Err    error
}

func (l *Lost) Error() string { return l.Err.Error() }
func (l *Lost) Unwrap() error { return l.Err }

// Post sends the body, and returns the answer once its headers are there, with any
// status. If there is no answer the error is a [*Lost]. The caller must close the answer.
// The call gets a context of its own below the caller's. So an idle time-out can end the
// call, and leave the caller's context as it is.
func (e *Endpoint) Post(ctx context.Context, header http.Header, body []byte) (*Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Lost{Unsent: true, Err: context.Cause(ctx)}
	}
	calling, cancel := context.WithCancelCause(ctx)
	var sent progress
	request, err := http.NewRequestWithContext(sent.watch(calling), http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		cancel(nil)
		return nil, &Lost{Unsent: true, Err: e.wrap("could not be asked", err)}
	}
	e.setHeaders(request.Header, header)
	response, err := e.client.Do(request)
	if err != nil {
		cancel(nil)
		return nil, &Lost{Unsent: sent.nothing(), Err: e.lost(ctx, err)}
	}
	return newAnswer(e, response, calling, cancel), nil
}

// setHeaders sets the configured headers, then those of the call, which take their
// place.
func (e *Endpoint) setHeaders(to, header http.Header) {
	for _, from := range []http.Header{e.headers, header} {
		for name, values := range from {
			to[name] = values
		}
	}
	if to.Get("Content-Type") == "" {
		to.Set("Content-Type", "application/json")
	}
	if to.Get("User-Agent") == "" {
		to.Set("User-Agent", "onereply")
	}
}

// lost explains why there is no answer.
func (e *Endpoint) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return e.wrap("did not answer", context.Cause(ctx))
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the rest is the address, which may hold a password
	}
	return e.wrap("could not be reached, or did not answer", err)
}

// wrap keeps the chain of err but shows nothing secret of it.
func (e *Endpoint) wrap(what string, err error) error {
	return &clean{text: e.host + " " + what + ": " + e.excerpt(err.Error()), err: err}
}

// clean is an error with a text that may be shown.
type clean struct {
	text string
	err  error
}

func (c *clean) Error() string { return c.text }
func (c *clean) Unwrap() error { return c.err }

// progress knows whether a request can have been sent. A retry after "certainly not
// sent" can't cause a duplicate, so only reports of the transport count.
type progress struct{ asked, connected atomic.Bool }

// watch makes a context that reports when the transport looks for a connection, and when
// it has one.
func (p *progress) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { p.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { p.connected.Store(true) },
	})
}

// nothing reports that certainly nothing was sent: the transport asked for a connection
// and never got one. A client with a transport of its own may report neither, and then
// nobody can be sure.
func (p *progress) nothing() bool { return p.asked.Load() && !p.connected.Load() }

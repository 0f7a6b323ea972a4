// Package client calls the HTTP API of a running node. Its one job is to turn calls into
// requests, and answers into the types of the root package or an [*Error]; its callers
// print, and decide when to give up. It must never import the server, the console, a
// store, a responder or a channel.
//
// Each method of [Client] is one request, and none is tried again here: a person at a
// terminal sees the error and decides. A message that was sent without an id would be
// taken twice if it were sent again. The one exception is [Client.Follow], which reads
// only: it connects again and goes on after the last event.
//
// Errors come in three kinds. An [*Error] is a refusal by the node, with its status and
// its reason. A node that can't be reached, or an answer that can't be read, is an error
// whose text says what to look at. If the context ended, the error wraps the context's.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a call.
const (
	callTimeout   = 30 * time.Second // one call, whole; streams have none
	dialTimeout   = 5 * time.Second
	maxAnswer     = 64 << 20 // bytes of an answer; a page of a transcript may be large
	maxProblem    = 64 << 10 // bytes that are read of an error's document
	maxEventBytes = 4 << 20  // of one event of a stream
)

// Client calls one node. It is safe for concurrent use, and needs no closing.
type Client struct {
	base   string
	apiKey string
	http   *http.Client
}

// New returns a client for the node at server, such as http://127.0.0.1:8080.
// apiKey is "" where the node asks for none. Nothing is sent yet, so a URL that is well
// formed and wrong shows with the first call only.
//
// The transport bounds connecting and waiting for the header. It does not bound the
// body: the call's context does that, and the body of a stream has no end. No redirect is
// followed: a node sends none, and it would take the key to an address that nobody named.
func New(server, apiKey string) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return nil, fmt.Errorf("the server must be a URL such as http://127.0.0.1:8080, it is %q (--server or ONEREPLY_SERVER sets it)", shown(base, server))
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the server's URL must have no ?query and no #fragment")
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: callTimeout,
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: strings.TrimRight(server, "/"), apiKey: apiKey, http: &http.Client{Transport: transport, CheckRedirect: stay}}, nil
}

// shown is a URL as an error may show it: without the password that it may hold.
func shown(parsed *url.URL, text string) string {
	switch {
	case parsed != nil:
		return parsed.Redacted()
	case strings.Contains(text, "@"):
		return "a URL that can't be read"
	}
	return text
}

// fetch is a call whose answer is a T. It is a function because methods can't have type
// parameters.
func fetch[T any](ctx context.Context, c *Client, method, path string, in any) (T, error) {
	var out T
	err := c.call(ctx, method, path, in, &out)
	return out, err
}

// call sends in as JSON, if it is not nil, and reads the answer into out, if that is not
// nil. The time-out bounds all of it, the reading of the answer included. Any status
// from 300 on is an error.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return problem(response)
	}
	return decode(response, out)
}

// request makes a request with the headers that all calls have.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.apiKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	return request, nil
}

// decode reads the answer of a call that succeeded. An answer that is no JSON most
// likely comes from another program at that address.
func decode(response *http.Response, out any) error {
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("read the answer of the server: %w (is it a onereply node?)", err)
	}
	return nil
}

// unreachable is the error for a node that does not answer, with what to do about it.
func (c *Client) unreachable(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause // without the method and the URL, which url.Error adds
	}
	base, _ := url.Parse(c.base)
	return fmt.Errorf("can't reach %s: %w (is it running? --server says where it is)", shown(base, c.base), err)
}

// Package chatmodel is the part that responders of chat models share: how such a model
// is configured, how a request is encoded, and how a reply is collected from an answer,
// streamed or whole. The names and the shapes of one vendor's API belong to its
// responder. It must never import a responder, a channel, a store or the engine.
//
// The way of a call: a responder copies its configuration into a [Config], which checks
// it and makes the endpoint. It encodes its request with [Marshal], and posts it.
// [Read] makes the reply of the answer; the vendor's [Format] says what each document
// or event means.
package chatmodel

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/upstream"
)

// Config is the configuration that all chat models have in common. A responder copies
// its own into one: its users see only the fields that their model has, each with its
// documentation.
type Config struct {
	Responder      string  // names the responder in errors
	DefaultBaseURL string  // of the vendor's own API, which always needs a key
	MaxTemperature float64 // of the vendor's API

	BaseURL     string // "": DefaultBaseURL
	APIKey      string
	Model       string
	IdleTimeout time.Duration // see [upstream.Options]
	MaxTokens   int           // 0: the responder's default
	Temperature *float64      // nil: the API's default

	KeyHeader  string            // the header that carries the key
	KeyPrefix  string            // stands before the key in it
	Headers    map[string]string // of each request; one of them may take the place of KeyHeader
	HTTPClient *http.Client      // nil: one of its own
}

// Validate reports all mistakes at once.
func (c Config) Validate() error {
	p := upstream.Problems{Of: c.Responder}
	p.URL("BaseURL", c.baseURL())
	p.Headers("headers", c.headers())
	p.IdleTimeout(c.IdleTimeout)
	p.RejectIf(c.BaseURL == "" && c.APIKey == "", "APIKey is required for %s", c.DefaultBaseURL)
	p.RejectIf(c.Model == "", "Model is required")
	p.RejectIf(c.MaxTokens < 0, "MaxTokens must be 1 or more, or 0 for the default; it is %d", c.MaxTokens)
	p.RejectIf(c.Temperature != nil && !(*c.Temperature >= 0 && *c.Temperature <= c.MaxTemperature), "Temperature must be 0 to %v", c.MaxTemperature)
	return p.Err()
}

// Endpoint makes the endpoint that answers, or reports all mistakes of the
// configuration. below finds its URL, given where the API starts.
func (c Config) Endpoint(below func(base *url.URL) *url.URL) (*upstream.Endpoint, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	base, err := upstream.ParseURL(c.baseURL())
	if err != nil {
		return nil, fmt.Errorf("BaseURL: %w", err)
	}
	return upstream.New(upstream.Options{
		URL:         below(base).String(),
		Headers:     c.headers(),
		IdleTimeout: c.IdleTimeout,
		Client:      c.HTTPClient,
	})
}

func (c Config) baseURL() string {
	if c.BaseURL == "" {
		return c.DefaultBaseURL
	}
	return c.BaseURL
}

// headers are the configured headers and the key's. Their names are brought into one
// spelling first: one that is configured as "authorization" must take the place of
// Authorization, and not stand beside it in an order that differs from start to start.
// Space around the key is dropped: keys are often read from files that end with a line
// break.
func (c Config) headers() map[string]string {
	headers := map[string]string{}
	if c.APIKey != "" {
		headers[http.CanonicalHeaderKey(c.KeyHeader)] = c.KeyPrefix + strings.TrimSpace(c.APIKey)
	}
	for name, value := range c.Headers {
		headers[http.CanonicalHeaderKey(name)] = value
	}
	return headers
}

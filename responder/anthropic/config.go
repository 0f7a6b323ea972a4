package anthropic

import (
	"net/http"
	"time"

	"github.com/onereply/onereply/internal/chatmodel"
	"github.com/onereply/onereply/internal/upstream"
)

// Defaults of [Config].
const (
	DefaultBaseURL     = "https://api.anthropic.com"
	DefaultIdleTimeout = upstream.DefaultIdleTimeout
	DefaultMaxTokens   = 4096 // a long chat message; every model allows it
)

// Config says which model answers. The zero value of each optional field means
// its default.
type Config struct {
	BaseURL string // default [DefaultBaseURL]; "/v1/messages" is added to its path
	APIKey  string // required with the default BaseURL; "": none is sent
	Model   string // required
	System  string // the system prompt; "": none

	// IdleTimeout ends a call that was silent for so long after the first byte of
	// its answer, as a failed attempt. Default [DefaultIdleTimeout];
	// [onereply.Zero] for never. [onereply.Bot] bounds the whole call.
	IdleTimeout time.Duration

	// MaxTokens of the reply, which the API demands. Default [DefaultMaxTokens].
	// A reply that reaches it is sent as far as it goes.
	MaxTokens   int
	Temperature *float64 // 0 to 1; nil: the API's default

	Headers    map[string]string // more headers of each request
	HTTPClient *http.Client      // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. It does not change the configuration.
func (c Config) Validate() error { return c.shared().Validate() }

// shared is the configuration in the form that all chat models share.
func (c Config) shared() chatmodel.Config {
	return chatmodel.Config{
		Responder:      "anthropic",
		DefaultBaseURL: DefaultBaseURL,
		MaxTemperature: 1,
		BaseURL:        c.BaseURL,
		APIKey:         c.APIKey,
		Model:          c.Model,
		IdleTimeout:    c.IdleTimeout,
		MaxTokens:      c.MaxTokens,
		Temperature:    c.Temperature,
		KeyHeader:      "X-Api-Key",
		Headers:        c.Headers,
		HTTPClient:     c.HTTPClient,
	}
}

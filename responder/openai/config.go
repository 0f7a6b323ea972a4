package openai

import (
	"net/http"
	"time"

	"github.com/onereply/onereply/internal/chatmodel"
	"github.com/onereply/onereply/internal/upstream"
)

// Defaults of [Config].
const (
	DefaultBaseURL     = "https://api.openai.com/v1"
	DefaultIdleTimeout = upstream.DefaultIdleTimeout
)

// Config says which model answers. The zero value of each optional field means
// its default.
type Config struct {
	BaseURL string // default [DefaultBaseURL]; "/chat/completions" is added to its path
	APIKey  string // sent as a bearer key; required with the default BaseURL, "": none is sent
	Model   string // required
	System  string // the system message; "": none

	// IdleTimeout ends a call that was silent for so long after the first byte of
	// its answer, as a failed attempt. Default [DefaultIdleTimeout];
	// [onereply.Zero] for never. [onereply.Bot] bounds the whole call.
	IdleTimeout time.Duration

	MaxTokens   int      // of the reply; 0: the endpoint's default
	Temperature *float64 // 0 to 2; nil: the endpoint's default

	Headers    map[string]string // more headers of each request
	HTTPClient *http.Client      // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. It does not change the configuration.
func (c Config) Validate() error { return c.shared().Validate() }

// shared is the configuration in the form that all chat models share.
func (c Config) shared() chatmodel.Config {
	return chatmodel.Config{
		Responder:      "openai",
		DefaultBaseURL: DefaultBaseURL,
		MaxTemperature: 2,
		BaseURL:        c.BaseURL,
		APIKey:         c.APIKey,
		Model:          c.Model,
		IdleTimeout:    c.IdleTimeout,
		MaxTokens:      c.MaxTokens,
		Temperature:    c.Temperature,
		KeyHeader:      "Authorization",
		KeyPrefix:      "Bearer ",
		Headers:        c.Headers,
		HTTPClient:     c.HTTPClient,
	}
}

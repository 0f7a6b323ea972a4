package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// Defaults of [Config].
const (
	DefaultBaseURL     = "https://api.anthropic.com"
	DefaultIdleTimeout = 20 * time.Second
	DefaultMaxTokens   = 4096 // a long chat message, and what every model allows
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
	// [onereply.Zero] for never. What bounds the whole call is [onereply.Bot].
	IdleTimeout time.Duration

	// MaxTokens of the reply, which the API demands. Default [DefaultMaxTokens].
	// A reply that reaches it is sent as far as it goes.
	MaxTokens   int
	Temperature *float64 // 0 to 1; nil: the API's default

	Headers    map[string]string // more headers of each request
	HTTPClient *http.Client      // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. It does not change the configuration.
func (c Config) Validate() error {
	var problems []error
	reject := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("anthropic: "+format, args...))
		}
	}
	_, err := upstream.ParseURL(c.baseURL())
	reject(err != nil, "BaseURL: %w", err)
	err = upstream.CheckHeaders(c.headers())
	reject(err != nil, "headers: %w", err)
	reject(c.BaseURL == "" && c.APIKey == "", "APIKey is required for %s", DefaultBaseURL)
	reject(c.Model == "", "Model is required")
	reject(c.IdleTimeout < 0 && c.IdleTimeout != onereply.Zero, "IdleTimeout must not be negative, it is %v", c.IdleTimeout)
	reject(c.MaxTokens < 0, "MaxTokens must not be negative, it is %d", c.MaxTokens)
	reject(c.Temperature != nil && !(*c.Temperature >= 0 && *c.Temperature <= 1), "Temperature must be 0 to 1")
	return errors.Join(problems...)
}

func (c Config) baseURL() string {
	if c.BaseURL == "" {
		return DefaultBaseURL
	}
	return c.BaseURL
}

func (c Config) headers() map[string]string {
	headers := map[string]string{}
	if c.APIKey != "" {
		headers["X-Api-Key"] = strings.TrimSpace(c.APIKey)
	}
	for name, value := range c.Headers {
		headers[name] = value
	}
	return headers
}

func (c Config) idleTimeout() time.Duration {
	switch c.IdleTimeout {
	case 0:
		return DefaultIdleTimeout
	case onereply.Zero:
		return 0
	}
	return c.IdleTimeout
}

func (c Config) maxTokens() int {
	if c.MaxTokens == 0 {
		return DefaultMaxTokens
	}
	return c.MaxTokens
}

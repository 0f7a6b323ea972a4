package openai

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
	DefaultBaseURL     = "https://api.openai.com/v1"
	DefaultIdleTimeout = 20 * time.Second
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
	// [onereply.Zero] for never. What bounds the whole call is [onereply.Bot].
	IdleTimeout time.Duration

	MaxTokens   *int     // of the reply, at least 1; nil: the endpoint's default
	Temperature *float64 // 0 to 2; nil: the endpoint's default

	Headers    map[string]string // more headers of each request
	HTTPClient *http.Client      // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. It does not change the configuration.
func (c Config) Validate() error {
	var problems []error
	reject := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("openai: "+format, args...))
		}
	}
	_, err := upstream.ParseURL(c.baseURL())
	reject(err != nil, "BaseURL: %w", err)
	err = upstream.CheckHeaders(c.headers())
	reject(err != nil, "headers: %w", err)
	reject(c.BaseURL == "" && c.APIKey == "", "APIKey is required for %s", DefaultBaseURL)
	reject(c.Model == "", "Model is required")
	reject(c.IdleTimeout < 0 && c.IdleTimeout != onereply.Zero, "IdleTimeout must not be negative, it is %v", c.IdleTimeout)
	reject(c.MaxTokens != nil && *c.MaxTokens < 1, "MaxTokens must be at least 1")
	reject(c.Temperature != nil && !(*c.Temperature >= 0 && *c.Temperature <= 2), "Temperature must be 0 to 2")
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
		headers["Authorization"] = "Bearer " + strings.TrimSpace(c.APIKey)
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

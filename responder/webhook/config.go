package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/apipath"
	"github.com/onereply/onereply/internal/standardwebhooks"
	"github.com/onereply/onereply/internal/upstream"
)

// DefaultIdleTimeout is what Config.IdleTimeout is where it is not set.
const DefaultIdleTimeout = 20 * time.Second

// Config says who answers. The zero value of each optional field means its
// default.
type Config struct {
	URL string // required: where each turn is posted to

	// Secret signs each request: whsec_ and base64; several are separated by
	// spaces. "": requests are not signed.
	Secret string

	// SealBase is where this node's API is reached by the webhook, such as
	// https://onereply.internal:8080; "": requests carry no seal_url.
	SealBase string

	// IdleTimeout ends a call that was silent for so long after the first byte of
	// its answer, as a failed attempt. Default [DefaultIdleTimeout];
	// [onereply.Zero] for never. What bounds the whole call is [onereply.Bot].
	IdleTimeout time.Duration

	Headers    map[string]string // more headers of each request
	HTTPClient *http.Client      // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. It does not change the configuration.
func (c Config) Validate() error {
	var problems []error
	reject := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("webhook responder: "+format, args...))
		}
	}
	_, err := upstream.ParseURL(c.URL)
	reject(err != nil, "URL: %w", err)
	_, err = standardwebhooks.ParseSecrets(c.Secret)
	reject(err != nil, "Secret: %w", err)
	if c.SealBase != "" {
		_, err = upstream.ParseURL(c.SealBase)
		reject(err != nil, "SealBase: %w", err)
	}
	err = upstream.CheckHeaders(c.Headers)
	reject(err != nil, "Headers: %w", err)
	reject(c.IdleTimeout < 0 && c.IdleTimeout != onereply.Zero, "IdleTimeout must not be negative, it is %v", c.IdleTimeout)
	return errors.Join(problems...)
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

// sealURL is where the turn is sealed, "" where no base is known.
func (c Config) sealURL(t *onereply.Turn) string {
	if c.SealBase == "" {
		return ""
	}
	below := "/turns/" + strconv.FormatInt(t.Token, 10) + "/seal"
	return strings.TrimSuffix(c.SealBase, "/") + apipath.Conversation(t.Bot, t.Conversation, below, nil)
}

package webhook

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/apipath"
	"github.com/onereply/onereply/internal/upstream"
)

// DefaultIdleTimeout is the default of [Config].IdleTimeout.
const DefaultIdleTimeout = upstream.DefaultIdleTimeout

// clocksDiffer is how far the clocks of two nodes may be apart.
const clocksDiffer = time.Minute

// Config is the webhook that answers. The zero value of each optional field means its
// default.
type Config struct {
	URL string // required: where each turn is posted to

	// Secret signs each request: whsec_ and base64; several are separated by
	// spaces. "": requests are not signed.
	Secret string

	// SealBase is where this node's API is reached by the webhook, such as
	// https://onereply.internal:8080; "": requests carry no seal_url.
	SealBase string

	// SealGrant returns what opens the seal of one attempt and nothing else, so that the
	// webhook needs no key of the API. It is called for each turn, maybe by several
	// goroutines at once. nil, or "": seal_url carries none.
	SealGrant func(bot, conversation string, token int64, until time.Time) string

	// Early: the webhook may be started early ([onereply.StartEarly]), because it does
	// nothing that lasts before it has answered, or seals first. Default: it may not.
	Early bool

	// IdleTimeout ends a call that was silent for so long after the first byte of
	// its answer, as a failed attempt. Default [DefaultIdleTimeout];
	// [onereply.Zero] for never. [onereply.Bot] bounds the whole call.
	IdleTimeout time.Duration

	Headers    map[string]string // more headers of each request
	HTTPClient *http.Client      // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. It does not change the configuration. A SealBase
// is checked only if there is one.
func (c Config) Validate() error {
	p := upstream.Problems{Of: "webhook responder"}
	p.URL("URL", c.URL)
	p.Secrets("Secret", c.Secret)
	if c.SealBase != "" {
		p.URL("SealBase", c.SealBase)
	}
	p.Headers("Headers", c.Headers)
	p.IdleTimeout(c.IdleTimeout)
	return p.Err()
}

// sealURL is where the turn is sealed, "" where no base is known. The token in it is that
// of the lease: it works for this attempt and for no later one. The grant is good until the
// attempt must have ended, and a little longer, since the clocks of nodes differ.
func (c Config) sealURL(t *onereply.Turn, until time.Time) string {
	if c.SealBase == "" {
		return ""
	}
	below := "/turns/" + strconv.FormatInt(t.Token, 10) + "/seal"
	query := url.Values{}
	if c.SealGrant != nil {
		if grant := c.SealGrant(t.Bot, t.Conversation, t.Token, until.Add(clocksDiffer)); grant != "" {
			query.Set("grant", grant)
		}
	}
	return strings.TrimSuffix(c.SealBase, "/") + apipath.Conversation(t.Bot, t.Conversation, below, query)
}

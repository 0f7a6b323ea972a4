package webhook

import (
	"net/http"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// Config is the receiver of replies. The zero value of each optional field means its
// default.
type Config struct {
	URL string // required: where replies are posted to

	// Secret signs each request: whsec_ and base64; several are separated by
	// spaces, while one replaces another. "": requests are not signed.
	Secret string

	// Limit is the most characters (code points) that one part may have, up to
	// [onereply.MaxReplyBytes]. A longer text is cut into parts where it hurts
	// least. 0: it is never cut.
	Limit int

	// Separate posts each part by itself, instead of all of a reply at once.
	Separate bool

	Headers    map[string]string // more headers of each request
	HTTPClient *http.Client      // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. It does not change the configuration.
func (c Config) Validate() error {
	p := upstream.Problems{Of: "webhook delivery"}
	p.URL("URL", c.URL)
	p.Secrets("Secret", c.Secret)
	p.Headers("Headers", c.Headers)
	p.RejectIf(c.Limit < 0 || c.Limit > onereply.MaxReplyBytes, "Limit must be 0 (never cut) to %d, it is %d", onereply.MaxReplyBytes, c.Limit)
	return p.Err()
}

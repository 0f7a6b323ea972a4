package upstream

import (
	"errors"
	"fmt"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/standardwebhooks"
)

// Problems collects the mistakes of a configuration, so that a person learns of all of
// them at once. Each error begins with the thing that is configured, and names the field.
// A responder or a channel makes one in its Validate.
type Problems struct {
	Of string // the configured thing; begins each error

	errs []error
}

// RejectIf adds a problem where bad is true.
func (p *Problems) RejectIf(bad bool, format string, args ...any) {
	if bad {
		p.errs = append(p.errs, fmt.Errorf(p.Of+": "+format, args...))
	}
}

// URL checks an address that is called.
func (p *Problems) URL(field, text string) {
	_, err := ParseURL(text)
	p.RejectIf(err != nil, "%s: %w", field, err)
}

// Secrets checks signing secrets.
func (p *Problems) Secrets(field, text string) {
	_, err := standardwebhooks.ParseSecrets(text)
	p.RejectIf(err != nil, "%s: %w", field, err)
}

// Headers checks headers that are sent with each request.
func (p *Problems) Headers(field string, headers map[string]string) {
	err := CheckHeaders(headers)
	p.RejectIf(err != nil, "%s: %w", field, err)
}

// IdleTimeout checks the field of that name, as [Options] has it.
func (p *Problems) IdleTimeout(d time.Duration) {
	p.RejectIf(d < 0 && d != onereply.Zero, "IdleTimeout must not be negative, it is %v", d)
}

// Err is all problems, nil where there are none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

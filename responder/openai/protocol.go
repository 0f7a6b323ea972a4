package openai

import (
	"net/http"
	"regexp"
	"sync"

	"github.com/onereply/onereply/internal/upstream"
)

// level is how much of the protocol is asked of the endpoint. A higher number asks for
// less. Many programs imitate the API in part, so the responder starts with everything
// and finds out.
type level int

const (
	counted  level = iota // streamed, with the tokens counted at its end
	streamed              // streamed
	plain                 // one JSON document
)

func (l level) String() string {
	switch l {
	case counted:
		return "streamed, with usage"
	case streamed:
		return "streamed, without usage"
	}
	return "not streamed"
}

var (
	namesOptions = regexp.MustCompile(`(?i)\b(stream_options|include_usage)\b`)
	namesStream  = regexp.MustCompile(`(?i)\bstream(ed|ing)?\b`)
)

// without is the level to try next, if a refusal names a parameter of this level. Only
// the statuses 400 and 422 speak of parameters: a wrong key or an overload would be met
// by the lower level too.
func (l level) without(status int, detail upstream.Detail) (level, bool) {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return l, false
	}
	named := detail.Param + " " + detail.Code + " " + detail.Message
	switch {
	case l == counted && namesOptions.MatchString(named):
		return streamed, true
	case l != plain && namesStream.MatchString(named):
		return plain, true
	}
	return l, false
}

// protocol remembers the level that the endpoint takes. It only ever goes down, and only
// after a request on the lower level was accepted: a text that happens to name a
// parameter must not cost all later replies their stream.
type protocol struct {
	mutex  sync.Mutex
	level  level
	reason string
}

// now is the level to ask on, and the endpoint's reason for it.
func (p *protocol) now() (level, string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.level, p.reason
}

// learn goes down to a level that the endpoint has accepted.
func (p *protocol) learn(l level, reason string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if l > p.level {
		p.level, p.reason = l, reason
	}
}

// Protocol tells people how the endpoint is asked, and where that is less than
// all, the endpoint's own reason. It is learnt from the answers, and forgotten
// with the responder.
func (r *Responder) Protocol() (how, reason string) {
	level, reason := r.protocol.now()
	return level.String(), reason
}

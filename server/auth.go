package server

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// access is the permission that a route asks for. The zero value is the strictest.
type access int

const (
	byKey      access = iota // an API key or, below /v1/, the session of one; without keys, as sameOrigin
	public                   // none: everybody may call
	sameOrigin               // everybody but the pages of other sites
	signed                   // the request carries its own proof, which the handler checks
)

// guard decides who may call. With keys, a request needs one that has the route's right,
// or the cookie of a session that one opened. Without keys, it must not come from the page
// of another site: such a page could post here from the browser of a user who does not know
// it. A client that sends wrong keys is slowed down and logged.
type guard struct {
	keys         *Keys
	revoked      func(id string) bool // of sessions that were ended
	seen         *seenSessions
	wrong        *wrongKeys
	loopbackOnly bool
	crossOrigin  *http.CrossOriginProtection
}

// newGuard makes a guard for the keys of the configuration. With loopbackOnly it answers
// only requests that name this machine as their host, as long as there are no keys: a page
// that rebinds its own name to 127.0.0.1 could call here otherwise.
func newGuard(keys *Keys, revoked func(id string) bool, loopbackOnly bool, log *slog.Logger) guard {
	return guard{
		keys:         keys,
		revoked:      revoked,
		seen:         &seenSessions{},
		wrong:        newWrongKeys(log),
		loopbackOnly: loopbackOnly,
		crossOrigin:  http.NewCrossOriginProtection(),
	}
}

// check returns the caller, or the reason why the route is closed to it. The host is
// checked before all else, also for public routes: the console's page is one, and a page
// that was rebound must not even get that.
//
// A platform calls the public name of this node, has no key, and no browser can forge its
// signature.
func (g guard) check(r *http.Request, t *route) (caller, error) {
	if t.access == signed {
		return anonymous(r), nil
	}
	locked := len(g.keys.held()) > 0
	if g.loopbackOnly && !locked && !isLoopback(r.Host) {
		return caller{}, newProblem(kindWrongHost, "Without API keys this server answers only to localhost; it was asked as %.100q.", r.Host)
	}
	switch {
	case t.access == public:
		return anonymous(r), nil
	case t.access == byKey && locked:
		who, err := g.checkCaller(r, t)
		if err != nil {
			return caller{}, err
		}
		return who, who.check(t)
	case g.fromOtherSite(r):
		return caller{}, newProblem(kindCrossOrigin, "This server takes nothing from the pages of other sites.")
	}
	return anonymous(r), nil
}

// checkCaller prefers the header to the cookie: a program that sends a wrong key is told
// so, even if it has a session. Both refusals have the status 401, but words of their
// own: a header that is missing is another mistake than a key that is wrong.
func (g guard) checkCaller(r *http.Request, t *route) (caller, error) {
	header := r.Header.Get("Authorization")
	if t.byGrant && header == "" {
		if grant := r.URL.Query().Get(grantField); grant != "" {
			return g.checkGrant(r, grant)
		}
	}
	if found, ok := g.session(r, time.Now()); ok && header == "" && t.takesSessions() {
		return g.checkSession(r, found)
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return caller{}, newProblem(kindUnauthorized, "Send the header Authorization: Bearer KEY with one of the configured api_keys.")
	}
	key, ok := g.keys.find(token)
	if !ok {
		return caller{}, g.wrong.refuse(r, "a call", wrongKey)
	}
	who := caller{by: key.Name, from: addressOf(r), key: key}
	if key.expired(time.Now()) {
		return caller{}, errExpired(who)
	}
	return who, nil
}

// fromOtherSite reports whether a browser sent the request for a page of another site. It
// judges a GET as a POST: the page can't read its answer, but could have this node do the
// work, and hold event streams open.
func (g guard) fromOtherSite(r *http.Request) bool {
	changing := *r
	changing.Method = http.MethodPost
	return g.crossOrigin.Check(&changing) != nil
}

// checkSession guards against other sites: a browser sends the cookie with some of their
// requests too, but only a page of this site can read the token. Reading needs no token.
func (g guard) checkSession(r *http.Request, found session) (caller, error) {
	if g.fromOtherSite(r) {
		return caller{}, newProblem(kindCrossOrigin, "A session is for the pages of this site only.")
	}
	if err := found.checkToken(r); err != nil {
		return caller{}, err
	}
	g.seen.note(found, addressOf(r), time.Now())
	return caller{by: found.key.Name, from: addressOf(r), key: found.key, session: found.id()}, nil
}

// takesSessions reports whether a session opens the route: those of the API. Metrics and
// the demo's settings take keys only.
func (t *route) takesSessions() bool { return strings.HasPrefix(t.pattern, "/v1/") }

// isLoopback reports whether a Host header names this machine. A header that can't be
// read names no machine, so it is refused.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

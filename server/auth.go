package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
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
)

// guard decides who may call. With keys, a request needs one, or the cookie of a session
// that one opened. Without keys, it must not come from the page of another site: such a
// page could post here from the browser of a user who does not know it. A key may do
// everything: there are no roles. Who sends wrong keys is slowed down and logged.
type guard struct {
	keys         keys
	sessions     sessions
	ended        *endedSessions
	wrong        *wrongKeys
	loopbackOnly bool
	crossOrigin  *http.CrossOriginProtection
}

// newGuard makes a guard for the keys of the configuration. With loopbackOnly it answers
// only requests that name this machine as their host: without keys, a page that rebinds
// its own name to 127.0.0.1 could call here otherwise. The command sets it exactly where
// there are no keys.
func newGuard(plain []string, loopbackOnly bool, log *slog.Logger) guard {
	return guard{
		keys:         newKeys(plain),
		sessions:     newSessions(plain),
		ended:        &endedSessions{},
		wrong:        &wrongKeys{log: log},
		loopbackOnly: loopbackOnly,
		crossOrigin:  http.NewCrossOriginProtection(),
	}
}

// check returns the caller, or the reason why the route is closed to it. The host is
// checked before all else, also for public routes: the console's page is one, and a page
// that was rebound must not even get that.
func (g guard) check(r *http.Request, t *route) (caller, error) {
	if g.loopbackOnly && !isLoopback(r.Host) {
		return caller{}, newProblem(kindWrongHost, "Without API keys this server answers only to localhost; it was asked as %.100q.", r.Host)
	}
	switch {
	case t.access == public:
		return anonymous(r), nil
	case t.access == byKey && len(g.keys) > 0:
		return g.checkCaller(r, t)
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
		return caller{}, g.wrong.refuse(r, "a call")
	}
	return caller{by: g.keys.label(key), from: addressOf(r)}, nil
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
	return caller{by: g.keys.label(found.key), from: addressOf(r)}, nil
}

// takesSessions reports whether a session opens the route: those of the API. Metrics and
// the demo's settings take keys only.
func (t *route) takesSessions() bool { return strings.HasPrefix(t.pattern, "/v1/") }

// keys are hashes of the API keys. The number of a key is its place in the configuration.
type keys [][sha256.Size]byte

// newKeys keeps hashes instead of keys, all of one length, so that find takes the same
// time for each.
func newKeys(plain []string) keys {
	hashed := make(keys, 0, len(plain))
	for _, key := range plain {
		hashed = append(hashed, sha256.Sum256([]byte(key)))
	}
	return hashed
}

// find returns the number of the key that token is. It compares with every key, and takes
// the same time whichever matches and however much of it does: hashing hides the lengths.
func (k keys) find(token string) (number int, ok bool) {
	presented := sha256.Sum256([]byte(token))
	number = -1
	for i := range k {
		number = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(presented[:], k[i][:]), i, number)
	}
	return number, number >= 0
}

// label names a key in logs and audits: the first 6 hexadecimal digits of its SHA-256,
// from which nobody can find the key. A change of the key's place in the configuration
// does not change its label.
func (k keys) label(number int) string { return hex.EncodeToString(k[number][:3]) }

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

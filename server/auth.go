package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard decides who may ask. With keys, a request must bring one. Without, it
// must not come from another site's page in somebody's browser: it could post
// here although its reader may not know.
type guard struct {
	keys         keys
	loopbackOnly bool
	crossOrigin  *http.CrossOriginProtection
}

func newGuard(plain []string, loopbackOnly bool) guard {
	return guard{
		keys:         newKeys(plain),
		loopbackOnly: loopbackOnly,
		crossOrigin:  http.NewCrossOriginProtection(),
	}
}

func (g guard) check(r *http.Request, open bool) error {
	if g.loopbackOnly && !isLoopback(r.Host) {
		return newProblem(kindWrongHost, "Without API keys this server answers only to localhost; it was asked as %.100q.", r.Host)
	}
	switch {
	case open:
		return nil
	case len(g.keys) > 0:
		return g.checkKey(r)
	case g.crossOrigin.Check(r) != nil:
		return newProblem(kindCrossOrigin, "Without API keys this server takes nothing from the pages of other sites.")
	}
	return nil
}

func (g guard) checkKey(r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return newProblem(kindUnauthorized, "Send the header Authorization: Bearer KEY with one of the configured api_keys.")
	}
	if !g.keys.contain(token) {
		return newProblem(kindUnauthorized, "The key is none of the configured api_keys.")
	}
	return nil
}

// keys are hashes of the API keys.
type keys [][sha256.Size]byte

func newKeys(plain []string) keys {
	hashed := make(keys, 0, len(plain))
	for _, key := range plain {
		hashed = append(hashed, sha256.Sum256([]byte(key)))
	}
	return hashed
}

// contain compares token with every key. It takes the same time whichever
// matches and however much of it does; hashing hides the lengths.
func (k keys) contain(token string) bool {
	presented := sha256.Sum256([]byte(token))
	found := 0
	for i := range k {
		found |= subtle.ConstantTimeCompare(presented[:], k[i][:])
	}
	return found == 1
}

// isLoopback reports whether a Host header names this machine.
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

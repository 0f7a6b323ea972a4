package server

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"time"
)

const (
	sessionCookie = "onereply_session"
	securePrefix  = "__Host-" // browsers take such a cookie from this host and over TLS only
	sessionTime   = 12 * time.Hour
	csrfHeader    = "X-CSRF-Token"
)

// A session is the console's way to use a key. The server keeps no session: the cookie says
// when it ends, and is signed with a secret derived from the API key that opened it. So it
// is valid on every node with that key, may do what the key may, and ends with the key at
// the latest. A cookie alone reads; a change also needs the token of the session, which only
// a page of this site can read. It is signed for the host that it was opened at. A session
// lasts for 12 hours and is not prolonged. One that was ended, by its user or an admin, is
// revoked until then, on all nodes. To end all sessions of a key, an operator replaces the
// key.

// signer signs for one key. The zero signer signs nothing. The API key itself signs
// nothing.
type signer struct{ secret []byte }

// newSigner derives the secret of a key. An empty key gets none: anybody could derive it.
func newSigner(key string) signer {
	if key == "" {
		return signer{}
	}
	return derive(key, "onereply console session 1")
}

// derive makes a signer for one purpose from one key, or several.
func derive(keys, purpose string) signer {
	secret, err := hkdf.Key(sha256.New, []byte(keys), nil, purpose, sha256.Size)
	if err != nil {
		panic(err) // HKDF refuses only lengths greater than this
	}
	return signer{secret}
}

// A cookie is base64url of: when it ends (seconds since 1970, 8 bytes), a
// nonce, and the signature of both.
const (
	nonceBytes   = 16
	contentBytes = 8 + nonceBytes
	cookieBytes  = contentBytes + sha256.Size
)

var cookieText = base64.RawURLEncoding.Strict() // one text for each cookie: no bit of it is free

// session is the content of a valid cookie.
type session struct {
	content [contentBytes]byte // names it
	key     *heldKey           // the key that opened it
	expires time.Time
	csrf    string
}

// id names a session in lists. It does not help to make its cookie.
func (s session) id() string {
	sum := sha256.Sum256(s.content[:])
	return hex.EncodeToString(sum[:16])
}

// cookieName is the name of the cookie, which binds it to this host where browsers can do so.
func cookieName(r *http.Request) string {
	if isSecure(r) {
		return securePrefix + sessionCookie
	}
	return sessionCookie
}

// isSecure reports whether the client spoke TLS.
func isSecure(r *http.Request) bool { return r.TLS != nil || overTLS(r.Header) }

// open makes a cookie for the key of this signer. The nonce makes two sessions of one
// second differ, and with them their tokens.
func (s signer) open(host string, now time.Time) (cookie string) {
	content := binary.BigEndian.AppendUint64(nil, uint64(now.Add(sessionTime).Unix()))
	nonce := make([]byte, nonceBytes)
	rand.Read(nonce)
	content = append(content, nonce...)
	return cookieText.EncodeToString(append(content, s.sign("session", content, host)...))
}

// session checks a cookie. It tries the secret of every key, in a time that does not depend
// on which of them signed it. The length is checked first, so that a long value is not
// even decoded. The end of the session counts only in a cookie whose signature fits; it ends
// with its key too.
func (k *Keys) session(cookie, host string, now time.Time) (session, bool) {
	if len(cookie) != cookieText.EncodedLen(cookieBytes) {
		return session{}, false
	}
	decoded, err := cookieText.DecodeString(cookie)
	if err != nil {
		return session{}, false
	}
	content, signature := decoded[:contentBytes], decoded[contentBytes:]
	var key *heldKey
	for _, held := range k.held() {
		if held.signer.secret != nil && hmac.Equal(signature, held.signer.sign("session", content, host)) {
			key = held
		}
	}
	expires := time.Unix(int64(binary.BigEndian.Uint64(content)), 0)
	if key == nil || key.expired(now) || !now.Before(expires) {
		return session{}, false
	}
	return session{content: [contentBytes]byte(content), key: key, expires: expires, csrf: cookieText.EncodeToString(key.signer.sign("csrf", content))}, true
}

// session finds the session of a request. Several cookies may have the name: another
// program on this host, or on a parent domain, can set one.
func (g guard) session(r *http.Request, now time.Time) (session, bool) {
	for _, cookie := range r.CookiesNamed(cookieName(r)) {
		if found, ok := g.keys.session(cookie.Value, r.Host, now); ok && !g.revoked(found.id()) {
			return found, true
		}
	}
	return session{}, false
}

// sign makes a signature for one purpose. The purpose and the zero byte keep a signature
// for one from being valid for another. The content has a fixed length where more follows.
func (s signer) sign(purpose string, content []byte, more ...string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write(content)
	for _, text := range more {
		mac.Write([]byte(text))
	}
	return mac.Sum(nil)
}

// checkToken demands the session's token for each request that may change something. The
// comparison takes the same time wherever the first difference is, so that the token
// can't be guessed digit by digit.
func (s session) checkToken(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if !hmac.Equal([]byte(r.Header.Get(csrfHeader)), []byte(s.csrf)) {
		return newProblem(kindCSRF, "Send the header %s with the csrf of GET /console/session.", csrfHeader)
	}
	return nil
}

package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/onereply/onereply"
)

// postLogin opens a session for a caller who has a key. A right key is never refused and
// never waits, however many wrong ones came from its address: behind a proxy everybody has
// the same.
func (s *Server) postLogin(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Key string `json:"key"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if len(s.guard.keys.held()) == 0 {
		return errField("key", "This server has no api_keys: no login is needed.")
	}
	now := time.Now()
	key, ok := s.guard.keys.find(body.Key)
	if !ok || body.Key == "" {
		return s.guard.wrong.refuse(r, "a login to the console", wrongKey)
	}
	if key.expired(now) {
		return errExpired(caller{by: key.Name})
	}
	s.options.Logger.LogAttrs(r.Context(), slog.LevelInfo, "a login to the console",
		slog.String("by", key.Name), slog.String("from", addressOf(r)))
	http.SetCookie(w, cookieOf(r, key.signer.open(r.Host, now), int(sessionTime.Seconds())))
	return respondEmpty(w)
}

// postLogout ends the session, and removes the cookie. The token is checked as for any
// change: another site's page must not sign people out. Without a valid session there is
// nothing to guard, and the cookie is removed all the same.
func (s *Server) postLogout(w http.ResponseWriter, r *http.Request) error {
	if err := decodeOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	now := time.Now()
	if found, ok := s.guard.session(r, now); ok {
		if err := found.checkToken(r); err != nil {
			return err
		}
		s.app.Revoke(found.id(), found.expires)
	}
	http.SetCookie(w, cookieOf(r, "", -1))
	return respondEmpty(w)
}

// sessionState tells a page whether it must ask for a key. Without a session, CSRF is
// empty and ExpiresAt is null.
type sessionState struct {
	Required  bool          `json:"required"`
	SignedIn  bool          `json:"signed_in"`
	CSRF      string        `json:"csrf"`
	ExpiresAt onereply.Time `json:"expires_at"`
}

// getSession tells the page whether a key is needed, and whether the cookie is still
// valid. The page also learns the token that each change must carry. It is public,
// because the page asks before anybody has given a key.
func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	out := sessionState{Required: len(s.guard.keys.held()) > 0}
	if found, ok := s.guard.session(r, time.Now()); ok {
		out.SignedIn, out.CSRF, out.ExpiresAt = true, found.csrf, onereply.Time{Time: found.expires}
	}
	return respond(w, http.StatusOK, out)
}

// cookieOf makes the session's cookie. No script can read it, no page of another site
// makes a browser send it, and once set over TLS it is sent over TLS only. A proxy says
// in X-Forwarded-Proto that it speaks TLS; a client that forges the header only makes its
// own cookie stricter. It is valid for the whole host, since the console and the API have
// different paths.
func cookieOf(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: isSecure(r),
	}
}

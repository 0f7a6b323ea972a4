package server

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// signedIn is a browser with a session.
type signedIn struct{ cookie, csrf string }

// login opens a session and reads its token.
func login(t *testing.T, s *Server, key string) signedIn {
	t.Helper()
	got := ask(t, s, "POST", "/console/login", `{"key":"`+key+`"}`)
	if got.status != http.StatusNoContent {
		t.Fatalf("login: status %d\n%s", got.status, got.body)
	}
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	session := ask(t, s, "GET", "/console/session", "", "Cookie", cookie).json(t)
	if session["required"] != true || session["signed_in"] != true || session["csrf"] == "" {
		t.Fatalf("session = %v", session)
	}
	return signedIn{cookie, session["csrf"].(string)}
}

// flush is a call that changes something, as the console makes it.
func (b signedIn) flush(t *testing.T, s *Server, header ...string) answer {
	t.Helper()
	return ask(t, s, "POST", here+"/flush", "", append([]string{"Cookie", b.cookie, csrfHeader, b.csrf}, header...)...)
}

func TestSession(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha", "beta")})
	for _, key := range []string{"alpha", "beta"} {
		b := login(t, s, key)
		if got := ask(t, s, "GET", here, "", "Cookie", b.cookie); got.status != http.StatusOK {
			t.Errorf("%s, GET: status %d", key, got.status)
		}
		if got := b.flush(t, s); got.status != http.StatusAccepted {
			t.Errorf("%s, POST: status %d\n%s", key, got.status, got.body)
		}
	}
}

func TestSessionCookie(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	for name, test := range map[string]struct {
		prepare func(*http.Request)
		secure  bool
	}{
		"plain":           {func(*http.Request) {}, false},
		"TLS":             {func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, true},
		"TLS at a proxy":  {func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }, true},
		"TLS in capitals": {func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "HTTPS") }, true},
		"TLS, said twice": {func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", " https , https") }, true},
		"TLS, two lines":  {func(r *http.Request) { r.Header["X-Forwarded-Proto"] = []string{"https", "http"} }, true},
		"TLS only inside": {func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "http, https") }, false},
		"HTTP at a proxy": {func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "http") }, false},
	} {
		for _, path := range []string{"/console/login", "/console/logout"} {
			r := httptest.NewRequest("POST", path, strings.NewReader(`{"key":"alpha"}`))
			test.prepare(r)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			cookies := w.Result().Cookies()
			if len(cookies) != 1 {
				t.Fatalf("%s: %d cookies, status %d", name, len(cookies), w.Code)
			}
			c := cookies[0]
			name := "onereply_session"
			if test.secure {
				name = "__Host-" + name
			}
			if c.Name != name || c.Path != "/" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" || c.Secure != test.secure {
				t.Errorf("%s: %v", path, c)
			}
			if want := map[string]int{"/console/login": 12 * 3600, "/console/logout": -1}[path]; c.MaxAge != want {
				t.Errorf("%s, %s: Max-Age %d, want %d", name, path, c.MaxAge, want)
			}
		}
	}
}

// TestForgedSessions: whatever somebody writes into a cookie, it opens
// nothing.
func TestForgedSessions(t *testing.T) {
	now := time.Now()
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha", "beta", "")})
	good := newSigner("alpha").open("example.com", now)
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	forged := map[string]string{
		"nothing":              "",
		"no base64":            strings.Repeat("!", len(good)),
		"zeros":                base64.RawURLEncoding.EncodeToString(make([]byte, len(raw))),
		"too short":            good[:len(good)-1],
		"too long":             good + "A",
		"padded":               good + "=",
		"of another host":      newSigner("alpha").open("example.com:8080", now),
		"of another key":       newSigner("gamma").open("example.com", now),
		"of the empty key":     signedWithEmptyKey(t, now),
		"of no key":            signedWithNothing(now),
		"expired":              newSigner("alpha").open("example.com", now.Add(-sessionTime-time.Second)),
		"ended just now":       newSigner("alpha").open("example.com", now.Add(-sessionTime)),
		"the token as cookie":  "csrf." + good,
		"the key itself":       "alpha",
		"the hash of the key":  base64.RawURLEncoding.EncodeToString(hashOf("alpha")),
		"signed for the token": csrfAsCookie(t, good),
	}
	for i := range raw { // any byte of it
		changed := append([]byte(nil), raw...)
		changed[i] ^= 1
		forged["byte "+string(rune('A'+i))] = base64.RawURLEncoding.EncodeToString(changed)
	}
	forged["a free bit"] = flipLastBit(good)
	for name, cookie := range forged {
		header := []string{"Cookie", sessionCookie + "=" + cookie}
		ask(t, s, "GET", here, "", header...).wantProblem(t, kindUnauthorized, "")
		if got := ask(t, s, "GET", "/console/session", "", header...).json(t); got["signed_in"] != false || got["csrf"] != "" || got["expires_at"] != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	header := []string{"Cookie", sessionCookie + "=" + good}
	if got := ask(t, s, "GET", here, "", header...); got.status != http.StatusOK {
		t.Errorf("the good one: status %d", got.status)
	}
}

// signedWithNothing is a cookie that anybody can make: signed without a secret,
// or with the one that is derived from the empty key.
func signedWithNothing(now time.Time) string {
	return signer{}.open("example.com", now)
}

func signedWithEmptyKey(t *testing.T, now time.Time) string {
	t.Helper()
	secret, err := hkdf.Key(sha256.New, nil, nil, "onereply console session 1", sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	return signer{secret}.open("example.com", now)
}

func hashOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// csrfAsCookie is a cookie that carries, as its signature, the token that its
// own page was given.
func csrfAsCookie(t *testing.T, good string) string {
	t.Helper()
	found, ok := plainKeys("alpha").session(good, "example.com", time.Now())
	if !ok {
		t.Fatal("the good cookie is not good")
	}
	content, _ := base64.RawURLEncoding.DecodeString(good)
	token, _ := base64.RawURLEncoding.DecodeString(found.csrf)
	return base64.RawURLEncoding.EncodeToString(append(content[:contentBytes:contentBytes], token...))
}

// flipLastBit changes a bit of the text that stands for no bit of the bytes.
func flipLastBit(cookie string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, cookie[len(cookie)-1])
	return cookie[:len(cookie)-1] + string(alphabet[last^1])
}

func TestEmptyKeyOpensNoSession(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("")})
	ask(t, s, "POST", "/console/login", `{"key":""}`).wantProblem(t, kindUnauthorized, "")
	for _, cookie := range []string{signedWithNothing(time.Now()), signedWithEmptyKey(t, time.Now())} {
		ask(t, s, "GET", here, "", "Cookie", sessionCookie+"="+cookie).wantProblem(t, kindUnauthorized, "")
	}
}

func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
		b := login(t, s, "alpha")
		time.Sleep(sessionTime - time.Minute)
		if got := b.flush(t, s); got.status != http.StatusAccepted {
			t.Errorf("a minute before its end: status %d", got.status)
		}
		time.Sleep(time.Minute)
		b.flush(t, s).wantProblem(t, kindUnauthorized, "")
	})
}

// TestSessionsGoWithTheirKey: they are good on every node that has the key,
// and only there.
func TestSessionsGoWithTheirKey(t *testing.T) {
	b := login(t, New(newFakeApp(), Options{Keys: plainKeys("alpha")}), "alpha")
	other := New(newFakeApp(), Options{Keys: plainKeys("beta", "alpha")})
	if got := b.flush(t, other); got.status != http.StatusAccepted {
		t.Errorf("another node: status %d", got.status)
	}
	removed := New(newFakeApp(), Options{Keys: plainKeys("beta")})
	b.flush(t, removed).wantProblem(t, kindUnauthorized, "")
}

func TestSessionsNeedTheirToken(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{Keys: plainKeys("alpha")})
	b, other := login(t, s, "alpha"), login(t, s, "alpha")
	if b == other {
		t.Fatal("two sessions are the same")
	}
	for name, token := range map[string]string{
		"none": "", "of another session": other.csrf, "cut": b.csrf[:len(b.csrf)-1], "the cookie": b.cookie,
	} {
		for _, call := range [][2]string{{"POST", here + "/flush"}, {"DELETE", here}, {"PATCH", here + "/messages/m1"}, {"POST", here + "/messages"}} {
			got := ask(t, s, call[0], call[1], `{"text":"x"}`, "Cookie", b.cookie, csrfHeader, token)
			if got.status != http.StatusForbidden {
				t.Errorf("%s, %s: status %d", name, call[0], got.status)
				continue
			}
			got.wantProblem(t, kindCSRF, "")
		}
	}
	if app.calls() != 0 {
		t.Errorf("the App was asked: %+v", app.lastCall())
	}
	ask(t, s, "POST", "/console/logout", "", "Cookie", b.cookie).wantProblem(t, kindCSRF, "")
}

func TestSessionsAreForOurPagesOnly(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{Keys: plainKeys("alpha")})
	b := login(t, s, "alpha")
	for _, header := range [][]string{
		{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
		{"Origin", "http://evil.example"},
		{"Origin", "http://example.com:1", "Sec-Fetch-Site", "same-site"},
		{"Origin", "null"},
	} {
		b.flush(t, s, header...).wantProblem(t, kindCrossOrigin, "")
		ask(t, s, "GET", here, "", append([]string{"Cookie", b.cookie}, header...)...).wantProblem(t, kindCrossOrigin, "")
		ask(t, s, "POST", "/console/login", `{"key":"alpha"}`, header...).wantProblem(t, kindCrossOrigin, "")
		ask(t, s, "POST", "/console/logout", "", header...).wantProblem(t, kindCrossOrigin, "")
	}
	if app.calls() != 0 {
		t.Errorf("the App was asked: %+v", app.lastCall())
	}
	if got := b.flush(t, s, "Origin", "http://example.com", "Sec-Fetch-Site", "same-origin"); got.status != http.StatusAccepted {
		t.Errorf("our page: status %d", got.status)
	}
}

// TestSessionsOpenTheAPIOnly: not what else needs a key.
func TestSessionsOpenTheAPIOnly(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	b := login(t, s, "alpha")
	for _, r := range s.router.routes {
		if r.access != byKey || r.stream {
			continue
		}
		got := ask(t, s, r.method, r.pattern, "", "Cookie", b.cookie, csrfHeader, b.csrf)
		if opened, want := got.status != http.StatusUnauthorized, strings.HasPrefix(r.pattern, "/v1/"); opened != want {
			t.Errorf("%s %s: status %d", r.method, r.pattern, got.status)
		}
	}
}

// TestHeaderWinsOverSession: a program is told that its key is wrong, and one
// with a good key needs no token.
func TestHeaderWinsOverSession(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	b := login(t, s, "alpha")
	b.flush(t, s, "Authorization", "Bearer wrong").wantProblem(t, kindUnauthorized, "")
	for _, cookie := range []string{b.cookie, sessionCookie + "=forged"} {
		if got := ask(t, s, "POST", here+"/flush", "", "Cookie", cookie, "Authorization", "Bearer alpha"); got.status != http.StatusAccepted {
			t.Errorf("status %d", got.status)
		}
	}
}

// TestACookieOfSomebodyElse: another program on this host may have set one of
// the same name.
func TestACookieOfSomebodyElse(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	b := login(t, s, "alpha")
	b.cookie = sessionCookie + "=other; " + b.cookie
	if got := b.flush(t, s); got.status != http.StatusAccepted {
		t.Errorf("status %d", got.status)
	}
}

func TestLoginIsChecked(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	for body, want := range map[string]kind{
		`{"key":"wrong"}`: kindUnauthorized,
		`{"key":""}`:      kindUnauthorized,
		`{}`:              kindUnauthorized,
		`{"key":7}`:       kindWrongType,
		`[]`:              kindMalformedBody,
		``:                kindMalformedBody,
	} {
		field := ""
		if want == kindWrongType {
			field = "key"
		}
		got := ask(t, s, "POST", "/console/login", body)
		got.wantProblem(t, want, field)
		if got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: a cookie was set", body)
		}
	}
	ask(t, s, "GET", "/console/login", "").wantProblem(t, kindMethodNotAllowed, "")
}

func TestNoKeysNoLogin(t *testing.T) {
	s := New(newFakeApp(), Options{LoopbackOnly: true})
	wantJSON(t, ask(t, s, "GET", "/console/session", "", "Host", "localhost").body, `{"required":false,"signed_in":false,"csrf":"","expires_at":null}`)
	ask(t, s, "POST", "/console/login", `{"key":"x"}`, "Host", "localhost").wantProblem(t, kindInvalid, "key")
	ask(t, s, "GET", "/console/session", "", "Host", "evil.example").wantProblem(t, kindWrongHost, "")
	cookie := newSigner("alpha").open("example.com", time.Now())
	if got := ask(t, s, "POST", here+"/flush", "", "Host", "localhost", "Cookie", sessionCookie+"="+cookie); got.status != http.StatusAccepted {
		t.Errorf("an old cookie is in the way: status %d", got.status)
	}
}

func FuzzSession(f *testing.F) {
	s := plainKeys("alpha", "", "beta")
	now := time.Unix(1_800_000_000, 0)
	signed := func(key string) string { // the same in each process of the fuzzer: nothing in it is drawn
		content := append(binary.BigEndian.AppendUint64(nil, uint64(now.Add(sessionTime).Unix())), make([]byte, nonceBytes)...)
		return cookieText.EncodeToString(append(content, newSigner(key).sign("session", content, "example.com")...))
	}
	good := signed("alpha")
	f.Add(good)
	f.Add(signed("gamma"))
	f.Add("")
	f.Add(strings.Repeat("A", len(good)))
	f.Fuzz(func(t *testing.T, cookie string) {
		if _, ok := s.session(cookie, "example.com", now); ok && cookie != good {
			t.Errorf("%q opens something", cookie)
		}
	})
}

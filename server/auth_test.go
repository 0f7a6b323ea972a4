package server

import (
	"net/http"
	"testing"
)

func TestKeys(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha", "beta")})
	for header, ok := range map[string]bool{
		"Bearer alpha":      true,
		"Bearer beta":       true,
		"bearer  beta ":     true,
		"":                  false,
		"Bearer":            false,
		"Bearer ":           false,
		"Bearer alph":       false,
		"Bearer alphaa":     false,
		"Bearer Alpha":      false,
		"Bearer alpha beta": false,
		"Basic alpha":       false,
		"alpha":             false,
	} {
		got := ask(t, s, "GET", here, "", "Authorization", header)
		if ok {
			if got.status != http.StatusOK {
				t.Errorf("%q: status %d", header, got.status)
			}
			continue
		}
		got.wantProblem(t, kindUnauthorized, "")
		if got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: no WWW-Authenticate", header)
		}
	}
}

func TestEmptyKeyOpensNothing(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("")})
	ask(t, s, "GET", here, "", "Authorization", "Bearer ").wantProblem(t, kindUnauthorized, "")
	ask(t, s, "GET", here, "").wantProblem(t, kindUnauthorized, "")
}

// TestWhatNeedsAKey: all of the API does but the two probes, its description,
// and what opens and ends a session.
func TestWhatNeedsAKey(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{Keys: plainKeys("alpha")})
	open := map[string]bool{"/healthz": true, "/readyz": true, "/openapi.json": true, "/console/session": true, "/console/logout": true}
	for _, r := range s.router.routes {
		if r.pattern == "/console/login" {
			continue // it answers 401 itself, to a key that is wrong
		}
		if r.access == signed {
			continue // see TestChannelsNeedNoKey
		}
		got := ask(t, s, r.method, r.pattern, "")
		if isOpen := got.status != http.StatusUnauthorized; isOpen != open[r.pattern] {
			t.Errorf("%s %s: status %d without a key", r.method, r.pattern, got.status)
		}
	}
	if app.calls() != 0 {
		t.Errorf("the App was asked: %+v", app.lastCall())
	}
}

// TestKeysHideTheBots: without a key nobody learns which bots there are.
func TestKeysHideTheBots(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha")})
	ask(t, s, "GET", "/v1/bots/nobody/conversations", "").wantProblem(t, kindUnauthorized, "")
	ask(t, s, "GET", "/v1/bots/%ff/conversations", "").wantProblem(t, kindUnauthorized, "")
}

func TestKeysContain(t *testing.T) {
	k := plainKeys("a", "a", "bb")
	for token, want := range map[string]bool{"a": true, "bb": true, "": false, "b": false, "abb": false} {
		if _, ok := k.find(token); ok != want {
			t.Errorf("find(%q) = %v", token, ok)
		}
	}
	if _, ok := NewKeys().find(""); ok {
		t.Error("no key contains something")
	}
}

func TestOtherSitesPages(t *testing.T) {
	for _, test := range []struct {
		name, method string
		keys         []string
		header       []string
		refused      bool
	}{
		{"a program", "POST", nil, nil, false},
		{"our page", "POST", nil, []string{"Origin", "http://example.com", "Sec-Fetch-Site", "same-origin"}, false},
		{"our page, old browser", "POST", nil, []string{"Origin", "http://example.com"}, false},
		{"another page", "POST", nil, []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, true},
		{"another page, old browser", "POST", nil, []string{"Origin", "http://evil.example"}, true},
		{"another port", "POST", nil, []string{"Origin", "http://example.com:1", "Sec-Fetch-Site", "same-site"}, true},
		{"a hidden page", "POST", nil, []string{"Origin", "null"}, true},
		{"another page that reads", "GET", nil, []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, true},
		{"another page that can't see the answer", "GET", nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, true},
		{"a page of another port that reads", "GET", nil, []string{"Sec-Fetch-Site", "same-site"}, true},
		{"another page that reads, old browser", "GET", nil, []string{"Origin", "http://evil.example"}, true},
		{"another page that asks for the header", "HEAD", nil, []string{"Sec-Fetch-Site", "cross-site"}, true},
		{"our page that reads", "GET", nil, []string{"Sec-Fetch-Site", "same-origin"}, false},
		{"a person who typed the address", "GET", nil, []string{"Sec-Fetch-Site", "none"}, false},
		{"a program that reads", "GET", nil, nil, false},
		{"another page with the key", "POST", []string{"alpha"}, []string{"Origin", "http://evil.example", "Authorization", "Bearer alpha"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := newFakeApp()
			path, good := here+"/flush", http.StatusAccepted
			if test.method != "POST" {
				path, good = here, http.StatusOK
			}
			got := ask(t, New(app, Options{Keys: plainKeys(test.keys...)}), test.method, path, "", test.header...)
			switch {
			case test.refused && test.method == "HEAD":
				if got.status != http.StatusForbidden {
					t.Errorf("status = %d", got.status)
				}
			case test.refused:
				got.wantProblem(t, kindCrossOrigin, "")
			case got.status != good:
				t.Errorf("status = %d", got.status)
			}
			if test.refused && app.calls() > 0 {
				t.Errorf("the App was asked: %+v", app.lastCall())
			}
		})
	}
}

func TestLoopbackOnly(t *testing.T) {
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST.:8080": true, "127.0.0.1:8080": true, "127.9.9.9": true,
		"[::1]:8080": true, "[::1]": true, "[::ffff:127.0.0.1]:80": true,
		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example:80": false,
		"0.0.0.0:8080": false, "10.0.0.1": false, "": false,
	} {
		app := newFakeApp()
		guarded, open := New(app, Options{LoopbackOnly: true}), New(app, Options{})
		got := ask(t, guarded, "GET", here, "", "Host", host)
		if ok != (got.status == http.StatusOK) || !ok && got.status != http.StatusMisdirectedRequest {
			t.Errorf("%q: status %d", host, got.status)
		}
		if got := ask(t, open, "GET", here, "", "Host", host); got.status != http.StatusOK {
			t.Errorf("%q where any host may be named: status %d", host, got.status)
		}
	}
}

package server

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

var proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.0.2.1/32")}

// TestClientBehindProxies: the right-most hop that is no trusted proxy is the client, and
// what stands left of it is not believed.
func TestClientBehindProxies(t *testing.T) {
	for _, test := range []struct {
		peer, forwardedFor, forwarded, want string
	}{
		{"10.1.1.1:5", "198.51.100.7", "", "198.51.100.7"},
		{"10.1.1.1:5", "1.1.1.1, 198.51.100.7", "", "198.51.100.7"},
		{"10.1.1.1:5", "1.1.1.1, 198.51.100.7|10.2.2.2,192.0.2.1", "", "198.51.100.7"},
		{"10.1.1.1:5", "10.3.3.3, 10.2.2.2", "", "10.3.3.3"},
		{"10.1.1.1:5", "198.51.100.7:4711", "", "198.51.100.7"},
		{"10.1.1.1:5", "[2001:db8::1]:4711", "", "2001:db8::1"},
		{"10.1.1.1:5", "2001:db8::1", "", "2001:db8::1"},
		{"[fd00::1]:5", "::ffff:198.51.100.7", "", "198.51.100.7"},
		{"[::ffff:10.1.1.1]:5", "198.51.100.7", "", "198.51.100.7"},
		{"198.51.100.9:5", "1.1.1.1", "", ""},
		{"10.1.1.1:5", "", "", ""},
		{"10.1.1.1:5", "nonsense", "", ""},
		{"10.1.1.1:5", "198.51.100.7, nonsense, 10.2.2.2", "", "10.2.2.2"},
		{"10.1.1.1:5", "198.51.100.7,", "", ""},
		{"10.1.1.1:5", "", `for=198.51.100.7;proto=https;by=10.1.1.1`, "198.51.100.7"},
		{"10.1.1.1:5", "", `For="[2001:db8::1]:80" , for=10.2.2.2`, "2001:db8::1"},
		{"10.1.1.1:5", "", `for=unknown`, ""},
		{"10.1.1.1:5", "", `for=198.51.100.7, for=_hidden`, ""},
		{"10.1.1.1:5", "", `for="198.51.100.7, 1.1.1.1"`, ""},
		{"10.1.1.1:5", "198.51.100.7", `for=198.51.100.7`, "198.51.100.7"},
		{"10.1.1.1:5", "198.51.100.7", `for=1.1.1.1`, ""},
		{"10.1.1.1:5", "198.51.100.7", `for=unknown`, ""},
		{"10.1.1.1:5", strings.Repeat("1.1.1.1,", 5) + strings.TrimSuffix(strings.Repeat("10.2.2.2,", 40), ","), "", "10.2.2.2"},
		{"not an address", "198.51.100.7", "", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.peer
		if test.forwardedFor != "" {
			r.Header["X-Forwarded-For"] = strings.Split(test.forwardedFor, "|") // header lines
		}
		if test.forwarded != "" {
			r.Header.Set("Forwarded", test.forwarded)
		}
		if got := clientOf(r, proxies); got != test.want {
			t.Errorf("from %s, X-Forwarded-For %q, Forwarded %q: %q, want %q", test.peer, test.forwardedFor, test.forwarded, got, test.want)
		}
		if got := clientOf(r, nil); got != "" {
			t.Errorf("without trusted proxies: %q", got)
		}
	}
}

// TestGuessesCountForTheirClient: one who guesses behind a proxy slows down nobody else
// there, and the audit has its address.
func TestGuessesCountForTheirClient(t *testing.T) {
	s := New(newFakeApp(), Options{Keys: plainKeys("alpha"), Settings: Settings{TrustedProxies: proxies}})
	from := func(client string) []string {
		return []string{"Authorization", "Bearer wrong", "from", "10.1.1.1:5", "X-Forwarded-For", "9.9.9.9, " + client}
	}
	for range wrongBurst {
		ask(t, s, "GET", here, "", from("198.51.100.7")...).wantProblem(t, kindUnauthorized, "")
	}
	ask(t, s, "GET", here, "", from("198.51.100.8")...).wantProblem(t, kindUnauthorized, "")
	if n := len(s.guard.wrong.rates.buckets); n != 2 {
		t.Errorf("%d addresses are told apart", n)
	}
	if got := ask(t, s, "GET", "/v1/audit", "", bearer("alpha")...); !strings.Contains(got.body, `"from":"198.51.100.7"`) || strings.Contains(got.body, "9.9.9.9") {
		t.Errorf("the audit has %s", got.body)
	}
}

func TestOverTLS(t *testing.T) {
	for name, test := range map[string]struct {
		header http.Header
		want   bool
	}{
		"by Forwarded":          {http.Header{"Forwarded": {`for=1.1.1.1;proto=https`}}, true},
		"in capitals, quoted":   {http.Header{"Forwarded": {`Proto="HTTPS";for=1.1.1.1, proto=http`}}, true},
		"only inside":           {http.Header{"Forwarded": {`proto=http, proto=https`}}, false},
		"something else":        {http.Header{"Forwarded": {`protocol=https`}}, false},
		"by X-Forwarded-Proto":  {http.Header{"X-Forwarded-Proto": {" HTTPS , http"}}, true},
		"plain":                 {http.Header{}, false},
		"a word that begins so": {http.Header{"X-Forwarded-Proto": {"httpsx"}}, false},
	} {
		if got := overTLS(test.header); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("1.1.1.1, 10.2.2.2", `for="[::1]:80";proto=https, for=unknown`)
	f.Add(",,,", "for=;;=,\"")
	f.Fuzz(func(t *testing.T, forwardedFor, forwarded string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.1.1.1:5"
		r.Header = http.Header{"X-Forwarded-For": {forwardedFor}, "Forwarded": {forwarded}}
		overTLS(r.Header)
		if got := clientOf(r, proxies); got != "" {
			if _, err := netip.ParseAddr(got); err != nil {
				t.Errorf("%q is no address", got)
			}
		}
	})
}

package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onereply/onereply"
)

// TestOddConversations: whatever bytes a name has, the App gets exactly them.
func TestOddConversations(t *testing.T) {
	for _, name := range []string{
		"a/b", "/", "//", "a//b", "a/", "/a", "..", ".", "../..", "a/../b", "%", "%25", "%2F", "a:b", "a b", " ", "+", "a+b",
		"😀", "größe", "e\u0301", "\u202e", "a\nb", "?", "#", "a?b#c", "a;b=c", "[]", "~", "'\"<>",
		"messages", "events", "transcript", "v1", strings.Repeat("x", 512), strings.Repeat("ü", 256), strings.Repeat("/", 512),
	} {
		app := newFakeApp()
		s := New(app, Options{})
		for _, escaped := range []string{url.PathEscape(name), escapeAll(name)} {
			got := ask(t, s, "POST", "/v1/bots/gr%C3%B6%C3%9Fe%2F1/conversations/"+escaped+"/flush", "")
			if asked := app.lastCall(); got.status != http.StatusAccepted || asked.conversation != name || asked.bot != "größe/1" {
				t.Errorf("%q as %q: status %d, the App was asked for %q of %q", name, escaped, got.status, asked.conversation, asked.bot)
			}
		}
	}
}

// escapeAll writes every byte as %xx, as no client needs to and any may.
func escapeAll(name string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range []byte(name) {
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// TestDotsAreNotCleaned: net/http hands over paths as they were sent, and so
// must the router.
func TestDotsAreNotCleaned(t *testing.T) {
	app := newFakeApp()
	for _, name := range []string{"..", ".", "%2e%2e", "%2E"} {
		got := ask(t, New(app, Options{}), "GET", "/v1/bots/support/conversations/"+name, "")
		want, _ := url.PathUnescape(name)
		if got.status != http.StatusOK || app.lastCall().conversation != want {
			t.Errorf("%q: status %d, asked %+v", name, got.status, app.lastCall())
		}
	}
}

// TestNamesThatABrowserTakesOut: "." and ".." do not get out of a browser in a path,
// however they are escaped.
func TestNamesThatABrowserTakesOut(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{})
	for target, want := range map[string]string{
		"/v1/bots/support/conversations/-?conversation=..":             "..",
		"/v1/bots/support/conversations/-/transcript?conversation=%2E": ".",
		"/v1/bots/support/conversations/-":                             "-",
		"/v1/bots/support/conversations/-?conversation=":               "-",
		"/v1/bots/support/conversations/c1?conversation=..":            "c1",
	} {
		if got := ask(t, s, "GET", target, ""); got.status != http.StatusOK || app.lastCall().conversation != want {
			t.Errorf("%s: status %d, asked %+v, want %q", target, got.status, app.lastCall(), want)
		}
	}
	ask(t, s, "GET", "/v1/bots/support/conversations/-?conversation=%ff", "").wantProblem(t, kindInvalid, "conversation")
	ask(t, s, "GET", "/v1/bots/support/conversations/-?conversation="+strings.Repeat("x", 513), "").wantProblem(t, kindInvalid, "conversation")
}

func TestPathsThatLeadNowhere(t *testing.T) {
	for _, test := range []struct {
		method, target string
		kind           kind
		field          string
	}{
		{"GET", "/", kindUnknownRoute, ""},
		{"GET", "/v1", kindUnknownRoute, ""},
		{"GET", "/v1/", kindUnknownRoute, ""},
		{"GET", "//v1/events", kindUnknownRoute, ""},
		{"GET", "/v1/events/", kindUnknownRoute, ""},
		{"GET", here + "/", kindUnknownRoute, ""},
		{"GET", here + "/b", kindUnknownRoute, ""},
		{"POST", here + "/messages/", kindMethodNotAllowed, ""},
		{"DELETE", here + "/messages/", kindInvalid, "id"},
		{"GET", "/v1/bots/support/conversations/", kindInvalid, "conversation"},
		{"POST", "/v1/bots/support/conversations//messages", kindInvalid, "conversation"},
		{"GET", "/v1/bots//conversations", kindInvalid, "bot"},
		{"GET", "/v1/bots/nobody/conversations", kindUnknownBot, "bot"},
		{"POST", "/v1/bots/nobody/conversations/c/messages", kindUnknownBot, "bot"},
		{"GET", "/v1/bots/support/conversations/%ff", kindInvalid, "conversation"},
		{"GET", "/v1/bots/support/conversations/a%00b", kindInvalid, "conversation"},
		{"GET", "/v1/bots/support/conversations/%ed%a0%80", kindInvalid, "conversation"},
		{"GET", "/v1/bots/support/conversations/" + strings.Repeat("x", 513), kindInvalid, "conversation"},
		{"DELETE", here + "/messages/" + strings.Repeat("x", 513), kindInvalid, "id"},
		{"GET", "/" + strings.Repeat("a/", 4000), kindUnknownRoute, ""},
		{"GET", strings.Repeat("/a", 10_000), kindPathTooLong, ""},
		{"POST", here + "/turns/x/seal", kindInvalid, "token"},
		{"POST", here + "/turns/0/seal", kindInvalid, "token"},
		{"POST", here + "/turns/9223372036854775808/seal", kindInvalid, "token"},
		{"BREW", here, kindMethodNotAllowed, ""},
		{"PUT", here + "/messages/m1", kindMethodNotAllowed, ""},
		{"OPTIONS", here + "/messages", kindMethodNotAllowed, ""},
	} {
		t.Run(test.method+" "+test.target[:min(60, len(test.target))], func(t *testing.T) {
			app := newFakeApp()
			got := ask(t, New(app, Options{}), test.method, test.target, "")
			got.wantProblem(t, test.kind, test.field)
			if app.calls() != 0 {
				t.Errorf("the App was asked: %+v", app.lastCall())
			}
		})
	}
}

func TestAllowNamesTheMethods(t *testing.T) {
	s := New(newFakeApp(), Options{})
	for target, want := range map[string]string{
		here:                    "DELETE, GET, HEAD",
		here + "/messages":      "POST",
		here + "/messages/m1":   "DELETE, PATCH",
		"/healthz":              "GET, HEAD",
		here + "/turns/1/seal":  "POST",
		here + "/events?after=": "GET, HEAD",
	} {
		if got := ask(t, s, "PUT", target, "").header.Get("Allow"); got != want {
			t.Errorf("%s: Allow = %q, want %q", target, got, want)
		}
	}
}

func TestEveryNameFitsIntoAPath(t *testing.T) {
	long := escapeAll(strings.Repeat("x", onereply.MaxNameBytes))
	path := "/v1/bots/" + long + "/conversations/" + long + "/messages/" + long
	if _, err := New(newFakeApp(), Options{}).router.find("DELETE", path); err != nil {
		t.Error(err)
	}
}

func FuzzPath(f *testing.F) {
	for _, name := range []string{"a/b", "..", "%", "\xff", "", "😀", strings.Repeat("x", 600)} {
		f.Add(name)
	}
	app := newFakeApp()
	table := New(app, Options{}).router
	f.Fuzz(func(t *testing.T, name string) {
		valid := name != "" && len(name) <= onereply.MaxNameBytes && utf8.ValidString(name) && !strings.Contains(name, "\x00")
		found, err := table.find("PATCH", "/v1/bots/support/conversations/"+url.PathEscape(name)+"/messages/m1")
		if err == nil {
			r := &http.Request{}
			err = found.bind(r)
			if got := r.PathValue("conversation"); err == nil && (got != name || r.PathValue("id") != "m1") {
				t.Errorf("%q became %q", name, got)
			}
		}
		if valid != (err == nil) {
			t.Errorf("%q: valid %v, error %v", name, valid, err)
		}
		// As it came, without escaping: anything but a crash.
		if found, err := table.find("GET", name); err == nil {
			_ = found.bind(&http.Request{})
		}
	})
}

package console

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Playground().ServeHTTP(w, r)
	return w.Result()
}

func TestPlaygroundServesItsFiles(t *testing.T) {
	for _, test := range []struct {
		method, target string
		status         int
		contentType    string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/?bot=support", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/assets/main.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/assets/base.css", 200, "text/css; charset=utf-8"},
		{"GET", "/assets/icon.svg", 200, "image/svg+xml"},
		{"GET", "/index.html", 404, "text/plain; charset=utf-8"},
		{"GET", "/assets/", 404, "text/plain; charset=utf-8"},
		{"GET", "/assets/../playground.go", 404, "text/plain; charset=utf-8"},
		{"POST", "/", 405, "text/plain; charset=utf-8"},
	} {
		got := get(t, test.method, test.target)
		if got.StatusCode != test.status || got.Header.Get("Content-Type") != test.contentType {
			t.Errorf("%s %s: %d %s, want %d %s", test.method, test.target,
				got.StatusCode, got.Header.Get("Content-Type"), test.status, test.contentType)
		}
	}
}

func TestPlaygroundIsStrict(t *testing.T) {
	header := get(t, "GET", "/").Header
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'"} {
		if !strings.Contains(header.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy %q lacks %s", header.Get("Content-Security-Policy"), want)
		}
	}
	if strings.Contains(header.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy allows what is unsafe")
	}
	if header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("browsers may guess types")
	}
}

func TestPlaygroundIsSentOnce(t *testing.T) {
	first := get(t, "GET", "/assets/main.js")
	again := get(t, "GET", "/assets/main.js", "If-None-Match", first.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("%d for a file that the browser has, want 304", again.StatusCode)
	}
}

// forbidden are what text from a conversation could become code through, what
// the policy blocks, and what would come from elsewhere.
var forbidden = map[string]*regexp.Regexp{
	"parses markup":           regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment`),
	"makes code of text":      regexp.MustCompile(`\beval\(|new Function`),
	"has an inline handler":   regexp.MustCompile(`(?i)<[^>]+\son[a-z]+=`),
	"has an inline style":     regexp.MustCompile(`(?i)<style|<[^>]+\sstyle=|setAttribute\('style'`),
	"has an inline script":    regexp.MustCompile(`(?i)<script(?:\s+type="module")?>`),
	"loads from another site": regexp.MustCompile(`(?i)(?:src|href)="(?:https?:)?//|url\(|import\('`),
}

func TestFilesKeepToThePolicy(t *testing.T) {
	for name, f := range read(files, "web") {
		for what, pattern := range forbidden {
			if found := pattern.Find(f.content); found != nil {
				t.Errorf("%s %s: %s", name, what, found)
			}
		}
	}
}

func TestFilesFindEachOther(t *testing.T) {
	all := read(files, "web")
	reference := regexp.MustCompile(`(?:from '|(?:src|href)=")([^'"#]+)['"]`)
	for name, f := range all {
		for _, found := range reference.FindAllSubmatch(f.content, -1) {
			target := path.Join(path.Dir(name), string(found[1]))
			if _, ok := all[target]; !ok {
				t.Errorf("%s refers to %s, which is not there", name, target)
			}
		}
	}
}

// A page that is small loads at once and can be read in one sitting.
func TestFilesStaySmall(t *testing.T) {
	const most, mostPacked = 80_000, 30_000
	var packed bytes.Buffer
	size := 0
	for _, f := range read(files, "web") {
		size += len(f.content)
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(f.content)
		_ = w.Close()
	}
	t.Logf("%d bytes, %d packed", size, packed.Len())
	if size > most || packed.Len() > mostPacked {
		t.Errorf("%d bytes (%d packed), at most %d (%d) are wanted", size, packed.Len(), most, mostPacked)
	}
}

func TestHandlerServesTheConsole(t *testing.T) {
	for _, test := range []struct {
		target      string
		status      int
		contentType string
	}{
		{"/console/", 200, "text/html; charset=utf-8"},
		{"/console/?x", 200, "text/html; charset=utf-8"},
		{"/assets/base.css", 200, "text/css; charset=utf-8"},
		{"/console", 302, "text/html; charset=utf-8"},
		{"/", 404, "text/plain; charset=utf-8"},
		{"/console/index.html", 404, "text/plain; charset=utf-8"},
		{"/console/other", 404, "text/plain; charset=utf-8"},
		{"//console", 404, "text/plain; charset=utf-8"},
	} {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://example.com"+test.target, nil))
		got := w.Result()
		if got.StatusCode != test.status || got.Header.Get("Content-Type") != test.contentType {
			t.Errorf("%s: %d %s, want %d %s", test.target, got.StatusCode, got.Header.Get("Content-Type"), test.status, test.contentType)
		}
		if got.Header.Get("Content-Security-Policy") != policy || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: header %v", test.target, got.Header)
		}
		if test.status == 302 && got.Header.Get("Location") != "/console/" {
			t.Errorf("%s leads to %s", test.target, got.Header.Get("Location"))
		}
	}
}

// TestPagesAreApart: each handler has its page, and both have the files that
// they share.
func TestPagesAreApart(t *testing.T) {
	for target, want := range map[string][2]int{"/": {200, 404}, "/console/": {404, 200}, "/assets/base.css": {200, 200}} {
		for i, handler := range []http.Handler{Playground(), Handler()} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
			if w.Code != want[i] {
				t.Errorf("%s of handler %d: %d, want %d", target, i, w.Code, want[i])
			}
		}
	}
}

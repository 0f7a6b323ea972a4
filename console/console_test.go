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
	"loads from another site": regexp.MustCompile(`(?i)(?:src|href)="(?:https?:)?//|\burl\(|import\('`),
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
	for name, f := range all {
		for _, found := range references.FindAllSubmatch(f.content, -1) {
			target := path.Join(path.Dir(name), string(found[1]))
			if _, ok := all[target]; !ok {
				t.Errorf("%s refers to %s, which is not there", name, target)
			}
		}
	}
}

// Pages that are small load at once, also over a slow line to a server in
// trouble, and can be read in one sitting. What counts is all that a page loads.
func TestPagesStaySmall(t *testing.T) {
	const most, mostPacked = 150_000, 60_000
	all := read(files, "web")
	for _, page := range []string{"/", Prefix} {
		var packed bytes.Buffer
		size := 0
		for name := range loads(all, page) {
			size += len(all[name].content)
			w := gzip.NewWriter(&packed)
			_, _ = w.Write(all[name].content)
			_ = w.Close()
		}
		t.Logf("%s: %d bytes, %d packed", page, size, packed.Len())
		if size > most || packed.Len() > mostPacked {
			t.Errorf("%s: %d bytes (%d packed), at most %d (%d) are wanted", page, size, packed.Len(), most, mostPacked)
		}
		if size < most/5 {
			t.Errorf("%s: %d bytes are not all that it loads", page, size)
		}
	}
}

var references = regexp.MustCompile(`(?:from '|(?:src|href)=")([^'"#]+\.[a-z]+)['"]`)

// loads are the files that a page needs, itself included.
func loads(all site, page string) map[string]bool {
	needed := map[string]bool{}
	for open := []string{page}; len(open) > 0; {
		name := open[0]
		open = open[1:]
		if needed[name] {
			continue
		}
		needed[name] = true
		folder := path.Dir(name)
		if strings.HasSuffix(name, "/") {
			folder = name
		}
		for _, found := range references.FindAllSubmatch(all[name].content, -1) {
			open = append(open, path.Join(folder, string(found[1])))
		}
	}
	return needed
}

// A file that no page loads is there for nothing.
func TestEveryFileIsLoaded(t *testing.T) {
	all := read(files, "web")
	needed := loads(all, "/")
	for name := range loads(all, Prefix) {
		needed[name] = true
	}
	for name := range all {
		if !needed[name] {
			t.Errorf("no page loads %s", name)
		}
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

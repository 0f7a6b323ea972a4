package server

import (
	"net/http"
	"testing"
	"testing/fstest"
)

func TestPage(t *testing.T) {
	files := http.FileServerFS(fstest.MapFS{"index.html": {Data: []byte("hello")}, "app.js": {Data: []byte("js")}})
	s := New(newFakeApp(), Options{Page: files, Keys: plainKeys("alpha")})
	for target, want := range map[string]string{"/": "hello", "/app.js": "js"} {
		got := ask(t, s, "GET", target, "")
		if got.status != http.StatusOK || got.body != want {
			t.Errorf("%s: status %d, %q", target, got.status, got.body)
		}
	}
	if got := ask(t, s, "HEAD", "/", ""); got.status != http.StatusOK {
		t.Errorf("HEAD: status %d", got.status)
	}
	if got := ask(t, s, "GET", "/missing.js", ""); got.status != http.StatusNotFound {
		t.Errorf("missing file: status %d", got.status)
	}
	ask(t, s, "POST", "/", "").wantProblem(t, kindUnknownRoute, "")
	ask(t, s, "GET", "/v1/other", "").wantProblem(t, kindUnknownRoute, "")
	ask(t, New(newFakeApp(), Options{}), "GET", "/", "").wantProblem(t, kindUnknownRoute, "")
}

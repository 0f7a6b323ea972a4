package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// plainKeys are keys that open everything.
func plainKeys(plain ...string) *Keys {
	keys := make([]Key, len(plain))
	for i, key := range plain {
		keys[i].Key = key
	}
	return NewKeys(keys...)
}

// ask sends one request, and holds the answer against openapi.json.
func ask(t *testing.T, s *Server, method, target, body string, header ...string) answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		if header[i] == "from" {
			r.RemoteAddr = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	got := answer{w.Code, w.Result().Header, w.Body.String()}
	if found, err := s.router.find(method, r.URL.EscapedPath()); err == nil {
		conform(t, method, found.route.pattern, got)
	}
	return got
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		t.Fatalf("status %d: the answer is not a JSON object: %v\n%s", a.status, err, a.body)
	}
	return out
}

// wantProblem checks that the answer is this problem.
func (a answer) wantProblem(t *testing.T, k kind, field string) {
	t.Helper()
	if a.status != k.status {
		t.Fatalf("status = %d, want %d (%s)\n%s", a.status, k.status, k.name, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type = %q", got)
	}
	body := a.json(t)
	if body["type"] != "urn:onereply:problem:"+k.name || body["title"] != k.title || body["status"] != float64(k.status) {
		t.Errorf("problem = %v, want %s", body, k.name)
	}
	got, _ := body["field"].(string)
	if got != field {
		t.Errorf("field = %q, want %q (%v)", got, field, body["detail"])
	}
}

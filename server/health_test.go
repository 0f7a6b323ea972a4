package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{})
	wantJSON(t, ask(t, s, "GET", "/healthz", "").body, `{"status":"ok"}`)
	wantJSON(t, ask(t, s, "GET", "/readyz", "").body, `{"status":"ready"}`)

	app.err = errors.New("draining")
	if got := ask(t, s, "GET", "/healthz", ""); got.status != http.StatusOK {
		t.Errorf("healthz: status %d while not ready", got.status)
	}
	got := ask(t, s, "GET", "/readyz", "")
	got.wantProblem(t, kindUnavailable, "")
	if !strings.Contains(got.json(t)["detail"].(string), "closing") {
		t.Errorf("no reason: %s", got.body)
	}
}

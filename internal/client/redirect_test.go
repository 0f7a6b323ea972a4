package client

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// TestRedirectsAreNotFollowed: a key goes to the address that the person named, and
// nowhere else. Another port is another program.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = append(reached, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	c := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}), "secret")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a stream that was followed has no end
	defer cancel()
	_, sent := c.Send(ctx, "b", "c", Message{Text: "hi"})
	followed := c.Follow(ctx, "b", "", func(Document[onereply.Event]) error { return nil })
	for _, err := range []error{sent, followed} {
		if err == nil || !strings.Contains(err.Error(), "307") || !strings.Contains(err.Error(), "--server "+other.URL) {
			t.Errorf("got %v", err)
		}
	}
	if len(reached) > 0 {
		t.Errorf("the other program got the requests with %q", reached)
	}
}

// TestPasswordsOfTheServerAreNotShown: the URL of a node behind a proxy may hold one.
func TestPasswordsOfTheServerAreNotShown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New("http://user:hunter2@"+strings.TrimPrefix(server.URL, "http://"), "")
	if err != nil {
		t.Fatal(err)
	}
	_, lost := c.State(t.Context(), "b", "c")
	_, refused := New("ftp://user:hunter2@host", "")
	for _, err := range []error{lost, refused} {
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}

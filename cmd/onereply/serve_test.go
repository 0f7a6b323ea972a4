package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply/internal/client"
)

// drains is an engine whose turns end when the test says so.
type drains struct {
	began chan time.Duration // what is left of the time
	end   chan struct{}
}

func (d *drains) Drain(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	d.began <- time.Until(deadline)
	select {
	case <-d.end:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// started is a running serve.
type started struct {
	url    string
	drains *drains
	stop   context.CancelFunc
	ended  chan error
}

func startServe(t *testing.T, drain time.Duration) started {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := started{"http://" + listener.Addr().String(), &drains{make(chan time.Duration, 1), make(chan struct{})}, cancel, make(chan error, 1)}
	handler := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })}
	go func() { s.ended <- serve(ctx, listener, handler, s.drains, drain, slog.New(slog.DiscardHandler)) }()
	return s
}

// accepts reports whether a request is answered.
func (s started) accepts(t *testing.T) bool {
	t.Helper()
	c, err := client.New(s.url, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.State(t.Context(), "b", "c")
	return err == nil
}

func TestServeAcceptsWhileItDrains(t *testing.T) {
	s := startServe(t, time.Minute)
	if !s.accepts(t) {
		t.Fatal("it does not accept at first")
	}
	s.stop()
	if left := await(t, s.drains.began, "the turns are to end"); left < 50*time.Second {
		t.Errorf("turns have %v to end, want a minute", left)
	}
	if !s.accepts(t) {
		t.Error("it does not accept while turns end")
	}
	close(s.drains.end)
	if err := await(t, s.ended, "the end of serve"); err != nil {
		t.Error(err)
	}
	if s.accepts(t) {
		t.Error("it accepts after its end")
	}
}

func TestServeEndsAfterDrain(t *testing.T) {
	s := startServe(t, 0)
	s.stop()
	if err := await(t, s.ended, "the end of serve"); err != nil {
		t.Error(err)
	}
}

func TestServeTellsThatItsListenerIsGone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	err = serve(t.Context(), listener, &http.Server{}, &drains{}, 0, slog.New(slog.DiscardHandler))
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestReachable(t *testing.T) {
	tests := map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80",
		"0.0.0.0:80":   "http://127.0.0.1:80",
		"[::]:80":      "http://127.0.0.1:80",
		"[::1]:80":     "http://[::1]:80",
		"10.1.2.3:80":  "http://10.1.2.3:80",
	}
	for address, want := range tests {
		resolved, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(resolved, false); got != want {
			t.Errorf("reachable(%s) = %s, want %s", address, got, want)
		}
		if got, want := reachable(resolved, true), strings.Replace(want, "http:", "https:", 1); got != want {
			t.Errorf("with TLS reachable(%s) = %s, want %s", address, got, want)
		}
	}
}

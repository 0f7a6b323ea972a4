package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/proof/memoryhttp"
	"github.com/onereply/onereply/internal/proof/respondertest"
	"github.com/onereply/onereply/internal/upstream"
)

func endpoint(t testing.TB, o upstream.Options) *upstream.Endpoint {
	t.Helper()
	e, err := upstream.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// refusing is an address of this machine at which nobody listens.
func refusing(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

func kindOf(err error) onereply.ResponderErrorKind {
	if fault, ok := errors.AsType[*onereply.ResponderError](err); ok {
		return fault.Kind
	}
	return ""
}

func TestPostSendsHeadersAndBody(t *testing.T) {
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-A"), r.Header.Get("X-B"), body)
	})
	e := endpoint(t, upstream.Options{URL: url, Headers: map[string]string{"x-a": "1"}})
	answer, err := e.Post(t.Context(), http.Header{"X-B": {"2"}}, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if got, err := answer.All(); string(got) != "POST application/json 1 2 {}" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestUnsentIsKnown(t *testing.T) {
	tests := map[string]struct {
		options upstream.Options
		unsent  bool
	}{
		"refused":       {upstream.Options{URL: refusing(t)}, true},
		"no such name":  {upstream.Options{URL: "http://nobody.invalid"}, true},
		"TLS handshake": {upstream.Options{URL: strings.Replace(respondertest.Serve(t, func(http.ResponseWriter, *http.Request) {}), "http:", "https:", 1)}, true},
		"hung up after the request": {upstream.Options{URL: respondertest.Serve(t, func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		})}, false},
		"a transport that does not tell": {upstream.Options{URL: "http://a.test", Client: &http.Client{Transport: silent{}}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := endpoint(t, test.options).Post(t.Context(), nil, nil)
			lost, ok := errors.AsType[*upstream.Lost](err)
			if !ok || lost.Unsent != test.unsent {
				t.Fatalf("got %#v", err)
			}
			want := onereply.ResponderFailed
			if test.unsent {
				want = onereply.ResponderUnavailable
			}
			if _, err := endpoint(t, test.options).Ask(t.Context(), nil, nil); kindOf(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

type silent struct{}

func (silent) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("lost") }

// net/http would repeat a request that carries an Idempotency-Key in its usual
// spelling when a connection that served before is lost.
func TestARequestIsNeverRepeated(t *testing.T) {
	var requests atomic.Int32
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
		if r.Header.Get("Idempotency-Key") == "" {
			t.Error("no Idempotency-Key")
		}
	})
	e := endpoint(t, upstream.Options{URL: url})
	header := func() http.Header { return upstream.Idempotent(&onereply.Turn{Bot: "b", Conversation: "c"}) }
	answer, err := e.Ask(t.Context(), header(), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Close()
	if _, err := e.Ask(t.Context(), header(), []byte("{}")); kindOf(err) != onereply.ResponderFailed {
		t.Errorf("got %v", err)
	}
	if got := requests.Load(); got != 2 {
		t.Errorf("%d requests for 2 calls", got)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	target := respondertest.Serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	})
	for _, client := range []*http.Client{nil, {}} {
		answer, err := endpoint(t, upstream.Options{URL: url, Client: client}).Ask(t.Context(), nil, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		err = answer.Refusal()
		answer.Close()
		if kindOf(err) != onereply.ResponderBadRequest || !strings.Contains(err.Error(), "redirects are not followed") {
			t.Errorf("got %v", err)
		}
	}
}

func TestCancellationClosesTheRequest(t *testing.T) {
	superseded := errors.New("superseded")
	arrived, closed := make(chan struct{}), make(chan struct{})
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		close(arrived)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(closed)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	answer, err := endpoint(t, upstream.Options{URL: url}).Ask(ctx, nil, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	<-arrived
	cancel(superseded)
	if _, err := answer.All(); answer.ReadError(err) != superseded {
		t.Errorf("got %v", err)
	}
	<-closed // while the answer is still open: the context alone ends the request
	answer.Close()
}

func TestCancellationBeforeTheAnswer(t *testing.T) {
	superseded := errors.New("superseded")
	ctx, cancel := context.WithCancelCause(t.Context())
	url := respondertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel(superseded)
		<-r.Context().Done()
	})
	e := endpoint(t, upstream.Options{URL: url})
	for range 2 { // the second one has ended before it begins
		if _, err := e.Ask(ctx, nil, []byte("{}")); !errors.Is(err, superseded) || kindOf(err) != "" {
			t.Errorf("got %v", err)
		}
	}
}

func TestSilenceEndsAnAnswerThatHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := memoryhttp.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			for _, pause := range []time.Duration{time.Hour, 19 * time.Second, 19 * time.Second, time.Hour} {
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
					return
				}
				_, _ = io.WriteString(w, "x")
				w.(http.Flusher).Flush()
			}
		}))
		start := time.Now()
		e := endpoint(t, upstream.Options{URL: memoryhttp.URL, Client: client, IdleTimeout: 20 * time.Second})
		answer, err := e.Ask(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Close()
		body, err := answer.All()
		if fault := answer.ReadError(err); kindOf(fault) != onereply.ResponderFailed || !strings.Contains(fault.Error(), "idle_timeout") {
			t.Errorf("got %v", fault)
		}
		if string(body) != "xxx" || time.Since(start) != time.Hour+58*time.Second {
			t.Errorf("got %q after %v", body, time.Since(start))
		}
	})
}

// A refusal's status is known: a body that does not come is not waited for.
func TestARefusalWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := memoryhttp.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "slow down")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		start := time.Now()
		answer, err := endpoint(t, upstream.Options{URL: memoryhttp.URL, Client: client}).Ask(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Close()
		if err := answer.Refusal(); kindOf(err) != onereply.ResponderRateLimited || !strings.Contains(err.Error(), "slow down") {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(start); waited > 3*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestBoundsOfAnAnswer(t *testing.T) {
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Refuse") != "" {
			w.WriteHeader(http.StatusTeapot)
		}
		piece := strings.Repeat("x", 64<<10)
		for range 2 * upstream.MaxAnswerBytes / len(piece) {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	})
	e := endpoint(t, upstream.Options{URL: url})
	answer, err := e.Ask(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if _, err := answer.All(); err == nil {
		t.Error("an endless answer was read")
	}
	refusal, err := e.Ask(t.Context(), http.Header{"X-Refuse": {"1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer refusal.Close()
	if err := refusal.Refusal(); len(err.Error()) > 1000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestErrorsShowNoSecrets(t *testing.T) {
	const key, other = "sk-very-secret-key", "another-secret"
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":{"message":"bad `+r.Header.Get("Authorization")+` and `+r.Header.Get("X-Other")+` `+key+`"}}`, http.StatusUnauthorized)
	})
	e := endpoint(t, upstream.Options{
		URL:     url,
		Headers: map[string]string{"Authorization": "Bearer " + key, "X-Other": other},
	})
	answer, err := e.Ask(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	got := answer.Refusal().Error()
	if strings.Contains(got, key) || strings.Contains(got, other) || !strings.Contains(got, "check the key") {
		t.Errorf("got %s", got)
	}
}

func TestErrorsShowNoPasswordOfTheURL(t *testing.T) {
	withPassword := strings.Replace(refusing(t), "http://", "http://me:hunter2@", 1) + "/?key=hunter2"
	_, err := endpoint(t, upstream.Options{URL: withPassword}).Ask(t.Context(), nil, nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	if _, err := upstream.New(upstream.Options{URL: "ftp://me:hunter2@x"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestNewReportsAllMistakes(t *testing.T) {
	_, err := upstream.New(upstream.Options{URL: "example.com", Headers: map[string]string{"a b": "x", "X-C": "secret\n"}})
	for _, want := range []string{"absolute", `"a b"`, `"X-C"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// A connection serves the next call, although little of the answer was read.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	e := endpoint(t, upstream.Options{URL: server.URL})
	for range 3 {
		answer, err := e.Ask(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Close()
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

func TestAttemptID(t *testing.T) {
	tests := map[string]*onereply.Turn{
		"support/c1/3/2":                 {Bot: "support", Conversation: "c1", Number: 3, Attempt: 2},
		"a%2Fb/c/1/1":                    {Bot: "a/b", Conversation: "c", Number: 1, Attempt: 1},
		"a/b%2Fc/1/1":                    {Bot: "a", Conversation: "b/c", Number: 1, Attempt: 1},
		"b%C3%BCro/100%25%0D%0Ax: y/1/1": {Bot: "büro", Conversation: "100%\r\nx: y", Number: 1, Attempt: 1},
	}
	for want, turn := range tests {
		if got := upstream.AttemptID(turn); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

package server

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// fakeDemo keeps what it is given.
type fakeDemo struct {
	now DemoSettings
	err error
}

func (f *fakeDemo) Settings(context.Context) (DemoSettings, error) { return f.now, nil }

func (f *fakeDemo) Change(_ context.Context, s DemoSettings) error {
	if f.err == nil {
		f.now = s
	}
	return f.err
}

// local asks as somebody at this machine does.
func local(t *testing.T, s *Server, method, body string, header ...string) answer {
	t.Helper()
	return ask(t, s, method, "/demo/settings", body, append([]string{"Host", "localhost:8080", "from", "127.0.0.1:5000"}, header...)...)
}

func TestDemoSettings(t *testing.T) {
	demo := &fakeDemo{now: DemoSettings{Debounce: 1500 * time.Millisecond, MaxWait: 4 * time.Second, ModelDelay: 2 * time.Second}}
	s := New(newFakeApp(), Options{Demo: demo, LoopbackOnly: true})
	wantJSON(t, local(t, s, "GET", "").body, `{"debounce":"1.5s","max_wait":"4s","model_delay":"2s"}`)
	wantJSON(t, local(t, s, "PUT", `{"debounce":"0s","max_wait":"1m","model_delay":"100ms"}`).body, `{"debounce":"0s","max_wait":"1m0s","model_delay":"100ms"}`)
	wantJSON(t, local(t, s, "PUT", `{"debounce":"3s"}`).body, `{"debounce":"3s","max_wait":"1m0s","model_delay":"100ms"}`)
	if want := (DemoSettings{3 * time.Second, time.Minute, 100 * time.Millisecond}); demo.now != want {
		t.Errorf("settings = %+v, want %+v", demo.now, want)
	}
}

func TestDemoSettingsAreChecked(t *testing.T) {
	demo := &fakeDemo{}
	s := New(newFakeApp(), Options{Demo: demo})
	for body, field := range map[string]string{
		`{"debounce":"-1s"}`: "debounce", `{"debounce":"61s"}`: "debounce", `{"max_wait":"5"}`: "max_wait",
		`{"model_delay":""}`: "model_delay", `{"model_delay":"1h"}`: "model_delay",
	} {
		local(t, s, "PUT", body).wantProblem(t, kindInvalid, field)
	}
	local(t, s, "PUT", `{"debounce":5}`).wantProblem(t, kindWrongType, "debounce")
	demo.err = &onereply.Error{Code: onereply.CodeInvalid, Field: "max_wait"}
	local(t, s, "PUT", `{"debounce":"5s"}`).wantProblem(t, kindInvalid, "max_wait")
	if demo.now != (DemoSettings{}) {
		t.Errorf("settings = %+v", demo.now)
	}
}

// TestDemoSettingsAreForThisMachine: not for its network, a proxy, or other
// sites' pages; and where there is no demo, for nobody.
func TestDemoSettingsAreForThisMachine(t *testing.T) {
	s := New(newFakeApp(), Options{Demo: &fakeDemo{}})
	for _, method := range []string{"GET", "PUT"} {
		body := map[string]string{"GET": "", "PUT": `{}`}[method]
		local(t, s, method, body, "from", "10.0.0.7:5000").wantProblem(t, kindWrongHost, "")
		local(t, s, method, body, "Host", "demo.example").wantProblem(t, kindWrongHost, "")
		local(t, New(newFakeApp(), Options{}), method, body).wantProblem(t, kindUnknownRoute, "")
		keyed := New(newFakeApp(), Options{Demo: &fakeDemo{}, Keys: plainKeys("alpha")})
		local(t, keyed, method, body).wantProblem(t, kindUnauthorized, "")
		if got := local(t, s, method, body); got.status != http.StatusOK {
			t.Errorf("%s: status %d", method, got.status)
		}
	}
	local(t, s, "PUT", `{}`, "Origin", "http://evil.example").wantProblem(t, kindCrossOrigin, "")
}

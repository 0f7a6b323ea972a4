package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
)

func refusal(code onereply.Code, field, detail string) error {
	return fmt.Errorf("wrapped: %w", &onereply.Error{Code: code, Op: "receive", Bot: "support", Conversation: "c1", Field: field, Err: errors.New(detail)})
}

func TestErrorsOfTheApp(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		kind   kind
		field  string
		detail string // must be told
		secret string // must not be told
		retry  string
	}{
		{"invalid", refusal(onereply.CodeInvalid, "text", "it must not be blank"), kindInvalid, "text", "text must not be blank.", "wrapped", ""},
		{"not found", refusal(onereply.CodeNotFound, "", "no such message"), kindNotFound, "", "No such message.", "", ""},
		{"conflict", refusal(onereply.CodeConflict, "", "superseded"), kindConflict, "", "Superseded.", "", ""},
		{"too many", refusal(onereply.CodeTooMany, "", "10000 wait"), kindTooMany, "", "10000 wait", "", "1"},
		{"unavailable", refusal(onereply.CodeUnavailable, "", "dial 10.1.2.3"), kindUnavailable, "", "again later", "10.1.2.3", "1"},
		{"corrupt", refusal(onereply.CodeCorrupt, "", "the record of secret"), kindCorrupt, "", "doctor", "secret", ""},
		{"too slow", fmt.Errorf("x: %w", context.DeadlineExceeded), kindUnavailable, "", "again later", "deadline", "1"},
		{"a code of tomorrow", refusal("other", "", "secret"), kindInternal, "", "log", "secret", ""},
		{"any other error", errors.New("secret"), kindInternal, "", "log", "secret", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := newFakeApp()
			app.err = test.err
			got := ask(t, New(app, Options{}), "POST", here+"/messages", `{"id":"m1","text":"hi"}`)
			got.wantProblem(t, test.kind, test.field)
			if detail := got.json(t)["detail"].(string); !strings.Contains(detail, test.detail) {
				t.Errorf("detail = %q, want %q in it", detail, test.detail)
			}
			if test.secret != "" && strings.Contains(got.body, test.secret) {
				t.Errorf("the answer tells %q:\n%s", test.secret, got.body)
			}
			if retry := got.header.Get("Retry-After"); retry != test.retry {
				t.Errorf("Retry-After = %q, want %q", retry, test.retry)
			}
		})
	}
}

// TestEveryCallReportsErrors: no handler takes a failed call for a good one.
func TestEveryCallReportsErrors(t *testing.T) {
	app := newFakeApp()
	app.err = refusal(onereply.CodeUnavailable, "", "disk full")
	s := New(app, Options{})
	fill := strings.NewReplacer("{bot}", "support", "{conversation}", "c1", "{id}", "m1", "{token}", "1", "{turn}", "1")
	for _, r := range s.router.routes {
		switch r.pattern {
		case "/healthz", "/metrics", "/openapi.json", "/console/login", "/console/logout", "/console/session", "/demo/settings", "/v1/whoami", "/v1/sessions", "/v1/sessions/{id}", "/v1/bots/{bot}/channels":
			continue // these answer whatever the store does
		}
		if r.stream || r.access == signed { // a channel answers its platform itself
			continue
		}
		got := ask(t, s, r.method, fill.Replace(r.pattern), `{"text":"hi","kind":null}`)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: status %d", r.method, r.pattern, got.status)
		}
	}
	ask(t, s, "POST", here+"/messages", `{"kind":"reaction"}`).wantProblem(t, kindUnavailable, "")
}

func TestSealThatComesTooLate(t *testing.T) {
	app := newFakeApp()
	app.err = refusal(onereply.CodeConflict, "", "superseded")
	ask(t, New(app, Options{}), "POST", here+"/turns/3/seal", "").wantProblem(t, kindConflict, "")
}

func TestClientThatLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	app := newFakeApp()
	app.hook = func(context.Context) { cancel() }
	app.err = fmt.Errorf("committing: %w", context.Canceled)
	var log bytes.Buffer
	s := New(app, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", here+"/messages", strings.NewReader(`{"text":"hi"}`)))
	if w.Body.Len() > 0 || log.Len() > 0 {
		t.Errorf("answered %q, logged %q", w.Body, &log)
	}
}

func TestLogSaysWhatAnOperatorNeeds(t *testing.T) {
	for _, test := range []struct {
		code  onereply.Code
		level string
	}{{onereply.CodeUnavailable, "WARN"}, {"other", "ERROR"}, {onereply.CodeInvalid, ""}} {
		app := newFakeApp()
		app.err = refusal(test.code, "", "dial 10.1.2.3")
		var log bytes.Buffer
		s := New(app, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ask(t, s, "POST", here+"/messages", `{"text":"hi"}`)
		if test.level == "" {
			if log.Len() > 0 {
				t.Errorf("a client's mistake was logged: %s", &log)
			}
			continue
		}
		for _, want := range []string{"level=" + test.level, "bot=support", "conversation=c1", "dial 10.1.2.3"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: the log has no %q:\n%s", test.code, want, &log)
			}
		}
	}
}

// TestAFewLinesTellOfManyUnservedRequests: while a store is out of reach there are
// thousands, and each would write a line.
func TestAFewLinesTellOfManyUnservedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newFakeApp()
		app.err = refusal(onereply.CodeUnavailable, "", "disk full")
		var log bytes.Buffer
		s := New(app, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 5 * unservedLines {
			ask(t, s, "GET", here, "")
		}
		if lines := strings.Count(log.String(), "level=WARN"); lines != unservedLines {
			t.Errorf("%d lines at once, want %d", lines, unservedLines)
		}
		log.Reset()
		time.Sleep(time.Second)
		ask(t, s, "GET", here, "")
		if want := fmt.Sprintf("not_logged_before=%d", 4*unservedLines); !strings.Contains(log.String(), want) {
			t.Errorf("a second later the log has no %q:\n%s", want, &log)
		}
	})
}

func TestDebugLogHasEveryRequest(t *testing.T) {
	var log bytes.Buffer
	s := New(newFakeApp(), Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	ask(t, s, "GET", here, "")
	for _, want := range []string{"msg=request", "method=GET", `conversations/{conversation}`, "conversation=c1", "status=200", "took="} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, &log)
		}
	}
}

func TestPanicIsAnAnswer(t *testing.T) {
	app := newFakeApp()
	app.hook = func(context.Context) { panic("out of ideas") }
	var log bytes.Buffer
	s := New(app, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	got := ask(t, s, "POST", here+"/messages", `{"text":"hi"}`)
	got.wantProblem(t, kindInternal, "")
	if strings.Contains(got.body, "ideas") || !strings.Contains(log.String(), "out of ideas") || !strings.Contains(log.String(), "problem_test.go") {
		t.Errorf("answer %s, log %s", got.body, &log)
	}
	app.hook = nil
	if got := ask(t, s, "POST", here+"/messages", `{"text":"hi"}`); got.status != http.StatusAccepted {
		t.Errorf("afterwards: status %d", got.status)
	}
}

func TestPanicInHalfAnAnswerDropsTheConnection(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("x")
	})
	defer func() {
		if value := recover(); value != http.ErrAbortHandler {
			t.Errorf("recovered %v", value)
		}
	}()
	ask(t, New(newFakeApp(), Options{Page: page}), "GET", "/", "")
	t.Error("the answer looks whole")
}

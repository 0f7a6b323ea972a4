package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/proof/memoryhttp"
	"github.com/onereply/onereply/internal/proof/respondertest"
)

var turn = &onereply.Turn{
	Bot: "support", Conversation: "c1", Number: 3, Attempt: 2,
	Messages: []onereply.PromptEntry{{ID: "m1", Text: "hello"}, {ID: "m2", Text: "are you there?"}},
	History: []onereply.PromptEntry{
		{Role: onereply.RoleAssistant, Text: "Welcome!"}, {Role: onereply.RoleUser, Text: "hi"}, {Role: onereply.RoleAssistant, Text: "Hello!"},
	},
}

func responder(t testing.TB, c Config) *Responder {
	t.Helper()
	c.Model = "small"
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// events makes a stream of documents, each named after its type.
func events(documents ...string) string {
	var b strings.Builder
	for _, document := range documents {
		var named struct{ Type string }
		_ = json.Unmarshal([]byte(document), &named)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", named.Type, document)
	}
	return b.String()
}

const (
	start    = `{"type":"message_start","message":{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":1}}}`
	block1   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	hel      = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`
	lo       = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`
	thought  = `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`
	ping     = `{"type":"ping"}`
	unknown  = `{"type":"new_thing","delta":{"type":"text_delta","text":"no"}}`
	stopped  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`
	end      = `{"type":"message_stop"}`
	document = `{"type":"message","content":[{"type":"thinking","text":"hm"},{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":9}}`
)

func TestRequest(t *testing.T) {
	for _, base := range []string{"", "/", "/v1", "/v1/"} {
		var path, key, version, idempotency string
		var body map[string]any
		url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			path, key, version, idempotency = r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version"), r.Header.Get("Idempotency-Key")
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, events(start, hel, stopped, end))
		})
		heat := 0.5
		r := responder(t, Config{BaseURL: url + base, APIKey: "key", System: "Be kind.", Temperature: &heat})
		if _, err := r.Respond(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		if path != "/v1/messages" || key != "key" || version != "2023-06-01" || idempotency != "support/c1/3/2" {
			t.Errorf("got %q, %q, %q, %q", path, key, version, idempotency)
		}
		message := func(role, content string) any { return map[string]any{"role": role, "content": content} }
		want := map[string]any{
			"model": "small", "stream": true, "max_tokens": 4096.0, "temperature": 0.5, "system": "Be kind.",
			"messages": []any{message("user", "hi"), message("assistant", "Hello!"), message("user", "hello\nare you there?")},
		}
		if !reflect.DeepEqual(body, want) {
			t.Errorf("got %v, want %v", body, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		body  string
		usage onereply.Usage
	}{
		"streamed":                     {events(start, block1, hel, lo, stopped, end), onereply.Usage{Input: 7, Output: 9}},
		"with what else there is":      {events(start, ping, thought, hel, unknown, lo, stopped, end), onereply.Usage{Input: 7, Output: 9}},
		"text in the block's start":    {events(start, strings.ReplaceAll(block1, `"text":""`, `"text":"Hel"`), lo, stopped, end), onereply.Usage{Input: 7, Output: 9}},
		"lost after the stop":          {events(start, hel, lo, stopped), onereply.Usage{Input: 7, Output: 9}},
		"without a reason to stop":     {events(start, hel, lo, end), onereply.Usage{Input: 7, Output: 1}},
		"max_tokens is accepted as is": {events(start, hel, lo, strings.ReplaceAll(stopped, "end_turn", "max_tokens"), end), onereply.Usage{Input: 7, Output: 9}},
		"a document":                   {document, onereply.Usage{Input: 5, Output: 9}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var heard respondertest.Listener
			reply, err := responder(t, Config{BaseURL: respondertest.Serve(t, respondertest.Always(200, nil, test.body))}).respond(t.Context(), turn, &heard)
			if err != nil || reply.Text != "Hello" || strings.Join(heard.Deltas, "") != "Hello" {
				t.Fatalf("got %+v, %v, heard %q", reply, err, heard.Deltas)
			}
			if !reflect.DeepEqual(heard.Usage, []onereply.Usage{test.usage}) {
				t.Errorf("spent %v", heard.Usage)
			}
		})
	}
}

func TestBadAnswers(t *testing.T) {
	failure := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
	}
	tests := map[string]struct {
		body string
		kind onereply.ResponderErrorKind
		says string
	}{
		"nothing":             {"", onereply.ResponderFailed, "cut short"},
		"cut short":           {events(start, hel), onereply.ResponderFailed, "message_stop"},
		"empty":               {events(start, stopped, end), onereply.ResponderFailed, "empty answer"},
		"refused":             {events(start, strings.ReplaceAll(stopped, "end_turn", "refusal"), end), onereply.ResponderRefused, "refuses"},
		"not JSON":            {"data: hello\n\n", onereply.ResponderFailed, "can't be read"},
		"too long":            {events(strings.ReplaceAll(hel, "Hel", strings.Repeat("x", 300<<10))), onereply.ResponderFailed, "262144"},
		"event too large":     {"data: " + strings.Repeat("x", 2<<20), onereply.ResponderFailed, "too large"},
		"overloaded":          {events(start, hel, failure("overloaded_error", "Overloaded")), onereply.ResponderOverloaded, "Overloaded"},
		"rate limited":        {events(failure("rate_limit_error", "slow")), onereply.ResponderRateLimited, "slow"},
		"their fault":         {events(start, failure("api_error", "oops")), onereply.ResponderFailed, "oops"},
		"our fault":           {events(failure("invalid_request_error", "bad")), onereply.ResponderBadRequest, "bad"},
		"error as a document": {failure("overloaded_error", "Overloaded"), onereply.ResponderOverloaded, "Overloaded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := responder(t, Config{BaseURL: respondertest.Serve(t, respondertest.Always(200, nil, test.body))}).Respond(t.Context(), turn)
			if fault := respondertest.ErrorOf(t, err); fault.Kind != test.kind || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		status  int
		message string
		kind    onereply.ResponderErrorKind
	}{
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, onereply.ResponderRateLimited},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, onereply.ResponderOverloaded},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, onereply.ResponderQuotaSpent},
		{402, `{"type":"error","error":{"type":"billing_error","message":"pay"}}`, onereply.ResponderQuotaSpent},
		{500, `{"type":"error","error":{"type":"api_error","message":"oops"}}`, onereply.ResponderFailed},
		{503, `no`, onereply.ResponderUnavailable},
		{504, `{"type":"error","error":{"type":"timeout_error","message":"late"}}`, onereply.ResponderUnavailable},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`, onereply.ResponderBadRequest},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"key"}}`, onereply.ResponderBadRequest},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model"}}`, onereply.ResponderBadRequest},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"big"}}`, onereply.ResponderRefused},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, test.message), func(t *testing.T) {
			requests := 0
			handler := respondertest.Always(test.status, map[string]string{"Retry-After": "7"}, test.message)
			r := responder(t, Config{BaseURL: respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) { requests++; handler(w, r) })})
			_, err := r.Respond(t.Context(), turn)
			if fault := respondertest.ErrorOf(t, err); fault.Kind != test.kind || fault.RetryAfter != 7*time.Second || requests != 1 {
				t.Errorf("got %v after %v, by %d requests", err, fault.RetryAfter, requests)
			}
		})
	}
}

// An interrupted attempt closes its request, and reports what it used.
func TestCancellation(t *testing.T) {
	superseded := errors.New("superseded")
	ctx, cancel := context.WithCancelCause(t.Context())
	closed := make(chan struct{})
	heard := respondertest.Listener{OnDelta: func() { cancel(superseded) }}
	r := responder(t, Config{BaseURL: respondertest.Serve(t, respondertest.Stalls(events(start, hel), closed))})
	if _, err := r.respond(ctx, turn, &heard); err != superseded { // itself: a fault would count as an attempt
		t.Errorf("got %v", err)
	}
	<-closed
	if !reflect.DeepEqual(heard.Usage, []onereply.Usage{{Input: 7, Output: 1}}) {
		t.Errorf("spent %v", heard.Usage)
	}
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		client := memoryhttp.Serve(t, respondertest.Stalls(events(start, hel), closed))
		began := time.Now()
		_, err := responder(t, Config{BaseURL: memoryhttp.URL, HTTPClient: client, IdleTimeout: 5 * time.Second}).Respond(t.Context(), turn)
		if fault := respondertest.ErrorOf(t, err); fault.Kind != onereply.ResponderFailed || time.Since(began).Truncate(time.Second) != 5*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		<-closed
	})
}

func TestValidateReportsAllMistakes(t *testing.T) {
	hot := 3.0
	err := Config{BaseURL: "here", IdleTimeout: -5, MaxTokens: -1, Temperature: &hot, Headers: map[string]string{"a b": ""}}.Validate()
	for _, want := range []string{"BaseURL", "Model", "IdleTimeout", "MaxTokens", "Temperature", "a b"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in %v", want, err)
		}
	}
	if err := (Config{Model: "m"}).Validate(); err == nil || !strings.Contains(err.Error(), "APIKey") {
		t.Errorf("got %v", err)
	}
	if err := (Config{Model: "m", APIKey: "k", IdleTimeout: onereply.Zero}).Validate(); err != nil {
		t.Error(err)
	}
}

// FuzzAnswer: whatever an endpoint sends ends in a reply that may be sent, or
// in a fault.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{events(start, block1, hel, lo, stopped, end), document, events(`{"type":"error"}`), "data: null\n\n", "{}", "[]"} {
		f.Add(seed)
	}
	transport := &respondertest.Canned{}
	r, err := New(Config{BaseURL: "http://a.test", Model: "m", HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		transport.Body = body
		var heard respondertest.Listener
		reply, err := r.respond(t.Context(), turn, &heard)
		if err != nil {
			respondertest.ErrorOf(t, err)
			return
		}
		if strings.TrimSpace(reply.Text) == "" || len(reply.Text) > onereply.MaxReplyBytes || strings.Join(heard.Deltas, "") != reply.Text {
			t.Errorf("%q gives %q, heard %q", body, reply.Text, heard.Deltas)
		}
	})
}

package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	Messages: []onereply.PromptEntry{{ID: "m1", Text: "hello"}, {ID: "m2", Text: "are <you> there?"}},
	History:  []onereply.PromptEntry{{Role: onereply.RoleUser, Text: "hi"}, {Role: onereply.RoleAssistant, Text: "Hello!"}},
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

const (
	hello  = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"content":"lo"}}]}` + "\n\n"
	finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	counts = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}` + "\n\n"
	done   = "data: [DONE]\n\n"
	whole  = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`
)

func TestRequest(t *testing.T) {
	var path, key, authorization, extra string
	var body map[string]any
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, key, authorization, extra = r.URL.String(), r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), r.Header.Get("X-Title")
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, hello+finish+counts+done)
	})
	most, heat := 100, 0.5
	r := responder(t, Config{BaseURL: url + "/v1/?version=1", APIKey: "key", System: "Be kind.", MaxTokens: most, Temperature: &heat, Headers: map[string]string{"X-Title": "t"}})
	if _, err := r.Respond(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if path != "/v1/chat/completions?version=1" || key != "support/c1/3/2" || authorization != "Bearer key" || extra != "t" {
		t.Errorf("got %q, %q, %q, %q", path, key, authorization, extra)
	}
	message := func(role, content string) any { return map[string]any{"role": role, "content": content} }
	want := map[string]any{
		"model": "small", "stream": true, "stream_options": map[string]any{"include_usage": true}, "max_tokens": 100.0, "temperature": 0.5,
		"messages": []any{message("system", "Be kind."), message("user", "hi"), message("assistant", "Hello!"), message("user", "hello\nare <you> there?")},
	}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("got %v, want %v", body, want)
	}
}

func TestAnswers(t *testing.T) {
	usage := []onereply.Usage{{Input: 7, Output: 2}}
	tests := map[string]struct {
		body   string
		text   string
		deltas int
		usage  []onereply.Usage
	}{
		"streamed":                       {hello + finish + counts + done, "Hello", 2, usage},
		"without usage":                  {hello + finish + done, "Hello", 2, nil},
		"without done":                   {hello + finish, "Hello", 2, nil},
		"without finish_reason":          {hello + done, "Hello", 2, nil},
		"done without its empty line":    {hello + finish + "data: [DONE]", "Hello", 2, nil},
		"comments first":                 {": wait\n\n" + hello + finish + done, "Hello", 2, nil},
		"empty lines first":              {"\n\n\n" + hello + finish + done, "Hello", 2, nil},
		"length is accepted as it is":    {hello + strings.ReplaceAll(finish, "stop", "length") + done, "Hello", 2, nil},
		"filtered after some text":       {hello + strings.ReplaceAll(finish, "stop", "content_filter") + done, "Hello", 2, nil},
		"other choices are left out":     {hello + `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + done, "Hello", 2, nil},
		"reasoning is left out":          {`data: {"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}` + "\n\n" + hello + done, "Hello", 2, nil},
		"a list of contents":             {`data: {"choices":[{"delta":{"content":[{"type":"thinking","text":"hm"},{"type":"text","text":"Hi"}]}}]}` + "\n\n" + done, "Hi", 1, nil},
		"a refusal in the model's words": {`data: {"choices":[{"delta":{"refusal":"I can't."}}]}` + "\n\n" + done, "I can't.", 1, nil},
		"not streamed":                   {whole, "Hello", 1, usage},
		"not streamed, empty lines":      {"\n\n " + whole, "Hello", 1, usage},
		"error null":                     {`{"error":null,` + whole[1:], "Hello", 1, usage},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := responder(t, Config{BaseURL: respondertest.Serve(t, respondertest.Always(200, nil, test.body))})
			var heard respondertest.Listener
			reply, err := r.respond(t.Context(), turn, &heard)
			if err != nil || reply.Text != test.text {
				t.Fatalf("got %+v, %v", reply, err)
			}
			if len(heard.Deltas) != test.deltas || strings.Join(heard.Deltas, "") != test.text || !reflect.DeepEqual(heard.Usage, test.usage) {
				t.Errorf("heard %+v", heard)
			}
		})
	}
}

func TestBadAnswers(t *testing.T) {
	page := map[string]string{"Content-Type": "text/html; charset=utf-8"}
	broken, refused := onereply.ResponderFailed, onereply.ResponderRefused
	tests := map[string]struct {
		header map[string]string
		body   string
		kind   onereply.ResponderErrorKind
		says   string
	}{
		"nothing":                {nil, "", broken, "cut short"},
		"cut short":              {nil, hello, broken, "cut short"},
		"cut within an event":    {nil, hello + "data: {", broken, "cut short"},
		"connection lost":        {map[string]string{"Content-Length": "9999"}, hello, broken, "cut short"},
		"empty":                  {nil, finish + done, broken, "empty answer"},
		"blank":                  {nil, strings.NewReplacer("Hel", " ", "lo", `\n`).Replace(hello) + finish + done, broken, "empty answer"},
		"empty document":         {nil, "{}", broken, "empty answer"},
		"filtered":               {nil, strings.ReplaceAll(finish, "stop", "content_filter") + done, refused, "content filter"},
		"a web page":             {page, "<html>", broken, "base URL"},
		"not JSON":               {nil, "data: hello\n\n", broken, "chat completion"},
		"wrong types":            {nil, `{"choices":"no"}`, broken, "chat completion"},
		"event too large":        {nil, "data: " + strings.Repeat("x", 2<<20) + "\n\n", broken, "too large"},
		"too long":               {nil, strings.Repeat(strings.ReplaceAll(hello, "Hel", strings.Repeat("x", 16<<10)), 20) + done, broken, "262144"},
		"too long, not streamed": {nil, strings.ReplaceAll(whole, "Hello", strings.Repeat("x", 300<<10)), broken, "262144"},
		"error in the stream":    {nil, hello + `data: {"error":{"message":"try later","type":"server_error"}}` + "\n\n", broken, "try later"},
		"overload in the stream": {nil, hello + `data: {"error":{"message":"overloaded","code":529}}` + "\n\n", onereply.ResponderOverloaded, "overloaded"},
		"limit in the stream":    {nil, `data: {"error":{"message":"slow","code":"rate_limit_exceeded"}}` + "\n\n", onereply.ResponderRateLimited, "slow"},
		"gateway in the stream":  {nil, `data: {"error":{"message":"no provider","code":502}}` + "\n\n", onereply.ResponderUnavailable, "no provider"},
		"quota with a 200":       {nil, `{"error":{"message":"pay","code":"insufficient_quota"}}`, onereply.ResponderQuotaSpent, "add credit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := responder(t, Config{BaseURL: respondertest.Serve(t, respondertest.Always(200, test.header, test.body))})
			reply, err := r.Respond(t.Context(), turn)
			fault := respondertest.ErrorOf(t, err)
			if fault.Kind != test.kind || !strings.Contains(fault.Error(), test.says) || !reflect.DeepEqual(reply, onereply.Reply{}) {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		status int
		header map[string]string
		body   string
		kind   onereply.ResponderErrorKind
		after  time.Duration
	}{
		{429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"slow down"}}`, onereply.ResponderRateLimited, 7 * time.Second},
		{429, map[string]string{"Retry-After": "7", "Retry-After-Ms": "1500"}, ``, onereply.ResponderRateLimited, 1500 * time.Millisecond},
		{429, nil, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, onereply.ResponderQuotaSpent, 0},
		{402, nil, ``, onereply.ResponderQuotaSpent, 0},
		{503, map[string]string{"Retry-After": "1"}, `Service Unavailable`, onereply.ResponderUnavailable, time.Second},
		{502, nil, `<html>Bad gateway</html>`, onereply.ResponderUnavailable, 0},
		{504, nil, ``, onereply.ResponderUnavailable, 0},
		{408, nil, ``, onereply.ResponderUnavailable, 0},
		{524, nil, ``, onereply.ResponderUnavailable, 0},
		{529, nil, ``, onereply.ResponderOverloaded, 0},
		{503, nil, `{"error":{"message":"That model is currently overloaded"}}`, onereply.ResponderOverloaded, 0},
		{500, nil, `{"error":{"message":"The server had an error"}}`, onereply.ResponderFailed, 0},
		{400, nil, `{"error":{"message":"bad","code":"context_length_exceeded"}}`, onereply.ResponderRefused, 0},
		{401, nil, `{"error":{"message":"Incorrect API key"}}`, onereply.ResponderBadRequest, 0},
		{403, nil, ``, onereply.ResponderBadRequest, 0},
		{404, nil, `{"error":{"message":"no such model"}}`, onereply.ResponderBadRequest, 0},
		{413, nil, ``, onereply.ResponderRefused, 0},
		{422, nil, `{"detail":[{"msg":"bad"}]}`, onereply.ResponderBadRequest, 0},
		{301, nil, ``, onereply.ResponderBadRequest, 0},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, test.body), func(t *testing.T) {
			requests := 0
			handler := respondertest.Always(test.status, test.header, test.body)
			r := responder(t, Config{BaseURL: respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) { requests++; handler(w, r) })})
			_, err := r.Respond(t.Context(), turn)
			fault := respondertest.ErrorOf(t, err)
			if fault.Kind != test.kind || fault.RetryAfter != test.after || !strings.Contains(err.Error(), fmt.Sprint(test.status)) {
				t.Errorf("got %v after %v", err, fault.RetryAfter)
			}
			if requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	_, err := responder(t, Config{BaseURL: server.URL}).Respond(t.Context(), turn)
	if fault := respondertest.ErrorOf(t, err); fault.Kind != onereply.ResponderUnavailable {
		t.Errorf("got %v", err)
	}
}

// picky refuses what a level of the protocol asks for, and counts requests.
type picky struct {
	refuses map[string]string // field → the refusal
	status  int
	plain   bool // answers with a document
	seen    []map[string]any
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	p.seen = append(p.seen, body)
	for _, field := range []string{"stream_options", "stream", "model"} {
		if refusal := p.refuses[field]; refusal != "" && body[field] != nil {
			w.WriteHeader(p.status)
			_, _ = io.WriteString(w, refusal)
			return
		}
	}
	if body["stream"] == true && !p.plain {
		_, _ = io.WriteString(w, hello+finish+done)
		return
	}
	_, _ = io.WriteString(w, whole)
}

func TestProtocol(t *testing.T) {
	const options = `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`
	const stream = `{"error":{"message":"verify your organization","param":"stream","code":"unsupported_value"}}`
	tests := map[string]struct {
		endpoint      picky
		first, second int // requests
		how, reason   string
		fails         bool
	}{
		"all is allowed":                     {picky{}, 1, 1, "streamed, with usage", "", false},
		"no options":                         {picky{status: 400, refuses: map[string]string{"stream_options": options}}, 2, 1, "streamed, without usage", "stream_options", false},
		"no options, by 422":                 {picky{status: 422, refuses: map[string]string{"stream_options": `{"detail":[{"loc":["body","stream_options"]}]}`}}, 2, 1, "streamed, without usage", "stream_options", false},
		"no stream":                          {picky{status: 400, refuses: map[string]string{"stream": stream}}, 2, 1, "not streamed", "verify your organization", false},
		"neither":                            {picky{status: 400, refuses: map[string]string{"stream_options": options, "stream": stream}}, 3, 1, "not streamed", "verify your organization", false},
		"a document, unasked":                {picky{plain: true}, 1, 1, "streamed, with usage", "", false},
		"not for another status":             {picky{status: 500, refuses: map[string]string{"stream": stream}}, 1, 1, "streamed, with usage", "", true},
		"not for other words":                {picky{status: 400, refuses: map[string]string{"model": `{"error":"no upstream for it"}`}}, 1, 1, "streamed, with usage", "", true},
		"nothing is learnt from words alone": {picky{status: 400, refuses: map[string]string{"model": `{"error":"the prompt is bad: stream"}`}}, 2, 2, "streamed, with usage", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			endpoint := &test.endpoint
			r := responder(t, Config{BaseURL: respondertest.Serve(t, endpoint.ServeHTTP)})
			for i, want := range []int{test.first, test.second} {
				endpoint.seen = nil
				reply, err := r.Respond(t.Context(), turn)
				if (err != nil) != test.fails || err == nil && reply.Text != "Hello" {
					t.Fatalf("got %+v, %v", reply, err)
				}
				if len(endpoint.seen) != want {
					t.Errorf("call %d: %d requests, want %d", i+1, len(endpoint.seen), want)
				}
			}
			if how, reason := r.Protocol(); how != test.how || !strings.Contains(reason, test.reason) || (reason == "") != (test.reason == "") {
				t.Errorf("got %q, %q", how, reason)
			}
		})
	}
}

// Answers come in any order: a late one from before must not bring back what
// the endpoint refused since.
func TestProtocolOnlyGoesDown(t *testing.T) {
	var p protocol
	p.learn(plain, "no stream")
	p.learn(streamed, "no options")
	p.learn(counted, "")
	if level, reason := p.now(); level != plain || reason != "no stream" {
		t.Errorf("got %v, %q", level, reason)
	}
}

func TestCancellation(t *testing.T) {
	superseded := errors.New("superseded")
	ctx, cancel := context.WithCancelCause(t.Context())
	closed := make(chan struct{})
	r := responder(t, Config{BaseURL: respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, hello)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(closed)
	})})
	_, err := r.respond(ctx, turn, &respondertest.Listener{OnDelta: func() { cancel(superseded) }})
	if err != superseded { // itself: a fault would count as an attempt
		t.Errorf("got %v", err)
	}
	<-closed
}

func TestSilence(t *testing.T) {
	tests := map[string]struct {
		body string
		ends time.Duration
		kind onereply.ResponderErrorKind // "": a reply
	}{
		"within the text":       {hello, DefaultIdleTimeout, onereply.ResponderFailed},
		"after the end":         {hello + finish, DefaultIdleTimeout, ""},
		"after [DONE]":          {hello + done, 0, ""},
		"before the first byte": {"", time.Hour, "deadline"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := responder(t, Config{BaseURL: memoryhttp.URL, HTTPClient: memoryhttp.Serve(t, respondertest.Stalls(test.body, nil))})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				_, err := r.Respond(ctx, turn)
				if took := time.Since(start).Truncate(time.Second); took != test.ends {
					t.Errorf("it took %v", took)
				}
				switch test.kind {
				case "":
					if err != nil {
						t.Error(err)
					}
				case "deadline":
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				default:
					if respondertest.ErrorOf(t, err).Kind != test.kind {
						t.Error(err)
					}
				}
			})
		})
	}
}

func TestErrorsShowNoKey(t *testing.T) {
	const key = "sk-very-secret-key"
	r := responder(t, Config{APIKey: " " + key + "\n", BaseURL: respondertest.Serve(t, respondertest.Always(401, nil, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`))})
	_, err := r.Respond(t.Context(), turn)
	if err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
	if _, err := New(Config{APIKey: key + "\n1", Model: "m"}); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
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

func TestLimitKey(t *testing.T) {
	if limitKey("api.openai.com") != "max_completion_tokens" || limitKey("localhost") != "max_tokens" {
		t.Error("the bound on a reply has the wrong name")
	}
}

// FuzzAnswer: whatever an endpoint sends ends in a reply that may be sent, or
// in a fault.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{hello + finish + counts + done, whole, `{"error":"x"}`, "[]", "data: [DONE]", `{"choices":[{"delta":{"content":[]}}]}`, `data: {"choices":[{"delta":{"content":[1]}}]}`, "data: null\n\n"} {
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

package webhook

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
	"github.com/onereply/onereply/internal/standardwebhooks"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var turn = &onereply.Turn{
	Bot: "support", Conversation: "c/1 ü", Number: 3, Attempt: 2, Early: true, Token: 9,
	Messages: []onereply.PromptEntry{
		{
			ID: "m1", Role: onereply.RoleUser, Author: onereply.AuthorPerson, Text: "hello", Sender: onereply.Person{ID: "u1", Name: "Ann"},
			At: time.Date(2026, 1, 2, 4, 4, 5, 6_700_000, time.FixedZone("", 3600)), Edited: true,
		},
		{
			ID: "m2", Role: onereply.RoleUser, Author: onereply.AuthorPerson,
			Attachments: []onereply.Attachment{{Kind: "image", URL: "https://x/y.png", MIMEType: "image/png"}}, Metadata: json.RawMessage(`{"a":1}`),
		},
	},
	History: []onereply.PromptEntry{
		{ID: "m0", Role: onereply.RoleUser, Author: onereply.AuthorPerson, Text: "hi", Context: true},
		{ID: "c/1", Role: onereply.RoleAssistant, Author: onereply.AuthorHuman, Text: "Hello!"},
	},
}

func responder(t testing.TB, c Config) *Responder {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// always answers every request alike.
func always(status int, media, body string) http.HandlerFunc {
	return respondertest.Always(status, map[string]string{"Content-Type": media}, body)
}

func TestRequest(t *testing.T) {
	secrets, err := standardwebhooks.ParseSecrets(secret)
	if err != nil {
		t.Fatal(err)
	}
	var body []byte
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if err := secrets.Verify(r.Header, body, time.Now(), time.Minute); err != nil {
			t.Error(err)
		}
		if id := r.Header.Get("webhook-id"); id != "support/c%2F1 %C3%BC/3/2" {
			t.Errorf("webhook-id is %q", id)
		}
		_, _ = io.WriteString(w, `{"text":"Hello"}`)
	})
	if _, err := responder(t, Config{URL: url, Secret: secret, SealBase: "https://node:8080/"}).Respond(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	want := `{"bot":"support","conversation":"c/1 ü","turn":3,"attempt":2,"early":true,"token":9,"messages":[` +
		`{"id":"m1","role":"user","author":"person","sender":{"id":"u1","name":"Ann"},"text":"hello","at":"2026-01-02T03:04:05.006Z","edited":true},` +
		`{"id":"m2","role":"user","author":"person","text":"","attachments":[{"kind":"image","url":"https://x/y.png","mime_type":"image/png"}],"metadata":{"a":1}}],` +
		`"history":[{"id":"m0","role":"user","author":"person","text":"hi","context":true},{"id":"c/1","role":"assistant","author":"human","text":"Hello!"}],` +
		`"seal_url":"https://node:8080/v1/bots/support/conversations/c%2F1%20%C3%BC/turns/9/seal"}`
	if string(body) != want {
		t.Errorf("got\n%s\nwant\n%s", body, want)
	}
}

// A webhook is started early only where somebody said that it may be.
func TestMayStartEarly(t *testing.T) {
	for _, may := range []bool{false, true} {
		var r onereply.EarlyResponder = responder(t, Config{URL: "http://localhost/", Early: may})
		if r.MayStartEarly() != may {
			t.Errorf("with Early %v it may: %v", may, r.MayStartEarly())
		}
	}
}

// What a client or a proxy takes out of a path is in the query.
func TestSealURLOfDots(t *testing.T) {
	got := Config{SealBase: "https://node:8080"}.sealURL(&onereply.Turn{Bot: "support", Conversation: "..", Token: 9}, time.Now())
	if want := "https://node:8080/v1/bots/support/conversations/-/turns/9/seal?conversation=.."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The grant is asked for by the names of the attempt, for as long as it may last.
func TestSealURLHasItsGrant(t *testing.T) {
	end := time.Unix(1_800_000_000, 0)
	grant := func(bot, conversation string, token int64, until time.Time) string {
		return fmt.Sprintf("%s|%s|%d|%v", bot, conversation, token, until.Sub(end))
	}
	got := Config{SealBase: "https://node:8080", SealGrant: grant}.sealURL(&onereply.Turn{Bot: "support", Conversation: "c1", Token: 9}, end)
	if want := "https://node:8080/v1/bots/support/conversations/c1/turns/9/seal?grant=support%7Cc1%7C9%7C1m0s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	none := func(string, string, int64, time.Time) string { return "" }
	if got := (Config{SealBase: "https://node:8080", SealGrant: none}).sealURL(&onereply.Turn{Bot: "b", Conversation: "c", Token: 1}, end); strings.Contains(got, "?") {
		t.Errorf("without a grant: %s", got)
	}
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	if endOf(ctx) != end || time.Until(endOf(t.Context())) < time.Minute {
		t.Errorf("an attempt ends at %v and %v", endOf(ctx), endOf(t.Context()))
	}
}

func TestRequestWithoutSecretAndSeal(t *testing.T) {
	url := respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("webhook-signature") != "" || r.Header.Get("webhook-id") == "" || strings.Contains(string(body), "seal_url") || !strings.Contains(string(body), `"history":[]`) {
			t.Errorf("got %v, %s", r.Header, body)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	reply, err := responder(t, Config{URL: url}).Respond(t.Context(), &onereply.Turn{Messages: []onereply.PromptEntry{{ID: "m1", Text: "hi"}}})
	if err != nil || !reflect.DeepEqual(reply, onereply.Reply{Silent: true}) {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		media, body string
		want        onereply.Reply
		deltas      int
	}{
		"text":               {"application/json", `{"text":"Hello"}`, onereply.Reply{Text: "Hello"}, 0},
		"no content type":    {"", ` {"text":"Hello","more":1}`, onereply.Reply{Text: "Hello"}, 0},
		"parts":              {"application/json", `{"parts":["a"," ","b"]}`, onereply.Reply{Text: "a\nb", Parts: []string{"a", "b"}}, 0},
		"both":               {"application/json", `{"text":"ab","parts":["a","b"]}`, onereply.Reply{Text: "ab", Parts: []string{"a", "b"}}, 0},
		"a detail is fine":   {"application/json", `{"text":"Hello","detail":"x","error":null}`, onereply.Reply{Text: "Hello"}, 0},
		"stream":             {eventStream, "data: {\"delta\":\"Hel\"}\n\ndata: {\"delta\":\"lo\"}\n\n", onereply.Reply{Text: "Hello"}, 2},
		"stream to [DONE]":   {eventStream + "; charset=utf-8", "data: {\"delta\":\"Hello\"}\n\ndata: [DONE]\n\ndata: ?\n\n", onereply.Reply{Text: "Hello"}, 1},
		"stream, then text":  {eventStream, "data: {\"delta\":\"Hel\"}\n\ndata: {\"text\":\"Hello!\"}\n\n", onereply.Reply{Text: "Hello!"}, 1},
		"stream, then parts": {eventStream, "data: {\"delta\":\"a\"}\n\ndata: {\"parts\":[\"a\",\"b\"]}\n\n", onereply.Reply{Text: "a\nb", Parts: []string{"a", "b"}}, 1},
		"stream of text":     {eventStream, "data: {\"text\":\"Hello\"}\n\n", onereply.Reply{Text: "Hello"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var heard respondertest.Listener
			reply, err := responder(t, Config{URL: respondertest.Serve(t, always(200, test.media, test.body))}).respond(t.Context(), turn, &heard)
			if err != nil || !reflect.DeepEqual(reply, test.want) || len(heard.Deltas) != test.deltas {
				t.Errorf("got %+v, %v, heard %q", reply, err, heard.Deltas)
			}
		})
	}
}

func TestBadAnswers(t *testing.T) {
	many := `{"parts":["` + strings.Repeat(`a","`, onereply.MaxParts) + `a"]}`
	long := `{"text":"` + strings.Repeat("x", onereply.MaxReplyBytes+1) + `"}`
	tests := map[string]struct {
		status      int
		media, body string
		kind        onereply.ResponderErrorKind
		says        string
	}{
		"nothing":              {200, "", "", onereply.ResponderFailed, "must be JSON"},
		"not JSON":             {200, "", "Hello", onereply.ResponderFailed, "must be JSON"},
		"wrong type":           {200, "", `{"text":1}`, onereply.ResponderFailed, "must be JSON"},
		"empty":                {200, "", `{}`, onereply.ResponderFailed, "204"},
		"blank":                {200, "", `{"text":" \n"}`, onereply.ResponderFailed, "204"},
		"blank parts":          {200, "", `{"parts":[" "]}`, onereply.ResponderFailed, "204"},
		"many parts":           {200, "", many, onereply.ResponderFailed, "101 parts"},
		"too long":             {200, "", long, onereply.ResponderFailed, "262145"},
		"an error":             {200, "", `{"error":"no luck"}`, onereply.ResponderFailed, "no luck"},
		"not an answer":        {202, "", `{"text":"Hello"}`, onereply.ResponderFailed, "202"},
		"empty stream":         {200, eventStream, "", onereply.ResponderFailed, "204"},
		"error in the stream":  {200, eventStream, "data: {\"delta\":\"Hel\"}\n\ndata: {\"error\":\"no luck\"}\n\n", onereply.ResponderFailed, "no luck"},
		"limit in the stream":  {200, eventStream, "data: {\"error\":{\"message\":\"slow\",\"code\":429}}\n\n", onereply.ResponderRateLimited, "slow"},
		"ends within an event": {200, eventStream, "data: {\"delta\":\"Hel\"}\n\ndata: {\"delta\":\"lo\"}\n", onereply.ResponderFailed, "cut short"},
		"not JSON in a stream": {200, eventStream, "data: hello\n\n", onereply.ResponderFailed, "must be JSON"},
		"stream too long":      {200, eventStream, "data: " + strings.ReplaceAll(long, "text", "delta") + "\n\n", onereply.ResponderFailed, "262144"},
		"internal error":       {500, "", "oops", onereply.ResponderFailed, "oops"},
		"gateway":              {502, "", "", onereply.ResponderUnavailable, "502"},
		"unavailable":          {503, "", "", onereply.ResponderUnavailable, "503"},
		"too many requests":    {429, "", "", onereply.ResponderRateLimited, "429"},
		"unauthorized":         {401, "", `{"error":"bad signature"}`, onereply.ResponderBadRequest, "bad signature"},
		"gone":                 {410, "", "", onereply.ResponderBadRequest, "410"},
		"moved":                {308, "", "", onereply.ResponderBadRequest, "redirects are not followed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reply, err := responder(t, Config{URL: respondertest.Serve(t, always(test.status, test.media, test.body))}).Respond(t.Context(), turn)
			fault := respondertest.ErrorOf(t, err)
			if fault.Kind != test.kind || !strings.Contains(err.Error(), test.says) || !reflect.DeepEqual(reply, onereply.Reply{}) {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}

// raw serves what stands on the wire, and hangs up.
func raw(t testing.TB, wire string) string {
	return respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, wire)
	})
}

// A lost connection must never pass for the end of a reply.
func TestEndOfAStream(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	const event = "data: {\"delta\":\"Hello\"}\n\n"
	const done = "data: [DONE]\n\n"
	chunk := func(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }
	tests := map[string]struct {
		wire string
		ok   bool
	}{
		"chunks, ended":            {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event) + "0\r\n\r\n", true},
		"chunks, cut":              {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event), false},
		"chunks, cut after [DONE]": {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(event+done), true},
		"length, whole":            {head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(event)) + event, true},
		"length, cut":              {head + "Content-Length: 999\r\n\r\n" + event, false},
		"neither":                  {head + "\r\n" + event, false},
		"neither, with [DONE]":     {head + "\r\n" + event + done, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reply, err := responder(t, Config{URL: raw(t, test.wire)}).Respond(t.Context(), turn)
			if test.ok && (err != nil || reply.Text != "Hello") {
				t.Errorf("got %+v, %v", reply, err)
			}
			if !test.ok && respondertest.ErrorOf(t, err).Kind != onereply.ResponderFailed {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}

func TestCancellation(t *testing.T) {
	superseded := errors.New("superseded")
	ctx, cancel := context.WithCancelCause(t.Context())
	closed := make(chan struct{})
	r := responder(t, Config{URL: respondertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(w, "data: {\"delta\":\"Hel\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(closed)
	})})
	if _, err := r.respond(ctx, turn, &respondertest.Listener{OnDelta: func() { cancel(superseded) }}); err != superseded { // itself: a fault would count as an attempt
		t.Errorf("got %v", err)
	}
	<-closed
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := memoryhttp.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"te`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		start := time.Now()
		_, err := responder(t, Config{URL: memoryhttp.URL, HTTPClient: client}).Respond(t.Context(), turn)
		if fault := respondertest.ErrorOf(t, err); fault.Kind != onereply.ResponderFailed || time.Since(start).Truncate(time.Second) != DefaultIdleTimeout {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestValidateReportsAllMistakes(t *testing.T) {
	err := Config{URL: "here", Secret: "hunter2!", SealBase: "there", IdleTimeout: -5, Headers: map[string]string{"a b": ""}}.Validate()
	for _, want := range []string{"URL", "Secret", "SealBase", "IdleTimeout", "a b"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is not named in %v", want, err)
		}
	}
	if err := (Config{URL: "http://x", IdleTimeout: onereply.Zero}).Validate(); err != nil {
		t.Error(err)
	}
}

// FuzzAnswer: whatever a webhook sends ends in a reply that may be sent, or in
// a fault.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"text":"Hello"}`, false)
	f.Add(`{"parts":["a",""],"text":null}`, false)
	f.Add("data: {\"delta\":\"Hel\"}\n\ndata: {\"text\":\"x\"}\n\n", true)
	f.Add("data: {\"error\":{\"code\":429}}\n\ndata: [DONE]\n\n", true)
	transport := &respondertest.Canned{}
	r, err := New(Config{URL: "http://a.test", HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string, stream bool) {
		transport.Body, transport.ContentType = body, ""
		if stream {
			transport.ContentType = eventStream
		}
		reply, err := r.Respond(t.Context(), turn)
		if err != nil {
			respondertest.ErrorOf(t, err)
			return
		}
		if strings.TrimSpace(reply.Text) == "" || len(reply.Parts) > onereply.MaxParts {
			t.Errorf("%q gives %+v", body, reply)
		}
		for _, part := range reply.Parts {
			if strings.TrimSpace(part) == "" {
				t.Errorf("%q gives a blank part: %+v", body, reply)
			}
		}
	})
}

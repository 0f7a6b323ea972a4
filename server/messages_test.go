package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onereply/onereply"
)

func TestMessageFields(t *testing.T) {
	sent := time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name, body string
		want       onereply.Message
	}{
		{"all", `{"kind":"message","id":"m1","text":"hi","sender":{"id":"u","name":"Ann"},"sent_at":"2026-01-02T03:04:05+01:00",
			"attachments":[{"kind":"image","url":"u","mime_type":"image/png","pending":true}],"metadata":{"a":[1,null]},
			"group":"g","from_me":true,"addressed":false}`,
			onereply.Message{ID: "m1", Text: "hi", Sender: onereply.Person{ID: "u", Name: "Ann"}, SentAt: sent,
				Attachments: []onereply.Attachment{{Kind: "image", URL: "u", MIMEType: "image/png", Pending: true}},
				Metadata:    json.RawMessage(`{"a":[1,null]}`), Group: "g", FromMe: true, Unaddressed: true}},
		{"no id", `{"text":"hi"}`, onereply.Message{Text: "hi"}},
		{"nulls", `{"kind":null,"id":null,"text":null,"sender":null,"sent_at":null,"attachments":null,"metadata":null,"group":null,"from_me":null,"addressed":null}`, onereply.Message{}},
		{"addressed", `{"text":"hi","addressed":true}`, onereply.Message{Text: "hi"}},
		{"unknown fields", `{"text":"hi","type":"x","raw":{"deep":[[[{}]]]},"n":1e400}`, onereply.Message{Text: "hi"}},
		{"escapes", `{"text":"\u0000\n\ud83d\ude00 \"q\""}`, onereply.Message{Text: "\x00\n😀 \"q\""}},
		{"white space around", " \r\n\t{\"text\":\"hi\"} \n", onereply.Message{Text: "hi"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := newFakeApp()
			app.receipt = onereply.Receipt{Outcome: onereply.OutcomePaused}
			got := ask(t, New(app, Options{}), "POST", here+"/messages", test.body)
			if got.status != http.StatusAccepted {
				t.Fatalf("status = %d\n%s", got.status, got.body)
			}
			message := app.lastCall().argument.(onereply.Message)
			if !message.SentAt.Equal(test.want.SentAt) {
				t.Errorf("sent at %v, want %v", message.SentAt, test.want.SentAt)
			}
			message.SentAt = test.want.SentAt
			if !reflect.DeepEqual(message, test.want) {
				t.Errorf("message = %+v\nwant      %+v", message, test.want)
			}
		})
	}
}

func TestReceiptsAreAsInTheContract(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{})
	app.receipt = onereply.Receipt{MessageID: "m1", Version: 2, Duplicate: true, Outcome: onereply.OutcomeDuplicate}
	wantJSON(t, ask(t, s, "POST", here+"/messages", `{"id":"m1","text":"x"}`).body,
		`{"message_id":"m1","version":2,"duplicate":true,"due_at":null,"outcome":"duplicate"}`)
	app.receipt = onereply.Receipt{MessageID: "m1", Version: 2, Outcome: onereply.OutcomeIgnored, Reason: "deleted"}
	wantJSON(t, ask(t, s, "DELETE", here+"/messages/m1", "").body,
		`{"message_id":"m1","version":2,"duplicate":false,"due_at":null,"outcome":"ignored","reason":"deleted"}`)
}

// TestKindsWithoutEffect: no provider may be made to send again what nobody
// will answer, whatever it looks like.
func TestKindsWithoutEffect(t *testing.T) {
	for _, body := range []string{
		`{"kind":"reaction","id":"r1","emoji":"+1"}`,
		`{"kind":"receipt","id":"r1"}`,
		`{"kind":"status","id":"r1","text":{"not":"a string"}}`,
		`{"id":"r1","text":5,"kind":"command"}`,
		`{"kind":"of next year","id":"r1","sent_at":"yesterday"}`,
	} {
		app := newFakeApp()
		app.state.Version = 3
		s := New(app, Options{})
		wantJSON(t, ask(t, s, "POST", here+"/messages", body).body,
			`{"message_id":"r1","version":3,"duplicate":false,"due_at":null,"outcome":"ignored","reason":"no_effect"}`)
		if app.lastCall().name != "state" || app.calls() != 1 {
			t.Errorf("%s: the App was asked %+v", body, app.lastCall())
		}
		if s.metrics.ignored.Load() != 1 {
			t.Errorf("%s was not counted", body)
		}
	}
}

func TestKindsWithoutEffectWhereNothingWasReceived(t *testing.T) {
	app := newFakeApp()
	app.err = &onereply.Error{Code: onereply.CodeNotFound}
	got := ask(t, New(app, Options{}), "POST", here+"/messages", `{"kind":"reaction"}`)
	wantJSON(t, got.body, `{"message_id":"","version":0,"duplicate":false,"due_at":null,"outcome":"ignored","reason":"no_effect"}`)
}

// TestBodiesThatAreRefused: each is a clear 4xx, and the App is never asked.
func TestBodiesThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, path, body string
		kind             kind
		field            string
	}{
		{"empty", "/messages", "", kindMalformedBody, ""},
		{"blank", "/messages", " \n", kindMalformedBody, ""},
		{"not JSON", "/messages", "text=hi", kindMalformedBody, ""},
		{"cut", "/messages", `{"text":"hi"`, kindMalformedBody, ""},
		{"array", "/messages", `[{"text":"hi"}]`, kindMalformedBody, ""},
		{"null", "/messages", `null`, kindMalformedBody, ""},
		{"string", "/messages", `"hi"`, kindMalformedBody, ""},
		{"two values", "/messages", `{"text":"hi"}{"text":"ho"}`, kindMalformedBody, ""},
		{"trailing data", "/messages", `{"text":"hi"} x`, kindMalformedBody, ""},
		{"too deep", "/messages", `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, kindMalformedBody, ""},
		{"invalid UTF-8", "/messages", "{\"text\":\"\xff\"}", kindMalformedBody, ""},
		{"invalid UTF-8 in an unknown field", "/messages", "{\"text\":\"hi\",\"x\":\"\xc0\xaf\"}", kindMalformedBody, ""},
		{"byte order mark", "/messages", "\ufeff{}", kindMalformedBody, ""},
		{"text is a number", "/messages", `{"text":5}`, kindWrongType, "text"},
		{"id is a number", "/messages", `{"id":5,"text":"hi"}`, kindWrongType, "id"},
		{"kind is a number", "/messages", `{"kind":5,"text":"hi"}`, kindWrongType, "kind"},
		{"sender is a string", "/messages", `{"text":"hi","sender":"ann"}`, kindWrongType, "sender"},
		{"name is a list", "/messages", `{"text":"hi","sender":{"name":[]}}`, kindWrongType, "sender.name"},
		{"attachments is an object", "/messages", `{"text":"hi","attachments":{}}`, kindWrongType, "attachments"},
		{"pending is a string", "/messages", `{"text":"hi","attachments":[{"pending":"yes"}]}`, kindWrongType, "attachments.pending"},
		{"from_me is a string", "/messages", `{"text":"hi","from_me":"no"}`, kindWrongType, "from_me"},
		{"sent_at is a number", "/messages", `{"text":"hi","sent_at":1700000000}`, kindWrongType, "sent_at"},
		{"sent_at is no time", "/messages", `{"text":"hi","sent_at":"now"}`, kindInvalid, "sent_at"},
		{"sent_at has no zone", "/messages", `{"text":"hi","sent_at":"2026-01-02T03:04:05"}`, kindInvalid, "sent_at"},
		{"sent_at is beyond time", "/messages", `{"text":"hi","sent_at":"9999-12-31T23:59:59-01:00"}`, kindInvalid, "sent_at"},
		{"empty id", "/messages", `{"id":"","text":"hi"}`, kindInvalid, "id"},
		{"long id", "/messages", `{"id":"` + strings.Repeat("x", 513) + `","text":"hi"}`, kindInvalid, "id"},
		{"too large", "/messages", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, kindBodyTooLarge, ""},
		{"too large and not JSON", "/messages", strings.Repeat("x", 6_000_000), kindBodyTooLarge, ""},
		{"too large for a call without fields", "/flush", strings.Repeat(" ", 1<<20+1), kindBodyTooLarge, ""},
		{"typing for nothing", "/typing", `{"for":"0s"}`, kindInvalid, "for"},
		{"typing for less", "/typing", `{"for":"-1s"}`, kindInvalid, "for"},
		{"typing without a unit", "/typing", `{"for":"5"}`, kindInvalid, "for"},
		{"typing as a number", "/typing", `{"for":5}`, kindWrongType, "for"},
		{"flush with a list", "/flush", `[]`, kindMalformedBody, ""},
		{"reason is a number", "/pause", `{"reason":1}`, kindWrongType, "reason"},
		{"answer_pending is a string", "/resume", `{"answer_pending":"no"}`, kindWrongType, "answer_pending"},
		{"reply without a body", "/replies", "", kindMalformedBody, ""},
		{"reply is a list", "/replies", `{"text":[]}`, kindWrongType, "text"},
		{"reply that closes perhaps", "/replies", `{"text":"x","closes":"no"}`, kindWrongType, "closes"},
		{"reply with a pause of nothing", "/replies", `{"text":"x","pause_for":"0s"}`, kindInvalid, "pause_for"},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := newFakeApp()
			ask(t, New(app, Options{}), "POST", here+test.path, test.body).wantProblem(t, test.kind, test.field)
			if app.calls() != 0 {
				t.Errorf("the App was asked: %+v", app.lastCall())
			}
		})
	}
}

// TestWrongTypeSaysWhatIsNeeded: the detail names the type that the field must have.
func TestWrongTypeSaysWhatIsNeeded(t *testing.T) {
	for _, test := range []struct{ path, body, want string }{
		{"/messages", `{"id":5,"text":"hi"}`, "id must be a string; it is a JSON number."},
		{"/messages", `{"text":"hi","sent_at":1700000000}`, "sent_at must be a string; it is a JSON number."},
		{"/messages", `{"text":"hi","from_me":"no"}`, "from_me must be true or false; it is a JSON string."},
		{"/messages", `{"text":"hi","attachments":{}}`, "attachments must be an array; it is a JSON object."},
		{"/messages", `{"text":"hi","sender":"ann"}`, "sender must be an object; it is a JSON string."},
		{"/replies/1/status", `{"status":"read","part":1.5}`, "part must be a whole number; it is a JSON number 1.5."},
	} {
		if got := ask(t, New(newFakeApp(), Options{}), "POST", here+test.path, test.body); !strings.Contains(string(got.body), test.want) {
			t.Errorf("%s is answered %s, want %s", test.body, got.body, test.want)
		}
	}
}

func TestEditNeedsAChange(t *testing.T) {
	app := newFakeApp()
	s := New(app, Options{})
	ask(t, s, "PATCH", here+"/messages/m1", `{"text":null}`).wantProblem(t, kindInvalid, "text")
	ask(t, s, "PATCH", here+"/messages/m1", ``).wantProblem(t, kindMalformedBody, "")
	if app.calls() != 0 {
		t.Errorf("the App was asked: %+v", app.lastCall())
	}
}

// TestBodyLimit: the largest body passes, with and without a declared length,
// and one byte more does not.
func TestBodyLimit(t *testing.T) {
	body := func(size int) string {
		const frame = `{"text":""}`
		return `{"text":"` + strings.Repeat("x", size-len(frame)) + `"}`
	}
	for _, test := range []struct {
		size, status int
	}{{maxBodyBytes, http.StatusAccepted}, {maxBodyBytes + 1, http.StatusRequestEntityTooLarge}} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprint(test.size, chunked), func(t *testing.T) {
				r := httptest.NewRequest("POST", here+"/messages", strings.NewReader(body(test.size)))
				if chunked {
					r.ContentLength, r.Body = -1, io.NopCloser(r.Body)
				}
				w := httptest.NewRecorder()
				New(newFakeApp(), Options{}).ServeHTTP(w, r)
				if w.Code != test.status {
					t.Errorf("status = %d, want %d", w.Code, test.status)
				}
			})
		}
	}
}

// TestBodyOfAnotherLength: who calls the handler in its own program, or unpacks bodies
// on their way to it, need not say the right length.
func TestBodyOfAnotherLength(t *testing.T) {
	const body = `{"text":"hello"}`
	for length, status := range map[int64]int{
		-1: http.StatusAccepted, 0: http.StatusAccepted, 5: http.StatusAccepted, int64(len(body)): http.StatusAccepted,
		int64(len(body)) + 1: http.StatusBadRequest,
	} {
		r := httptest.NewRequest("POST", here+"/messages", strings.NewReader(body))
		r.ContentLength = length
		app, w := newFakeApp(), httptest.NewRecorder()
		New(app, Options{}).ServeHTTP(w, r)
		got, _ := app.lastCall().argument.(onereply.Message)
		if w.Code != status || status == http.StatusAccepted && got.Text != "hello" {
			t.Errorf("length %d: status = %d, want %d; the App was asked %+v", length, w.Code, status, app.lastCall())
		}
	}
	r := httptest.NewRequest("POST", here+"/messages", strings.NewReader(strings.Repeat(" ", maxBodyBytes+1)))
	r.ContentLength = 5
	w := httptest.NewRecorder()
	if New(newFakeApp(), Options{}).ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: status = %d", w.Code)
	}
	r.Body, r.ContentLength, w = nil, 0, httptest.NewRecorder()
	if New(newFakeApp(), Options{}).ServeHTTP(w, r); w.Code != http.StatusBadRequest {
		t.Errorf("no body: status = %d", w.Code)
	}
}

func TestContentTypes(t *testing.T) {
	for contentType, ok := range map[string]bool{
		"":                                  true,
		"application/json":                  true,
		"Application/JSON; charset=utf-8":   true,
		"application/cloudevents+json":      true,
		"text/plain":                        false,
		"application/x-www-form-urlencoded": true, // curl -d
		"multipart/form-data; boundary=x":   false,
		"application/json; charset":         false,
		"json":                              false,
	} {
		t.Run(contentType, func(t *testing.T) {
			got := ask(t, New(newFakeApp(), Options{}), "POST", here+"/messages", `{"text":"hi"}`, "Content-Type", contentType)
			if ok != (got.status == http.StatusAccepted) || !ok && got.status != http.StatusUnsupportedMediaType {
				t.Errorf("status = %d", got.status)
			}
		})
	}
	// curl -X POST -d '' names a type for nothing.
	if got := ask(t, New(newFakeApp(), Options{}), "POST", here+"/flush", "", "Content-Type", "text/plain"); got.status != http.StatusAccepted {
		t.Errorf("without a body: status = %d", got.status)
	}
}

func FuzzMessage(f *testing.F) {
	for _, body := range []string{
		`{"id":"m1","text":"hi","sender":{"id":"a"},"sent_at":"2026-01-02T03:04:05Z","attachments":[{"pending":true}],"metadata":1}`,
		`{"kind":"reaction","text":[]}`, `{"text":"\ud800"}`, `{}`, `null`, `{"id":""}`, "{\"text\":\"\xff\"}", `{"a":[[[`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in messageBody
		if err := parse(body, &in); err != nil {
			if status := problemOf(err).kind.status; status != http.StatusBadRequest {
				t.Errorf("%q: status %d", body, status)
			}
			return
		}
		if !json.Valid(body) || !utf8.Valid(body) {
			t.Errorf("%q was accepted", body)
		}
		message, err := in.message()
		if err == nil && (!utf8.ValidString(message.Text) || message.Metadata != nil && !json.Valid(message.Metadata)) {
			t.Errorf("%q became %+v", body, message)
		}
	})
}

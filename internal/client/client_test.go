package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// request is what a node saw.
type request struct{ method, uri, authorization, contentType, body string }

// node answers every request alike, and remembers the last one.
type node struct {
	status      int
	contentType string
	answer      string
	got         request
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n.got = request{r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)}
	w.Header().Set("Content-Type", n.contentType)
	w.WriteHeader(n.status)
	_, _ = io.WriteString(w, n.answer)
}

func start(t *testing.T, handler http.Handler, key string) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(server.URL+"/", key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCalls(t *testing.T) {
	ctx := t.Context()
	one := func(below string) string { return "/v1/bots/b%2F1/conversations/-" + below + "?conversation=.." }
	state := func(d Document[onereply.State], err error) (string, error) { return string(d.Raw), err }
	receipt := func(d Document[onereply.Receipt], err error) (string, error) { return string(d.Raw), err }
	tests := []struct {
		name string
		call func(c *Client) (string, error)
		want request
	}{
		{"send", func(c *Client) (string, error) {
			return receipt(c.Send(ctx, "b/1", "..", Message{ID: "m", Text: "hi", Sender: &onereply.Person{Name: "Ann"}}))
		}, request{"POST", one("/messages"), "", "application/json", `{"id":"m","text":"hi","sender":{"name":"Ann"}}`}},
		{"reply", func(c *Client) (string, error) {
			return receipt(c.Reply(ctx, "b/1", "..", onereply.HumanReply{Text: "hi"}))
		},
			request{"POST", one("/replies"), "", "application/json", `{"text":"hi","closes":true}`}},
		{"reply beside", func(c *Client) (string, error) {
			return receipt(c.Reply(ctx, "b/1", "..", onereply.HumanReply{ID: "r", Text: "hi", Beside: true, Sent: true, PauseFor: time.Minute}))
		}, request{"POST", one("/replies"), "", "application/json", `{"id":"r","text":"hi","closes":false,"sent":true,"pause_for":"1m0s"}`}},
		{"flush", func(c *Client) (string, error) { return state(c.Flush(ctx, "b/1", "..")) },
			request{"POST", one("/flush"), "", "", ""}},
		{"requeue", func(c *Client) (string, error) { return state(c.Requeue(ctx, "b/1", "..")) },
			request{"POST", one("/requeue"), "", "", ""}},
		{"reset", func(c *Client) (string, error) { return state(c.Reset(ctx, "b/1", "..", "why")) },
			request{"POST", one("/reset"), "", "application/json", `{"reason":"why"}`}},
		{"pause", func(c *Client) (string, error) {
			return state(c.Pause(ctx, "b/1", "..", onereply.Pause{Reason: "why", For: 90 * time.Second}))
		},
			request{"POST", one("/pause"), "", "application/json", `{"reason":"why","for":"1m30s"}`}},
		{"resume", func(c *Client) (string, error) { return state(c.Resume(ctx, "b/1", "..", false)) },
			request{"POST", one("/resume"), "", "application/json", `{"answer_pending":false}`}},
		{"state", func(c *Client) (string, error) { return state(c.State(ctx, "b/1", "..")) },
			request{"GET", one(""), "", "", ""}},
		{"resend", func(c *Client) (string, error) { return state(c.Resend(ctx, "b/1", "..", 7)) },
			request{"POST", one("/turns/7/resend"), "", "", ""}},
		{"timeline", func(c *Client) (string, error) {
			d, err := c.Timeline(ctx, "b/1", "..", 3)
			return string(d.Raw), err
		}, request{"GET", one("/timeline") + "&turns=3", "", "", ""}},
		{"forget", func(c *Client) (string, error) { return "", c.Forget(ctx, "b/1", "..") },
			request{"DELETE", one(""), "", "", ""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const answer = `{"version":7,"newer_field":true}`
			n := &node{status: 202, contentType: "application/json", answer: answer}
			raw, err := test.call(start(t, n, ""))
			if err != nil {
				t.Fatal(err)
			}
			if n.got != test.want {
				t.Errorf("sent %+v\nwant %+v", n.got, test.want)
			}
			if raw != "" && raw != answer {
				t.Errorf("kept %s, want %s", raw, answer)
			}
		})
	}
}

func TestTranscript(t *testing.T) {
	n := &node{status: 200, contentType: "application/json", answer: `{"entries":[{"seq":3,"text":"hi"}],"next":3}`}
	entries, next, err := start(t, n, "secret").Transcript(t.Context(), "b", "c d", 2, 1)
	if err != nil || next != 3 || len(entries) != 1 || entries[0].Value.Seq != 3 || entries[0].Value.Text != "hi" {
		t.Errorf("got %+v, %v", entries, err)
	}
	want := request{"GET", "/v1/bots/b/conversations/c%20d/transcript?after=2&limit=1", "Bearer secret", "", ""}
	if n.got != want {
		t.Errorf("sent %+v, want %+v", n.got, want)
	}
}

func TestList(t *testing.T) {
	tests := []struct {
		query onereply.ConversationQuery
		uri   string
	}{
		{onereply.ConversationQuery{}, "/v1/conversations?"},
		{onereply.ConversationQuery{Bot: "b", Phase: "failed", Cursor: "x&y", Limit: 5}, "/v1/bots/b/conversations?cursor=x%26y&limit=5&phase=failed"},
	}
	for _, test := range tests {
		n := &node{status: 200, contentType: "application/json", answer: `{"conversations":[{"bot":"b"}],"next_cursor":null}`}
		page, err := start(t, n, "").List(t.Context(), test.query)
		if err != nil || len(page.Conversations) != 1 || page.Conversations[0].Value.Bot != "b" || page.Next != "" {
			t.Errorf("got %+v, %v", page, err)
		}
		if n.got.uri != test.uri {
			t.Errorf("asked for %s, want %s", n.got.uri, test.uri)
		}
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name string
		node node
		want Error
		text string
	}{
		{"a problem document",
			node{422, "application/problem+json", `{"type":"urn:x","title":"The input is not valid","status":422,"detail":"text is blank"}`, request{}},
			Error{422, "urn:x", "The input is not valid", "text is blank", ""}, "The input is not valid: text is blank"},
		{"a field at fault",
			node{422, "application/problem+json", `{"title":"The input is not valid","detail":"it must not be blank","field":"text"}`, request{}},
			Error{422, "", "The input is not valid", "it must not be blank", "text"}, "The input is not valid: text: it must not be blank"},
		{"a field that the detail names",
			node{404, "application/problem+json", `{"title":"No such bot","detail":"There is no bot \"b\".","field":"bot"}`, request{}},
			Error{404, "", "No such bot", "There is no bot \"b\".", "bot"}, "No such bot: There is no bot \"b\"."},
		{"a missing key",
			node{401, "application/problem+json; charset=utf-8", `{"title":"An API key is needed"}`, request{}},
			Error{401, "", "An API key is needed", "", ""}, "An API key is needed (give a key with --api-key or ONEREPLY_API_KEY)"},
		{"a proxy's page", node{502, "text/html", "<html>", request{}},
			Error{502, "", "the server answered 502 Bad Gateway", "", ""}, "the server answered 502 Bad Gateway"},
		{"a broken document", node{500, "application/problem+json", "{", request{}},
			Error{500, "", "the server answered 500 Internal Server Error", "", ""}, "the server answered 500 Internal Server Error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := start(t, &test.node, "").State(t.Context(), "b", "c")
			var got *Error
			if !errors.As(err, &got) || *got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if err.Error() != test.text {
				t.Errorf("reads %q, want %q", err, test.text)
			}
		})
	}
}

func TestNotANode(t *testing.T) {
	_, err := start(t, &node{status: 200, answer: "<html>"}, "").State(t.Context(), "b", "c")
	if err == nil || !strings.Contains(err.Error(), "is it a onereply node?") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.State(t.Context(), "b", "c")
	if err == nil || !strings.HasPrefix(err.Error(), "can't reach "+server.URL+": ") {
		t.Errorf("got %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, server := range []string{"", "localhost:8080", "ftp://x", "http://", "http://x?y", "http://x#y", "http://[::1"} {
		if _, err := New(server, ""); err == nil {
			t.Errorf("%q: no error", server)
		}
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	c := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel(); <-release }), "")
	if _, err := c.State(ctx, "b", "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestDocumentIsPrintedAsItCame(t *testing.T) {
	const in = `{"at":"2026-01-02T03:04:05.600Z","more":[1,2]}`
	var d Document[onereply.Event]
	if err := json.Unmarshal([]byte(in), &d); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(d)
	if err != nil || string(out) != in {
		t.Errorf("got %s, %v; want %s", out, err, in)
	}
}

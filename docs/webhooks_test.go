package docs_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/onereply/onereply"
	delivery "github.com/onereply/onereply/channel/webhook"
	responder "github.com/onereply/onereply/responder/webhook"
)

// webhooks are the bodies that are really sent, by the name of the webhook: all of one have
// between them every field that there is.
func webhooks(t *testing.T) map[string][]string {
	t.Helper()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, string(body))
		_, _ = io.WriteString(w, `{"text": "Hello."}`)
	}))
	defer server.Close()
	bodies := map[string][]string{}
	take := func(name string) { bodies[name], got = got, nil }
	askedForTurns(t, server.URL)
	take("turn")
	delivered(t, server.URL)
	take("reply")
	signalled(t, server.URL, onereply.Signal{Kind: onereply.SignalTyping, Bot: "b", Conversation: "c", Turn: 1})
	take("typing")
	signalled(t, server.URL, onereply.Signal{Kind: onereply.SignalNotice, Bot: "b", Conversation: "c", Turn: 1, Notice: onereply.NoticeDelay, Text: "Soon."})
	take("notice")
	return bodies
}

// signalled gives a signal.
func signalled(t *testing.T, url string, signal onereply.Signal) {
	t.Helper()
	s, err := delivery.New(delivery.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Signal(t.Context(), signal); err != nil {
		t.Error(err)
	}
}

// askedForTurns asks a responder with as much as a turn can have, and with as little.
func askedForTurns(t *testing.T, url string) {
	t.Helper()
	when := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	someone := onereply.Person{ID: "1", Name: "Ann", Bot: true}
	full := []onereply.PromptEntry{{
		ID: "m1", Role: onereply.RoleUser, Author: onereply.AuthorPerson, Text: "hi", Sender: someone, At: when, Edited: true,
		Attachments: []onereply.Attachment{{Kind: "image", URL: "https://x/y.png", MIMEType: "image/png", Pending: true}},
		Metadata:    json.RawMessage(`{"a": 1}`), Context: true,
		ReplyTo: &onereply.Quote{ID: "m0", Text: "ho", Sender: someone}, ForwardedFrom: someone,
	}}
	for _, turn := range []onereply.Turn{
		{Bot: "b", Conversation: "c", Number: 1, Attempt: 1, Early: true, Token: 1, Messages: full, History: full},
		{Bot: "b", Conversation: "c", Number: 1, Attempt: 1, Token: 1, Messages: []onereply.PromptEntry{{ID: "m", Role: onereply.RoleUser, Author: onereply.AuthorPerson}}},
	} {
		r, err := responder.New(responder.Config{URL: url, SealBase: "http://node:8080"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Respond(context.Background(), &turn); err != nil {
			t.Error(err)
		}
	}
}

// delivered delivers a person's part, and a whole reply.
func delivered(t *testing.T, url string) {
	t.Helper()
	s, err := delivery.New(delivery.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []onereply.Delivery{
		{ID: "c/1", Bot: "b", Conversation: "c", Turn: 1, Parts: []string{"a", "b"}, Text: "a", Covers: []string{"m1"}, Version: 1, LateInput: true, Human: true},
		{ID: "c/2", Bot: "b", Conversation: "c", Turn: 2, Part: -1, Text: "a"},
	} {
		if err := s.Send(t.Context(), &d); err != nil {
			t.Error(err)
		}
	}
}

// TestWebhooksAreAsDescribed compares the bodies with the description: each conforms to its
// schema, none has a field that is not described, and none lacks one for good.
func TestWebhooksAreAsDescribed(t *testing.T) {
	document := description(t)
	bodies := webhooks(t)
	wantSame(t, "webhooks", slices.Collect(maps.Keys(document.Webhooks)), slices.Collect(maps.Keys(bodies)))
	for name, item := range document.Webhooks {
		schema := item.Post.RequestBody.Value.Content["application/json"].Schema.Value
		seen := map[string]bool{}
		for _, body := range bodies[name] {
			var value any
			if err := json.Unmarshal([]byte(body), &value); err != nil {
				t.Fatal(err)
			}
			if err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()); err != nil {
				t.Errorf("%s: %v\n%s", name, err, body)
			}
			for _, path := range fieldsOf(value, "") {
				seen[path] = true
			}
		}
		sent := slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(path string) bool { return strings.Contains(path, "metadata.") })
		wantSame(t, name, slices.Sorted(maps.Keys(described(schema, ""))), sent)
	}
}

// fieldsOf are the paths of all fields of a document.
func fieldsOf(value any, path string) (all []string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			all = append(all, fieldsOf(item, path+"[]")...)
		}
	case map[string]any:
		for name, inner := range value {
			below := strings.TrimPrefix(path+"."+name, ".")
			all = append(append(all, below), fieldsOf(inner, below)...)
		}
	}
	return all
}

// described are the paths of all fields of a schema.
func described(schema *openapi3.Schema, path string) map[string]*openapi3.Schema {
	all := map[string]*openapi3.Schema{}
	for name, property := range schema.Properties {
		below := strings.TrimPrefix(path+"."+name, ".")
		all[below] = property.Value
		maps.Copy(all, described(property.Value, below))
		if property.Value.Items != nil {
			maps.Copy(all, described(property.Value.Items.Value, below+"[]"))
		}
	}
	return all
}

// TestThePageHasEveryFieldOfAWebhook: the fields of the page are those of the description.
func TestThePageHasEveryFieldOfAWebhook(t *testing.T) {
	page := read(t, "webhooks.md")
	for name, item := range description(t).Webhooks {
		schema := item.Post.RequestBody.Value.Content["application/json"].Schema.Value
		fields := described(schema, "")
		maps.DeleteFunc(fields, func(path string, _ *openapi3.Schema) bool { return strings.HasPrefix(path, "history[]") })
		text, _, _ := strings.Cut(section(t, page, name), "\nThe answer is ")
		text, _, _ = strings.Cut(text, "\nWhat the answer means")
		wantSame(t, name, slices.Collect(maps.Keys(rows(text))), slices.Collect(maps.Keys(fields)))
	}
}

// typeOfWebhook is where the source gives a kind: as the type of a body, or of a signal.
var typeOfWebhook = regexp.MustCompile(`(?:Type: +|SignalKind += )"(\w+)"`)

// TestEveryKindOfWebhookIsDescribed finds the kinds in the source.
func TestEveryKindOfWebhookIsDescribed(t *testing.T) {
	files, err := filepath.Glob("../channel/webhook/*.go")
	files = append(files, "../signal.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	known := description(t).Webhooks
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range typeOfWebhook.FindAllStringSubmatch(string(source), -1) {
			if known[match[1]] == nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s sends %q, which no page describes", file, match[1])
			}
		}
	}
}

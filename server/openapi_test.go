package server

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// described is openapi.json, read once for all tests.
var described = sync.OnceValues(func() (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromData(description)
})

func describedAPI(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := described()
	if err != nil {
		t.Fatalf("openapi.json: %v", err)
	}
	return document
}

func TestDescriptionIsValid(t *testing.T) {
	document := describedAPI(t)
	if document.OpenAPI != "3.1.0" {
		t.Errorf("openapi = %q", document.OpenAPI)
	}
	if err := document.Validate(context.Background(), openapi3.IsOpenAPI31OrLater()); err != nil {
		t.Error(err)
	}
}

func TestDescriptionHasTheRoutes(t *testing.T) {
	want := map[string]bool{}
	for _, r := range New(newFakeApp(), Options{}).router.routes {
		want[r.method+" "+r.pattern] = true
	}
	for path, item := range describedAPI(t).Paths.Map() {
		for method := range item.Operations() {
			name := method + " " + path
			if !want[name] {
				t.Errorf("%s is described and not served", name)
			}
			delete(want, name)
		}
	}
	for name := range want {
		t.Errorf("%s is served and not described", name)
	}
}

func TestDescriptionIsServed(t *testing.T) {
	got := ask(t, New(newFakeApp(), Options{}), "GET", "/openapi.json", "")
	if got.status != http.StatusOK || got.json(t)["openapi"] != "3.1.0" {
		t.Errorf("status %d, %.100s", got.status, got.body)
	}
}

// conform checks an answer against the description: its status, type and
// schema are there, and it has no field that is not.
func conform(t *testing.T, method, pattern string, got answer) {
	t.Helper()
	item := describedAPI(t).Paths.Value(pattern)
	if item == nil || method == http.MethodHead {
		return // the page, or an answer without a body
	}
	operation := item.GetOperation(method)
	response := operation.Responses.Status(got.status)
	if response == nil {
		t.Errorf("%s %s: status %d is not described", method, pattern, got.status)
		return
	}
	mediaType, _, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
	content := response.Value.Content[mediaType]
	switch {
	case content == nil && (mediaType != "" || len(response.Value.Content) > 0):
		t.Errorf("%s %s: status %d with type %q is not described", method, pattern, got.status, mediaType)
	case content != nil && strings.HasSuffix(mediaType, "json"):
		conformJSON(t, content.Schema.Value, got)
	}
}

func conformJSON(t *testing.T, schema *openapi3.Schema, got answer) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(got.body), &value); err != nil {
		t.Errorf("the answer is not JSON: %v\n%s", err, got.body)
		return
	}
	if err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()); err != nil {
		t.Errorf("the answer is not as described: %v\n%s", err, got.body)
	}
	if schema.Properties["openapi"] == nil {
		wantDescribedFields(t, schema, value, "answer")
	}
}

// wantDescribedFields finds fields that the description does not know.
func wantDescribedFields(t *testing.T, schema *openapi3.Schema, value any, where string) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			wantDescribedFields(t, schema.Items.Value, item, where+"[]")
		}
	case map[string]any:
		if len(schema.AnyOf) > 0 {
			schema = schema.AnyOf[0].Value
		}
		for name, inner := range value {
			property := schema.Properties[name]
			if property == nil {
				t.Errorf("%s.%s is not described", where, name)
			} else if property.Value.Type != nil || property.Value.AnyOf != nil {
				wantDescribedFields(t, property.Value, inner, where+"."+name)
			}
		}
	}
}

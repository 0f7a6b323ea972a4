package docs_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// short stands for the path of a conversation.
const short, long = "…", "/v1/bots/{bot}/conversations/{conversation}"

func description(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile("../server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return document
}

var call = regexp.MustCompile("^`([A-Z]+) (\\S+)`$")

// called is the method and the path that a heading names.
func called(heading string) (method, path string, ok bool) {
	match := call.FindStringSubmatch(heading)
	if match == nil {
		return "", "", false
	}
	return match[1], strings.Replace(match[2], short, long, 1), true
}

func TestEveryCallIsDescribed(t *testing.T) {
	var program, page []string
	for path, item := range description(t).Paths.Map() {
		for method := range item.Operations() {
			program = append(program, method+" "+path)
		}
	}
	for _, line := range strings.Split(read(t, "api.md"), "\n") {
		if method, path, ok := called(strings.TrimPrefix(line, "### ")); ok {
			page = append(page, method+" "+path)
		}
	}
	wantSame(t, "calls", page, program)
}

// TestShownDocumentsConform checks each request, answer and event of the page
// against the schema of what it stands for.
func TestShownDocumentsConform(t *testing.T) {
	document := description(t)
	for _, b := range blocks(read(t, "api.md")) {
		if !b.is("json") || len(b.info) < 2 {
			continue
		}
		schema := schemaOf(t, document, b)
		var value any
		if err := json.Unmarshal([]byte(b.text), &value); err != nil || schema == nil {
			t.Errorf("%s, %s: no schema, or no JSON: %v", b.heading, b.info[1], err)
			continue
		}
		if err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()); err != nil {
			t.Errorf("%s, %s: %v", b.heading, b.info[1], err)
		}
		for name := range value.(map[string]any) {
			if schema.Properties[name] == nil {
				t.Errorf("%s, %s: there is no field %s", b.heading, b.info[1], name)
			}
		}
	}
}

// schemaOf is the schema of an event, a request, or the answer of a status.
func schemaOf(t *testing.T, document *openapi3.T, b block) *openapi3.Schema {
	t.Helper()
	status, err := strconv.Atoi(b.info[1])
	if b.info[1] == "event" {
		return document.Components.Schemas["Event"].Value
	}
	method, path, ok := called(b.heading)
	if !ok && status >= http.StatusBadRequest {
		return document.Components.Schemas["Problem"].Value
	}
	item := document.Paths.Value(path)
	if item == nil {
		return nil
	}
	operation := item.GetOperation(method)
	if err != nil {
		return operation.RequestBody.Value.Content["application/json"].Schema.Value
	}
	for _, content := range operation.Responses.Status(status).Value.Content {
		return content.Schema.Value
	}
	return nil
}

var kind = regexp.MustCompile(`(?m)^\tkind\w+ += kind\{"([a-z-]+)"`)

func TestEveryErrorIsDescribed(t *testing.T) {
	documented := rows(section(t, read(t, "api.md"), "Errors"))
	var page, program []string
	for name := range documented {
		page = append(page, name)
	}
	for _, match := range kind.FindAllStringSubmatch(read(t, "../server/problem.go"), -1) {
		if match[1] != "client-gone" { // never seen by a client
			program = append(program, match[1])
		}
	}
	wantSame(t, "errors", page, program)
}

func TestEveryEventIsDescribed(t *testing.T) {
	table := section(t, read(t, "api.md"), "Events")
	for _, name := range description(t).Components.Schemas["Event"].Value.Properties["type"].Value.Enum {
		if !strings.Contains(table, "`"+name.(string)+"`") {
			t.Errorf("the page lacks the event %s", name)
		}
	}
}

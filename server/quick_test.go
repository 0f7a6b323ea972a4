package server

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// simple are messages of the kind that nearly all are.
var simple = []string{
	`{}`,
	`{"id":"m1","text":"hello","sender":{"id":"u1","name":"Ann"},"sent_at":"2026-01-31T12:00:00Z"}`,
	" {\n\t\"text\" : \"grüße 👋\" , \"sender\" : { } , \"id\" : \"\" }\r\n",
}

// others are left to encoding/json, right or wrong.
var others = []string{
	``, `null`, `[]`, `{`, `{"id"`, `{"id":`, `{"id":"m1"`, `{"id":"m1",}`, `{"id":"m1"}x`, `{"id":"m1"}{}`, `{,}`, `{"text":"a" "id":"b"}`,
	`{"id":null}`, `{"id":1}`, `{"id":"a","id":"b"}`, `{"text":"a","text":"b"}`, `{"text":"","text":"b"}`, `{"ID":"m1"}`,
	`{"text":"a\nb"}`, `{"text":"\u0041"}`, "{\"text\":\"a\nb\"}", `{"sender":null}`, `{"sender":"u"}`, `{"sender":{"id":"u","age":3}}`,
	`{"sender":{"id":"u"},"sender":{"name":"n"}}`, `{"sender":{"id":"u"},"sender":{"id":"v"}}`, `{"metadata":{}}`, `{"kind":"reaction"}`,
}

func TestQuickMessageTakesTheSimpleOnes(t *testing.T) {
	for _, body := range simple {
		if !quickMessage([]byte(body), new(messageBody)) {
			t.Errorf("%q was left to encoding/json", body)
		}
		checkQuick(t, []byte(body))
	}
	for _, body := range others {
		checkQuick(t, []byte(body))
	}
}

// checkQuick compares what it reads with what encoding/json makes of it.
func checkQuick(t *testing.T, body []byte) {
	t.Helper()
	var got, want messageBody
	if !quickMessage(body, &got) {
		if !reflect.DeepEqual(got, messageBody{}) {
			t.Errorf("%q was left to encoding/json, but gave %+v", body, got)
		}
		return
	}
	if err := json.Unmarshal(body, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %+v, encoding/json %+v, %v", body, got, want, err)
	}
}

func FuzzQuickMessage(f *testing.F) {
	for _, body := range append(simple, others...) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if utf8.Valid(body) {
			checkQuick(t, body)
		}
	})
}

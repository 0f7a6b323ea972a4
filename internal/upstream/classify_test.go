package upstream_test

import (
	"fmt"
	"testing"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

func TestClassifyByStatus(t *testing.T) {
	want := map[onereply.ResponderErrorKind][]int{
		onereply.ResponderUnavailable: {408, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530},
		onereply.ResponderRateLimited: {429},
		onereply.ResponderOverloaded:  {529},
		onereply.ResponderQuotaSpent:  {402},
		onereply.ResponderFailed:      {500, 501, 505, 507, 599, 409, 425},
		onereply.ResponderBadRequest:  {400, 401, 403, 404, 405, 413, 415, 422, 451, 301, 302, 307},
	}
	for kind, statuses := range want {
		for _, status := range statuses {
			if got := upstream.Classify(status, upstream.Detail{}); got != kind {
				t.Errorf("%d is %s, want %s", status, got, kind)
			}
		}
	}
}

func TestClassifyByWords(t *testing.T) {
	type detail = upstream.Detail
	tests := []struct {
		status int
		detail detail
		want   onereply.ResponderErrorKind
	}{
		{429, detail{Code: "insufficient_quota"}, onereply.ResponderQuotaSpent},
		{429, detail{Type: "insufficient_quota"}, onereply.ResponderQuotaSpent},
		{400, detail{Message: "Your credit balance is too low to access the API"}, onereply.ResponderQuotaSpent},
		{400, detail{Code: "billing_hard_limit_reached"}, onereply.ResponderQuotaSpent},
		{500, detail{Message: "the words insufficient balance were in the prompt"}, onereply.ResponderFailed},
		{429, detail{Code: "rate_limit_exceeded"}, onereply.ResponderRateLimited},
		{503, detail{Message: "The engine is currently overloaded"}, onereply.ResponderOverloaded},
		{500, detail{Type: "overloaded_error"}, onereply.ResponderOverloaded},
		{400, detail{Message: "overloaded methods are not supported"}, onereply.ResponderBadRequest},
		{500, detail{Type: "invalid_request_error"}, onereply.ResponderFailed},
		{0, detail{Type: "overloaded_error"}, onereply.ResponderOverloaded},
		{0, detail{Type: "rate_limit_error"}, onereply.ResponderRateLimited},
		{0, detail{Type: "api_error"}, onereply.ResponderFailed},
		{0, detail{Type: "invalid_request_error"}, onereply.ResponderBadRequest},
		{0, detail{Code: "context_length_exceeded"}, onereply.ResponderBadRequest},
		{0, detail{Message: "something went wrong"}, onereply.ResponderFailed},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, test.detail), func(t *testing.T) {
			if got := upstream.Classify(test.status, test.detail); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestParseError(t *testing.T) {
	tests := map[string]struct {
		want upstream.Detail
		ok   bool
	}{
		`{"error":{"message":"m","type":"t","code":"c","param":"p"}}`: {upstream.Detail{Message: "m", Type: "t", Code: "c", Param: "p"}, true},
		`{"error":{"message":"m","code":429}}`:                        {upstream.Detail{Message: "m", Code: "429", Status: 429}, true},
		`{"error":{"message":"m","code":7}}`:                          {upstream.Detail{Message: "m", Code: "7"}, true},
		`[{"error":{"message":"m","code":503}}]`:                      {upstream.Detail{Message: "m", Code: "503", Status: 503}, true},
		`{"error":"m"}`:                                               {upstream.Detail{Message: "m"}, true},
		`{"error":["m"]}`:                                             {upstream.Detail{Message: `["m"]`}, true},
		`{"object":"error","message":"m","code":400}`:                 {upstream.Detail{Message: "m", Code: "400", Status: 400}, true},
		`{"type":"error","error":{"type":"t","message":"m"}}`:         {upstream.Detail{Message: "m", Type: "t"}, true},
		`{"error":null,"text":"hi"}`:                                  {upstream.Detail{}, false},
		`{"text":"hi","detail":"more"}`:                               {upstream.Detail{}, false},
		`{}`:                                                          {upstream.Detail{}, false},
		`[]`:                                                          {upstream.Detail{}, false},
		`Bad gateway`:                                                 {upstream.Detail{}, false},
		``:                                                            {upstream.Detail{}, false},
	}
	for data, test := range tests {
		if got, ok := upstream.ParseError([]byte(data)); got != test.want || ok != test.ok {
			t.Errorf("%s: got %+v, %v", data, got, ok)
		}
	}
}

func FuzzParseError(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"m","type":"t","code":429}}`))
	f.Add([]byte(`[{"error":"m"}]`))
	f.Add([]byte(`{"object":"error","message":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		detail, ok := upstream.ParseError(data)
		if !ok && detail != (upstream.Detail{}) {
			t.Errorf("%q is no error, but says %+v", data, detail)
		}
		if detail.Status != 0 && (detail.Status < 400 || detail.Status > 599) {
			t.Errorf("%q gives the status %d", data, detail.Status)
		}
		upstream.Classify(detail.Status, detail)
	})
}

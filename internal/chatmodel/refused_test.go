package chatmodel

import (
	"testing"

	"github.com/onereply/onereply/internal/upstream"
)

func TestRefusesPrompt(t *testing.T) {
	type detail = upstream.Detail
	tests := map[string]struct {
		status int
		detail detail
		want   bool
	}{
		"the code of a prompt that is too long":  {400, detail{Code: "context_length_exceeded", Param: "messages"}, true},
		"the code in an event of a stream":       {0, detail{Code: "context_length_exceeded"}, true},
		"the words of one that is too long":      {400, detail{Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"}, true},
		"a server's own words":                   {400, detail{Message: "This model's maximum context length is 4096 tokens"}, true},
		"a filter":                               {400, detail{Code: "content_filter"}, true},
		"a filter, in capitals":                  {400, detail{Code: "ResponsibleAIPolicyViolation"}, true},
		"a filter, in words":                     {422, detail{Message: "Output blocked by content filtering policy"}, true},
		"a policy":                               {400, detail{Message: "Your prompt was flagged as potentially violating our usage policy"}, true},
		"a picture for a blind model":            {400, detail{Message: "Invalid content type. image_url is only supported by certain models.", Param: "messages.[0].content.[1].type"}, true},
		"the size of the request":                {413, detail{}, true},
		"a bad request without words":            {400, detail{}, false},
		"another bad request":                    {400, detail{Type: "invalid_request_error", Message: "bad"}, false},
		"a parameter":                            {400, detail{Code: "unsupported_parameter", Param: "max_tokens", Message: "max_tokens exceeds the context window"}, false},
		"a key":                                  {401, detail{Message: "flagged"}, false},
		"a model":                                {404, detail{Code: "context_length_exceeded"}, false},
		"a permission":                           {403, detail{Code: "content_filter"}, false},
		"an overload that speaks of its context": {500, detail{Message: "context length"}, false},
		"a filter that speaks of a risk":         {400, detail{Type: "invalid_request_error", Message: "Content Exists Risk"}, true},
		"a filter's number":                      {400, detail{Code: "1301"}, true},
		"a picture that can't be read":           {400, detail{Type: "invalid_request_error", Message: "messages.0.content.0.image: Could not process image"}, true},
		"a text without a letter":                {400, detail{Type: "invalid_request_error", Message: "messages: text content blocks must be non-empty"}, true},
		"the size, in tokens to come":            {422, detail{Message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"}, true},
		"a size beyond the whole rate":           {429, detail{Type: "tokens", Code: "rate_limit_exceeded", Message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully."}, true},
		"a rate that is counted in tokens":       {429, detail{Message: "too many tokens per minute"}, false},
	}
	for name, test := range tests {
		if got := refusesPrompt(test.status, test.detail); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

package chatmodel

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// A model refuses a prompt for its content, for a picture that it can't read, or for its
// length: then less of the prompt may be taken. Any other bad request, such as one that
// names an unknown parameter, would be refused with any prompt.
//
// Words are codes or types of errors; phrases are parts of messages, in lower case.
// Providers use them, and so do the many programs that imitate their APIs.
var (
	promptWords = []string{
		"context_length_exceeded", "string_above_max_length", "prompt_too_long", "request_too_large", "too_many_tokens",
		"content_filter", "content_policy_violation", "content_policy", "responsibleaipolicyviolation", "invalid_prompt",
		"moderation_blocked", "data_inspection_failed", "sensitive_content", "prompt_blocked",
		"invalid_image", "invalid_image_format", "invalid_image_url", "invalid_base64_image", "image_too_large", "image_parse_error",
		"1301", // a filter of Zhipu
		"unsupported_image_media_type", "image_content_policy_violation", "empty_image_file", "failed_to_download_image",
	}
	promptPhrases = []string{
		"context length", "context window", "context size", "maximum context", "input token count", "prompt is too long",
		"too many tokens", "input is too long", "request too large", "reduce the length", "exceeds the maximum number of tokens",
		"content filter", "content management policy", "content policy", "content moderation", "usage polic", "safety system",
		"flagged", "inappropriate content", "sensitive content", "content exists risk", "image_url", "process image",
		"`inputs` tokens", "must be non-empty", "image input", "support image", "support vision",
	}
)

// RefusedFor is [upstream.Answer.RefusedFor] for chat models: it tells a prompt that is
// refused for what it holds from other bad requests.
func RefusedFor(answer *upstream.Answer, detail upstream.Detail) error {
	err := answer.RefusedFor(detail)
	fault, ok := errors.AsType[*onereply.ResponderError](err)
	status := answer.Status
	if answer.OK() {
		status = detail.Status
	}
	if ok && (fault.Kind == onereply.ResponderBadRequest || status == http.StatusTooManyRequests) && refusesPrompt(status, detail) {
		fault.Kind = onereply.ResponderRefused
	}
	return err
}

// Refusal is the error for a status that is none of success, worded from the body, which
// it reads.
func Refusal(answer *upstream.Answer) error {
	detail, err := answer.Detail()
	if err != nil {
		return err
	}
	return RefusedFor(answer, detail)
}

// refusesPrompt reports whether a bad request is one for what the prompt holds. A status
// of 0 stands for an error that came without one. A rate limit that the request exceeds by
// itself is one for its size: waiting would not help.
func refusesPrompt(status int, detail upstream.Detail) bool {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests:
		return strings.HasPrefix(strings.ToLower(detail.Message), "request too large")
	case 0, http.StatusBadRequest, http.StatusUnprocessableEntity:
	default:
		return false
	}
	for _, word := range []string{detail.Code, detail.Type} {
		if slices.Contains(promptWords, strings.ToLower(word)) {
			return true
		}
	}
	if param := strings.ToLower(detail.Param); param != "" && !aboutPrompt(param) {
		return false
	}
	message := strings.ToLower(detail.Message)
	return slices.ContainsFunc(promptPhrases, func(phrase string) bool { return strings.Contains(message, phrase) })
}

// aboutPrompt reports whether the parameter that an error names is the prompt.
func aboutPrompt(param string) bool {
	return param == "null" || slices.ContainsFunc([]string{"messages", "prompt", "input", "contents"}, func(name string) bool {
		return strings.HasPrefix(param, name)
	})
}

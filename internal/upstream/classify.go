package upstream

import (
	"net/http"
	"slices"
	"strings"

	"github.com/onereply/onereply"
)

// Words in the type or the code of an error, and phrases in its message, by the kind of
// error that they stand for. Providers use them, and so do the many programs that imitate
// their APIs.
var (
	quotaWords = []string{
		"insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active",
		"insufficient_balance", "insufficient_credits", "insufficient_funds", "credit_balance_too_low",
	}
	quotaPhrases = []string{"credit balance is too low", "insufficient balance", "insufficient credits"}

	overloadWords = []string{"overloaded_error", "overloaded", "server_overloaded", "engine_overloaded", "engine_overloaded_error"}

	rateWords = []string{"rate_limit_error", "rate_limit_exceeded", "rate_limit", "too_many_requests"}

	requestWords = []string{
		"invalid_request_error", "authentication_error", "permission_error", "not_found_error", "request_too_large",
		"context_length_exceeded", "invalid_api_key", "model_not_found", "content_filter",
	}
)

// Classify finds the kind of a refusal. Words in the body go before the status: a status
// of 429 may stand for a moment of load, or for a quota that is spent. A status of 0
// stands for an error that came without one, within a stream or an answer of success. The
// order matters: a spent quota needs a person and an overload needs time, so both are
// looked for before the status, which mostly says neither. Phrases in a message are
// weaker than words in a field; they count only with a status that could mean the same.
func Classify(status int, detail Detail) onereply.ResponderErrorKind {
	says := func(words []string) bool {
		return slices.Contains(words, detail.Code) || slices.Contains(words, detail.Type)
	}
	message := strings.ToLower(detail.Message)
	phrase := func(text string) bool { return strings.Contains(message, text) }
	transient := status == 0 || status == http.StatusTooManyRequests || status >= 500
	switch {
	case says(quotaWords), !isServerError(status) && slices.ContainsFunc(quotaPhrases, phrase):
		return onereply.ResponderQuotaSpent
	case says(overloadWords), transient && phrase("overloaded"):
		return onereply.ResponderOverloaded
	case status != 0:
		return kindOf(status)
	case says(rateWords):
		return onereply.ResponderRateLimited
	case says(requestWords):
		return onereply.ResponderBadRequest
	}
	return onereply.ResponderFailed
}

func isServerError(status int) bool { return status >= 500 }

// kindOf is the kind that a status alone stands for. Gateways answer 502 to 504 for a
// model that is out of reach, which is waited out. A 500 may be caused by the request
// itself, so it uses up an attempt.
func kindOf(status int) onereply.ResponderErrorKind {
	switch status {
	case http.StatusPaymentRequired:
		return onereply.ResponderQuotaSpent
	case http.StatusTooManyRequests:
		return onereply.ResponderRateLimited
	case 529:
		return onereply.ResponderOverloaded
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		520, 521, 522, 523, 524, 525, 526, 527, 530: // the last nine are a CDN's
		return onereply.ResponderUnavailable
	case http.StatusConflict, http.StatusTooEarly:
		return onereply.ResponderFailed // worth another try, but not forever
	}
	if isServerError(status) {
		return onereply.ResponderFailed
	}
	return onereply.ResponderBadRequest
}

package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// outcomeOfLoss is the outcome of a request without an answer. If it never had a
// connection, nothing was delivered. Otherwise it may have arrived, and the bot's
// unknown_send decides.
func outcomeOfLoss(err error) error {
	if lost, ok := errors.AsType[*upstream.Lost](err); ok && lost.Unsent {
		return onereply.NotDeliveredError(err)
	}
	return fmt.Errorf("nobody knows whether it arrived: %w", err)
}

// outcomeOf is the outcome that an answer stands for. A gateway's 5xx may hide a
// delivery; the reply is sent again all the same, because the receiver recognises a
// repeat. 404 and 405 are what the front of a receiver says while it is restarted. Of all
// other refusals a repeat would change nothing, so they are final.
func outcomeOf(answer *upstream.Answer) error {
	if answer.OK() {
		return nil
	}
	err := refusal(answer)
	switch status := answer.Status; {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed,
		status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return &onereply.SendError{NotDelivered: true, RetryAfter: answer.RetryAfter(), WholeBot: wholeBot(answer), Err: err}
	case status/100 == 3:
		return onereply.RefusedError(fmt.Errorf("%w; redirects are not followed: configure the URL that it points to", err))
	}
	return onereply.RefusedError(err)
}

// wholeBot reports whether the receiver's Retry-After holds for all conversations of the
// bot, and not for this one alone. HTTP has no header for that.
func wholeBot(answer *upstream.Answer) bool {
	return strings.EqualFold(strings.TrimSpace(answer.Header.Get("Retry-After-Scope")), "bot")
}

// refusal is the status, and a little of the body, for the operator.
func refusal(answer *upstream.Answer) error {
	if text := answer.Excerpt(answer.Text()); text != "" {
		return fmt.Errorf("the receiver answered %d: %s", answer.Status, text)
	}
	return fmt.Errorf("the receiver answered %d", answer.Status)
}

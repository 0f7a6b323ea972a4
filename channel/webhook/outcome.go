package webhook

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// outcomeOfLoss tells a request that never left from one of which nobody knows
// whether it arrived.
func outcomeOfLoss(err error) error {
	if lost, ok := errors.AsType[*upstream.Lost](err); ok && lost.Unsent {
		return onereply.NotDeliveredError(err)
	}
	return fmt.Errorf("nobody knows whether it arrived: %w", err)
}

// outcomeOf reads the receiver's answer. A gateway's 5xx may hide a delivery;
// it is tried again all the same, because the receiver recognises a repeat.
func outcomeOf(answer *upstream.Answer) error {
	if answer.OK() {
		return nil
	}
	err := refusal(answer)
	switch status := answer.Status; {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return &onereply.SendError{NotDelivered: true, RetryAfter: answer.RetryAfter(), Err: err}
	case status/100 == 3:
		return onereply.RefusedError(fmt.Errorf("%w; redirects are not followed: configure the URL that it points to", err))
	}
	return onereply.RefusedError(err)
}

// refusal shows the status and a little of the body.
func refusal(answer *upstream.Answer) error {
	if text := answer.Excerpt(answer.Text()); text != "" {
		return fmt.Errorf("the receiver answered %d: %s", answer.Status, text)
	}
	return fmt.Errorf("the receiver answered %d", answer.Status)
}

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/internal/upstream"
)

// outgoing is a message that is posted.
type outgoing struct {
	Channel string `json:"channel"`
	Thread  string `json:"thread_ts,omitempty"`
	Text    string `json:"text"`
}

// Send posts one message, in its thread.
func (c *Channel) Send(ctx context.Context, p *channel.Part) (channel.Sent, error) {
	if len(p.To) < 2 || len(p.To) > 3 || p.To[1] == "" {
		return channel.Sent{}, onereply.RefusedError(errors.New("the address must have two or three parts: workspace, channel, thread"))
	}
	message := outgoing{Channel: p.To[1], Text: escape.Replace(p.Text)}
	if len(p.To) == 3 {
		message.Thread = p.To[2]
	}
	var said answer
	if err := call(ctx, c.postMessage, message, &said, &said); err != nil {
		return channel.Sent{}, outcomeOf(err)
	}
	return channel.Sent{ID: said.TS}, nil
}

// APIError is an answer of the API that is no success.
type APIError struct {
	Status     int
	Code       string // Slack's word; "": there is none
	Text       string // what is known beside it
	RetryAfter time.Duration
}

func (e *APIError) Error() string {
	said := cmp.Or(e.Code, e.Text, "nothing")
	if what, ok := advice[e.Code]; ok {
		said += ": " + what
	}
	return fmt.Sprintf("Slack answered %d: %s", e.Status, said)
}

// call makes one call, and reads its answer into result and said. Its error is an
// [*APIError] where the API has answered, an [*upstream.Lost] where nothing has, and any
// other where the answer can't be read.
func call(ctx context.Context, to *upstream.Endpoint, parameters, result any, said *answer) error {
	body, err := json.Marshal(parameters)
	if err != nil {
		return err
	}
	got, err := to.Post(ctx, nil, body)
	if err != nil {
		return err
	}
	defer got.Close()
	raw, err := got.All()
	if err != nil && got.OK() {
		return fmt.Errorf("the answer of Slack can't be read: %w", err)
	}
	unreadable := json.Unmarshal(raw, result)
	switch {
	case unreadable == nil && got.OK() && said.OK:
		return nil
	case unreadable != nil && got.OK():
		return fmt.Errorf("the answer of Slack is no JSON: %s", got.Excerpt(string(raw)))
	}
	failed := &APIError{Status: got.Status, RetryAfter: upstream.RetryAfter(got.Header, time.Now()), Code: got.Excerpt(said.Error)}
	if failed.Code == "" {
		failed.Text = got.Excerpt(string(raw))
	}
	return failed
}

// advice says what people can do about a failure.
var advice = map[string]string{
	"channel_not_found":         "the app is not in that channel, or it is gone: invite the app with /invite",
	"not_in_channel":            "invite the app to the channel with /invite",
	"is_archived":               "the channel is archived",
	"messages_tab_disabled":     "direct messages to the app are switched off: switch the Messages Tab on under App Home",
	"invalid_auth":              "the token is wrong: is bot_token that of this app?",
	"not_authed":                "the token is missing",
	"token_revoked":             "the token was revoked: install the app again, and put the new token into bot_token",
	"token_expired":             "the token has expired: install the app again without token rotation",
	"account_inactive":          "the app was removed from the workspace: install it again",
	"missing_scope":             "the app needs the scope chat:write: add it under OAuth & Permissions, and install the app again",
	"restricted_action":         "the workspace does not let the app post there",
	"cannot_reply_to_message":   "nobody can answer that message in a thread",
	"not_allowed_token_type":    "bot_token must be a bot's token, xoxb-…",
	"team_access_not_granted":   "the app is not installed in that workspace",
	"enterprise_is_restricted":  "the organisation does not let the app post",
	"org_login_required":        "Slack moves the workspace to another organisation",
	"ekm_access_denied":         "the organisation's administrators have suspended posting",
	"two_factor_setup_required": "the workspace wants two factors",
}

// broken are the errors after which somebody has to see to the app: messages to all
// channels would fail.
var broken = []string{
	"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope", "not_allowed_token_type", "access_denied",
	"team_access_not_granted", "enterprise_is_restricted", "org_login_required", "ekm_access_denied", "two_factor_setup_required", "no_permission",
}

// unclear are errors after which, as Slack says, a part of the work may have been done.
var unclear = []string{"fatal_error", "internal_error", "service_unavailable", "request_timeout"}

// Pauses after answers that name none.
const (
	ratePause   = time.Second
	brokenPause = 30 * time.Second
)

// outcomeOf reads from the error of a call whether the message was posted.
//
//	no connection                  certainly not; tried again
//	429, ratelimited               certainly not; tried again after Retry-After
//	a broken token or app          certainly not; the whole bot pauses, until somebody sees to it
//	other errors of Slack, 4xx     certainly not, for good: no such channel
//	5xx, fatal_error, a lost answer  unknown: Slack may have posted it
func outcomeOf(err error) error {
	if lost, ok := errors.AsType[*upstream.Lost](err); ok && lost.Unsent {
		return onereply.NotDeliveredError(err)
	}
	failed, ok := errors.AsType[*APIError](err)
	switch {
	case !ok || slices.Contains(unclear, failed.Code):
		return fmt.Errorf("nobody knows whether Slack posted it: %w", err)
	case failed.Status == http.StatusTooManyRequests, failed.Code == "ratelimited", failed.Code == "rate_limited":
		return &onereply.SendError{NotDelivered: true, RetryAfter: max(failed.RetryAfter, ratePause), Err: failed}
	case slices.Contains(broken, failed.Code),
		failed.Code == "" && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, failed.Status):
		return &onereply.SendError{NotDelivered: true, WholeBot: true, RetryAfter: max(failed.RetryAfter, brokenPause), Err: failed}
	case failed.Status >= 500 || failed.Code == "" && failed.Status < 400:
		return fmt.Errorf("nobody knows whether Slack posted it: %w", err)
	}
	return onereply.RefusedError(failed)
}

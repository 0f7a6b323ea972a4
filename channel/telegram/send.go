package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/internal/upstream"
)

// target is where a call goes.
type target struct {
	Chat     int64  `json:"chat_id"`
	Topic    int64  `json:"message_thread_id,omitempty"`
	Business string `json:"business_connection_id,omitempty"`
}

// targetOf reads an address. It is the inverse of addressOf.
func targetOf(a channel.Address) (to target, err error) {
	if len(a) == 0 || len(a) > 3 {
		return to, errors.New("the address must have one to three parts: chat, topic, business connection")
	}
	if to.Chat, err = strconv.ParseInt(a[0], 10, 64); err != nil {
		return to, fmt.Errorf("%.20q is no chat's number", a[0])
	}
	if len(a) > 1 && a[1] != "" {
		if to.Topic, err = strconv.ParseInt(a[1], 10, 64); err != nil {
			return to, fmt.Errorf("%.20q is no topic's number", a[1])
		}
	}
	if len(a) > 2 {
		to.Business = a[2]
	}
	return to, nil
}

// Send posts one message. A topic that Telegram does not find, as it happens in private
// chats, is left out: certainly nothing was sent before.
func (t *Channel) Send(ctx context.Context, p *channel.Part) (channel.Sent, error) {
	to, err := targetOf(p.To)
	if err != nil {
		return channel.Sent{}, onereply.RefusedError(err)
	}
	sent, err := t.post(ctx, to, p.Text)
	if failed, ok := errors.AsType[*APIError](err); ok && to.Topic != 0 && failed.Code == http.StatusBadRequest &&
		strings.Contains(strings.ToLower(failed.Description), "thread not found") {
		to.Topic = 0
		sent, err = t.post(ctx, to, p.Text)
	}
	return sent, outcomeOf(err)
}

func (t *Channel) post(ctx context.Context, to target, text string) (channel.Sent, error) {
	var result message
	err := t.call(ctx, sendMessage, struct {
		target
		Text string `json:"text"`
	}{to, text}, &result)
	if err != nil {
		return channel.Sent{}, err
	}
	return channel.Sent{ID: idOf(result.ID)}, nil
}

// badToken is the pause after an answer that says that the token is wrong: somebody has to
// put in another one.
const badToken = 30 * time.Second

// outcomeOf reads from the error of a call whether the message was sent.
//
//	no connection, 409        certainly not sent; tried again
//	429                       certainly not sent; tried again after retry_after
//	400 with a new number     certainly not sent; the chat has moved
//	401, 404                  certainly not sent: the token is wrong; the whole bot pauses
//	other 4xx                 certainly not sent, for good: blocked, no such chat
//	5xx, a lost answer        unknown: Telegram may have sent it
func outcomeOf(err error) error {
	if err == nil {
		return nil
	}
	if lost, ok := errors.AsType[*upstream.Lost](err); ok && lost.Unsent {
		return onereply.NotDeliveredError(err)
	}
	failed, ok := errors.AsType[*APIError](err)
	switch {
	case !ok || failed.Code >= 500 || failed.Code < 400:
		return fmt.Errorf("nobody knows whether Telegram sent it: %w", err)
	case failed.MigrateTo != 0:
		return &channel.MovedError{To: addressOf(failed.MigrateTo, 0, ""), Err: err}
	case failed.Code == http.StatusTooManyRequests:
		return &onereply.SendError{NotDelivered: true, RetryAfter: time.Duration(failed.RetryAfter) * time.Second, Err: err}
	case failed.Code == http.StatusUnauthorized || failed.Code == http.StatusNotFound:
		return &onereply.SendError{NotDelivered: true, RetryAfter: badToken, WholeBot: true, Err: fmt.Errorf("%w; is the token right?", err)}
	case failed.Code == http.StatusConflict:
		return onereply.NotDeliveredError(err)
	}
	return onereply.RefusedError(err)
}

// Typing shows that the bot is writing, for five seconds.
func (t *Channel) Typing(ctx context.Context, to channel.Address, _ string) error {
	where, err := targetOf(to)
	if err != nil {
		return err
	}
	return t.call(ctx, sendChatAction, struct {
		target
		Action string `json:"action"`
	}{where, "typing"}, nil)
}

package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/onereply/onereply/channel"
)

// Long polling.
const (
	pollFor   = 50 * time.Second // how long Telegram waits for something to tell
	pollGrace = 15 * time.Second // how much longer we wait for its answer
	pollLimit = 100              // updates at once, as many as Telegram gives
)

// kinds are the updates that Telegram is asked for.
var kinds = []string{"message", "edited_message", "business_message", "edited_business_message", "deleted_business_messages"}

// Poll asks for updates until ctx ends. Asking for those after a number tells Telegram
// that those before it are done, so the number moves on only once they are durable. The
// first call asks for all that is not done: after a crash they come again, and are known
// by their ids.
func (p Polling) Poll(ctx context.Context, deliver func(context.Context, channel.Batch) error) error {
	after := int64(0)
	for {
		updates, err := p.updates(ctx, after)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return p.pollError(ctx, err)
		}
		if len(updates) == 0 {
			continue
		}
		var batch channel.Batch
		for _, raw := range updates {
			var number struct {
				ID int64 `json:"update_id"`
			}
			if err := json.Unmarshal(raw, &number); err != nil {
				return fmt.Errorf("an update without a number: %w", err)
			}
			after = max(after, number.ID+1)
			events, err := p.event(raw)
			if err != nil {
				events = skip("unreadable") // it would come again for ever
			}
			batch.Events = append(batch.Events, events...)
		}
		if err := deliver(ctx, batch); err != nil {
			return err
		}
	}
}

func (p Polling) updates(ctx context.Context, after int64) (updates []json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollFor+pollGrace)
	defer cancel()
	err = p.call(ctx, getUpdates, map[string]any{
		"offset": after, "limit": pollLimit, "timeout": int(pollFor.Seconds()), "allowed_updates": kinds,
	}, &updates)
	return updates, err
}

// pollError explains a failed poll. Telegram refuses polls while a webhook is set. The
// configuration says that the bot is polled, so the webhook is taken away; what waits at
// Telegram stays there.
func (p Polling) pollError(ctx context.Context, err error) error {
	failed, ok := errors.AsType[*APIError](err)
	switch {
	case ok && failed.Code == http.StatusTooManyRequests:
		return &channel.PauseError{For: time.Duration(failed.RetryAfter) * time.Second, Err: err}
	case ok && failed.Code == http.StatusConflict:
		var hook webhookInfo
		if infoErr := p.call(ctx, getWebhookInfo, nil, &hook); infoErr != nil || hook.URL == "" {
			return fmt.Errorf("another program polls this bot: give it a token of its own, or stop it: %w", err)
		}
		if err := p.Connect(ctx, ""); err != nil {
			return fmt.Errorf("a webhook is set (%s), and could not be taken away: %w", hook.URL, err)
		}
		return fmt.Errorf("a webhook was set (%s); it was taken away, because this bot is polled", hook.URL)
	}
	return err
}

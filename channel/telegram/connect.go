package telegram

import (
	"context"
	"errors"

	"github.com/onereply/onereply/channel"
)

// webhookInfo is what the API says of the webhook.
type webhookInfo struct {
	URL       string `json:"url"` // "": none is set
	Pending   int    `json:"pending_update_count"`
	LastError string `json:"last_error_message"`
}

// Look asks whether the token is valid, and which webhook is set.
func (t *Channel) Look(ctx context.Context) (now channel.Standing, err error) {
	var me user
	if err := t.call(ctx, getMe, nil, &me); err != nil {
		return now, err
	}
	var hook webhookInfo
	if err := t.call(ctx, getWebhookInfo, nil, &hook); err != nil {
		return now, err
	}
	return channel.Standing{
		Name: "@" + me.Username, Posts: t.secret != "", Address: hook.URL, Waiting: hook.Pending, Problem: hook.LastError,
	}, nil
}

// Connect sets the webhook, or takes it away. What waits at Telegram stays there.
func (t *Channel) Connect(ctx context.Context, address string) error {
	if address == "" {
		return t.call(ctx, deleteWebhook, map[string]any{"drop_pending_updates": false}, nil)
	}
	if t.secret == "" {
		return errors.New("this bot is polled: set mode: webhook and a secret, so that a node knows Telegram's requests")
	}
	return t.call(ctx, setWebhook, map[string]any{
		"url": address, "secret_token": t.secret, "allowed_updates": kinds, "drop_pending_updates": false,
	}, nil)
}

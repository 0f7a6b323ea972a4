package main

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/onereply/onereply/channel/telegram/faketelegram"
)

// A webhook that is not set, or elsewhere, is found, and connect sets it.
func TestChannelCheckAndConnect(t *testing.T) {
	fake := faketelegram.New("1:token", "shop_bot")
	front := httptest.NewServer(fake)
	defer front.Close()
	config := func(more string) string {
		return write(t, "onereply.yaml", fmt.Sprintf(`
public_url: https://bot.example.com
bots:
  shop:
    responder: {kind: echo}
    channels:
      - {kind: telegram, token: "1:token", api_base: %q%s}
`, front.URL, more))
	}
	posted, polled := config(", mode: webhook, secret: s3cret"), config("")
	nobody := []string{"--server", "http://127.0.0.1:1"}
	check := func(file string) result {
		return do(t, nil, "", append([]string{"channel", "check", "shop", "--config", file}, nobody...)...)
	}
	const address = "https://bot.example.com/channels/shop/telegram"

	check(posted).expect(t, failure, "run: onereply channel connect telegram shop", "")
	check(polled).expect(t, success, "@shop_bot", "")
	do(t, nil, "", "channel", "connect", "telegram", "shop", "--config", polled).expect(t, failure, "", "this bot is polled")
	do(t, nil, "", "channel", "connect", "telegram", "shop", "--config", posted).expect(t, success, address, "")
	if got, secret := fake.Webhook(); got != address || secret != "s3cret" {
		t.Errorf("the webhook is %q with the secret %q", got, secret)
	}
	check(posted).expect(t, success, "none answers", "")
	check(polled).expect(t, failure, "this channel is polled", "")
	do(t, nil, "", "channel", "connect", "telegram", "shop", "--config", polled, "--remove").expect(t, success, "nobody", "")
	if got, _ := fake.Webhook(); got != "" {
		t.Errorf("the webhook is still %q", got)
	}
	do(t, nil, "", "channel", "check", "nobody", "--config", posted).expect(t, misuse, "", "no bot \"nobody\"")
	do(t, nil, "", "channel", "connect", "slack", "shop", "--config", posted).expect(t, misuse, "", "no channel of kind")

	wrong := write(t, "onereply.yaml", fmt.Sprintf(`
bots: {shop: {responder: {kind: echo}, channels: [{kind: telegram, token: "2:other", api_base: %q}]}}
`, front.URL))
	check(wrong).expect(t, failure, "the platform does not take the account", "")
}

package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// fakeChannels has one channel.
type fakeChannels struct{ calls []string }

func (f *fakeChannels) Receive(w http.ResponseWriter, _ *http.Request, bot, name string) bool {
	f.calls = append(f.calls, bot+" "+name)
	if bot != "support" || name != "telegram" && name != "telegram/second" {
		return false
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	return true
}

func (f *fakeChannels) Statuses(bot string) []onereply.ChannelStatus {
	if bot != "" && bot != "support" {
		return []onereply.ChannelStatus{}
	}
	return []onereply.ChannelStatus{{
		Bot: "support", Channel: "telegram", Address: "https://bot.example.com/channels/support/telegram", Forged: 2, LastError: "a secret",
		VerifiedAt: onereply.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}}
}

// What happened on the channels of a bot is told by the API and in the metrics.
func TestChannelsAreShown(t *testing.T) {
	s := New(newFakeApp(), Options{Channels: &fakeChannels{}})
	wantJSON(t, ask(t, s, "GET", "/v1/bots/support/channels", "").body, `{"channels":[{"bot":"support","channel":"telegram",
		"address":"https://bot.example.com/channels/support/telegram","polling":false,"verified_at":"2026-01-02T03:04:05.000Z",
		"forged":2,"unreadable":0,"refused":0,"sends_failed":0,"messages":0,"reports":0,"skipped":0,"last_error":"a secret"}]}`)
	metrics := ask(t, s, "GET", "/metrics", "").body
	for _, want := range []string{
		`onereply_channel_events_total{bot="support",channel="telegram",kind="forged"} 2`,
		`onereply_channel_verified_timestamp_seconds{bot="support",channel="telegram"} 1.767323045e+09`,
		`onereply_channel_polling{bot="support",channel="telegram"} 0`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no line %s", want)
		}
	}
	wantJSON(t, ask(t, New(newFakeApp(), Options{}), "GET", "/v1/bots/support/channels", "").body, `{"channels":[]}`)
}

// A platform needs no key and calls any host: its channel checks its signature. Whoever
// tries names is told the same of bots and of channels that are not there.
func TestChannelsNeedNoKey(t *testing.T) {
	for _, options := range []Options{{Keys: plainKeys("0123456789abcdef")}, {LoopbackOnly: true}} {
		channels := &fakeChannels{}
		options.Channels = channels
		s := New(newFakeApp(), options)
		for path, status := range map[string]int{
			"/channels/support/telegram": http.StatusOK, "/channels/support/telegram/second": http.StatusOK,
			"/channels/support/slack": http.StatusNotFound, "/channels/nobody/telegram": http.StatusNotFound,
			"/channels/support/telegram/third": http.StatusNotFound, "/channels/support": http.StatusNotFound,
		} {
			for _, method := range []string{"POST", "GET"} {
				got := ask(t, s, method, path, "", "Host", "bot.example.com")
				if got.status != status {
					t.Errorf("%s %s: status %d, want %d", method, path, got.status, status)
				}
			}
		}
		if len(channels.calls) != 10 {
			t.Errorf("the channels were asked for %q", channels.calls)
		}
	}
	s := New(newFakeApp(), Options{})
	if got := ask(t, s, "POST", "/channels/support/telegram", "{}"); got.status != http.StatusNotFound {
		t.Errorf("without channels: status %d", got.status)
	}
}

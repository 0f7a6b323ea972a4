package server

import (
	"net/http"
	"testing"
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

package slack_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/channel/channeltest"
	"github.com/onereply/onereply/channel/slack"
	"github.com/onereply/onereply/channel/slack/fakeslack"
	"github.com/onereply/onereply/store/memory"
)

// app is the app of all tests.
var app = fakeslack.App{ID: "A1", Team: "T1", BotUser: "UBOT", Bot: "BBOT", Token: "xoxb-test-token", SigningSecret: "signing-secret"}

func config(client *http.Client) slack.Config {
	return slack.Config{BotToken: app.Token, SigningSecret: app.SigningSecret, APIBase: "https://slack.test/api", HTTPClient: client}
}

// Slack passes the suite of all channels.
func TestSuite(t *testing.T) {
	channeltest.Run(t, channeltest.Suite{Platform: platform, Store: memoryStore})
}

func memoryStore() (channeltest.Open, func()) {
	kept := memory.New()
	open := func(ctx context.Context, o onereply.Options, bots ...onereply.Bot) (*onereply.App, error) {
		return onereply.Open(ctx, kept, o, bots...)
	}
	return open, func() { kept.Close() }
}

// fake is Slack as the suite wants it: a chat is a direct one.
type fake struct{ *fakeslack.Slack }

func (f fake) Shown(chat string) (texts []string) {
	for _, shown := range f.Channel("D" + chat) {
		texts = append(texts, shown.Text)
	}
	return texts
}

func (f fake) Next(fault channeltest.Fault) {
	switch {
	case fault.Limited > 0:
		f.Fail(fakeslack.Fault{Limited: fault.Limited})
	case fault.Refused:
		f.Fail(fakeslack.Fault{Error: "is_archived"})
	default:
		f.Fail(fakeslack.Fault{Lost: fault.Lost})
	}
}

// stamp is a time stamp of a message.
func stamp(id int) string { return fmt.Sprintf("1531431954.%06d", id) }

// direct is a message in a direct chat.
func direct(chat string, id int, text string) map[string]any {
	return map[string]any{"type": "message", "channel": "D" + chat, "channel_type": "im", "user": "U" + chat, "text": text, "ts": stamp(id), "event_ts": stamp(id)}
}

func platform() channeltest.Platform {
	f := fake{fakeslack.New(app)}
	event := func(e map[string]any) *http.Request { return request(f.Event(e)) }
	without := func(e map[string]any, more map[string]any) func() *http.Request {
		return func() *http.Request {
			for name, value := range more {
				e[name] = value
			}
			return event(e)
		}
	}
	raw := func(body string) func() *http.Request {
		return func() *http.Request {
			return request([]byte(body), fakeslack.Sign(app.SigningSecret, time.Now(), []byte(body)))
		}
	}
	return channeltest.Platform{
		Kind: slack.Kind, Fake: f,
		New:     func(client *http.Client) (channel.Channel, error) { return slack.New(config(client)) },
		Address: func(chat string) channel.Address { return channel.Address{"T1", "D" + chat} },
		Message: func(chat string, id int, text string) *http.Request { return event(direct(chat, id, text)) },
		Edit: func(chat string, id int, text string) *http.Request {
			now := map[string]any{"user": "U" + chat, "text": text, "ts": stamp(id), "edited": map[string]any{"user": "U" + chat, "ts": fmt.Sprint(time.Now().Unix(), ".0")}}
			before := map[string]any{"user": "U" + chat, "text": "as it was", "ts": stamp(id)}
			return event(map[string]any{"type": "message", "subtype": "message_changed", "hidden": true, "channel": "D" + chat, "channel_type": "im", "message": now, "previous_message": before})
		},
		Delete: func(chat string, id int) *http.Request {
			return event(map[string]any{
				"type": "message", "subtype": "message_deleted", "hidden": true, "channel": "D" + chat, "channel_type": "im", "deleted_ts": stamp(id),
				"previous_message": map[string]any{"user": "U" + chat, "text": "x", "ts": stamp(id)},
			})
		},
		EchoHasText: true,
		Echo: func(chat string, id int, text string) *http.Request {
			own := direct(chat, id, text)
			own["user"], own["bot_id"] = "UBOT", "BBOT"
			return event(own)
		},
		NotMine: []func() *http.Request{
			without(direct("42", 1, "joined"), map[string]any{"subtype": "channel_join"}),
			without(direct("42", 1, ""), nil),
			without(direct("42", 1, "x"), map[string]any{"subtype": "a_subtype_of_2030"}),
			without(direct("42", 1, "x"), map[string]any{"channel": ""}),
			func() *http.Request { return event(map[string]any{"type": "reaction_added", "user": "U42"}) },
			func() *http.Request { return event(map[string]any{"type": "message", "channel": 7}) },
			raw(`{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":1518467820}`),
			raw(`{}`),
		},
		Forge: func(r *http.Request) {
			r.Header.Set("X-Slack-Signature", fakeslack.Sign("another", time.Now(), nil).Get("X-Slack-Signature"))
		},
		Unsign: func(r *http.Request) { r.Header.Del("X-Slack-Signature") },
		Age: func(d time.Duration) *http.Request {
			body, _ := f.Event(direct("42", 1, "hello"))
			return request(body, fakeslack.Sign(app.SigningSecret, time.Now().Add(-d), body))
		},
		Length: utf8.RuneCountInString,
		Limit:  3500,
	}
}

// request is what Slack posts.
func request(body []byte, header http.Header) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/channels/bot/slack", bytes.NewReader(body))
	r.Header = header
	return r
}

func bodyOf(event string) string {
	return `{"type":"event_callback","team_id":"T1","api_app_id":"A1","event_id":"Ev1","event_time":1531431954,"authorizations":[{"user_id":"UBOT","is_bot":true}],"event":` + strings.TrimSpace(event) + `}`
}

package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/channel/channeltest"
	"github.com/onereply/onereply/channel/telegram"
	"github.com/onereply/onereply/channel/telegram/faketelegram"
	"github.com/onereply/onereply/store/memory"
)

const (
	token  = "4711:AAE-test-token-of-no-bot-at-all"
	secret = "a-secret_OF-42"
	name   = "onereply_test_bot"
)

// Telegram passes the suite of all channels.
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

// fake is Telegram as the suite wants it.
type fake struct{ *faketelegram.Telegram }

func (f fake) Shown(chat string) (texts []string) {
	for _, shown := range f.Chat(number(chat)) {
		texts = append(texts, shown.Text)
	}
	return texts
}

func (f fake) Next(fault channeltest.Fault) {
	switch {
	case fault.Limited > 0:
		f.Fail(faketelegram.Fault{Code: 429, Description: "Too Many Requests", RetryAfter: fault.Limited})
	case fault.Refused:
		f.Fail(faketelegram.Fault{Code: 403, Description: "Forbidden: bot was blocked by the user"})
	default:
		f.Fail(faketelegram.Fault{Lost: fault.Lost})
	}
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func platform() channeltest.Platform {
	f := fake{faketelegram.New(token, name)}
	return channeltest.Platform{
		Kind: telegram.Kind, Fake: f,
		New: func(client *http.Client) (channel.Channel, error) {
			return telegram.New(telegram.Config{Token: token, Secret: secret, APIBase: "https://telegram.test", HTTPClient: client})
		},
		Message: func(chat string, id int, text string) *http.Request {
			return request(map[string]any{"message": private(chat, id, text)})
		},
		Edit: func(chat string, id int, text string) *http.Request {
			m := private(chat, id, text)
			m["edit_date"] = time.Now().Unix()
			return request(map[string]any{"edited_message": m})
		},
		Delete: func(chat string, id int) *http.Request {
			return request(map[string]any{"deleted_business_messages": map[string]any{
				"business_connection_id": "", "chat": map[string]any{"id": number(chat), "type": "private"}, "message_ids": []int{id},
			}})
		},
		EchoHasText: true,
		Echo: func(chat string, id int, text string) *http.Request {
			m := private(chat, id, text)
			m["from"] = map[string]any{"id": 4711, "is_bot": true, "first_name": "Bot"}
			return request(map[string]any{"message": m})
		},
		NotMine: []func() *http.Request{
			func() *http.Request { return request(map[string]any{"my_chat_member": map[string]any{"date": 1}}) },
			func() *http.Request {
				return request(map[string]any{"message_reaction": map[string]any{"message_id": 7}})
			},
			func() *http.Request {
				m := private("42", 1, "")
				m["pinned_message"] = map[string]any{"message_id": 1}
				return request(map[string]any{"message": m})
			},
			func() *http.Request {
				return request(map[string]any{"channel_post": map[string]any{"message_id": 7, "text": "news"}})
			},
			func() *http.Request { return request(map[string]any{"a_kind_of_2030": map[string]any{}}) },
			func() *http.Request { return request(nil) },
		},
		Forge:  func(r *http.Request) { r.Header.Set(secretHeader, secret+"x") },
		Unsign: func(r *http.Request) { r.Header.Del(secretHeader) },
		Length: func(text string) int { return len(utf16.Encode([]rune(text))) },
		Limit:  4096,
	}
}

const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

// private is a message in a private chat.
func private(chat string, id int, text string) map[string]any {
	m := map[string]any{
		"message_id": id, "date": time.Now().Unix(),
		"from": map[string]any{"id": number(chat), "is_bot": false, "first_name": "A"},
		"chat": map[string]any{"id": number(chat), "type": "private"},
	}
	if text != "" {
		m["text"] = text
	}
	return m
}

// request is a webhook with an update.
func request(fields map[string]any) *http.Request {
	body := map[string]any{"update_id": 101}
	for name, value := range fields {
		body[name] = value
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return webhook(string(raw))
}

func webhook(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/channels/bot/telegram", bytes.NewReader([]byte(body)))
	r.Header.Set(secretHeader, secret)
	return r
}

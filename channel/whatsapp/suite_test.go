package whatsapp_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"unicode/utf16"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/channel/channeltest"
	"github.com/onereply/onereply/channel/whatsapp"
	"github.com/onereply/onereply/channel/whatsapp/fakewhatsapp"
	"github.com/onereply/onereply/store/memory"
)

// account is the number of all tests.
var account = fakewhatsapp.Account{
	PhoneNumberID: "P", Number: "15550000000", Token: "EAAG-test-token", AppSecret: "app-secret", VerifyToken: "verify-token",
}

func config(client *http.Client) whatsapp.Config {
	return whatsapp.Config{
		PhoneNumberID: account.PhoneNumberID, Token: account.Token, AppSecret: account.AppSecret, VerifyToken: account.VerifyToken,
		APIBase: "https://graph.test", HTTPClient: client,
	}
}

// WhatsApp passes the suite of all channels.
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

// fake is WhatsApp as the suite wants it. A chat is that of somebody whose id ends with the
// chat's name.
type fake struct{ *fakewhatsapp.WhatsApp }

func personOf(chat string) fakewhatsapp.Person {
	return fakewhatsapp.Person{Phone: "1555" + chat, UserID: "US." + chat, Name: "A"}
}

func (f fake) Shown(chat string) (texts []string) {
	for _, shown := range f.Chat("US." + chat) {
		texts = append(texts, shown.Text)
	}
	return texts
}

func (f fake) Next(fault channeltest.Fault) {
	switch {
	case fault.Limited > 0:
		f.Fail(fakewhatsapp.Fault{Limited: fault.Limited})
	case fault.Refused:
		f.Fail(fakewhatsapp.Fault{Status: 400, Code: 131026, Message: "Message undeliverable"})
	default:
		f.Fail(fakewhatsapp.Fault{Lost: fault.Lost})
	}
}

func wamid(id int) string { return "wamid." + strconv.Itoa(id) }

func platform() channeltest.Platform {
	f := fake{fakewhatsapp.New(account)}
	text := func(chat string, id int, text string) *http.Request {
		p := personOf(chat)
		return request(f.Body(f.Messages(p, f.Text(p, wamid(id), text))))
	}
	change := func(field string, value map[string]any) func() *http.Request {
		return func() *http.Request { return request(f.Body(f.Change(field, value))) }
	}
	message := func(kind string, content any) func() *http.Request {
		return func() *http.Request {
			p := personOf("42")
			return request(f.Body(f.Messages(p, f.Message(p, wamid(7), kind, content))))
		}
	}
	return channeltest.Platform{
		Kind: whatsapp.Kind, Fake: f,
		New:     func(client *http.Client) (channel.Channel, error) { return whatsapp.New(config(client)) },
		Address: func(chat string) channel.Address { return channel.Address{"P", "US." + chat} },
		Message: text,
		Batch: func(chat string, ids ...int) *http.Request {
			p := personOf(chat)
			var changes []map[string]any
			for i, id := range ids { // two in one change, the others in changes of their own
				m := f.Text(p, wamid(id), "text "+strconv.Itoa(id))
				if i == 1 {
					value := changes[0]["value"].(map[string]any)
					value["messages"] = append(value["messages"].([]map[string]any), m)
					continue
				}
				changes = append(changes, f.Messages(p, m))
			}
			return request(f.Body(changes...))
		},
		Edit: func(chat string, id int, text string) *http.Request {
			p := personOf(chat)
			content := map[string]any{"original_message_id": wamid(id), "message": map[string]any{"type": "text", "text": map[string]any{"body": text}}}
			return request(f.Body(f.Messages(p, f.Message(p, "wamid.edit", "edit", content))))
		},
		Delete: func(chat string, id int) *http.Request {
			p := personOf(chat)
			return request(f.Body(f.Messages(p, f.Message(p, "wamid.revoke", "revoke", map[string]any{"original_message_id": wamid(id)}))))
		},
		EchoHasText: true, // or the id of the part, which does as much
		Echo: func(chat string, id int, _ string) *http.Request { // no text comes back, but the part's id
			s := map[string]any{"id": wamid(id), "status": "delivered", "recipient_id": "1555" + chat, "recipient_user_id": "US." + chat}
			if shown := f.Chat("US." + chat); len(shown) > 0 {
				s["biz_opaque_callback_data"] = shown[len(shown)-1].Part
			}
			return request(f.Body(f.Statuses(s)))
		},
		NotMine: []func() *http.Request{
			change("account_update", map[string]any{"event": "VERIFIED_ACCOUNT"}),
			change("message_template_status_update", map[string]any{}),
			change("a_field_of_2030", map[string]any{"messages": []any{1}}),
			change("messages", map[string]any{}),
			change("messages", map[string]any{"messages": []any{"text", 7, nil, map[string]any{"from": 7}}}),
			change("messages", map[string]any{"statuses": []any{map[string]any{"id": "wamid.B", "status": "played", "recipient_id": "1"}}}),
			message("reaction", map[string]any{"message_id": "wamid.A", "emoji": "👍"}),
			message("unsupported", map[string]any{}),
			message("a_type_of_2030", map[string]any{}),
			func() *http.Request {
				other := account
				other.PhoneNumberID = "Q"
				o, p := fakewhatsapp.New(other), personOf("42")
				return request(o.Body(o.Messages(p, o.Text(p, "wamid.1", "to another number"))))
			},
			func() *http.Request {
				body := []byte(`{"object":"page","entry":[{}]}`)
				return request(body, fakewhatsapp.Sign(account.AppSecret, body))
			},
		},
		Forge:  func(r *http.Request) { r.Header.Set(signature, fakewhatsapp.Sign("another secret", []byte("x"))) },
		Unsign: func(r *http.Request) { r.Header.Del(signature) },
		Length: func(text string) int { return len(utf16.Encode([]rune(text))) },
		Limit:  4096,
	}
}

const signature = "X-Hub-Signature-256"

// request is a webhook.
func request(body []byte, signed string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/channels/bot/whatsapp", bytes.NewReader(body))
	r.Header.Set(signature, signed)
	return r
}

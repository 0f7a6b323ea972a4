package whatsapp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/channel/whatsapp"
)

func made(t *testing.T, change func(*whatsapp.Config)) *whatsapp.Channel {
	t.Helper()
	c := config(nil)
	if change != nil {
		change(&c)
	}
	ch, err := whatsapp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// GitHub's published vector of the scheme that Meta uses, and what must not pass.
func TestSignature(t *testing.T) {
	ch := made(t, func(c *whatsapp.Config) { c.AppSecret = "It's a Secret to Everybody" })
	const known = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	tests := []struct {
		name, body, signature string
		ok                    bool
	}{
		{"the known answer", "Hello, World!", known, true},
		{"in capital letters", "Hello, World!", "sha256=" + strings.ToUpper(known[7:]), true},
		{"another body", "Hello, World", known, false},
		{"no signature", "Hello, World!", "", false},
		{"the older scheme", "Hello, World!", "sha1=" + known[7:47], false},
		{"half a signature", "Hello, World!", known[:39], false},
		{"nothing signed", "Hello, World!", "sha256=", false},
		{"not hexadecimal", "Hello, World!", "sha256=zz", false},
	}
	for _, test := range tests {
		r := &channel.Request{Method: "POST", URL: &url.URL{}, Header: http.Header{}, Body: []byte(test.body)}
		if test.signature != "" {
			r.Header.Set(signature, test.signature)
		}
		err := ch.Check(t.Context(), r)
		if test.ok != (err == nil) || err != nil && !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// The signature is over the raw bytes: a body with accents and emoji, escaped or not, is
// never written anew before it is checked.
func TestSignatureIsOverTheRawBytes(t *testing.T) {
	ch := made(t, nil)
	for _, body := range []string{`{"a":"é🙂"}`, `{"a":"\u00e9\ud83d\ude42"}`, "{ \"a\" : \"\\/\" }\n"} {
		r := request([]byte(body), sign(body))
		if err := ch.Check(t.Context(), &channel.Request{Method: "POST", Header: r.Header, Body: []byte(body)}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Meta verifies the address with the token that it was told, and wants its challenge back
// as it is.
func TestVerification(t *testing.T) {
	ch := made(t, nil)
	ask := func(query string) (channel.Batch, error) {
		r := &channel.Request{Method: "GET", URL: &url.URL{RawQuery: query}}
		if err := ch.Check(t.Context(), r); err != nil {
			return channel.Batch{}, err
		}
		return ch.Parse(r)
	}
	got, err := ask("hub.mode=subscribe&hub.verify_token=verify-token&hub.challenge=1158201444%3Cb%3E")
	if err != nil || got.Answer == nil || string(got.Answer.Body) != "1158201444<b>" || got.Answer.ContentType != "text/plain; charset=utf-8" || got.Answer.Status != 200 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, query := range []string{
		"", "hub.mode=subscribe&hub.challenge=1", "hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1",
		"hub.mode=unsubscribe&hub.verify_token=verify-token&hub.challenge=1",
	} {
		if _, err := ask(query); !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: %v", query, err)
		}
	}
	for _, challenge := range []string{"", strings.Repeat("x", 1025)} {
		if _, err := ask("hub.mode=subscribe&hub.verify_token=verify-token&hub.challenge=" + challenge); err == nil || errors.Is(err, channel.ErrForged) {
			t.Errorf("a challenge of %d bytes: %v", len(challenge), err)
		}
	}
}

// Webhooks as WhatsApp posts them, and what they are.
func TestParse(t *testing.T) {
	ch := made(t, nil)
	const (
		head = `{"object":"whatsapp_business_account","entry":[{"id":"W","changes":[{"field":"messages","value":{"messaging_product":"whatsapp","metadata":{"display_phone_number":"15550000000","phone_number_id":"P"},"contacts":[{"profile":{"name":"T"},"wa_id":"15551234567","user_id":"US.1349"}],"messages":[`
		from = `"from":"15551234567","from_user_id":"US.1349","id":"wamid.A","timestamp":"1700000000",`
		tail = `]}}]}]}`
	)
	change := func(field, value string) string {
		return `{"object":"whatsapp_business_account","entry":[{"id":"W","changes":[{"field":"` + field + `","value":{"messaging_product":"whatsapp","metadata":{"display_phone_number":"15550000000","phone_number_id":"P"},` + value + `}}]}]}`
	}
	text := func(s string) *string { return &s }
	both := channel.Chat{To: channel.Address{"P", "US.1349"}, Also: []channel.Address{{"P", "15551234567"}}}
	person := onereply.Person{ID: "US.1349", Name: "T"}
	plain := func(change func(*channel.Message)) channel.Message {
		m := channel.Message{Chat: both, Message: onereply.Message{ID: "wamid.A", Text: "hi", Sender: person, SentAt: at(1700000000)}}
		if change != nil {
			change(&m)
		}
		return m
	}
	withMedia := func(text, kind, mime, metadata string) channel.Message {
		return plain(func(m *channel.Message) {
			m.Text, m.Attachments = text, []onereply.Attachment{{Kind: kind, MIMEType: mime}}
			m.Metadata = json.RawMessage(`{"whatsapp":{"media":[` + metadata + `]}}`)
		})
	}
	said := func(text string) channel.Message { return plain(func(m *channel.Message) { m.Text = text }) }
	tests := []struct {
		name, body string
		want       channel.Event
	}{
		{"a message", head + `{` + from + `"type":"text","text":{"body":"hi"}}` + tail, plain(nil)},
		{"the number is hidden", change("messages", `"contacts":[{"profile":{"username":"ann"},"user_id":"US.1349"}],"messages":[{"from_user_id":"US.1349","id":"wamid.A","timestamp":"1700000000","type":"text","text":{"body":"hi"}}]`),
			plain(func(m *channel.Message) {
				m.Chat, m.Sender = channel.Chat{To: channel.Address{"P", "US.1349"}}, onereply.Person{ID: "US.1349", Name: "ann"}
			})},
		{"from before the ids", change("messages", `"contacts":[{"profile":{"name":"T"},"wa_id":"15551234567"}],"messages":[{"from":"15551234567","id":"wamid.A","timestamp":1700000000,"type":"text","text":{"body":"hi"}}]`),
			plain(func(m *channel.Message) {
				m.Chat, m.Sender = channel.Chat{To: channel.Address{"P", "15551234567"}}, onereply.Person{ID: "15551234567", Name: "T"}
			})},
		{"in a group", head + `{` + from + `"group_id":"Y2F:x","type":"text","text":{"body":"hi"}}` + tail,
			plain(func(m *channel.Message) { m.Chat = channel.Chat{To: channel.Address{"P", "group", "Y2F:x"}} })},
		{"from nobody", change("messages", `"messages":[{"id":"wamid.A","timestamp":"1","type":"text","text":{"body":"hi"}}]`), channel.Skipped{Kind: "message of nobody"}},
		{"an answer to the bot", head + `{` + from + `"context":{"from":"15550000000","id":"wamid.B"},"type":"text","text":{"body":"hi"}}` + tail,
			plain(func(m *channel.Message) {
				m.ReplyTo = &onereply.Quote{ID: "wamid.B", Sender: onereply.Person{ID: "15550000000", Bot: true}}
			})},
		{"an answer to themselves", head + `{` + from + `"context":{"from":"15551234567","id":"wamid.B"},"type":"text","text":{"body":"hi"}}` + tail,
			plain(func(m *channel.Message) {
				m.ReplyTo = &onereply.Quote{ID: "wamid.B", Sender: onereply.Person{ID: "15551234567"}}
			})},
		{"a forwarded message", head + `{` + from + `"context":{"forwarded":true},"type":"text","text":{"body":"hi"}}` + tail,
			plain(func(m *channel.Message) { m.ForwardedFrom = onereply.Person{Name: "unknown"} })},
		{"a photo", head + `{` + from + `"type":"image","image":{"caption":"look","mime_type":"image/jpeg","sha256":"x","id":"111"}}` + tail, withMedia("look", "image", "image/jpeg", `{"kind":"image","id":"111"}`)},
		{"a voice note", head + `{` + from + `"type":"audio","audio":{"mime_type":"audio/ogg; codecs=opus","id":"112","voice":true}}` + tail, withMedia("", "voice", "audio/ogg; codecs=opus", `{"kind":"voice","id":"112"}`)},
		{"a song", head + `{` + from + `"type":"audio","audio":{"mime_type":"audio/mpeg","id":"113","voice":false}}` + tail, withMedia("", "audio", "audio/mpeg", `{"kind":"audio","id":"113"}`)},
		{"a document", head + `{` + from + `"type":"document","document":{"filename":"a.pdf","mime_type":"application/pdf","id":"114"}}` + tail, withMedia("", "document", "application/pdf", `{"kind":"document","id":"114","name":"a.pdf"}`)},
		{"a video", head + `{` + from + `"type":"video","video":{"mime_type":"video/mp4","id":"115"}}` + tail, withMedia("", "video", "video/mp4", `{"kind":"video","id":"115"}`)},
		{"a sticker", head + `{` + from + `"type":"sticker","sticker":{"mime_type":"image/webp","id":"116","animated":false}}` + tail, withMedia("", "sticker", "image/webp", `{"kind":"sticker","id":"116"}`)},
		{"a button of a template", head + `{` + from + `"type":"button","button":{"payload":"yes","text":"Yes, please"}}` + tail, said("Yes, please")},
		{"a button", head + `{` + from + `"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"b1","title":"Blue"}}}` + tail, said("Blue")},
		{"a choice from a list", head + `{` + from + `"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"l1","title":"Large","description":"d"}}}` + tail, said("Large")},
		{"a form", head + `{` + from + `"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"name":"flow","body":"Sent","response_json":"{\"size\":\"L\"}"}}}` + tail, said(`{"size":"L"}`)},
		{"a place", head + `{` + from + `"type":"location","location":{"latitude":52.5,"longitude":13.4,"name":"Café","address":"Street 1"}}` + tail, said("Café, Street 1, 52.5, 13.4")},
		{"contacts", head + `{` + from + `"type":"contacts","contacts":[{"name":{"formatted_name":"Bo"},"phones":[{"phone":"+49 1"},{"phone":"+49 2"}]},{"name":{"formatted_name":"Cy"}}]}` + tail, said("Bo +49 1 +49 2\nCy")},
		{"an order", head + `{` + from + `"type":"order","order":{"catalog_id":"c","text":"quickly","product_items":[{"product_retailer_id":"sku-1","quantity":2,"item_price":1}]}}` + tail, said("quickly\n2 × sku-1")},
		{"a reaction", head + `{` + from + `"type":"reaction","reaction":{"message_id":"wamid.B","emoji":"👍"}}` + tail, channel.Skipped{Kind: "reaction"}},
		{"a kind that businesses are not told", head + `{` + from + `"type":"unsupported","errors":[{"code":131051,"title":"Message type unknown"}]}` + tail, channel.Skipped{Kind: "unsupported"}},
		{"an edit", head + `{` + strings.Replace(from, "wamid.A", "wamid.E", 1) + `"type":"edit","edit":{"original_message_id":"wamid.A","message":{"context":{"id":"M0"},"type":"text","text":{"body":"bye"}}}}` + tail,
			channel.Edit{Chat: both, ID: "wamid.A", Edit: onereply.Edit{Text: text("bye"), EditedAt: at(1700000000)}}},
		{"an edit of a caption", head + `{` + from + `"type":"edit","edit":{"original_message_id":"wamid.B","message":{"type":"image","image":{"caption":"see","mime_type":"image/jpeg","id":"9"}}}}` + tail,
			channel.Edit{Chat: both, ID: "wamid.B", Edit: onereply.Edit{Text: text("see"), EditedAt: at(1700000000), Attachments: &[]onereply.Attachment{{Kind: "image", MIMEType: "image/jpeg"}}}}},
		{"a deletion", head + `{` + from + `"type":"revoke","revoke":{"original_message_id":"wamid.B"}}` + tail, channel.Deletion{Chat: both, ID: "wamid.B"}},
		{"another number", change("messages", `"messages":[{"from":"1555","id":"wamid.A","timestamp":"1","type":"system","system":{"body":"User T changed from 1555 to 1666","wa_id":"1666","type":"user_changed_number"}}]`),
			channel.Moved{From: channel.Address{"P", "1555"}, To: channel.Address{"P", "1666"}}},
		{"another number, and the id is the same", change("messages", `"messages":[{"from":"1555","from_user_id":"US.1","id":"wamid.A","timestamp":"1","type":"system","system":{"wa_id":"1666","user_id":"US.1","type":"user_changed_number"}}]`), channel.Skipped{Kind: "user_changed_number"}},
		{"another number, and another id", change("messages", `"messages":[{"from":"1555","from_user_id":"US.1","id":"wamid.A","timestamp":"1","type":"system","system":{"wa_id":"1666","user_id":"US.2","type":"user_changed_number"}}]`),
			channel.Moved{From: channel.Address{"P", "US.1"}, To: channel.Address{"P", "US.2"}}},
		{"another id", change("messages", `"messages":[{"id":"wamid.A","timestamp":"1","type":"system","system":{"body":"User Ann Lee changed from US.1 to US.2","user_id":"US.2","type":"user_changed_user_id"}}]`),
			channel.Moved{From: channel.Address{"P", "US.1"}, To: channel.Address{"P", "US.2"}}},
		{"another id, told in a field of its own", change("user_id_update", `"user_id_update":[{"wa_id":"1555","detail":"d","user_id":{"previous":"US.1","current":"US.2"},"timestamp":1}]`),
			channel.Moved{From: channel.Address{"P", "US.1"}, To: channel.Address{"P", "US.2"}}},
		{"a change of nothing known", change("messages", `"messages":[{"id":"wamid.A","timestamp":"1","type":"system","system":{"type":"customer_identity_changed"}}]`), channel.Skipped{Kind: "customer_identity_changed"}},
		{"it was sent", change("messages", `"statuses":[{"id":"wamid.B","status":"sent","timestamp":"1","recipient_id":"15551234567","recipient_user_id":"US.1349","biz_opaque_callback_data":"r/1"}]`),
			channel.Skipped{Kind: "status sent"}},
		{"it was delivered", change("messages", `"statuses":[{"id":"wamid.B","status":"delivered","timestamp":"1","recipient_id":"15551234567","recipient_user_id":"US.1349","biz_opaque_callback_data":"r/1"}]`),
			channel.Report{Chat: both, ID: "wamid.B", Part: "r/1", Status: onereply.ReplyDelivered}},
		{"it was read", change("messages", `"statuses":[{"id":"wamid.B","status":"read","timestamp":"1","recipient_user_id":"US.1349"}]`),
			channel.Report{Chat: channel.Chat{To: channel.Address{"P", "US.1349"}}, ID: "wamid.B", Status: onereply.ReplyRead}},
		{"it was read in a group", change("messages", `"statuses":[{"id":"wamid.B","status":"read","timestamp":"1","recipient_id":"Y2F","recipient_type":"group"}]`),
			channel.Report{Chat: channel.Chat{To: channel.Address{"P", "group", "Y2F"}}, ID: "wamid.B", Status: onereply.ReplyRead}},
		{"it failed", change("messages", `"statuses":[{"id":"wamid.B","status":"failed","timestamp":"1","recipient_id":"15551234567","errors":[{"code":131047,"title":"Re-engagement message","message":"Re-engagement message","error_data":{"details":"More than 24 hours have passed."}}]}]`),
			channel.Report{Chat: channel.Chat{To: channel.Address{"P", "15551234567"}}, ID: "wamid.B", Status: onereply.ReplyFailed,
				Reason: "the person last wrote more than 24 hours ago, and until they write again WhatsApp takes only a template message from you: send one with Meta's tools, or wait until they write (131047, Re-engagement message: More than 24 hours have passed.)"}},
		{"it failed, and nobody knows why", change("messages", `"statuses":[{"id":"wamid.B","status":"failed","recipient_id":"1"}]`),
			channel.Report{Chat: channel.Chat{To: channel.Address{"P", "1"}}, ID: "wamid.B", Status: onereply.ReplyFailed, Reason: "WhatsApp gives no reason"}},
		{"staff answers from the app", change("smb_message_echoes", `"message_echoes":[{"from":"15550000000","to":"15551234567","id":"wamid.S","timestamp":"1","type":"text","text":{"body":"I will see to it"}}]`),
			channel.TakeOver{Chat: channel.Chat{To: channel.Address{"P", "15551234567"}}, ID: "wamid.S", Text: "I will see to it"}},
		{"staff answers somebody with an id", change("smb_message_echoes", `"contacts":[{"wa_id":"15551234567","user_id":"US.1349"}],"message_echoes":[{"from":"15550000000","to":"15551234567","id":"wamid.S","timestamp":"1","type":"image","image":{"id":"1","mime_type":"image/png"}}]`),
			channel.TakeOver{Chat: both, ID: "wamid.S", Text: "[image]"}},
		{"staff reacts", change("smb_message_echoes", `"message_echoes":[{"from":"15550000000","to":"1555","id":"wamid.S","type":"reaction","reaction":{"emoji":"👍"}}]`), channel.Skipped{Kind: "echo of reaction"}},
		{"staff edits", change("smb_message_echoes", `"message_echoes":[{"from":"15550000000","to":"1555","id":"wamid.S","type":"edit","edit":{"original_message_id":"wamid.R","message":{"type":"text","text":{"body":"x"}}}}]`), channel.Skipped{Kind: "echo of edit"}},
		{"Meta's agent is asked", change("standby", `"contacts":[{"profile":{"name":"T"},"wa_id":"15551234567","user_id":"US.1349"}],"messages":[{`+from+`"type":"text","text":{"body":"hi"}}]`),
			plain(func(m *channel.Message) { m.Context = true })},
		{"Meta's agent answers", change("standby", `"message_echoes":[{"from":"15550000000","to":"15551234567","to_user_id":"US.1349","id":"wamid.M","timestamp":"1","type":"text","text":{"body":"hello"}}]`),
			channel.TakeOver{Chat: both, ID: "wamid.M", Text: "hello"}},
		{"the history of the app", change("history", `"history":[{"threads":[]}]`), channel.Skipped{Kind: "history"}},
		{"a message to another number", strings.Replace(head, `"phone_number_id":"P"`, `"phone_number_id":"Q"`, 1) + `{` + from + `"type":"text","text":{"body":"hi"}}` + tail, channel.Skipped{Kind: "another number"}},
		{"another product", `{"object":"instagram","entry":[]}`, channel.Skipped{Kind: "instagram"}},
		{"nothing", `{}`, channel.Skipped{Kind: "empty"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ch.Parse(&channel.Request{Method: "POST", Body: []byte(test.body)})
			if err != nil || len(got.Events) != 1 || !reflect.DeepEqual(got.Events[0], test.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got.Events, err, test.want)
			}
		})
	}
	if _, err := ch.Parse(&channel.Request{Method: "POST", Body: []byte(`{"object":"whats`)}); err == nil {
		t.Error("half a body was read")
	}
}

// One event that can't be read spoils none beside it, in whatever entry, change or list.
func TestParseReadsWhatItCan(t *testing.T) {
	ch := made(t, nil)
	good := func(id string) string {
		return `{"from":"1","id":"` + id + `","timestamp":"1","type":"text","text":{"body":"hi"}}`
	}
	change := func(value string) string { return `{"field":"messages","value":` + value + `}` }
	body := `{"object":"whatsapp_business_account","entry":[{"changes":[` +
		change(`{"messages":[`+good("a")+`,{"from":7},`+good("b")+`]}`) + `,` + change(`{"messages":"none"}`) + `]},{"changes":[` + change(`{"messages":[`+good("c")+`]}`) + `]}]}`
	got, err := ch.Parse(&channel.Request{Method: "POST", Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range got.Events {
		if m, ok := e.(channel.Message); ok {
			ids = append(ids, m.ID)
		}
	}
	if strings.Join(ids, "") != "abc" || len(got.Events) != 5 {
		t.Errorf("%+v", got.Events)
	}
}

// A number, a token or a secret that Meta does not have is refused, and is not shown.
func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*whatsapp.Config){
		"no number": func(c *whatsapp.Config) { c.PhoneNumberID = "" }, "a path": func(c *whatsapp.Config) { c.PhoneNumberID = "1/2" },
		"no token": func(c *whatsapp.Config) { c.Token = "" }, "a token in lines": func(c *whatsapp.Config) { c.Token = "secret\nsecret" },
		"no secret": func(c *whatsapp.Config) { c.AppSecret = "" }, "no verify token": func(c *whatsapp.Config) { c.VerifyToken = "" },
		"no address": func(c *whatsapp.Config) { c.APIBase = "graph" },
	} {
		c := config(nil)
		change(&c)
		if _, err := whatsapp.New(c); err == nil {
			t.Errorf("%s: it is accepted", name)
		} else if strings.Contains(err.Error(), "secret\n") {
			t.Errorf("%s: the error shows it: %v", name, err)
		}
	}
}

// The address of the API may name its version.
func TestVersion(t *testing.T) {
	for base, want := range map[string]string{"": "/v26.0/P/messages", "/": "/v26.0/P/messages", "/v25.0": "/v25.0/P/messages", "/private/v27.0/": "/private/v27.0/P/messages", "/private": "/private/v26.0/P/messages"} {
		var path string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			_, _ = w.Write([]byte(`{"messages":[{"id":"wamid.X"}]}`))
		}))
		ch := made(t, func(c *whatsapp.Config) { c.APIBase = server.URL + base })
		if _, err := ch.Send(t.Context(), &channel.Part{To: channel.Address{"P", "1"}, Text: "hi"}); err != nil || path != want {
			t.Errorf("%q: called %s, %v; want %s", base, path, err, want)
		}
		server.Close()
	}
}

package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/channel/telegram"
	"github.com/onereply/onereply/channel/telegram/faketelegram"
)

// opened is a channel on a fake Telegram that has told the bot's name.
func opened(t *testing.T) (channel.Channel, *faketelegram.Telegram) {
	t.Helper()
	f := faketelegram.New(token, name)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	ch, err := telegram.New(telegram.Config{Token: token, Secret: secret, APIBase: server.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.(channel.Opener).Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ch, f
}

// parsed is the events of an update.
func parsed(t *testing.T, ch channel.Channel, body string) []channel.Event {
	t.Helper()
	batch, err := ch.Parse(&channel.Request{Method: "POST", Body: []byte(body)})
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return batch.Events
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// Updates as Telegram tells them, and what they are.
func TestParse(t *testing.T) {
	ch, _ := opened(t)
	ann := onereply.Person{ID: "42", Name: "A"}
	const from = `"from":{"id":42,"is_bot":false,"first_name":"A"}`
	private := channel.Chat{To: channel.Address{"42"}}
	group := channel.Chat{To: channel.Address{"-7"}}
	text := func(s string) *string { return &s }
	photo := func(kind, id string) (a []onereply.Attachment, m json.RawMessage) {
		return []onereply.Attachment{{Kind: kind}}, json.RawMessage(`{"telegram":{"files":[{"kind":"` + kind + `","file_id":"` + id + `"}]}}`)
	}
	images, imageFiles := photo("image", "big")
	none := []onereply.Attachment(nil)
	tests := []struct {
		name, body string
		want       channel.Event
	}{
		{"a message", `{"update_id":101,"message":{"message_id":7,"date":1700000000,"chat":{"id":42,"type":"private"},` + from + `,"text":"hi"}}`,
			channel.Message{Chat: private, Message: onereply.Message{ID: "7", Text: "hi", Sender: ann, SentAt: at(1700000000)}}},
		{"a photo of an album, with its caption", `{"update_id":1,"message":{"message_id":8,"date":1,"chat":{"id":42,"type":"private"},` + from + `,"media_group_id":"g1","caption":"look","photo":[{"file_id":"small"},{"file_id":"big"}]}}`,
			channel.Message{Chat: private, Message: onereply.Message{ID: "8", Text: "look", Sender: ann, SentAt: at(1), Group: "g1", Attachments: images, Metadata: imageFiles}}},
		{"an edit", `{"update_id":1,"edited_message":{"message_id":7,"date":1,"edit_date":5,"chat":{"id":42,"type":"private"},` + from + `,"text":"bye"}}`,
			channel.Edit{Chat: private, ID: "7", Edit: onereply.Edit{Text: text("bye"), Attachments: &none, EditedAt: at(5)}}},
		{"a topic", `{"update_id":1,"message":{"message_id":7,"date":1,"message_thread_id":5,"is_topic_message":true,"chat":{"id":42,"type":"private"},` + from + `,"text":"hi","reply_to_message":{"message_id":5,"chat":{"id":42}}}}`,
			channel.Message{Chat: channel.Chat{To: channel.Address{"42", "5"}}, Message: onereply.Message{ID: "7", Text: "hi", Sender: ann, SentAt: at(1)}}},
		{"a thread of replies is no topic, and is not meant for the bot", `{"update_id":1,"message":{"message_id":7,"date":1,"message_thread_id":5,"chat":{"id":-7,"type":"supergroup"},` + from + `,"text":"hi"}}`,
			channel.Message{Chat: group, Message: onereply.Message{ID: "-7/7", Text: "hi", Sender: ann, SentAt: at(1), Unaddressed: true}}},
		{"a mention, behind an emoji", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"text":"🙂 @Onereply_Test_Bot hi","entities":[{"type":"mention","offset":3,"length":18}]}}`,
			channel.Message{Chat: group, Message: onereply.Message{ID: "7", Text: "🙂 @Onereply_Test_Bot hi", Sender: ann, SentAt: at(1)}}},
		{"a mention of another bot", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"text":"@other_bot hi","entities":[{"type":"mention","offset":0,"length":10}]}}`,
			channel.Message{Chat: group, Message: onereply.Message{ID: "7", Text: "@other_bot hi", Sender: ann, SentAt: at(1), Unaddressed: true}}},
		{"a span that is not in the text", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"text":"hi","entities":[{"type":"mention","offset":1,"length":9223372036854775807},{"type":"mention","offset":-1,"length":1}]}}`,
			channel.Message{Chat: group, Message: onereply.Message{ID: "7", Text: "hi", Sender: ann, SentAt: at(1), Unaddressed: true}}},
		{"an answer to the bot", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"text":"why","reply_to_message":{"message_id":3,"text":"no","from":{"id":4711,"is_bot":true,"first_name":"Bot"},"chat":{"id":-7}},"quote":{"text":"o"}}}`,
			channel.Message{Chat: group, Message: onereply.Message{ID: "7", Text: "why", Sender: ann, SentAt: at(1), ReplyTo: &onereply.Quote{ID: "3", Text: "o", Sender: onereply.Person{ID: "4711", Name: "Bot", Bot: true}}}}},
		{"a command ends the quiet time, and loses the bot's name", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"text":"/stop@onereply_test_bot now","entities":[{"type":"bot_command","offset":0,"length":23}]}}`,
			channel.Message{Chat: group, AtOnce: true, Message: onereply.Message{ID: "7", Text: "/stop now", Sender: ann, SentAt: at(1)}}},
		{"a command of another bot", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"text":"/stop@other_bot","entities":[{"type":"bot_command","offset":0,"length":15}]}}`,
			channel.Message{Chat: group, Message: onereply.Message{ID: "7", Text: "/stop@other_bot", Sender: ann, SentAt: at(1), Unaddressed: true}}},
		{"an anonymous admin is the group", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":{"id":-7,"title":"Team"},"text":"hi"}}`,
			channel.Message{Chat: group, Message: onereply.Message{ID: "7", Text: "hi", Sender: onereply.Person{ID: "-7", Name: "Team"}, SentAt: at(1), Unaddressed: true}}},
		{"a forwarded message", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":42,"type":"private"},` + from + `,"text":"hi","forward_origin":{"type":"hidden_user","sender_user_name":"Zoe"}}}`,
			channel.Message{Chat: private, Message: onereply.Message{ID: "7", Text: "hi", Sender: ann, SentAt: at(1), ForwardedFrom: onereply.Person{Name: "Zoe"}}}},
		{"a customer of a business account", `{"update_id":1,"business_message":{"business_connection_id":"c1","message_id":7,"date":1,"chat":{"id":42,"type":"private"},` + from + `,"text":"hi"}}`,
			channel.Message{Chat: channel.Chat{To: channel.Address{"42", "", "c1"}}, Message: onereply.Message{ID: "7", Text: "hi", Sender: ann, SentAt: at(1)}}},
		{"its owner answers from their phone", `{"update_id":1,"business_message":{"business_connection_id":"c1","message_id":8,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":99,"is_bot":false,"first_name":"O"},"text":"I will see to it"}}`,
			channel.TakeOver{Chat: channel.Chat{To: channel.Address{"42", "", "c1"}}, ID: "8", Text: "I will see to it"}},
		{"the bot answers for it", `{"update_id":1,"business_message":{"business_connection_id":"c1","message_id":9,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":99,"is_bot":false,"first_name":"O"},"sender_business_bot":{"id":4711,"is_bot":true,"first_name":"Bot"},"text":"re: hi"}}`,
			channel.Echo{Chat: channel.Chat{To: channel.Address{"42", "", "c1"}}, ID: "9", Text: "re: hi"}},
		{"a deletion", `{"update_id":1,"deleted_business_messages":{"business_connection_id":"c1","chat":{"id":42,"type":"private"},"message_ids":[7]}}`,
			channel.Deletion{Chat: channel.Chat{To: channel.Address{"42", "", "c1"}}, ID: "7"}},
		{"a group becomes a supergroup", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"migrate_to_chat_id":-1007}}`,
			channel.Moved{From: channel.Address{"-7"}, To: channel.Address{"-1007"}}},
		{"and the supergroup says so too", `{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":-1007,"type":"supergroup"},` + from + `,"migrate_from_chat_id":-7}}`,
			channel.Moved{From: channel.Address{"-7"}, To: channel.Address{"-1007"}}},
		{"a live location moves", `{"update_id":1,"edited_message":{"message_id":7,"date":1,"edit_date":5,"chat":{"id":-7,"type":"group"},` + from + `,"location":{"latitude":52.5,"longitude":13.4}}}`,
			channel.Skipped{Kind: "edit"}},
		{"someone joins", `{"update_id":1,"message":{"message_id":7,"date":1,"chat":{"id":-7,"type":"group"},` + from + `,"new_chat_members":[{"id":5}]}}`, channel.Skipped{Kind: "service message"}},
		{"a member's rights change", `{"update_id":1,"my_chat_member":{}}`, channel.Skipped{Kind: "my_chat_member"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := parsed(t, ch, test.body); len(got) != 1 || !reflect.DeepEqual(got[0], test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
	if _, err := ch.Parse(&channel.Request{Body: []byte(`{"update_id":101,"mess`)}); err == nil {
		t.Error("half a body was read")
	}
}

// What the Bot API answers, and what that says about the message.
func TestOutcomes(t *testing.T) {
	tests := []struct {
		name  string
		fault faketelegram.Fault
		want  onereply.SendError
	}{
		{"429", faketelegram.Fault{Code: 429, RetryAfter: 35 * time.Second}, onereply.SendError{NotDelivered: true, RetryAfter: 35 * time.Second}},
		{"blocked", faketelegram.Fault{Code: 403, Description: "Forbidden: bot was blocked by the user"}, onereply.SendError{NotDelivered: true, Permanent: true}},
		{"no such chat", faketelegram.Fault{Code: 400, Description: "Bad Request: chat not found"}, onereply.SendError{NotDelivered: true, Permanent: true}},
		{"a wrong token", faketelegram.Fault{Code: 401, Description: "Unauthorized"}, onereply.SendError{NotDelivered: true, WholeBot: true, RetryAfter: 30 * time.Second}},
		{"500", faketelegram.Fault{Code: 500, Description: "Internal Server Error"}, onereply.SendError{}},
		{"502", faketelegram.Fault{Code: 502, Description: "Bad Gateway"}, onereply.SendError{}},
		{"a lost answer", faketelegram.Fault{Lost: true}, onereply.SendError{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ch, f := opened(t)
			f.Fail(test.fault)
			_, err := ch.Send(t.Context(), &channel.Part{To: channel.Address{"42"}, Text: "hi"})
			if err == nil {
				t.Fatal("it counts as sent")
			}
			got := onereply.SendError{}
			if known, ok := errors.AsType[*onereply.SendError](err); ok {
				got = *known
			}
			got.Err = nil
			if got != test.want {
				t.Errorf("%v is %+v, want %+v", err, got, test.want)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
	ch, err := telegram.New(telegram.Config{Token: token, Secret: secret, APIBase: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ch.Send(t.Context(), &channel.Part{To: channel.Address{"42"}, Text: "hi"})
	if known, ok := errors.AsType[*onereply.SendError](err); !ok || !known.NotDelivered || known.Permanent {
		t.Errorf("nobody listens there, so nothing was sent: %v", err)
	}
}

// A message goes to its chat, its topic and its business connection, as plain text.
func TestSendCall(t *testing.T) {
	var got []map[string]any
	refuseTopics := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		body["path"] = r.URL.Path
		got = append(got, body)
		if refuseTopics && body["message_thread_id"] != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"ok":false,"error_code":400,"description":"Bad Request: message thread not found"}`))
			return
		}
		_, _ = w.Write([]byte(`{"ok":true,"result":{"message_id":12}}`))
	}))
	defer server.Close()
	ch, err := telegram.New(telegram.Config{Token: token, APIBase: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	path := "/bot" + token + "/"
	tests := []struct {
		to     channel.Address
		topics bool
		want   []map[string]any
	}{
		{channel.Address{"42"}, true, []map[string]any{{"path": path + "sendMessage", "chat_id": 42.0, "text": "<b>"}}},
		{channel.Address{"42", "5"}, true, []map[string]any{{"path": path + "sendMessage", "chat_id": 42.0, "message_thread_id": 5.0, "text": "<b>"}}},
		{channel.Address{"-7", "", "c1"}, true, []map[string]any{{"path": path + "sendMessage", "chat_id": -7.0, "business_connection_id": "c1", "text": "<b>"}}},
		{channel.Address{"42", "5"}, false, []map[string]any{
			{"path": path + "sendMessage", "chat_id": 42.0, "message_thread_id": 5.0, "text": "<b>"},
			{"path": path + "sendMessage", "chat_id": 42.0, "text": "<b>"},
		}},
	}
	for _, test := range tests {
		got, refuseTopics = nil, !test.topics
		sent, err := ch.Send(t.Context(), &channel.Part{To: test.to, Text: "<b>"})
		if err != nil || sent.ID != "12" || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: %v, %v, called with %v, want %v", test.to, sent, err, got, test.want)
		}
	}
	got, refuseTopics = nil, false
	if err := ch.(channel.Typist).Typing(t.Context(), channel.Address{"42", "5"}, "7"); err != nil {
		t.Fatal(err)
	}
	if want := []map[string]any{{"path": path + "sendChatAction", "chat_id": 42.0, "message_thread_id": 5.0, "action": "typing"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("called with %v, want %v", got, want)
	}
	for _, bad := range []channel.Address{{"x"}, {"42", "x"}, {"1", "2", "3", "4"}, {}} {
		if _, err := ch.Send(context.Background(), &channel.Part{To: bad, Text: "hi"}); err == nil {
			t.Errorf("%v is no address", bad)
		}
	}
}

// A token or a secret that Telegram does not have is refused, and is not shown.
func TestConfig(t *testing.T) {
	for _, c := range []telegram.Config{
		{}, {Token: "4711"}, {Token: "4711:a b"}, {Token: token, Secret: "sécret"}, {Token: token, Secret: strings.Repeat("x", 257)}, {Token: token, APIBase: "telegram"},
	} {
		if _, err := telegram.New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		} else if c.Secret != "" && strings.Contains(err.Error(), c.Secret) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

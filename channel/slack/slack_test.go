package slack_test

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
	"github.com/onereply/onereply/channel/slack"
	"github.com/onereply/onereply/channel/slack/fakeslack"
)

func made(t *testing.T, change func(*slack.Config)) *slack.Channel {
	t.Helper()
	c := config(nil)
	if change != nil {
		change(&c)
	}
	ch, err := slack.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// Signatures that others have published, and what must not pass.
func TestSignature(t *testing.T) {
	const (
		form  = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
		known = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
		made0 = 1531420618
	)
	ch := made(t, func(c *slack.Config) { c.SigningSecret = "8f742231b10e8888abcd99yyyzzz85a5" })
	tests := []struct {
		name, stamp, body, signature string
		at                           int64
		ok                           bool
	}{
		{"the known answer", "1531420618", form, known, made0, true},
		{"five minutes later", "1531420618", form, known, made0 + 300, true},
		{"more than five minutes later", "1531420618", form, known, made0 + 301, false},
		{"from the future", "1531420618", form, known, made0 - 301, false},
		{"another time", "1531420619", form, known, made0, false},
		{"another body", "1531420618", form + "x", known, made0, false},
		{"no time", "", form, known, made0, false},
		{"no signature", "1531420618", form, "", made0, false},
		{"nothing signed", "1531420618", form, "v0=", made0, false},
		{"not hexadecimal", "1531420618", form, "v0=zz", made0, false},
	}
	for _, test := range tests {
		r := &channel.Request{Method: "POST", URL: &url.URL{}, Header: http.Header{}, Body: []byte(test.body), At: time.Unix(test.at, 0)}
		r.Header.Set("X-Slack-Request-Timestamp", test.stamp)
		r.Header.Set("X-Slack-Signature", test.signature)
		err := ch.Check(t.Context(), r)
		if test.ok != (err == nil) || err != nil && !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Slack's own form of an event, as the package slack-go keeps it for its tests, with its
// published signature.
func TestSignatureOfAnEvent(t *testing.T) {
	const body = `{"token":"aF5ynEYQH0dFN9imlgcADxDB","team_id":"XXXXXXXXX","api_app_id":"YYYYYYYYY","event":{"type":"app_mention","user":"AAAAAAAAA","text":"<@EEEEEEEEE> hello world","client_msg_id":"477cc591-ch73-a14z-4db8-g0cd76321bec","ts":"1531431954.000073","channel":"TTTTTTTTT","event_ts":"1531431954.000073"},"type":"event_callback","event_id":"TvBP7LRED7","event_time":1531431954,"authed_users":["EEEEEEEEE"]}`
	ch := made(t, func(c *slack.Config) { c.SigningSecret = "e6b19c573432dcc6b075501d51b51bb8" })
	r := &channel.Request{Method: "POST", Header: http.Header{}, Body: []byte(body), At: time.Unix(1531431954, 0)}
	r.Header.Set("X-Slack-Request-Timestamp", "1531431954")
	r.Header.Set("X-Slack-Signature", "v0=adada4ed31709aef585c2580ca3267678c6a8eaeb7e0c1aca3ee57b656886b2c")
	if err := ch.Check(t.Context(), r); err != nil {
		t.Error(err)
	}
	got, err := ch.Parse(r)
	if err != nil || len(got.Events) != 1 {
		t.Fatal(got, err)
	}
	if m, ok := got.Events[0].(channel.Message); !ok || m.ID != "1531431954.000073" || m.To.Key("slack") != "slack:XXXXXXXXX:TTTTTTTTT:1531431954.000073" {
		t.Errorf("%+v", got.Events[0])
	}
}

// Events as Slack posts them, and what they are.
func TestParse(t *testing.T) {
	ch := made(t, nil)
	at := time.Unix(1531431954, 73000).UTC()
	text := func(s string) *string { return &s }
	none := []onereply.Attachment(nil)
	in := func(parts ...string) channel.Chat { return channel.Chat{To: append(channel.Address{"T1"}, parts...)} }
	said := func(change func(*channel.Message)) channel.Message {
		m := channel.Message{Chat: in("D1"), Message: onereply.Message{ID: "1531431954.000073", Text: "hi", Sender: onereply.Person{ID: "U1"}, SentAt: at}}
		if change != nil {
			change(&m)
		}
		return m
	}
	const (
		im  = `"type":"message","channel":"D1","channel_type":"im","user":"U1","ts":"1531431954.000073"`
		in1 = `"type":"message","channel":"C1","channel_type":"channel","user":"U1","ts":"1531431954.000073"`
	)
	change := func(channel, kind, now, before string) string {
		return `{"type":"message","subtype":"message_changed","hidden":true,"channel":"` + channel + `","channel_type":"` + kind + `","event_ts":"1531431955.000000","message":` + now + `,"previous_message":` + before + `}`
	}
	tests := []struct {
		name, event string
		want        channel.Event
	}{
		{"a direct message", `{` + im + `,"text":"hi","client_msg_id":"477cc591"}`, said(nil)},
		{"a thread in a direct chat", `{` + im + `,"text":"hi","thread_ts":"1531431900.000001"}`, said(func(m *channel.Message) { m.Chat = in("D1", "1531431900.000001") })},
		{"a mention, as a message", `{` + in1 + `,"text":"<@UBOT> hi"}`, said(func(m *channel.Message) { m.Chat = in("C1", "1531431954.000073") })},
		{"the same mention, as a mention", `{"type":"app_mention","channel":"C1","user":"U1","ts":"1531431954.000073","text":"<@UBOT> hi"}`, said(func(m *channel.Message) { m.Chat = in("C1", "1531431954.000073") })},
		{"a mention in a thread", `{` + in1 + `,"thread_ts":"1531431900.000001","text":"please, <@UBOT|bot>"}`, said(func(m *channel.Message) { m.Chat, m.Text = in("C1", "1531431900.000001"), "please, @bot" })},
		{"a message that is for others", `{` + in1 + `,"text":"<@U9> hi"}`, said(func(m *channel.Message) {
			m.Chat, m.Text, m.Unaddressed = in("C1", "1531431954.000073"), "@U9 hi", true
		})},
		{"a mention of somebody whose id begins alike", `{` + in1 + `,"text":"<@UBOT2> hi"}`, said(func(m *channel.Message) {
			m.Chat, m.Text, m.Unaddressed = in("C1", "1531431954.000073"), "@UBOT2 hi", true
		})},
		{"markup", `{` + im + `,"text":"see <https://a.test/?x=1&amp;y|the page>, <https://b.test>, <#C9|general>, <!here>, 1 &lt; 2 &amp;&amp; 3 &gt; 2"}`,
			said(func(m *channel.Message) {
				m.Text = "see the page (https://a.test/?x=1&y), https://b.test, #general, @here, 1 < 2 && 3 > 2"
			})},
		{"a file", `{` + im + `,"subtype":"file_share","text":"","files":[{"id":"F1","name":"a.png","mimetype":"image/png"},{"id":"F2","name":"a.pdf","mimetype":"application/pdf"}]}`,
			said(func(m *channel.Message) {
				m.Text, m.Attachments = "", []onereply.Attachment{{Kind: "image", MIMEType: "image/png"}, {Kind: "document", MIMEType: "application/pdf"}}
				m.Metadata = json.RawMessage(`{"slack":{"files":[{"kind":"image","id":"F1","name":"a.png"},{"kind":"document","id":"F2","name":"a.pdf"}]}}`)
			})},
		{"another bot", `{"type":"message","subtype":"bot_message","channel":"C1","channel_type":"channel","bot_id":"B9","username":"deploys","ts":"1531431954.000073","text":"<@UBOT> done"}`,
			said(func(m *channel.Message) {
				m.Chat, m.Text, m.Sender = in("C1", "1531431954.000073"), "done", onereply.Person{ID: "B9", Name: "deploys", Bot: true}
			})},
		{"a name", `{` + im + `,"text":"hi","user_profile":{"display_name":"ann","real_name":"Ann Lee"}}`, said(func(m *channel.Message) { m.Sender.Name = "ann" })},
		{"its own post", `{"type":"message","channel":"D1","channel_type":"im","user":"UBOT","bot_id":"BBOT","app_id":"A1","text":"re","ts":"1.1"}`, channel.Echo{Chat: in("D1"), ID: "1.1", Text: "re"}},
		{"its own post, by its app alone", `{"type":"message","channel":"D1","channel_type":"im","bot_id":"B?","bot_profile":{"app_id":"A1"},"text":"re","ts":"1.1"}`, channel.Echo{Chat: in("D1"), ID: "1.1", Text: "re"}},
		{"an edit", change("D1", "im", `{"user":"U1","text":"by tuesday","ts":"1.5","edited":{"ts":"1531431954.000073"}}`, `{"user":"U1","text":"by monday","ts":"1.5"}`),
			channel.Edit{Chat: in("D1"), ID: "1.5", Edit: onereply.Edit{Text: text("by tuesday"), Attachments: &none, EditedAt: at}}},
		{"an edit in a thread", change("C1", "channel", `{"user":"U1","text":"b","ts":"1.5","thread_ts":"1.1"}`, `{"user":"U1","text":"a","ts":"1.5","thread_ts":"1.1"}`),
			channel.Edit{Chat: in("C1", "1.1"), ID: "1.5", Edit: onereply.Edit{Text: text("b"), Attachments: &none, EditedAt: time.Unix(1531431955, 0).UTC()}}},
		{"an edit among others", change("C1", "channel", `{"user":"U1","text":"b","ts":"1.5"}`, `{"user":"U1","text":"a","ts":"1.5"}`), channel.Skipped{Kind: "edit of a message of others"}},
		{"a link's preview", change("D1", "im", `{"user":"U1","text":"<https://a.test>","ts":"1.5","attachments":[{"title":"A"}]}`, `{"user":"U1","text":"<https://a.test>","ts":"1.5"}`), channel.Skipped{Kind: "message_changed without an edit"}},
		{"a preview in its own post", change("D1", "im", `{"user":"UBOT","bot_id":"BBOT","text":"re","ts":"1.5"}`, `{"user":"UBOT","text":"","ts":"1.5"}`), channel.Skipped{Kind: "message_changed"}},
		{"a deletion", `{"type":"message","subtype":"message_deleted","channel":"D1","channel_type":"im","deleted_ts":"1.5","previous_message":{"user":"U1","text":"x","ts":"1.5"}}`, channel.Deletion{Chat: in("D1"), ID: "1.5"}},
		{"a deletion in a channel", `{"type":"message","subtype":"message_deleted","channel":"C1","channel_type":"channel","deleted_ts":"1.5","previous_message":{"user":"U1","text":"<@UBOT> x","ts":"1.5"}}`, channel.Deletion{Chat: in("C1", "1.5"), ID: "1.5"}},
		{"a deletion among others", `{"type":"message","subtype":"message_deleted","channel":"C1","channel_type":"channel","deleted_ts":"1.5","previous_message":{"user":"U1","text":"x","ts":"1.5"}}`, channel.Skipped{Kind: "deletion of a message of others"}},
		{"its own post is deleted", `{"type":"message","subtype":"message_deleted","channel":"D1","channel_type":"im","deleted_ts":"1.5","previous_message":{"user":"UBOT","text":"x","ts":"1.5"}}`, channel.Skipped{Kind: "deletion of a message of others"}},
		{"the head of a thread is deleted", change("C1", "channel", `{"subtype":"tombstone","user":"USLACKBOT","text":"This message was deleted.","ts":"1.5","thread_ts":"1.5"}`, `{"user":"U1","text":"<@UBOT> x","ts":"1.5","thread_ts":"1.5"}`), channel.Deletion{Chat: in("C1", "1.5"), ID: "1.5"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ch.Parse(&channel.Request{Method: "POST", Body: []byte(bodyOf(test.event))})
			if err != nil || len(got.Events) != 1 || !reflect.DeepEqual(got.Events[0], test.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got.Events, err, test.want)
			}
		})
	}
	if _, err := ch.Parse(&channel.Request{Body: []byte(`{"type":"event_c`)}); err == nil {
		t.Error("half a body was read")
	}
}

// Slack verifies the address by a challenge, which it wants back as it is.
func TestVerification(t *testing.T) {
	ch := made(t, nil)
	got, err := ch.Parse(&channel.Request{Body: []byte(`{"type":"url_verification","challenge":"c<b>"}`)})
	if err != nil || got.Answer == nil || got.Answer.Status != 200 || string(got.Answer.Body) != "c<b>" || got.Answer.ContentType != "text/plain; charset=utf-8" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, challenge := range []string{"", strings.Repeat("x", 1025)} {
		if _, err := ch.Parse(&channel.Request{Body: []byte(`{"type":"url_verification","challenge":"` + challenge + `"}`)}); err == nil {
			t.Errorf("a challenge of %d bytes is taken", len(challenge))
		}
	}
}

// A message goes to its channel and its thread. Nothing in it is taken for markup: a model
// must not call everybody in a channel.
func TestSendCall(t *testing.T) {
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = nil
		_ = json.NewDecoder(r.Body).Decode(&got)
		if r.URL.Path != "/api/chat.postMessage" || r.Header.Get("Authorization") != "Bearer "+app.Token || r.Header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("called %s with %v", r.URL.Path, r.Header)
		}
		_, _ = w.Write([]byte(`{"ok":true,"channel":"C1","ts":"1.9","message":{"text":"x"}}`))
	}))
	defer server.Close()
	ch := made(t, func(c *slack.Config) { c.APIBase = server.URL + "/api/" })
	for _, test := range []struct {
		to   channel.Address
		want map[string]any
	}{
		{channel.Address{"T1", "D1"}, map[string]any{"channel": "D1", "text": "&lt;!channel&gt; &amp; *b*"}},
		{channel.Address{"T1", "C1", "1.5"}, map[string]any{"channel": "C1", "thread_ts": "1.5", "text": "&lt;!channel&gt; &amp; *b*"}},
	} {
		sent, err := ch.Send(t.Context(), &channel.Part{To: test.to, Text: "<!channel> & *b*"})
		if err != nil || sent.ID != "1.9" || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: %v, %v, called with %v, want %v", test.to, sent, err, got, test.want)
		}
	}
	got = nil
	for _, bad := range []channel.Address{{}, {"T1"}, {"T1", ""}, {"T1", "C1", "1", "2"}} {
		_, err := ch.Send(t.Context(), &channel.Part{To: bad, Text: "hi"})
		if known, ok := errors.AsType[*onereply.SendError](err); !ok || !known.Permanent || got != nil {
			t.Errorf("%v is no address: %v", bad, err)
		}
	}
}

// What Slack answers, and what that says about the message.
func TestOutcomes(t *testing.T) {
	refused := onereply.SendError{NotDelivered: true, Permanent: true}
	broken := onereply.SendError{NotDelivered: true, WholeBot: true, RetryAfter: 30 * time.Second}
	tests := []struct {
		name  string
		fault fakeslack.Fault
		want  onereply.SendError
		says  string
	}{
		{"a pause that is named", fakeslack.Fault{Limited: 35 * time.Second}, onereply.SendError{NotDelivered: true, RetryAfter: 35 * time.Second}, "ratelimited"},
		{"a pause that is not", fakeslack.Fault{Error: "ratelimited"}, onereply.SendError{NotDelivered: true, RetryAfter: time.Second}, ""},
		{"no such channel", fakeslack.Fault{Error: "channel_not_found"}, refused, "/invite"},
		{"an archived channel", fakeslack.Fault{Error: "is_archived"}, refused, ""},
		{"an error of 2030", fakeslack.Fault{Error: "quantum_error"}, refused, "quantum_error"},
		{"a wrong token", fakeslack.Fault{Error: "invalid_auth"}, broken, "bot_token"},
		{"a scope is missing", fakeslack.Fault{Error: "missing_scope"}, broken, "chat:write"},
		{"a part may be done", fakeslack.Fault{Error: "fatal_error"}, onereply.SendError{}, "nobody knows"},
		{"500", fakeslack.Fault{Status: 500, Error: "internal_error"}, onereply.SendError{}, ""},
		{"502", fakeslack.Fault{Status: 502}, onereply.SendError{}, ""},
		{"a wrong address", fakeslack.Fault{Status: 404}, broken, ""},
		{"a lost answer", fakeslack.Fault{Lost: true}, onereply.SendError{}, "nobody knows"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := fakeslack.New(app)
			server := httptest.NewServer(f)
			defer server.Close()
			ch := made(t, func(c *slack.Config) { c.APIBase = server.URL + "/api" })
			f.Fail(test.fault)
			_, err := ch.Send(t.Context(), &channel.Part{To: channel.Address{"T1", "D1"}, Text: "hi"})
			if err == nil {
				t.Fatal("it counts as sent")
			}
			got := onereply.SendError{}
			if known, ok := errors.AsType[*onereply.SendError](err); ok {
				got = *known
			}
			got.Err = nil
			if got != test.want || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), app.Token) {
				t.Errorf("%v is %+v, want %+v with %q", err, got, test.want, test.says)
			}
		})
	}
	ch := made(t, func(c *slack.Config) { c.APIBase = "http://127.0.0.1:1" })
	_, err := ch.Send(t.Context(), &channel.Part{To: channel.Address{"T1", "D1"}, Text: "hi"})
	if known, ok := errors.AsType[*onereply.SendError](err); !ok || !known.NotDelivered || known.Permanent {
		t.Errorf("nobody listens there, so nothing was sent: %v", err)
	}
}

// A token or a secret that Slack does not have is refused, and is not shown.
func TestConfig(t *testing.T) {
	for _, c := range []slack.Config{{}, {BotToken: "xoxb a", SigningSecret: "s"}, {BotToken: "xoxb-1"}, {BotToken: "xoxb-1", SigningSecret: "s", APIBase: "slack"}} {
		if _, err := slack.New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		} else if strings.Contains(err.Error(), "xoxb a") {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

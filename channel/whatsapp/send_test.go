package whatsapp_test

import (
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
	"github.com/onereply/onereply/channel/whatsapp"
	"github.com/onereply/onereply/channel/whatsapp/fakewhatsapp"
)

func sign(body string) string { return fakewhatsapp.Sign(account.AppSecret, []byte(body)) }

// A message goes to a phone number, a person's id or a group, with the text by which the
// status of it is recognised.
func TestSendCall(t *testing.T) {
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = nil
		_ = json.NewDecoder(r.Body).Decode(&got)
		if r.Header.Get("Authorization") != "Bearer "+account.Token {
			t.Errorf("authorised by %q", r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte(`{"messaging_product":"whatsapp","contacts":[{"input":"1","wa_id":"1"}],"messages":[{"id":"wamid.X","message_status":"accepted"}]}`))
	}))
	defer server.Close()
	ch := made(t, func(c *whatsapp.Config) { c.APIBase = server.URL })
	message := func(kind, field, to, part string) map[string]any {
		m := map[string]any{"messaging_product": "whatsapp", "recipient_type": kind, field: to, "type": "text", "text": map[string]any{"body": "<b>"}}
		if part != "" {
			m["biz_opaque_callback_data"] = part
		}
		return m
	}
	tests := []struct {
		to   channel.Address
		part string
		want map[string]any
	}{
		{channel.Address{"P", "15551234567"}, "r/1", message("individual", "to", "15551234567", "r/1")},
		{channel.Address{"P", "US.1349"}, "r/1", message("individual", "recipient", "US.1349", "r/1")},
		{channel.Address{"P", "US.ENT.1349"}, "r/2", message("individual", "recipient", "US.ENT.1349", "r/2")},
		{channel.Address{"P", "group", "Y2F:x"}, "r/1", message("group", "to", "Y2F:x", "r/1")},
		{channel.Address{"P", "1"}, strings.Repeat("x", 513), message("individual", "to", "1", "")},
	}
	for _, test := range tests {
		sent, err := ch.Send(t.Context(), &channel.Part{To: test.to, Text: "<b>", ID: test.part})
		if err != nil || sent.ID != "wamid.X" || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: %v, %v, called with %v, want %v", test.to, sent, err, got, test.want)
		}
	}
	if err := ch.Typing(t.Context(), channel.Address{"P", "1"}, "wamid.A"); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.A", "typing_indicator": map[string]any{"type": "text"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("called with %v, want %v", got, want)
	}
	got = nil
	if err := errors.Join(ch.Typing(t.Context(), channel.Address{"P", "1"}, ""), ch.Typing(t.Context(), channel.Address{"P", "group", "Y"}, "wamid.A")); err != nil || got != nil {
		t.Errorf("typing without a message, or in a group: %v, called with %v", err, got)
	}
	for _, bad := range []channel.Address{{}, {"P"}, {"P", ""}, {"Q", "1"}, {"P", "group", ""}, {"P", "other", "1"}, {"P", "1", "2", "3"}} {
		_, err := ch.Send(t.Context(), &channel.Part{To: bad, Text: "hi"})
		if known, ok := errors.AsType[*onereply.SendError](err); !ok || !known.Permanent || got != nil {
			t.Errorf("%v is no address: %v", bad, err)
		}
	}
}

// What the API answers, and what that says about the message.
func TestOutcomes(t *testing.T) {
	certain := func(pause time.Duration, wholeBot bool) onereply.SendError {
		return onereply.SendError{NotDelivered: true, RetryAfter: pause, WholeBot: wholeBot}
	}
	refused := onereply.SendError{NotDelivered: true, Permanent: true}
	tests := []struct {
		name  string
		fault fakewhatsapp.Fault
		want  onereply.SendError
		says  string
	}{
		{"too many to this person", fakewhatsapp.Fault{Status: 400, Code: 131056}, certain(6*time.Second, false), ""},
		{"too many from this number", fakewhatsapp.Fault{Status: 429, Code: 130429}, certain(5*time.Second, true), ""},
		{"too many, as an older API says", fakewhatsapp.Fault{Status: 400, Code: 130429}, certain(5*time.Second, true), ""},
		{"too many calls", fakewhatsapp.Fault{Status: 400, Code: 80007}, certain(time.Minute, true), ""},
		{"429 alone", fakewhatsapp.Fault{Status: 429, Code: 999}, certain(time.Minute, true), ""},
		{"restricted", fakewhatsapp.Fault{Status: 400, Code: 131048}, certain(time.Minute, true), "blocked or reported"},
		{"a wrong token", fakewhatsapp.Fault{Status: 401, Code: 190}, certain(30*time.Second, true), "put it into token"},
		{"a wrong token, of an unknown kind", fakewhatsapp.Fault{Status: 401, Code: 0}, certain(30*time.Second, true), "is the token right?"},
		{"a right is missing", fakewhatsapp.Fault{Status: 403, Code: 10}, certain(30*time.Second, true), "whatsapp_business_messaging"},
		{"a right is missing, in other words", fakewhatsapp.Fault{Status: 400, Code: 200}, certain(30*time.Second, true), ""},
		{"no way to pay", fakewhatsapp.Fault{Status: 400, Code: 131042}, certain(30*time.Second, true), "billing"},
		{"outside the 24 hours", fakewhatsapp.Fault{Status: 400, Code: 131047}, refused, "more than 24 hours ago, and until they write again WhatsApp takes only a template"},
		{"not on WhatsApp", fakewhatsapp.Fault{Status: 400, Code: 131026}, refused, "not on WhatsApp"},
		{"not in the list of a test number", fakewhatsapp.Fault{Status: 400, Code: 131030}, refused, "under API Setup"},
		{"a closed country", fakewhatsapp.Fault{Status: 403, Code: 130497}, refused, "that country"},
		{"a bad parameter", fakewhatsapp.Fault{Status: 400, Code: 100, Message: "Invalid parameter"}, refused, "Invalid parameter"},
		{"something went wrong", fakewhatsapp.Fault{Status: 500, Code: 131000}, onereply.SendError{}, ""},
		{"not available", fakewhatsapp.Fault{Status: 503, Code: 131016}, onereply.SendError{}, ""},
		{"a possible error of the server", fakewhatsapp.Fault{Status: 400, Code: 1}, onereply.SendError{}, ""},
		{"a gateway", fakewhatsapp.Fault{Status: 502}, onereply.SendError{}, ""},
		{"a lost answer", fakewhatsapp.Fault{Lost: true}, onereply.SendError{}, "nobody knows"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := fakewhatsapp.New(account)
			server := httptest.NewServer(f)
			defer server.Close()
			ch := made(t, func(c *whatsapp.Config) { c.APIBase = server.URL })
			f.Fail(test.fault)
			_, err := ch.Send(t.Context(), &channel.Part{To: channel.Address{"P", "1"}, Text: "hi"})
			wantOutcome(t, err, test.want)
			if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), account.Token) {
				t.Errorf("%v, want %q in it, and no token", err, test.says)
			}
		})
	}
}

func wantOutcome(t *testing.T, err error, want onereply.SendError) {
	t.Helper()
	if err == nil {
		t.Fatal("it counts as sent")
	}
	got := onereply.SendError{}
	if known, ok := errors.AsType[*onereply.SendError](err); ok {
		got = *known
	}
	got.Err = nil
	if got != want {
		t.Errorf("%v is %+v, want %+v", err, got, want)
	}
}

// Answers that are not the API's, such as those of a proxy before it.
func TestOutcomesOfOtherAnswers(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		header string
		want   onereply.SendError
		sent   bool
	}{
		{"a pause that is named", 429, `{"error":{"code":130429,"message":"x"}}`, "35", onereply.SendError{NotDelivered: true, WholeBot: true, RetryAfter: 35 * time.Second}, false},
		{"another number's id", 400, `{"error":{"code":100,"error_subcode":33,"message":"Unsupported post request."}}`, "", onereply.SendError{NotDelivered: true, WholeBot: true, RetryAfter: 30 * time.Second}, false},
		{"a wrong address", 404, `<html>not here</html>`, "", onereply.SendError{NotDelivered: true, WholeBot: true, RetryAfter: 30 * time.Second}, false},
		{"a page in place of an answer", 200, `<html>welcome</html>`, "", onereply.SendError{}, false},
		{"an error with success", 200, `{"error":{"code":131047,"message":"x"}}`, "", onereply.SendError{}, false},
		{"no id", 200, `{"messages":[]}`, "", onereply.SendError{}, true},
		{"a redirect", 302, ``, "", onereply.SendError{}, false},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if test.header != "" {
				w.Header().Set("Retry-After", test.header)
			}
			w.Header().Set("Location", "https://elsewhere.test/")
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		ch := made(t, func(c *whatsapp.Config) { c.APIBase = server.URL })
		_, err := ch.Send(t.Context(), &channel.Part{To: channel.Address{"P", "1"}, Text: "hi"})
		server.Close()
		if test.sent {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		t.Run(test.name, func(t *testing.T) { wantOutcome(t, err, test.want) })
	}
	ch := made(t, func(c *whatsapp.Config) { c.APIBase = "http://127.0.0.1:1" })
	_, err := ch.Send(t.Context(), &channel.Part{To: channel.Address{"P", "1"}, Text: "hi"})
	wantOutcome(t, err, onereply.SendError{NotDelivered: true})
}

// A reason fits a report, however much Meta says.
func TestReasonsAreBounded(t *testing.T) {
	ch := made(t, nil)
	body, _ := json.Marshal(map[string]any{"object": "whatsapp_business_account", "entry": []any{map[string]any{"changes": []any{map[string]any{
		"field": "messages", "value": map[string]any{"statuses": []any{map[string]any{
			"id": "wamid.B", "status": "failed", "recipient_id": "1", "errors": []any{map[string]any{"code": 131047, "title": strings.Repeat("ü", 4000)}},
		}}},
	}}}}})
	got, err := ch.Parse(&channel.Request{Method: "POST", Body: body})
	if err != nil || len(got.Events) != 1 {
		t.Fatal(got, err)
	}
	reason := got.Events[0].(channel.Report).Reason
	if len(reason) > onereply.MaxNameBytes || strings.ToValidUTF8(reason, "") != reason || !strings.Contains(reason, "24 hours") {
		t.Errorf("%d bytes: %s", len(reason), reason)
	}
}

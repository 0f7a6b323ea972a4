package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const testKey = "k-0123456789abcdef0123456789abcdef"

const inputConfig = `
api_keys: [` + testKey + `]
bots:
  support:
    debounce: 0
    responder: {kind: echo, delay: 0}
`

// refusal is a request that must be refused.
type refusal struct {
	name   string
	method string
	path   string // below the conversation; one that starts with /v1 is the whole path
	body   string
	status int
	kind   string // of the problem document
}

// with is a message with one more field.
func with(field string) string { return `{"text":"hello",` + field + `}` }

// refusals are all limits of the contract, and what else is no message.
func refusals() []refusal {
	const (
		post = http.MethodPost
		bots = "/v1/bots/support/conversations/"
	)
	long := func(n int) string { return strings.Repeat("x", n) }
	return []refusal{
		{"body over 1 MiB", post, "/messages", `{"text":"` + long(1<<20) + `"}`, 413, "body-too-large"},
		{"text over 64 KiB", post, "/messages", `{"text":"` + long(64<<10+1) + `"}`, 422, "invalid"},
		{"blank text", post, "/messages", `{"text":" \n\t "}`, 422, "invalid"},
		{"no text at all", post, "/messages", `{}`, 422, "invalid"},
		{"no body", post, "/messages", ``, 400, "malformed-body"},
		{"no JSON", post, "/messages", `text=hello`, 400, "malformed-body"},
		{"broken JSON", post, "/messages", `{"text":"hello"`, 400, "malformed-body"},
		{"more than one object", post, "/messages", `{"text":"hello"}{"text":"again"}`, 400, "malformed-body"},
		{"an array", post, "/messages", `[{"text":"hello"}]`, 400, "malformed-body"},
		{"null", post, "/messages", `null`, 400, "malformed-body"},
		{"invalid UTF-8", post, "/messages", "{\"text\":\"hello \xff\"}", 400, "malformed-body"},
		{"nested without end", post, "/messages", with(`"metadata":` + strings.Repeat("[", 200_000)), 400, "malformed-body"},
		{"nested too deep", post, "/messages", with(`"metadata":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)), 400, "malformed-body"},
		{"text is a number", post, "/messages", `{"text":7}`, 400, "wrong-type"},
		{"id is an object", post, "/messages", with(`"id":{}`), 400, "wrong-type"},
		{"sender is a text", post, "/messages", with(`"sender":"Ann"`), 400, "wrong-type"},
		{"attachments are an object", post, "/messages", with(`"attachments":{}`), 400, "wrong-type"},
		{"sent_at is a number", post, "/messages", with(`"sent_at":1700000000`), 400, "wrong-type"},
		{"empty id", post, "/messages", with(`"id":""`), 422, "invalid"},
		{"id over 512 bytes", post, "/messages", with(`"id":"` + long(513) + `"`), 422, "invalid"},
		{"id with NUL", post, "/messages", with(`"id":"a\u0000b"`), 422, "invalid"},
		{"sent_at is no time", post, "/messages", with(`"sent_at":"yesterday"`), 422, "invalid"},
		{"sender over 1 KiB", post, "/messages", with(`"sender":{"name":"` + long(1025) + `"}`), 422, "invalid"},
		{"metadata over 64 KiB", post, "/messages", with(`"metadata":"` + long(64<<10) + `"`), 422, "invalid"},
		{"33 attachments", post, "/messages", with(`"attachments":[` + strings.Repeat(`{"kind":"image"},`, 32) + `{"kind":"image"}]`), 422, "invalid"},
		{"attachment over 4 KiB", post, "/messages", with(`"attachments":[{"url":"` + long(4<<10+1) + `"}]`), 422, "invalid"},
		{"edit without text", http.MethodPatch, "/messages/m1", `{}`, 422, "invalid"},
		{"blank human reply", post, "/replies", `{"text":" "}`, 422, "invalid"},
		{"human reply over 64 KiB", post, "/replies", `{"text":"` + long(64<<10+1) + `"}`, 422, "invalid"},
		{"typing for too long", post, "/typing", `{"for":"11m"}`, 422, "invalid"},
		{"typing for no duration", post, "/typing", `{"for":"soon"}`, 422, "invalid"},
		{"typing for a number", post, "/typing", `{"for":5}`, 400, "wrong-type"},
		{"resume with a text", post, "/resume", `{"answer_pending":"yes"}`, 400, "wrong-type"},
		{"pause with a list", post, "/pause", `[]`, 400, "malformed-body"},
		{"reason over 512 bytes", post, "/pause", `{"reason":"` + long(513) + `"}`, 422, "invalid"},
		{"seal of no token", post, "/turns/first/seal", ``, 422, "invalid"},
		{"a method that is not there", http.MethodPut, "/messages", `{"text":"hello"}`, 405, "method-not-allowed"},
		{"a page of none", http.MethodGet, "/transcript?limit=0", ``, 422, "invalid"},
		{"a page too long", http.MethodGet, "/transcript?limit=1001", ``, 422, "invalid"},
		{"a query with a bad escape", http.MethodGet, "/transcript?after=%zz", ``, 400, "malformed-query"},
		{"unknown bot", post, "/v1/bots/nobody/conversations/c/messages", with(`"id":"m"`), 404, "unknown-bot"},
		{"empty conversation", post, bots + "/messages", with(`"id":"m"`), 422, "invalid"},
		{"conversation over 512 bytes", post, bots + long(513) + "/messages", with(`"id":"m"`), 422, "invalid"},
		{"conversation is no UTF-8", post, bots + "%ff%fe/messages", with(`"id":"m"`), 422, "invalid"},
		{"conversation with NUL", post, bots + "a%00b/messages", with(`"id":"m"`), 422, "invalid"},
		{"conversation with a bare slash", post, bots + "a/b/messages", with(`"id":"m"`), 404, "unknown-route"},
		{"path of 10,000 parts", post, bots + strings.Repeat("a/", 10_000) + "messages", with(`"id":"m"`), 414, "path-too-long"},
		{"path of short parts", post, bots + strings.Repeat("/", 3_000) + "messages", with(`"id":"m"`), 404, "unknown-route"},
		{"unknown phase", http.MethodGet, "/v1/bots/support/conversations?phase=asleep", ``, 422, "invalid"},
		{"made-up cursor", http.MethodGet, "/v1/bots/support/conversations?cursor=zzz", ``, 422, "invalid"},
	}
}

// TestBadInput: each is a clear 4xx, nothing of it is stored, and the node
// goes on.
func TestBadInput(t *testing.T) {
	t.Parallel()
	n := start(t, nil, settings(t, t.TempDir(), inputConfig)...)
	c := newCaller(t)
	c.key = testKey
	c.mustSay(t, n.url, "support", "good", "m1", "before")
	for i, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			conversation := fmt.Sprintf("refused-%d", i)
			url := n.url + r.path
			if !strings.HasPrefix(r.path, "/v1") {
				url = path(n.url, "support", conversation) + r.path
			}
			got := c.do(r.method, url, r.body)
			if got.status != r.status || got.problem() != r.kind {
				t.Errorf("got %v, want %d %s", got, r.status, r.kind)
			}
			if got := c.do(http.MethodGet, path(n.url, "support", conversation), ""); got.status != http.StatusNotFound {
				t.Errorf("something of it was stored: %v", got)
			}
		})
	}
	t.Run("wrong key", func(t *testing.T) { refusesKeys(t, n.url) })
	t.Run("another type of body", func(t *testing.T) { refusesOtherTypes(t, n.url) })
	onlyGood(t, n, c)
	n.stops(t)
}

func refusesKeys(t *testing.T, url string) {
	for _, key := range []string{"", "wrong", testKey + "x", testKey[1:]} {
		c := newCaller(t)
		c.key = key
		got := c.do(http.MethodPost, path(url, "support", "stranger")+"/messages", `{"text":"hello"}`)
		if got.status != 401 || got.problem() != "unauthorized" || got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("key %q: got %v", key, got)
		}
	}
}

func refusesOtherTypes(t *testing.T, url string) {
	request, err := http.NewRequest(http.MethodPost, path(url, "support", "other-type")+"/messages", strings.NewReader("<text>hello</text>"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/xml")
	request.Header.Set("Authorization", "Bearer "+testKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close() // only the status matters
	if response.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("got %s", response.Status)
	}
}

// onlyGood checks that a normal message works and that the node knows of no
// other conversation than the good one.
func onlyGood(t *testing.T, n *node, c *caller) {
	t.Helper()
	c.mustSay(t, n.url, "support", "good", "after-"+t.Name(), "after")
	c.rests(t, n.url, "support", "good")
	got := c.do(http.MethodGet, n.url+"/v1/bots/support/conversations?limit=1000", "")
	var list struct {
		Conversations []struct{ Conversation string }
	}
	if err := json.Unmarshal(got.body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Conversations) != 1 || list.Conversations[0].Conversation != "good" {
		t.Errorf("the node knows %+v, want only the good one", list.Conversations)
	}
	for _, l := range c.read(t, n.url, "support", "good") {
		if l.Kind == "message" && l.Text != "before" && l.Text != "after" {
			t.Errorf("message %s is %q", l.ID, l.Text)
		}
	}
}

// connect opens a connection without a client's manners.
func connect(t *testing.T, n *node, request string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, request); err != nil {
		t.Fatal(err)
	}
	return connection
}

// head is the start of a raw request.
func head(method, path string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + testKey + "\r\nContent-Type: application/json\r\n"
}

const slowPath = "/v1/bots/support/conversations/slow/messages"

// TestClientsWithoutManners: many at once that flood with headers, never end
// their body or their headers, or speak something else. Each is cut off in
// bounded time, and meanwhile a normal message works.
func TestClientsWithoutManners(t *testing.T) {
	t.Parallel()
	const ofEach = 20
	tests := map[string]struct {
		request string
		want    []string // status, or "" for a closed connection
	}{
		"header flood":          {head("POST", slowPath) + strings.Repeat("X-Flood: "+strings.Repeat("x", 1000)+"\r\n", 100) + "\r\n", []string{"431", ""}},
		"one endless header":    {head("POST", slowPath) + "X-Long: " + strings.Repeat("x", 200_000), []string{"431", ""}},
		"header never ends":     {head("POST", slowPath), []string{""}},
		"body never ends":       {head("POST", slowPath) + "Content-Length: 1000\r\n\r\n{\"text\":\"hel", []string{"408"}},
		"chunks never end":      {head("POST", slowPath) + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"tex\r\n", []string{"408"}},
		"optional body as well": {head("POST", strings.Replace(slowPath, "messages", "typing", 1)) + "Content-Length: 1000\r\n\r\n{", []string{"408"}},
		"broken chunks":         {head("POST", slowPath) + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", []string{"400"}},
		"says less than it is":  {head("POST", slowPath) + "Content-Length: 5\r\n\r\n{\"text\":\"hello\"}", []string{"400"}},
		"negative length":       {head("POST", slowPath) + "Content-Length: -1\r\n\r\n", []string{"400"}},
		"two lengths":           {head("POST", slowPath) + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", []string{"400"}},
		"no HTTP":               {"hello\r\n\r\n", []string{"400"}},
		"length of a terabyte":  {head("POST", slowPath) + "Content-Length: 1000000000000\r\n\r\n{", []string{"413"}},
	}
	n := start(t, nil, settings(t, t.TempDir(), inputConfig)...)
	c := newCaller(t)
	c.key = testKey
	t.Run("all", func(t *testing.T) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var open []net.Conn
				for range ofEach {
					open = append(open, connect(t, n, test.request))
				}
				onlyGood(t, n, c) // while all of them are open
				for _, connection := range open {
					if status := statusOf(connection); !slices.Contains(test.want, status) {
						t.Errorf("got %q, want one of %q", status, test.want)
					}
				}
			})
		}
	})
	onlyGood(t, n, c)
	n.stops(t)
}

// statusOf is the status that a connection gets, "" where it is closed.
func statusOf(connection net.Conn) string {
	text, err := bufio.NewReader(connection).ReadString('\n')
	if fields := strings.Fields(text); err == nil && len(fields) > 1 {
		return fields[1]
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return "nothing: it is still open"
	}
	return ""
}

// TestStreamThatNobodyReads: clients that ask for events and never read them
// hold nobody up, and are cut off.
func TestStreamThatNobodyReads(t *testing.T) {
	t.Parallel()
	const streams = 5
	n := start(t, nil, settings(t, t.TempDir(), inputConfig)...)
	c := newCaller(t)
	c.key = testKey
	for range streams {
		connection := connect(t, n, head("GET", "/v1/events")+"\r\n")
		if err := connection.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
	}
	open := func() float64 { return c.metric(t, n.url, "onereply_event_streams") }
	eventually(t, "all streams are open", func() bool { return open() == streams })
	text := strings.Repeat("long ", 12_000)
	const sent = 300 // with their events, more than the buffers of the connections hold
	for i := range sent {
		c.mustSay(t, n.url, "support", fmt.Sprintf("c%d", i%10), fmt.Sprintf("m%d", i), text)
	}
	eventually(t, "the streams are cut off", func() bool { return open() == 0 })
	for i := range 10 {
		c.rests(t, n.url, "support", fmt.Sprintf("c%d", i))
	}
	t.Logf("after %d messages of %d bytes all streams were cut off", sent, len(text))
	n.stops(t)
}

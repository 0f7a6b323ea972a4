package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// caller calls the API as a program of somebody else would.
type caller struct {
	client *http.Client
	key    string
}

func newCaller(t testing.TB) *caller {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// answer is what came back; an error of the connection has status 0.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

func (c *caller) do(method, url, body string) answer {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{err: err} // half an answer is none
	}
	return answer{status: response.StatusCode, header: response.Header, body: got}
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %.300s", a.status, a.body)
}

// problem is the document that tells what went wrong.
func (a answer) problem() (kind string) {
	var document struct{ Type string }
	if a.err != nil || a.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(a.body, &document) != nil {
		return ""
	}
	return strings.TrimPrefix(document.Type, "urn:onereply:problem:")
}

// path is a conversation's address.
func path(base, bot, conversation string) string {
	return base + "/v1/bots/" + url.PathEscape(bot) + "/conversations/" + url.PathEscape(conversation)
}

// acknowledgement is the answer to a message.
type acknowledgement struct {
	MessageID string `json:"message_id"`
	Version   int64
	Duplicate bool
	Outcome   string
}

// say sends a message; ok is whether it was acknowledged.
func (c *caller) say(base, bot, conversation, id, text string) (got acknowledgement, ok bool, raw answer) {
	body, _ := json.Marshal(map[string]string{"id": id, "text": text}) // strings always can be
	raw = c.do(http.MethodPost, path(base, bot, conversation)+"/messages", string(body))
	ok = raw.status == http.StatusAccepted && json.Unmarshal(raw.body, &got) == nil
	return got, ok, raw
}

// mustSay is say that fails the test.
func (c *caller) mustSay(t testing.TB, base, bot, conversation, id, text string) acknowledgement {
	t.Helper()
	got, ok, raw := c.say(base, bot, conversation, id, text)
	if !ok {
		t.Fatalf("%s/%s %s: %v", bot, conversation, id, raw)
	}
	return got
}

// standing is where a conversation stands.
type standing struct {
	Phase             string
	Version, Answered int64
	Pending           int
	Lease             *struct {
		Holder    string
		ExpiresAt time.Time `json:"expires_at"`
	}
	LastError string `json:"last_error"`
}

// look asks where a conversation stands; nothing is known of it where it was
// never heard of, or nobody answers.
func (c *caller) look(base, bot, conversation string) (now standing) {
	if got := c.do(http.MethodGet, path(base, bot, conversation), ""); got.status == http.StatusOK {
		_ = json.Unmarshal(got.body, &now) // nothing known
	}
	return now
}

// rests waits until everything in a conversation is answered.
func (c *caller) rests(t testing.TB, base, bot, conversation string) {
	t.Helper()
	var now standing
	if !within(limit, func() bool { now = c.look(base, bot, conversation); return now.rests() }) {
		t.Fatalf("%s/%s does not come to rest: %+v", bot, conversation, now)
	}
}

func (s standing) rests() bool {
	return s.Phase == "idle" && s.Pending == 0 && s.Version > 0 && s.Version == s.Answered
}

// line is one line of a transcript.
type line struct {
	Seq       int64
	Kind      string
	ID        string
	Text      string
	Status    string
	Covers    []string
	Version   int64
	LateInput bool `json:"late_input"`
}

// read reads all of a transcript.
func (c *caller) read(t testing.TB, base, bot, conversation string) []line {
	t.Helper()
	var all []line
	for after := int64(0); ; {
		got := c.do(http.MethodGet, path(base, bot, conversation)+"/transcript?limit=1000&after="+strconv.FormatInt(after, 10), "")
		var page struct {
			Entries []line
			Next    *int64
		}
		if err := json.Unmarshal(got.body, &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("transcript of %s/%s: %v, %v", bot, conversation, got, err)
		}
		all = append(all, page.Entries...)
		if page.Next == nil {
			return all
		}
		after = *page.Next
	}
}

// follow calls seen for each event, until ctx or the stream ends.
func (c *caller) follow(ctx context.Context, base string, seen func(kind, data string)) {
	c.stream(ctx, base+"/v1/events", seen)
}

// stream does so for any stream of events.
func (c *caller) stream(ctx context.Context, address string, seen func(kind, data string)) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	patient := &http.Client{Transport: c.client.Transport}
	response, err := patient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	kind := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			seen(kind, value)
		}
	}
}

// metrics are the lines of /metrics without labels, and those with, by all
// that stands before the value.
func (c *caller) metrics(t testing.TB, base string) map[string]float64 {
	t.Helper()
	got := c.do(http.MethodGet, base+"/metrics", "")
	if got.status != http.StatusOK {
		t.Fatalf("metrics: %v", got)
	}
	found := map[string]float64{}
	for text := range strings.Lines(string(got.body)) {
		at := strings.LastIndexByte(text, ' ')
		if value, err := strconv.ParseFloat(strings.TrimSpace(text[at+1:]), 64); err == nil && at > 0 && text[0] != '#' {
			found[text[:at]] = value
		}
	}
	return found
}

// metric is one of them, which must be there.
func (c *caller) metric(t testing.TB, base, name string) float64 {
	t.Helper()
	value, ok := c.metrics(t, base)[name]
	if !ok {
		t.Fatalf("there is no metric %s", name)
	}
	return value
}

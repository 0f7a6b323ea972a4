// Package fakeslack is a Slack workspace that behaves as a real one, for tests and for the
// demo: it keeps what people see, and posts what they write to an app.
//
// It knows the rules on which a channel relies: it verifies the address of the app, signs
// each body with the time, posts an event that was not answered with success up to three
// more times, tells of a mention twice, tells the app of its own posts, and takes a message
// once a second or less often where it says so. It keeps everything in memory. It must
// never import anything of this module.
package fakeslack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// App is the app that is installed, and its bot.
type App struct {
	ID, Team         string
	BotUser, Bot     string
	Token            string
	SigningSecret    string
	WithoutBotEchoes bool // the app is not told of its own posts
}

// Shown is a message of the bot's, as people see it.
type Shown struct {
	TS, Thread string
	Text       string
}

// Fault is a failure of one call of chat.postMessage.
type Fault struct {
	// Error is Slack's word for it; nothing is shown. "": the message is shown.
	Error string

	// Status is that of the answer. 0: 200.
	Status int

	// Limited: the channel takes nothing for so long.
	Limited time.Duration

	// Lost: the message is shown, and the connection breaks.
	Lost bool
}

// Slack is the fake. It must be made by [New], and may be used by many goroutines.
type Slack struct {
	app App

	mu      sync.Mutex
	shown   map[string][]Shown   // by channel
	limited map[string]time.Time // until when a channel takes nothing
	faults  []Fault
	posts   int
	events  int
	hook    *hook
}

// New makes a workspace with one app, in which nobody has written.
func New(a App) *Slack {
	return &Slack{app: a, shown: map[string][]Shown{}, limited: map[string]time.Time{}}
}

// Channel returns the bot's messages that people see in a channel, in order.
func (f *Slack) Channel(name string) []Shown {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Shown(nil), f.shown[name]...)
}

// Fail queues a fault for a call of chat.postMessage: each call takes one.
func (f *Slack) Fail(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fault)
}

// Event is a body with an event, and its headers.
func (f *Slack) Event(event map[string]any) (body []byte, header http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.envelope(event)
}

func (f *Slack) envelope(event map[string]any) ([]byte, http.Header) {
	f.events++
	body, err := json.Marshal(map[string]any{
		"type": "event_callback", "team_id": f.app.Team, "api_app_id": f.app.ID, "event_id": "Ev" + strconv.Itoa(f.events),
		"event_time": time.Now().Unix(), "event": event,
		"authorizations": []any{map[string]any{"team_id": f.app.Team, "user_id": f.app.BotUser, "is_bot": true}},
	})
	if err != nil {
		panic(err) // it is made of plain values
	}
	return body, Sign(f.app.SigningSecret, time.Now(), body)
}

// Sign makes the headers of a body that was made at a time.
func Sign(secret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return http.Header{
		"Content-Type":              {"application/json"},
		"X-Slack-Request-Timestamp": {stamp},
		"X-Slack-Signature":         {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

// Say has somebody write in a channel. A mention of the bot is told twice, as Slack does.
func (f *Slack) Say(channel, user, ts, text string, more map[string]any) {
	event := map[string]any{"type": "message", "channel": channel, "user": user, "text": text, "ts": ts, "event_ts": ts, "channel_type": typeOf(channel)}
	mention := map[string]any{"type": "app_mention", "channel": channel, "user": user, "text": text, "ts": ts, "event_ts": ts}
	for name, value := range more {
		event[name], mention[name] = value, value
	}
	f.Tell(event)
	if strings.Contains(text, "<@"+f.app.BotUser+">") && typeOf(channel) != "im" {
		f.Tell(mention)
	}
}

func typeOf(channel string) string {
	if strings.HasPrefix(channel, "D") {
		return "im"
	}
	return "channel"
}

// Tell tells the app of an event. Without an address of its it is lost.
func (f *Slack) Tell(event map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(event)
}

func (f *Slack) tell(event map[string]any) {
	body, _ := f.envelope(event)
	if f.hook != nil {
		f.hook.add(body)
	}
}

// ServeHTTP answers calls of the Web API.
func (f *Slack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	var message struct {
		Channel string `json:"channel"`
		Thread  string `json:"thread_ts"`
		Text    string `json:"text"`
	}
	switch {
	case r.Header.Get("Authorization") != "Bearer "+f.app.Token:
		say(w, http.StatusOK, map[string]any{"ok": false, "error": "invalid_auth"})
	case json.NewDecoder(r.Body).Decode(&message) != nil:
		say(w, http.StatusOK, map[string]any{"ok": false, "error": "invalid_json"})
	case method == "auth.test":
		say(w, http.StatusOK, map[string]any{"ok": true, "team_id": f.app.Team, "user_id": f.app.BotUser, "bot_id": f.app.Bot})
	case method == "chat.postMessage":
		f.post(w, message.Channel, message.Thread, message.Text)
	default:
		say(w, http.StatusOK, map[string]any{"ok": false, "error": "unknown_method"})
	}
}

var unescape = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")

func (f *Slack) post(w http.ResponseWriter, channel, thread, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var fault Fault
	if len(f.faults) > 0 {
		fault, f.faults = f.faults[0], f.faults[1:]
	}
	if fault.Limited > 0 {
		f.limited[channel] = time.Now().Add(fault.Limited)
	}
	switch wait := time.Until(f.limited[channel]); {
	case wait > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		say(w, http.StatusTooManyRequests, map[string]any{"ok": false, "error": "ratelimited"})
		return
	case fault.Status != 0 || fault.Error != "":
		if fault.Status == 0 {
			fault.Status = http.StatusOK
		}
		say(w, fault.Status, map[string]any{"ok": false, "error": fault.Error})
		return
	case channel == "":
		say(w, http.StatusOK, map[string]any{"ok": false, "error": "channel_not_found"})
		return
	case strings.TrimSpace(text) == "":
		say(w, http.StatusOK, map[string]any{"ok": false, "error": "no_text"})
		return
	}
	f.posts++
	ts := fmt.Sprintf("%d.%06d", time.Now().Unix(), f.posts)
	f.shown[channel] = append(f.shown[channel], Shown{TS: ts, Thread: thread, Text: unescape.Replace(text)})
	if !f.app.WithoutBotEchoes {
		own := map[string]any{
			"type": "message", "channel": channel, "channel_type": typeOf(channel), "text": text, "ts": ts, "event_ts": ts,
			"user": f.app.BotUser, "bot_id": f.app.Bot, "app_id": f.app.ID,
		}
		if thread != "" {
			own["thread_ts"] = thread
		}
		f.tell(own)
	}
	if fault.Lost {
		panic(http.ErrAbortHandler)
	}
	say(w, http.StatusOK, map[string]any{"ok": true, "channel": channel, "ts": ts})
}

func say(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// hook posts events to an address, one after the other.
type hook struct {
	client  *http.Client
	address string
	secret  string

	mu      sync.Mutex
	waiting [][]byte
	more    chan struct{} // holds a token when something waits
}

// retries are the pauses before an event is posted again. After that it is lost.
var retries = []time.Duration{0, time.Minute, 5 * time.Minute}

// Subscribe verifies an address as Slack does, and posts all events there until ctx ends.
// The returned function waits for that.
func (f *Slack) Subscribe(ctx context.Context, client *http.Client, address string) (ended func(), err error) {
	h := &hook{client: client, address: address, secret: f.app.SigningSecret, more: make(chan struct{}, 1)}
	challenge := rand.Text()
	body, err := json.Marshal(map[string]any{"type": "url_verification", "challenge": challenge})
	if err != nil {
		return nil, err
	}
	status, said, err := h.post(ctx, body, 0)
	switch {
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, fmt.Errorf("the address answered %d: %s", status, said)
	case said != challenge:
		return nil, errors.New("the address did not repeat the challenge")
	}
	f.mu.Lock()
	f.hook = h
	f.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.run(ctx)
	}()
	return func() { <-done }, nil
}

func (h *hook) add(body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, body)
	select {
	case h.more <- struct{}{}:
	default:
	}
}

func (h *hook) run(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		var next []byte
		if len(h.waiting) > 0 {
			next, h.waiting = h.waiting[0], h.waiting[1:]
		}
		h.mu.Unlock()
		if next != nil {
			h.deliver(ctx, next)
			continue
		}
		select {
		case <-ctx.Done():
		case <-h.more:
		}
	}
}

func (h *hook) deliver(ctx context.Context, body []byte) {
	for try := 0; ; try++ {
		if status, _, err := h.post(ctx, body, try); err == nil && status == http.StatusOK || try == len(retries) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retries[try]):
		}
	}
}

func (h *hook) post(ctx context.Context, body []byte, try int) (status int, said string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header = Sign(h.secret, time.Now(), body)
	if try > 0 {
		request.Header.Set("X-Slack-Retry-Num", strconv.Itoa(try))
		request.Header.Set("X-Slack-Retry-Reason", "http_error")
	}
	response, err := h.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	return response.StatusCode, string(raw), err
}

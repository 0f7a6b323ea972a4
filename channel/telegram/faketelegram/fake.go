// Package faketelegram is a Bot API that behaves as Telegram's does, for tests and for the
// demo: it keeps what people in its chats see, and tells a bot what they write.
//
// It knows the rules on which a channel relies: updates wait until they are done, one
// program at a time may poll, none while a webhook is set, a text has a limit in code
// units of UTF-16, and a group that became a supergroup has another number. It keeps
// everything in memory. It must never import anything of this module.
package faketelegram

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Telegram is the fake. It must be made by [New], and may be used by many goroutines.
type Telegram struct {
	token string
	bot   User

	mu       sync.Mutex
	shown    map[int64][]Shown // by chat
	typing   map[int64]int
	moved    map[int64]int64 // groups that became supergroups
	faults   []Fault
	messages int64 // numbers given out
	updates  []update
	number   int64         // of the last update
	changed  chan struct{} // closed when there are more updates
	polling  chan struct{} // of the poll under way: closed to end it
	webhook  string        // its address; "": none is set
	secret   string        // that goes with each of its requests
}

// User is somebody on Telegram.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
}

// Shown is a message of the bot's, as people see it.
type Shown struct {
	ID    int64
	Topic int64
	Text  string
}

// Fault is a failure of one call of sendMessage.
type Fault struct {
	// Code and Description are the answer; nothing is shown. 0: the message is shown.
	Code        int
	Description string
	RetryAfter  time.Duration

	// Lost: the message is shown, and the connection breaks.
	Lost bool
}

type update struct {
	number int64
	body   []byte
}

// New makes a Telegram with one bot and no chats.
func New(token, username string) *Telegram {
	number, _, _ := strings.Cut(token, ":")
	id, _ := strconv.ParseInt(number, 10, 64)
	return &Telegram{
		token: token, bot: User{ID: id, IsBot: true, FirstName: "Bot", Username: username},
		shown: map[int64][]Shown{}, typing: map[int64]int{}, moved: map[int64]int64{},
		messages: 1000, number: 100, changed: make(chan struct{}),
	}
}

// Chat returns the bot's messages that people see in a chat, in order.
func (f *Telegram) Chat(chat int64) []Shown {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Shown(nil), f.shown[chat]...)
}

// TypingShown is how often people in a chat were shown that the bot is writing.
func (f *Telegram) TypingShown(chat int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.typing[chat]
}

// Fail queues a fault for a call of sendMessage: each call takes one.
func (f *Telegram) Fail(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fault)
}

// Migrate makes a group a supergroup with another number.
func (f *Telegram) Migrate(from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved[from] = to
}

// Tell has something happen: fields are those of an update beside its number, such as
// message. The update waits for a poll.
func (f *Telegram) Tell(fields map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	whole := map[string]any{"update_id": f.number}
	maps.Copy(whole, fields)
	body, err := json.Marshal(whole)
	if err != nil {
		panic(err) // what is told is made of plain values
	}
	f.updates = append(f.updates, update{f.number, body})
	close(f.changed)
	f.changed = make(chan struct{})
}

// Say has somebody write to the bot in a private chat.
func (f *Telegram) Say(person User, id int64, text string) {
	f.Tell(map[string]any{"message": map[string]any{
		"message_id": id, "date": time.Now().Unix(), "text": text, "from": person,
		"chat": map[string]any{"id": person.ID, "type": "private", "first_name": person.FirstName},
	}})
}

// done forgets the updates up to a number.
func (f *Telegram) done(number int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.updates) > 0 && f.updates[0].number <= number {
		f.updates = f.updates[1:]
	}
}

// Waiting is how many updates nobody has taken.
func (f *Telegram) Waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.updates)
}

// ServeHTTP answers calls of the Bot API.
func (f *Telegram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+f.token+"/")
	if !ok {
		refuse(w, http.StatusUnauthorized, "Unauthorized", nil)
		return
	}
	var p parameters
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		refuse(w, http.StatusBadRequest, "Bad Request: can't parse the parameters", nil)
		return
	}
	switch method {
	case "getMe":
		succeed(w, f.bot)
	case "sendMessage":
		f.sendMessage(w, p)
	case "sendChatAction":
		f.mu.Lock()
		f.typing[p.Chat]++
		f.mu.Unlock()
		succeed(w, true)
	case "getUpdates":
		f.getUpdates(w, r, p)
	case "setWebhook":
		f.setWebhook(w, p.URL, p.Secret)
	case "deleteWebhook":
		f.setWebhook(w, "", "")
	case "getWebhookInfo":
		f.mu.Lock()
		info := map[string]any{"url": f.webhook, "pending_update_count": len(f.updates)}
		f.mu.Unlock()
		succeed(w, info)
	default:
		refuse(w, http.StatusNotFound, "Not Found", nil)
	}
}

type parameters struct {
	Chat    int64  `json:"chat_id"`
	Topic   int64  `json:"message_thread_id"`
	Text    string `json:"text"`
	Offset  int64  `json:"offset"`
	Limit   int    `json:"limit"`
	Timeout int    `json:"timeout"`
	URL     string `json:"url"`
	Secret  string `json:"secret_token"`
}

// Webhook is the address to which the bot's updates are posted, and the secret that goes with
// them; "": they are not.
func (f *Telegram) Webhook() (address, secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.webhook, f.secret
}

func (f *Telegram) setWebhook(w http.ResponseWriter, address, secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.webhook, f.secret = address, secret
	succeed(w, true)
}

func (f *Telegram) sendMessage(w http.ResponseWriter, p parameters) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var fault Fault
	if len(f.faults) > 0 {
		fault, f.faults = f.faults[0], f.faults[1:]
	}
	switch to, moved := f.moved[p.Chat]; {
	case fault.Code != 0:
		var more map[string]any
		if fault.RetryAfter > 0 {
			more = map[string]any{"retry_after": int(fault.RetryAfter.Seconds())}
		}
		refuse(w, fault.Code, fault.Description, more)
		return
	case moved:
		refuse(w, http.StatusBadRequest, "Bad Request: group chat was upgraded to a supergroup chat", map[string]any{"migrate_to_chat_id": to})
		return
	case p.Chat == 0:
		refuse(w, http.StatusBadRequest, "Bad Request: chat not found", nil)
		return
	case strings.TrimSpace(p.Text) == "":
		refuse(w, http.StatusBadRequest, "Bad Request: message text is empty", nil)
		return
	case len(utf16.Encode([]rune(p.Text))) > 4096:
		refuse(w, http.StatusBadRequest, "Bad Request: message is too long", nil)
		return
	}
	f.messages++
	f.shown[p.Chat] = append(f.shown[p.Chat], Shown{ID: f.messages, Topic: p.Topic, Text: p.Text})
	if fault.Lost {
		panic(http.ErrAbortHandler)
	}
	succeed(w, map[string]any{"message_id": f.messages, "date": time.Now().Unix(), "text": p.Text, "chat": map[string]any{"id": p.Chat}})
}

// getUpdates waits for updates after those that the caller has done. A second poll ends
// the one under way.
func (f *Telegram) getUpdates(w http.ResponseWriter, r *http.Request, p parameters) {
	f.done(p.Offset - 1)
	f.mu.Lock()
	if f.webhook != "" {
		f.mu.Unlock()
		refuse(w, http.StatusConflict, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", nil)
		return
	}
	if f.polling != nil {
		close(f.polling)
	}
	mine := make(chan struct{})
	f.polling = mine
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.polling == mine {
			f.polling = nil
		}
	}()
	end := time.NewTimer(time.Duration(p.Timeout) * time.Second)
	defer end.Stop()
	for {
		f.mu.Lock()
		changed := f.changed
		found := []json.RawMessage{}
		for _, u := range f.updates {
			if len(found) < max(p.Limit, 1) {
				found = append(found, u.body)
			}
		}
		f.mu.Unlock()
		if len(found) > 0 {
			succeed(w, found)
			return
		}
		select {
		case <-changed:
		case <-mine:
			refuse(w, http.StatusConflict, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", nil)
			return
		case <-end.C:
			succeed(w, found)
			return
		case <-r.Context().Done():
			return
		}
	}
}

func succeed(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

func refuse(w http.ResponseWriter, code int, description string, more map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	body := map[string]any{"ok": false, "error_code": code, "description": description}
	if more != nil {
		body["parameters"] = more
	}
	if after, ok := more["retry_after"]; ok {
		body["description"] = fmt.Sprintf("Too Many Requests: retry after %v", after)
	}
	_ = json.NewEncoder(w).Encode(body)
}

// Package fakewhatsapp is a Cloud API that behaves as WhatsApp's does, for tests and for
// the demo: it keeps what people see, and posts what they write to a webhook.
//
// It knows the rules on which a channel relies: it verifies the address of the webhook,
// signs each body, posts again until it is answered with success, takes texts of a limited
// length for people who wrote within 24 hours, accepts a message before it knows whether it
// can be delivered, and tells that afterwards. It keeps everything in memory. It must never
// import anything of this module.
package fakewhatsapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Account is a business number and the app that serves it.
type Account struct {
	PhoneNumberID, Number  string
	Token                  string
	AppSecret, VerifyToken string
}

// Person is somebody on WhatsApp. One of Phone and UserID may be hidden: "".
type Person struct {
	Phone, UserID string
	Name          string
}

// Shown is a message of the bot's, as a person sees it.
type Shown struct {
	ID   string
	Text string
	Part string // what the bot asked to have repeated with each status
}

// Fault is a failure of one call that sends a message.
type Fault struct {
	// Status, Code and Message are the answer; nothing is shown. 0: the message is shown.
	Status  int
	Code    int
	Message string

	// Limited: the person's chat takes nothing for so long; each call is answered 131056.
	Limited time.Duration

	// Late is the code of a failure that is told after the message was taken. 0: none.
	Late int

	// Lost: the message is shown, and the connection breaks.
	Lost bool
}

// window is how long after a person's message they may be written to.
const window = 24 * time.Hour

// WhatsApp is the fake. It must be made by [New], and may be used by many goroutines.
type WhatsApp struct {
	account Account

	mu       sync.Mutex
	shown    map[string][]Shown   // by phone, id or group
	wrote    map[string]time.Time // when a person wrote last, by each name
	limited  map[string]time.Time // until when a chat takes nothing
	inbound  map[string]string    // the chat of each message of a person
	typing   map[string]int       // how often typing was shown, by chat
	faults   []Fault
	messages int
	hook     *hook
}

// New makes a WhatsApp in which nobody has written.
func New(a Account) *WhatsApp {
	return &WhatsApp{
		account: a, shown: map[string][]Shown{}, wrote: map[string]time.Time{}, limited: map[string]time.Time{},
		inbound: map[string]string{}, typing: map[string]int{},
	}
}

// Chat returns the bot's messages that a person sees, in order. It is named as messages are
// addressed: by phone, id or group.
func (f *WhatsApp) Chat(name string) []Shown {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Shown(nil), f.shown[name]...)
}

// TypingShown is how often the person who wrote under a name was shown that the bot writes.
func (f *WhatsApp) TypingShown(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.typing[name]
}

// Fail queues a fault for a call that sends a message: each call takes one.
func (f *WhatsApp) Fail(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fault)
}

// Text is a message of a person, of now. Its window of 24 hours begins.
func (f *WhatsApp) Text(p Person, id, text string) map[string]any {
	return f.Message(p, id, "text", map[string]any{"body": text})
}

// Message is a message of a person of any type.
func (f *WhatsApp) Message(p Person, id, kind string, content any) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range []string{p.Phone, p.UserID} {
		if name != "" {
			f.wrote[name] = time.Now()
			f.inbound[id] = name
		}
	}
	m := map[string]any{"id": id, "timestamp": strconv.FormatInt(time.Now().Unix(), 10), "type": kind, kind: content}
	if p.Phone != "" {
		m["from"] = p.Phone
	}
	if p.UserID != "" {
		m["from_user_id"] = p.UserID
	}
	return m
}

// Messages is a change with messages of one person.
func (f *WhatsApp) Messages(p Person, messages ...map[string]any) map[string]any {
	contact := map[string]any{"profile": map[string]any{"name": p.Name}}
	if p.Phone != "" {
		contact["wa_id"] = p.Phone
	}
	if p.UserID != "" {
		contact["user_id"] = p.UserID
	}
	return f.Change("messages", map[string]any{"contacts": []any{contact}, "messages": messages})
}

// Statuses is a change that reports messages as sent, delivered, read or failed.
func (f *WhatsApp) Statuses(statuses ...map[string]any) map[string]any {
	return f.Change("messages", map[string]any{"statuses": statuses})
}

// Change is a change of a field of the account, with the number's metadata.
func (f *WhatsApp) Change(field string, value map[string]any) map[string]any {
	value["messaging_product"] = "whatsapp"
	value["metadata"] = map[string]any{"display_phone_number": f.account.Number, "phone_number_id": f.account.PhoneNumberID}
	return map[string]any{"field": field, "value": value}
}

// Body is a webhook's body, and its signature.
func (f *WhatsApp) Body(changes ...map[string]any) (body []byte, signature string) {
	body, err := json.Marshal(map[string]any{
		"object": "whatsapp_business_account",
		"entry":  []any{map[string]any{"id": "102290129340398", "changes": changes}},
	})
	if err != nil {
		panic(err) // it is made of plain values
	}
	return body, Sign(f.account.AppSecret, body)
}

// Sign is the signature of a body.
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// call is what the one method takes: a message, or a mark that one was read.
type call struct {
	Product   string `json:"messaging_product"`
	Kind      string `json:"recipient_type"`
	To        string `json:"to"`
	Recipient string `json:"recipient"`
	Type      string `json:"type"`
	Text      struct {
		Body string `json:"body"`
	} `json:"text"`
	Part string `json:"biz_opaque_callback_data"`

	Status  string `json:"status"`
	Message string `json:"message_id"`
	Typing  *struct {
		Type string `json:"type"`
	} `json:"typing_indicator"`
}

// name is by which the person, or the group, is addressed. A phone number goes first.
func (c call) name() string {
	if c.To != "" {
		return c.To
	}
	return c.Recipient
}

// ServeHTTP answers calls of the API, of any version.
func (f *WhatsApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c call
	switch path := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/"); {
	case r.Header.Get("Authorization") != "Bearer "+f.account.Token:
		refuse(w, http.StatusUnauthorized, 190, 0, "Error validating access token")
	case len(path) != 3 || path[1] != f.account.PhoneNumberID || path[2] != "messages" || !strings.HasPrefix(path[0], "v"):
		refuse(w, http.StatusBadRequest, 100, 33, "Unsupported post request. Object does not exist")
	case json.NewDecoder(r.Body).Decode(&c) != nil || c.Product != "whatsapp":
		refuse(w, http.StatusBadRequest, 100, 0, "Invalid parameter")
	case c.Status == "read":
		f.read(w, c)
	default:
		f.send(w, c)
	}
}

// read marks a message as read, and shows that the bot is writing.
func (f *WhatsApp) read(w http.ResponseWriter, c call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	chat, known := f.inbound[c.Message]
	if !known {
		refuse(w, http.StatusBadRequest, 131009, 0, "Parameter value is not valid")
		return
	}
	if c.Typing != nil {
		f.typing[chat]++
	}
	succeed(w, map[string]any{"success": true})
}

func (f *WhatsApp) send(w http.ResponseWriter, c call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var fault Fault
	if len(f.faults) > 0 {
		fault, f.faults = f.faults[0], f.faults[1:]
	}
	if fault.Limited > 0 {
		f.limited[c.name()] = time.Now().Add(fault.Limited)
	}
	switch {
	case fault.Status != 0:
		refuse(w, fault.Status, fault.Code, 0, fault.Message)
		return
	case time.Now().Before(f.limited[c.name()]):
		refuse(w, http.StatusBadRequest, 131056, 0, "(Business Account, Consumer Account) pair rate limit hit")
		return
	case c.name() == "" || c.Type != "text" || strings.TrimSpace(c.Text.Body) == "":
		refuse(w, http.StatusBadRequest, 131008, 0, "Required parameter is missing")
		return
	case len(utf16.Encode([]rune(c.Text.Body))) > 4096:
		refuse(w, http.StatusBadRequest, 100, 0, "Param text['body'] must be at most 4096 characters long.")
		return
	}
	f.messages++
	id := "wamid.OUT" + strconv.Itoa(f.messages)
	late := fault.Late
	if late == 0 && c.Kind != "group" && time.Since(f.wrote[c.name()]) > window {
		late = 131047
	}
	if late == 0 {
		f.shown[c.name()] = append(f.shown[c.name()], Shown{ID: id, Text: c.Text.Body, Part: c.Part})
	}
	f.tellStatus(c, id, late)
	if fault.Lost {
		panic(http.ErrAbortHandler)
	}
	succeed(w, map[string]any{
		"messaging_product": "whatsapp", "messages": []any{map[string]any{"id": id}},
		"contacts": []any{map[string]any{"input": c.name(), "wa_id": c.To, "user_id": c.Recipient}},
	})
}

// tellStatus tells the webhook, if there is one, what becomes of a message.
func (f *WhatsApp) tellStatus(c call, id string, late int) {
	if f.hook == nil {
		return
	}
	status := func(word string, more map[string]any) map[string]any {
		s := map[string]any{"id": id, "status": word, "timestamp": strconv.FormatInt(time.Now().Unix(), 10), "biz_opaque_callback_data": c.Part}
		if c.To != "" {
			s["recipient_id"] = c.To
		}
		if c.Recipient != "" {
			s["recipient_user_id"] = c.Recipient
		}
		for name, value := range more {
			s[name] = value
		}
		return f.Statuses(s)
	}
	if late != 0 {
		f.hook.add(f.Body(status("failed", map[string]any{"errors": []any{Error(late)}})))
		return
	}
	f.hook.add(f.Body(status("sent", nil)))
	f.hook.add(f.Body(status("delivered", nil)))
}

// Error is an error as a status tells of it.
func Error(code int) map[string]any {
	title := map[int]string{131047: "Re-engagement message", 131026: "Message undeliverable"}[code]
	return map[string]any{
		"code": code, "title": title, "message": title,
		"error_data": map[string]any{"details": fmt.Sprintf("Details of %d.", code)},
	}
}

func succeed(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status, code, subcode int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"message": fmt.Sprintf("(#%d) %s", code, message), "type": "OAuthException", "code": code, "fbtrace_id": "A"}
	if subcode != 0 {
		body["error_subcode"] = subcode
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": body})
}

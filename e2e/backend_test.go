package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onereply/onereply/console"
)

// How fast the stand-in is: slow enough to write meanwhile, as in the demo.
const (
	debounce    = 900 * time.Millisecond
	maxWait     = 2500 * time.Millisecond
	wordsApart  = 120 * time.Millisecond
	maxDiscards = 2
)

// backend stands in for the server: the few calls that the page makes, for
// the bot "demo", with one turn after the other as the real one plays it.
type backend struct {
	server *httptest.Server

	mu            sync.Mutex
	debounce      time.Duration // the quiet time; longer where a test has much to do in it
	conversations map[string]*conversation
	down          bool // the store is out of reach
	refused       int  // streams that were refused meanwhile
}

type object = map[string]any

type conversation struct {
	name              string
	version           int64
	entries           []object
	events            []object
	changed           chan struct{} // closed at each new event
	windowStart       time.Time
	lastInput         time.Time
	timer             *time.Timer
	turn, token       int64
	running           int64 // the token of the running attempt, 0 if none
	through           int64
	attempt, discards int
	phase             string
}

func newBackend(t *testing.T) *backend {
	b := &backend{debounce: debounce, conversations: map[string]*conversation{}}
	b.server = httptest.NewServer(b.handler())
	t.Cleanup(b.stop)
	return b
}

// waits makes the quiet time longer.
func (b *backend) waits(quiet time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.debounce = quiet
}

// stop takes the server away: connections are refused until restart.
func (b *backend) stop() {
	b.server.CloseClientConnections()
	b.server.Close()
}

// restart brings it back at the same address.
func (b *backend) restart(t *testing.T) {
	listener, err := net.Listen("tcp", b.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: b.handler()}}
	b.server.Start()
}

func (b *backend) handler() http.Handler {
	const path = "/v1/bots/{bot}/conversations/{conversation}"
	mux := http.NewServeMux()
	mux.Handle("/", console.Playground())
	mux.HandleFunc("GET /v1/bots/{bot}/conversations", b.call(func(*conversation, *http.Request) (int, any) {
		return http.StatusOK, object{"conversations": []object{}, "next_cursor": nil}
	}))
	mux.HandleFunc("POST "+path+"/messages", b.call(b.receive))
	mux.HandleFunc("PATCH "+path+"/messages/{id}", b.call(b.change))
	mux.HandleFunc("DELETE "+path+"/messages/{id}", b.call(b.change))
	mux.HandleFunc("GET "+path+"/transcript", b.call(transcript))
	mux.HandleFunc("GET "+path, b.call(state))
	mux.HandleFunc("GET "+path+"/events", b.stream)
	mux.HandleFunc("GET /demo/settings", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// setDown makes the store unreachable, and breaks the streams.
func (b *backend) setDown(down bool) {
	b.mu.Lock()
	b.down = down
	b.mu.Unlock()
	if down {
		b.server.CloseClientConnections()
	}
}

// wasRefused waits until the page asked for the stream in vain: the browser
// takes that answer as final, and asks no more by itself.
func (b *backend) wasRefused(t *testing.T) {
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(pace) {
		b.mu.Lock()
		refused := b.refused
		b.mu.Unlock()
		if refused > 0 {
			return
		}
	}
	t.Fatal("the page did not try to connect again")
}

func (b *backend) call(answer func(*conversation, *http.Request) (int, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		c, status, problem := b.find(r)
		var body any = problem
		if c != nil {
			status, body = answer(c, r)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

func (b *backend) find(r *http.Request) (*conversation, int, object) {
	if b.down {
		return nil, http.StatusServiceUnavailable, object{"title": "Not available for now", "detail": "The store is out of reach."}
	}
	if r.PathValue("bot") != "demo" {
		return nil, http.StatusNotFound, object{"title": "No such bot"}
	}
	name := r.PathValue("conversation")
	c, known := b.conversations[name]
	if !known {
		c = &conversation{name: name, changed: make(chan struct{}), phase: "idle"}
		b.conversations[name] = c
	}
	return c, 0, nil
}

func (b *backend) receive(c *conversation, r *http.Request) (int, any) {
	var message struct{ ID, Text string }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		return http.StatusBadRequest, object{"title": "The body is not JSON"}
	}
	if c.entry(message.ID) != nil {
		return http.StatusAccepted, object{"message_id": message.ID, "version": c.version, "duplicate": true, "outcome": "duplicate"}
	}
	c.entries = append(c.entries, object{
		"seq": len(c.entries) + 1, "kind": "message", "id": message.ID, "at": stamp(time.Now()), "status": "pending", "covers": []string{},
	})
	return b.input(c, message.ID, message.Text, "pending", "")
}

// change is an edit, or without a body a deletion.
func (b *backend) change(c *conversation, r *http.Request) (int, any) {
	var body struct{ Text string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	found := c.entry(r.PathValue("id"))
	switch {
	case found == nil:
		return http.StatusNotFound, object{"title": "Not found", "detail": "No such message."}
	case found["status"] != "pending" && r.Method == http.MethodDelete:
		found["status"], found["text"] = "deleted", ""
		c.emit("message.erased", object{"message_id": found["id"]})
		return http.StatusAccepted, object{"message_id": found["id"], "version": c.version, "outcome": "erased"}
	case found["status"] != "pending":
		found["text"] = body.Text
		c.emit("message.recorded", object{"message_id": found["id"], "text": body.Text})
		return http.StatusAccepted, object{"message_id": found["id"], "version": c.version, "outcome": "recorded"}
	case r.Method == http.MethodDelete:
		return b.input(c, r.PathValue("id"), "", "deleted", "deleted")
	}
	return b.input(c, r.PathValue("id"), body.Text, "pending", "edited")
}

// input is what a message, an edit and a deletion have in common.
func (b *backend) input(c *conversation, id, text, status, reason string) (int, any) {
	c.version++
	entry := c.entry(id)
	entry["text"], entry["version"], entry["status"] = text, c.version, status
	c.lastInput = time.Now()
	c.emit("message.accepted", object{"message_id": id, "text": text, "reason": reason})
	switch {
	case c.running == 0:
		b.schedule(c)
	case c.discards < maxDiscards:
		b.discard(c)
	}
	return http.StatusAccepted, object{"message_id": id, "version": c.version, "duplicate": false, "outcome": "queued"}
}

// schedule starts the window, or moves its end.
func (b *backend) schedule(c *conversation) {
	if c.windowStart.IsZero() {
		c.windowStart = time.Now()
	}
	c.phase = "collecting"
	due := c.lastInput.Add(b.debounce)
	reason := ""
	if latest := c.windowStart.Add(max(maxWait, 2*b.debounce)); due.After(latest) {
		due, reason = latest, "max_wait"
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(time.Until(due), func() { b.start(c) })
	c.emit("turn.scheduled", object{"turn": c.turn, "due_at": stamp(due), "reason": reason})
}

func (b *backend) start(c *conversation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	covers, texts := c.pending()
	if c.running != 0 || len(covers) == 0 {
		return
	}
	if c.discards == 0 {
		c.turn++
	}
	c.token++
	c.attempt++
	c.running, c.through, c.windowStart, c.phase = c.token, c.version, time.Time{}, "generating"
	c.emit("turn.started", object{"turn": c.turn, "token": c.token, "attempt": c.attempt, "through": c.through, "covers": covers})
	text := fmt.Sprintf("You wrote %d messages: %s", len(covers), strings.Join(texts, " | "))
	go b.generate(c, c.token, covers, strings.SplitAfter(text, " "))
}

func (b *backend) generate(c *conversation, token int64, covers, words []string) {
	ticker := time.NewTicker(wordsApart)
	defer ticker.Stop()
	for _, word := range words {
		<-ticker.C
		if !b.while(c, token, func() { c.emit("reply.delta", object{"turn": c.turn, "token": token, "text": word}) }) {
			return
		}
	}
	b.while(c, token, func() { b.commit(c, token, covers, strings.Join(words, "")) })
}

// while does something unless the attempt was discarded.
func (b *backend) while(c *conversation, token int64, do func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.running != token {
		return false
	}
	do()
	return true
}

func (b *backend) discard(c *conversation) {
	token := c.running
	c.running = 0
	c.discards++
	c.emit("reply.discarded", object{"turn": c.turn, "token": token, "attempt": c.attempt, "through": c.through, "reason": "superseded"})
	b.schedule(c)
}

func (b *backend) commit(c *conversation, token int64, covers []string, text string) {
	late := c.version != c.through
	reply := object{"turn": c.turn, "token": token, "through": c.through, "reply_id": fmt.Sprintf("%s/%d", c.name, c.turn), "covers": covers, "text": text, "late_input": late, "part": 1, "parts": 1}
	c.entries = append(c.entries, object{
		"seq": len(c.entries) + 1, "kind": "reply", "id": reply["reply_id"], "text": text, "at": stamp(time.Now()), "status": "sent", "covers": covers, "late_input": late,
	})
	c.emit("reply.committed", reply)
	for _, id := range covers {
		c.entry(id)["status"] = "answered"
	}
	c.emit("reply.sent", reply)
	c.running, c.attempt, c.discards, c.phase = 0, 0, 0, "idle"
	if late {
		b.schedule(c)
	}
}

// pending are the ids and texts of the messages that the attempt answers.
func (c *conversation) pending() (ids, texts []string) {
	for _, entry := range c.entries {
		if entry["kind"] == "message" && entry["status"] == "pending" {
			ids = append(ids, entry["id"].(string))
			texts = append(texts, entry["text"].(string))
		}
	}
	return ids, texts
}

func (c *conversation) entry(id string) object {
	at := slices.IndexFunc(c.entries, func(entry object) bool { return entry["id"] == id })
	if at < 0 {
		return nil
	}
	return c.entries[at]
}

func (c *conversation) emit(kind string, event object) {
	event = maps.Clone(event)
	event["id"] = strconv.Itoa(len(c.events) + 1)
	event["type"], event["at"], event["version"] = kind, stamp(time.Now()), c.version
	event["bot"], event["conversation"] = "demo", c.name
	c.events = append(c.events, event)
	close(c.changed)
	c.changed = make(chan struct{})
}

func transcript(c *conversation, r *http.Request) (int, any) {
	after, _ := strconv.Atoi(r.FormValue("after"))
	limit, _ := strconv.Atoi(cmp.Or(r.FormValue("limit"), "100"))
	rest := c.entries[min(after, len(c.entries)):]
	if len(rest) <= limit {
		return http.StatusOK, object{"entries": rest, "next": nil}
	}
	return http.StatusOK, object{"entries": rest[:limit], "next": after + limit}
}

func state(c *conversation, _ *http.Request) (int, any) {
	if c.version == 0 {
		return http.StatusNotFound, object{"title": "Not found"}
	}
	return http.StatusOK, object{"bot": "demo", "conversation": c.name, "version": c.version, "phase": c.phase}
}

func (b *backend) stream(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	c, status, _ := b.find(r)
	if c == nil {
		b.refused++
		b.mu.Unlock()
		w.WriteHeader(status)
		return
	}
	next := len(c.events)
	if last, err := strconv.Atoi(r.Header.Get("Last-Event-ID")); err == nil {
		next = last
	}
	b.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "retry: 200\n\n")
	for {
		b.mu.Lock()
		events, changed := slices.Clone(c.events[next:]), c.changed
		for _, event := range events {
			data, _ := json.Marshal(event)
			fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", event["id"], event["type"], data)
		}
		b.mu.Unlock()
		next += len(events)
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

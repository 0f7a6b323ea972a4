package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/words"
)

// Answer is what the API said to one inbound request.
type Answer struct {
	At           time.Duration
	Event        string // its type
	Worker       string
	Conversation string
	Label        string // of the message
	Status       int    // 0: the connection broke, so nobody knows
	Outcome      string
	Reason       string // of the outcome
	About        string // what the event was about: the message's label, or a call's path
	Expect       int    // the status that the story names, 0: none
	Excused      bool   // the story gives a reason why it may fail
}

// stored reports whether the API answered for it.
func (a Answer) stored() bool {
	return a.Status/100 == 2 && a.Outcome != "ignored"
}

// address is a call's URL: of what is below a conversation, or from /v1/ on.
func address(worker, conversation, rest string) string {
	if strings.HasPrefix(rest, "/v1/") {
		return "http://" + worker + rest
	}
	return conversationURL(worker, conversation, rest)
}

func conversationURL(worker, conversation, rest string) string {
	return "http://" + worker + "/v1/bots/" + botName + "/conversations/" + url.PathEscape(conversation) + rest
}

// ask sends a request with the API's key and reads the answer into value,
// where there is one. It returns the status, 0 where none came.
func (w *world) ask(method, address string, body, value any) int {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			panic(err) // it is made of maps and texts
		}
	}
	return w.raw(method, address, content, apiKey, nil, value)
}

func (w *world) raw(method, address string, body []byte, key string, header map[string]string, value any) int {
	request, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		w.problem("%s %s: %v", method, address, err)
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	for name, text := range header {
		request.Header.Set(name, text)
	}
	response, err := w.people.Do(request)
	if err != nil {
		w.tracef("%s %s: %v", method, address, err)
		return 0
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0
	}
	if value != nil && len(answer) > 0 && response.StatusCode/100 == 2 {
		if err := json.Unmarshal(answer, value); err != nil {
			w.problem("%s %s: the answer is no JSON: %v", method, address, err)
		}
	}
	if response.StatusCode/100 != 2 {
		w.tracef("%s %s: %d %s", method, address, response.StatusCode, answer)
	}
	return response.StatusCode
}

// body is a message as the API takes it.
func (w *world) body(m Message) map[string]any {
	body := map[string]any{"text": w.text(m)}
	optional := func(key, text string) {
		if text != "" {
			body[key] = text
		}
	}
	optional("id", m.ID)
	optional("group", m.Group)
	if m.Sender != "" {
		sender := map[string]any{"id": m.Sender, "name": m.Sender, "bot": m.SenderBot}
		if m.SenderName != nil {
			sender["name"] = *m.SenderName
		}
		body["sender"] = sender
	}
	if m.ProviderTS != 0 {
		body["sent_at"] = time.Unix(int64(m.ProviderTS), 0).UTC().Format(time.RFC3339)
	}
	if m.SentAtMS != nil {
		body["sent_at"] = w.began.Add(milliseconds(*m.SentAtMS)).UTC().Format(time.RFC3339)
	}
	if m.Context {
		body["context"] = true
	}
	if m.ReplyTo != nil {
		body["reply_to"] = m.ReplyTo
	}
	if m.ForwardedFrom != nil {
		body["forwarded_from"] = m.ForwardedFrom
	}
	if m.FromMe {
		body["from_me"] = true
	}
	if m.Addressed != nil {
		body["addressed"] = *m.Addressed
	}
	if m.Kind != "" {
		pending := m.MediaReadyAtMS > 0 || m.MediaFailed
		body["attachments"] = []map[string]any{{"kind": m.Kind + " " + mark(m.label()), "pending": pending}}
	}
	body["metadata"] = map[string]any{"event": m.EventName, "event_id": m.EventID, "mention": m.Mention, "source": m.Source}
	return body
}

// text is the message's text, marked so that the model knows it again. What
// the whole text decides about is left as it is.
func (w *world) text(m Message) string {
	text := m.Caption
	if m.Text != nil {
		text = written(*m.Text)
	}
	if m.Plain || strings.TrimSpace(text) == "" {
		return text
	}
	return w.marked(m.label(), text) + strings.Repeat(".", m.PadBytes)
}

// marked is a text with the mark of its message, unless it is a word of the bot.
func (w *world) marked(label, text string) string {
	config := w.scenario.Config
	if words.NewList(slices.Concat(config.StopWords, config.OptOutWords)).Has(text) {
		return text
	}
	return mark(label) + " " + text
}

// receive posts a message to a worker.
func (w *world) receive(m Message, worker string, e Event) {
	var receipt struct {
		MessageID string `json:"message_id"`
		Outcome   string `json:"outcome"`
		Reason    string `json:"reason"`
	}
	body, err := json.Marshal(w.body(m))
	if err != nil {
		panic(err) // it is made of maps and texts
	}
	header := map[string]string{}
	if e.Header != "" {
		header["X-Delivery"] = e.Header
	}
	a := Answer{At: w.now(), Event: e.Type, Worker: worker, Conversation: m.conversation(), Label: m.label(), Expect: e.HTTPExpect, Excused: w.excused(m, worker)}
	a.Status = w.raw(http.MethodPost, conversationURL(worker, m.conversation(), "/messages"), body, apiKey, header, &receipt)
	a.Outcome, a.Reason, a.About = receipt.Outcome, receipt.Reason, m.label()
	if receipt.MessageID != "" {
		w.name(m.conversation(), receipt.MessageID, m.label())
	}
	w.tracef("%s %s to %s: %d %s %s", e.Type, m.label(), worker, a.Status, receipt.Outcome, receipt.Reason)
	w.note(a)
}

// excused reports whether the story gives a reason why a message may be
// refused, or its answer lost: it is blank, its worker is not there, or is
// about to crash.
func (w *world) excused(m Message, worker string) bool {
	blank := strings.TrimSpace(w.text(m)) == "" && m.Kind == ""
	return blank || !w.takes(worker) || w.hooks.waitsFor(afterAppend)
}

func (w *world) note(a Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, a)
}

// tell makes any other inbound request.
func (w *world) tell(e Event, method, conversation, rest string, body any) {
	var answer outcome
	worker := w.target(e)
	a := Answer{At: w.now(), Event: e.Type, Worker: worker, Conversation: conversation, Expect: e.HTTPExpect, Excused: e.Author == "self"}
	a.About = cmp.Or(e.label(), e.Path)
	a.Status = w.ask(method, address(worker, conversation, rest), body, &answer)
	a.Outcome, a.Reason = answer.Outcome, answer.Reason
	w.tracef("%s to %s: %d %s", e.Type, worker, a.Status, a.Outcome)
	for _, text := range e.AnswerHas {
		if !strings.Contains(answer.raw, text) {
			w.problem("at %d ms, %s %s: %q is not in the answer %s", e.AtMS, e.Type, a.About, text, answer.raw)
		}
	}
	for _, text := range e.AnswerLacks {
		if strings.Contains(answer.raw, text) {
			w.problem("at %d ms, %s %s: %q is in the answer %s", e.AtMS, e.Type, a.About, text, answer.raw)
		}
	}
	w.note(a)
}

// outcome is what the API says of an inbound request.
type outcome struct {
	Outcome, Reason string

	raw string // the whole answer
}

// UnmarshalJSON keeps the whole answer beside the fields that are known here.
func (o *outcome) UnmarshalJSON(raw []byte) error {
	type fields outcome
	if err := json.Unmarshal(raw, (*fields)(o)); err != nil {
		return err
	}
	o.raw = string(raw)
	return nil
}

// target is the worker that an event goes to: one that is alone takes all.
func (w *world) target(e Event) string {
	if e.Worker != "" && w.stage.Nodes > 1 {
		return e.Worker
	}
	return w.inbound("")
}

// rawHTTP sends what is no message.
func (w *world) rawHTTP(e Event) {
	worker, key := w.target(e), apiKey
	if e.BadSignature {
		key = "somebody else's key"
	}
	body := bytes.Repeat([]byte("x"), e.Bytes)
	status := w.raw(http.MethodPost, conversationURL(worker, "c1", "/messages"), body, key, nil, nil)
	w.note(Answer{At: w.now(), Event: e.Type, Worker: worker, Conversation: "c1", Status: status, Expect: e.HTTPExpect})
}

// entry and state are what the API tells about a conversation.
type entry struct {
	Seq       int64
	Kind      string
	ID        string
	Text      string
	Status    string
	Reason    string
	Author    string
	Receipt   string
	Covers    []string
	LateInput bool `json:"late_input"`

	raw string // as the API gives it
}

// UnmarshalJSON keeps the whole entry beside the fields that are known here.
func (e *entry) UnmarshalJSON(raw []byte) error {
	type fields entry
	if err := json.Unmarshal(raw, (*fields)(e)); err != nil {
		return err
	}
	e.raw = string(raw)
	return nil
}

type state struct {
	Conversation string
	Aliases      []string
	Phase        string
	Pending      int
	Version      int64
	Answered     int64
	LastError    string `json:"last_error"`
}

// conversations reads everything back through the API of a node.
func (w *world) conversations() []Conversation {
	worker := w.inbound("")
	var all []Conversation
	for cursor := ""; ; {
		var page struct {
			Conversations []state
			Next          *string `json:"next_cursor"`
		}
		address := fmt.Sprintf("http://%s/v1/bots/%s/conversations?limit=1000&cursor=%s", worker, botName, url.QueryEscape(cursor))
		if status := w.ask(http.MethodGet, address, nil, &page); status != http.StatusOK {
			w.problem("the list of conversations can't be read: status %d", status)
			return all
		}
		for _, s := range page.Conversations {
			all = append(all, Conversation{state: s, Entries: w.transcript(worker, s.Conversation), Turns: w.turns(worker, s.Conversation)})
		}
		if page.Next == nil {
			return all
		}
		cursor = *page.Next
	}
}

// told is a turn as the timeline shows it.
type told struct {
	Turn  int64
	Open  bool
	Lost  int
	Steps []toldStep
}

type toldStep struct{ Type, Reason string }

// turns are the last turns of a conversation. A story of many conversations is about
// something else.
func (w *world) turns(worker, conversation string) []told {
	if w.scenario.has("seed_conversations", "seed_overdue") {
		return nil
	}
	var timeline struct{ Turns []told }
	if status := w.ask(http.MethodGet, conversationURL(worker, conversation, "/timeline?turns=100"), nil, &timeline); status != http.StatusOK {
		w.problem("the timeline of %q can't be read: status %d", conversation, status)
	}
	return timeline.Turns
}

func (w *world) transcript(worker, conversation string) []entry {
	var all []entry
	for after := int64(0); ; {
		var page struct {
			Entries []entry
			Next    *int64
		}
		address := conversationURL(worker, conversation, fmt.Sprintf("/transcript?limit=1000&after=%d", after))
		if status := w.ask(http.MethodGet, address, nil, &page); status != http.StatusOK {
			w.problem("the transcript of %q can't be read: status %d", conversation, status)
			return all
		}
		all = append(all, page.Entries...)
		if page.Next == nil {
			return all
		}
		after = *page.Next
	}
}

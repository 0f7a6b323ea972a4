package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Call is one call of the model.
type Call struct {
	Number       int
	Node         string
	Conversation string
	Start, End   time.Duration
	Running      bool
	Answered     bool     // it gave a text, and its caller was there to take it
	Text         string   // what it answered
	Labels       []string // the messages that its prompt held, in order; repeated where they were
	Context      []string // the messages at the head of its prompt that are not to be answered
	Prompt       string   // the last message of the request
	Request      string   // all of it, without the system message
	Roles        []string // of the request, without the system message
	Said         []string // what the request says that the assistant said before
	Sealed       bool     // its agent was told that it can't be discarded any more
	sealURL      string
}

// model is a model that echoes what it saw, and an agent with tools.
type model struct {
	world *world
	mu    sync.Mutex
	calls []*Call
	tools map[string]int // how often each tool ran
}

// Marks make messages recognisable in a prompt.
const markOpen, markClose = "⟦", "⟧"

var marked = regexp.MustCompile(markOpen + "([^" + markClose + "]+)" + markClose)

func mark(label string) string { return markOpen + label + markClose }

// labelsIn are the marked messages in a text, in order. An attachment repeats
// the mark of its own message right after it.
func labelsIn(text string) []string {
	var labels []string
	for _, m := range marked.FindAllStringSubmatch(text, -1) {
		if len(labels) == 0 || labels[len(labels)-1] != m[1] {
			labels = append(labels, m[1])
		}
	}
	return labels
}

func (m *model) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	mux.HandleFunc("POST /agent", m.agent)
	return mux
}

// complete is an OpenAI-compatible endpoint.
func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
		Stream   bool
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
		m.world.problem("the model got a bad request: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c := &Call{Node: caller(r), Conversation: conversationOf(r.Header.Get("Idempotency-Key"))}
	for _, message := range request.Messages {
		if message.Role == "system" {
			continue
		}
		c.Roles = append(c.Roles, message.Role)
		c.Request += message.Role + ": " + message.Content + "\n"
		if message.Role == "assistant" {
			c.Said = append(c.Said, message.Content)
		}
	}
	c.Prompt = request.Messages[len(request.Messages)-1].Content
	head, rest := splitPrompt(c.Prompt)
	c.Context, c.Labels = labelsIn(head), labelsIn(rest)
	m.answer(w, r, c, chatStream{w: w})
}

// splitPrompt takes the head of a prompt, which is not to be answered, from the rest.
func splitPrompt(prompt string) (head, rest string) {
	const begins, ends = "[Not answered, and not to be answered:]\n", "\n[To be answered:]\n"
	if !strings.HasPrefix(prompt, begins) {
		return "", prompt
	}
	head, rest, _ = strings.Cut(prompt, ends)
	return head, rest
}

// conversationOf reads bot/conversation/turn/attempt.
func conversationOf(key string) string {
	fields := strings.Split(key, "/")
	if len(fields) != 4 {
		return key
	}
	return fields[1]
}

// agent is a webhook that answers turns, with tools that have effects.
func (m *model) agent(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Conversation string
		Messages     []agentEntry
		History      []agentEntry
		SealURL      string `json:"seal_url"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		m.world.problem("the agent got a bad request: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c := &Call{Node: caller(r), Conversation: request.Conversation, sealURL: request.SealURL}
	for _, e := range request.History {
		c.Request += e.line()
		switch e.Role {
		case "assistant":
			c.Said, c.Context = append(c.Said, e.Text), nil
		default:
			c.Context = append(c.Context, m.world.label(request.Conversation, e.ID))
		}
		c.Roles = append(c.Roles, e.Role)
	}
	var texts []string
	for _, e := range request.Messages {
		c.Request += e.line()
		c.Roles = append(c.Roles, e.Role)
		c.Labels = append(c.Labels, m.world.label(request.Conversation, e.ID))
		texts = append(texts, e.Text)
	}
	c.Roles = slices.Compact(c.Roles) // an agent gets each entry by itself
	c.Prompt = strings.Join(texts, "\n")
	m.answer(w, r, c, &document{w: w})
}

// agentEntry is a message or a reply, as an agent gets it.
type agentEntry struct {
	ID, Role, Author, Text, At string
	Edited, Context            bool
	Sender                     struct{ ID, Name string }
}

// line is the entry as one line, for the stories to look into.
func (e agentEntry) line() string {
	line := e.Role + " " + e.Author + " " + e.Sender.ID + " " + e.ID + " " + e.At
	if e.Context {
		line += " context"
	}
	if e.Edited {
		line += " edited"
	}
	return line + ": " + e.Text + "\n"
}

// writer is how an answer is written.
type writer interface {
	begin()
	piece(text string)
	end()
}

// grain is what the model's latency has beyond whole milliseconds. Where a
// message comes in the very millisecond in which the model is done, the
// message comes first: stories can count on one order then.
const grain = 10 * time.Microsecond

// answer plays one call: it takes its time, fails where a rule says so, and
// tells what it saw.
func (m *model) answer(w http.ResponseWriter, r *http.Request, c *Call, out writer) {
	world := m.world
	m.begin(c)
	defer m.end(c)
	latency := milliseconds(world.rules.last("model_latency", c.Start).MS) + grain
	always := func(Event) bool { return true }
	holds := func(e Event) bool {
		return strings.Contains(c.Request, e.Containing) && len([]rune(c.Request)) > e.LongerThan
	}
	if fault, hit := world.rules.strike("model_error", c.Start, holds); hit {
		if sleep(r.Context(), latency) {
			http.Error(w, fmt.Sprintf(`{"error":{"message":"the fake model fails","code":%q}}`, fault.Code), fault.Status)
		}
		return
	}
	text := reply(c)
	if output, hit := world.rules.strike("model_output", c.Start, always); hit {
		text = shape(text, output)
	}
	if m.write(r.Context(), out, text, c.Start, latency) {
		m.mu.Lock()
		c.Answered, c.Text = true, text
		m.mu.Unlock()
	}
}

// write gives the text in pieces, over the whole latency.
func (m *model) write(ctx context.Context, out writer, text string, start, latency time.Duration) bool {
	pieces := pieces(text, latency)
	out.begin()
	for i, piece := range pieces {
		at := start + latency*time.Duration(i+1)/time.Duration(len(pieces))
		if !sleep(ctx, at-m.world.now()) {
			return false
		}
		if piece != "" {
			out.piece(piece)
		}
	}
	out.end()
	return true
}

// pieces cuts a text so that a slow model is never silent for long.
func pieces(text string, latency time.Duration) []string {
	count := 1
	if latency >= time.Second {
		count = max(4, int(latency/(10*time.Second)))
	}
	runes := []rune(text)
	cut := make([]string, count)
	for i := range cut {
		cut[i] = string(runes[len(runes)*i/count : len(runes)*(i+1)/count])
	}
	return cut
}

// sleep reports whether nobody hung up.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// reply names the call and what it saw.
func reply(c *Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d. I saw", c.Number)
	for _, label := range c.Labels {
		b.WriteString(" " + mark(label))
	}
	return b.String() + "."
}

var numbered = regexp.MustCompile(`#(\d+)\.`)

// shape makes a text as a rule wants it.
func shape(text string, output Event) string {
	if output.Empty {
		return ""
	}
	if output.Text != nil {
		text = said(text, output)
	}
	for len([]rune(text)) < output.Chars {
		text += " And so on."
	}
	if runes := []rune(text); output.Chars > 0 {
		text = string(runes[:output.Chars])
	}
	return text
}

// said is the text that a rule names: below the call's number, which tells
// later where it comes from, or all there is where it is plain.
func said(text string, output Event) string {
	if output.Plain {
		return *output.Text
	}
	return numbered.FindString(text) + "\n" + *output.Text
}

func (m *model) begin(c *Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Number, c.Start, c.Running = len(m.calls)+1, m.world.now(), true
	m.calls = append(m.calls, c)
	m.world.tracef("model call %d from %s: %v", c.Number, c.Node, c.Labels)
}

func (m *model) end(c *Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.End, c.Running = m.world.now(), false
	m.world.tracef("model call %d ends, answered %v", c.Number, c.Answered)
}

// use has every agent that runs use a tool: it seals first where the tool has
// an effect, and uses it only where it may.
func (m *model) use(e Event) {
	m.mu.Lock()
	running := slices.DeleteFunc(slices.Clone(m.calls), func(c *Call) bool { return !c.Running })
	m.mu.Unlock()
	if len(running) == 0 {
		m.world.problem("at %d ms no agent ran that could use the tool %q", e.AtMS, e.Name)
	}
	for _, c := range running {
		if e.Effect && m.world.ask(http.MethodPost, c.sealURL, nil, nil) != http.StatusOK {
			continue
		}
		m.mu.Lock()
		c.Sealed = c.Sealed || e.Effect
		m.tools[e.Name]++
		m.mu.Unlock()
	}
}

// chatStream writes an answer as OpenAI streams it.
type chatStream struct{ w http.ResponseWriter }

func (s chatStream) begin() {
	s.w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(s.w).Flush()
}

func (s chatStream) piece(text string) {
	s.chunk(map[string]any{"index": 0, "delta": map[string]string{"content": text}})
}

func (s chatStream) end() {
	s.chunk(map[string]any{"index": 0, "delta": map[string]string{}, "finish_reason": "stop"})
	fmt.Fprint(s.w, "data: [DONE]\n\n")
}

func (s chatStream) chunk(choice map[string]any) {
	data, err := json.Marshal(map[string]any{"choices": []any{choice}})
	if err != nil {
		panic(err) // maps of texts always have a JSON form
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	_ = http.NewResponseController(s.w).Flush()
}

// document writes an answer as one JSON document.
type document struct {
	w    http.ResponseWriter
	text strings.Builder
}

func (d *document) begin()            {}
func (d *document) piece(text string) { d.text.WriteString(text) }
func (d *document) end() {
	d.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(d.w).Encode(map[string]string{"text": d.text.String()})
}

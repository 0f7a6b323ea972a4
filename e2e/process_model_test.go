package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// moment is an instant of a turn at which something outside notices it.
type moment string

const (
	acknowledged moment = "collecting"      // a message was acknowledged
	asked        moment = "generating"      // the model was asked
	finishing    moment = "before commit"   // the model is about to end its answer
	committed    moment = "after commit"    // the event stream says so
	receiving    moment = "while sending"   // the receiver holds the request
	between      moment = "between parts"   // the receiver took one part of several
	delivered    moment = "after the send"  // the receiver took the last part
	starting     moment = "while it starts" // before it listens
	anytime      moment = "at random"       //
)

// modelCall is one request that the model got.
type modelCall struct {
	number       int
	instance     string // of the node that asked
	bot          string
	conversation string
	turn         int64
	attempt      int
	ids          []string // that the waiting messages name, in order
	before       []string // that the history names as said by people
	began, ended time.Time
	finished     bool // it was not cut off
}

// model is an OpenAI-compatible endpoint that outlives the node. It answers
// by naming the ids that it saw, so that a reply shows what it answers.
type model struct {
	server *httptest.Server
	notice func(moment)
	calm   atomic.Bool // answers at once, from now on
	fails  atomic.Bool // answers that it can't

	mu      sync.Mutex
	calls   []*modelCall
	latency func() time.Duration
}

func newModel(t testing.TB, latency func() time.Duration, notice func(moment)) *model {
	m := &model{notice: notice, latency: latency}
	m.server = httptest.NewServer(m)
	t.Cleanup(func() {
		m.server.CloseClientConnections()
		m.server.Close()
	})
	return m
}

// between50And800 is how long a model thinks; now and then much longer.
func between50And800(random *rand.Rand) func() time.Duration {
	return func() time.Duration {
		if random.IntN(25) == 0 {
			return 2 * time.Second
		}
		return 50*time.Millisecond + time.Duration(random.IntN(750))*time.Millisecond
	}
}

var marked = regexp.MustCompile(`\[([^\]\s]+)\]`)

// named are the ids that a text names.
func named(text string) []string {
	var ids []string
	for _, match := range marked.FindAllStringSubmatch(text, -1) {
		ids = append(ids, match[1])
	}
	return ids
}

// splitPrompt takes the head of a prompt, which is not to be answered, from the rest.
func splitPrompt(prompt string) (head, rest string) {
	if !strings.HasPrefix(prompt, "[Not answered, and not to be answered:]\n") {
		return "", prompt
	}
	head, rest, _ = strings.Cut(prompt, "\n[To be answered:]\n")
	return head, rest
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if m.fails.Load() {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	call, latency := m.begin(r)
	for _, said := range body.Messages[:len(body.Messages)-1] {
		if said.Role == "user" {
			call.before = append(call.before, named(said.Content)...)
		}
	}
	head, rest := splitPrompt(body.Messages[len(body.Messages)-1].Content)
	call.before = append(call.before, named(head)...)
	call.ids = named(rest)
	m.notice(asked)
	finished := m.write(w, r, call, latency)
	m.mu.Lock()
	defer m.mu.Unlock()
	call.ended, call.finished = time.Now(), finished
}

func (m *model) begin(r *http.Request) (*modelCall, time.Duration) {
	attempt := strings.Split(r.Header.Get("Idempotency-Key"), "/")
	call := &modelCall{instance: r.Header.Get("X-Instance"), began: time.Now()}
	if len(attempt) == 4 {
		call.bot, call.conversation = attempt[0], attempt[1]
		call.turn, _ = strconv.ParseInt(attempt[2], 10, 64) // 0 is no turn, which the ledger notices
		call.attempt, _ = strconv.Atoi(attempt[3])          // likewise
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	call.number = len(m.calls) + 1
	m.calls = append(m.calls, call)
	if m.calm.Load() {
		return call, 10 * time.Millisecond
	}
	return call, m.latency()
}

// pieces is in how many deltas the model writes.
const pieces = 5

// write streams the answer, and reports whether it got to the end of it.
func (m *model) write(w http.ResponseWriter, r *http.Request, call *modelCall, latency time.Duration) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	words := strings.SplitAfter(answerOf(call), " ")
	for i := range pieces {
		select {
		case <-r.Context().Done():
			return false
		case <-time.After(latency / pieces):
		}
		from, to := len(words)*i/pieces, len(words)*(i+1)/pieces
		event(w, map[string]any{"index": 0, "delta": map[string]string{"content": strings.Join(words[from:to], "")}})
	}
	m.notice(finishing)
	event(w, map[string]any{"index": 0, "delta": map[string]string{}, "finish_reason": "stop"})
	fmt.Fprint(w, "data: [DONE]\n\n")
	return http.NewResponseController(w).Flush() == nil && r.Context().Err() == nil
}

func event(w http.ResponseWriter, choice map[string]any) {
	data, _ := json.Marshal(map[string]any{"choices": []any{choice}}) // maps of strings always can be
	fmt.Fprintf(w, "data: %s\n\n", data)
	_ = http.NewResponseController(w).Flush() // the context tells of a lost connection
}

// answerOf names the call and what it saw; it is long enough for several parts.
func answerOf(call *modelCall) string {
	var text strings.Builder
	fmt.Fprintf(&text, "call=%d answers", call.number)
	for _, id := range call.ids {
		fmt.Fprintf(&text, " [%s]", id)
	}
	text.WriteString(" and adds a few words so that this is no short text but one of several parts.")
	return text.String()
}

var numbered = regexp.MustCompile(`call=(\d+) `)

// callOf is the number of the call that made a text; 0 for none.
func callOf(text string) int {
	found := numbered.FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	number, _ := strconv.Atoi(found[1]) // the pattern has digits only
	return number
}

// of are the calls for a conversation.
func (m *model) of(bot, conversation string) []modelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []modelCall
	for _, call := range m.calls {
		if call.bot == bot && call.conversation == conversation {
			found = append(found, *call)
		}
	}
	return found
}

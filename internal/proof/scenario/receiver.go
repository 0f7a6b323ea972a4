package scenario

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply/channel/webhook"
)

// Post is one request to the receiver, or, where replies are watched on the
// event stream, one reply seen there.
type Post struct {
	At           time.Duration
	Node         string
	Conversation string
	Address      string // by which it was last written to
	Reply        string // its id
	Part, Of     int    // from 1
	Text         string
	Covers       []string // labels
	Late         bool
	Human        bool
	Shown        bool // the person sees it
}

// Signal is a request to the receiver that is no reply.
type Signal struct {
	At           time.Duration
	Conversation string
	Address      string // by which it was last written to
	Kind         string // "typing", or "notice" and its kind
	Text         string
}

// receiver is the channel: it keeps what a person would see.
type receiver struct {
	world *world
	mu    sync.Mutex
	posts []Post

	signals []Signal
	known   map[string]bool // webhook ids that were taken; nil: repeats are not recognised
}

func (v *receiver) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /replies", v.take)
	return mux
}

func (v *receiver) take(w http.ResponseWriter, r *http.Request) {
	world := v.world
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender is gone
	}
	if err := webhook.Verify(signingSecret, r.Header, body, 0); err != nil {
		world.problem("the receiver can't trust a request: %v", err)
	}
	if v.takeSignal(body) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	p, err := v.read(body)
	if err != nil {
		world.problem("the receiver can't read a request: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.Node = caller(r)
	if fault, hit := v.refusal(p); hit {
		v.record(p)
		v.refuse(w, fault)
		return
	}
	p.Shown = !v.repeat(r.Header.Get("webhook-id"))
	v.record(p)
	world.tracef("shown: %s part %d of %d, covers %v", p.Reply, p.Part, p.Of, p.Covers)
	if n := world.up(p.Node); n != nil {
		world.reach(afterSend, n)
	}
	if gap := milliseconds(world.scenario.Config.PartGapMS); !sleep(r.Context(), gap) {
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// takeSignal keeps a request that is no reply, and reports whether it was one.
func (v *receiver) takeSignal(body []byte) bool {
	var request struct {
		Type string `json:"type"`
		Data struct {
			Conversation string `json:"conversation"`
			Address      string `json:"address"`
			Kind         string `json:"kind"`
			Text         string `json:"text"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &request); err != nil || request.Type == "reply" {
		return false
	}
	d := request.Data
	v.mu.Lock()
	defer v.mu.Unlock()
	v.signals = append(v.signals, Signal{At: v.world.now(), Conversation: d.Conversation, Address: d.Address, Kind: strings.TrimSpace(request.Type + " " + d.Kind), Text: d.Text})
	return true
}

func (v *receiver) read(body []byte) (Post, error) {
	var request struct {
		Data struct {
			ID           string   `json:"id"`
			Conversation string   `json:"conversation"`
			Address      string   `json:"address"`
			Text         string   `json:"text"`
			Covers       []string `json:"covers"`
			Late         bool     `json:"late_input"`
			Human        bool     `json:"human"`
			Part         int      `json:"part"`
			Of           int      `json:"of"`
		} `json:"data"`
	}
	err := json.Unmarshal(body, &request)
	d := request.Data
	p := Post{
		At: v.world.now(), Conversation: d.Conversation, Address: d.Address, Reply: d.ID, Part: d.Part, Of: d.Of,
		Text: d.Text, Late: d.Late, Human: d.Human, Covers: v.world.labels(d.Conversation, d.Covers),
	}
	return p, err
}

// refusal is the rule that refuses the post, where one does.
func (v *receiver) refusal(p Post) (Event, bool) {
	return v.world.rules.strike("channel_error", p.At, func(e Event) bool {
		return (e.Conv == "" || e.Conv == p.Conversation) && (e.Part == 0 || e.Part == p.Part)
	})
}

// refuse answers with the status that the rule names, and with the pause that it asks for.
func (v *receiver) refuse(w http.ResponseWriter, fault Event) {
	status, err := strconv.Atoi(fault.Mode)
	if err != nil {
		v.world.problem("unknown channel_error mode %q", fault.Mode)
		status = http.StatusInternalServerError
	}
	if fault.RetryAfterMS > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(float64(fault.RetryAfterMS)/1000, 'f', -1, 64))
		w.Header().Set("Retry-After-Scope", fault.Scope)
	}
	w.WriteHeader(status)
}

// repeat reports whether the id was taken before, where repeats are
// recognised.
func (v *receiver) repeat(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		return false
	}
	seen := v.known[id]
	v.known[id] = true
	return seen
}

func (v *receiver) record(p Post) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.posts = append(v.posts, p)
}

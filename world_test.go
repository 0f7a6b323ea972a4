package onereply_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// world is a few nodes on one store, a model that takes its time, and a
// person who sees what is sent. It lives in a synctest bubble.
type world struct {
	t     *testing.T
	store store.Store
	nodes []*onereply.App
	start time.Time

	mu      sync.Mutex
	sent    []seen
	acked   []string
	calls   int
	running int
	most    int // calls of the model that ran at once
}

// seen is a reply as a person sees it.
type seen struct {
	at     time.Duration
	text   string // the ids that the model saw, in order
	covers []string
	late   bool
}

type settings struct {
	nodes int
	model time.Duration
	bot   onereply.Bot // its Responder nil: a model that takes its time; its Sender nil: what a person sees
	store store.Store  // nil: memory
	step  engine.Step  // nil: the one that ships

	retention time.Duration // 0: the default
}

func newWorld(t *testing.T, s settings) *world {
	t.Helper()
	w := &world{t: t, store: s.store, start: time.Now()}
	if w.store == nil {
		w.store = memory.New()
	}
	s.bot.Name = "bot"
	if s.bot.Responder == nil {
		s.bot.Responder = w.model(s.model)
	}
	if s.bot.Sender == nil {
		s.bot.Sender = onereply.SenderFunc(w.see)
	}
	if s.step == nil {
		s.step = turn.Step
	}
	for i := range max(s.nodes, 1) {
		app, err := onereply.OpenBroken(t.Context(), w.store, onereply.Options{
			Node: fmt.Sprintf("node%d", i+1), Logger: slog.New(slog.DiscardHandler), Retention: s.retention,
		}, s.step, s.bot)
		if err != nil {
			t.Fatal(err)
		}
		w.nodes = append(w.nodes, app)
	}
	return w
}

func (w *world) close() {
	for _, app := range w.nodes {
		app.Close()
	}
	w.store.Close()
}

// model answers with the ids that it saw.
func (w *world) model(d time.Duration) onereply.Responder {
	return onereply.ResponderFunc(func(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
		w.mu.Lock()
		w.calls++
		w.running++
		w.most = max(w.most, w.running)
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			w.running--
			w.mu.Unlock()
		}()
		select {
		case <-ctx.Done():
			return onereply.Reply{}, ctx.Err()
		case <-time.After(d):
		}
		var ids []string
		for _, m := range t.Messages {
			ids = append(ids, m.ID)
		}
		return onereply.Reply{Text: strings.Join(ids, " ")}, nil
	})
}

func (w *world) see(_ context.Context, d *onereply.Delivery) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, seen{at: time.Since(w.start), text: d.Text, covers: d.Covers, late: d.LateInput})
	return nil
}

// say sends a message to a node.
func (w *world) say(node int, id string) {
	r, err := w.nodes[node].Receive(w.t.Context(), "bot", "c", onereply.Message{ID: id, Text: "text of " + id})
	if err != nil {
		w.t.Errorf("message %s: %v", id, err)
		return
	}
	if !r.Duplicate {
		w.mu.Lock()
		w.acked = append(w.acked, id)
		w.mu.Unlock()
	}
}

// until waits for a moment of the virtual time.
func (w *world) until(d time.Duration) { time.Sleep(d - time.Since(w.start)) }

// rest lets time pass, and all that happens at its end.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// verdict checks P1 to P4 from what a person saw, or says what is wrong.
func (w *world) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := map[string]int{}
	for _, s := range w.sent {
		if want := strings.Join(s.covers, " "); s.text != want {
			return fmt.Errorf("the reply at %v covers %q, its prompt held %q", s.at, want, s.text)
		}
		for _, id := range s.covers {
			count[id]++
		}
	}
	for _, id := range w.acked {
		if count[id] != 1 {
			return fmt.Errorf("message %s is in %d replies: %v", id, count[id], w.sent)
		}
		delete(count, id)
	}
	if len(count) > 0 {
		return fmt.Errorf("replies cover what was never acknowledged: %v", count)
	}
	return nil
}

// texts is what a person saw, reply by reply.
func (w *world) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	for _, s := range w.sent {
		texts = append(texts, s.text)
	}
	return texts
}

// state is what a node knows of the conversation.
func (w *world) state(node int) onereply.State {
	w.t.Helper()
	s, err := w.nodes[node].State(w.t.Context(), "bot", "c")
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// transcript is the lines of the conversation, as "text (status)".
func (w *world) transcript() []string {
	w.t.Helper()
	page, err := w.nodes[0].Transcript(w.t.Context(), "bot", "c", 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, e := range page.Entries {
		lines = append(lines, fmt.Sprintf("%s (%s)", e.Text, e.Status))
	}
	return lines
}

func (w *world) wantTranscript(want ...string) {
	w.t.Helper()
	if got := w.transcript(); !slices.Equal(got, want) {
		w.t.Errorf("the transcript is %q, want %q", got, want)
	}
}

func (w *world) wantPhase(want onereply.Phase) {
	w.t.Helper()
	if got := w.state(0); got.Phase != want {
		w.t.Errorf("the conversation is %s, want %s: %+v", got.Phase, want, got)
	}
}

func (w *world) wantReplies(want ...string) {
	w.t.Helper()
	if got := w.texts(); !slices.Equal(got, want) {
		w.t.Errorf("replies %q, want %q", got, want)
	}
}

// seal seals the attempt that runs.
func (w *world) seal() {
	state, err := w.nodes[0].State(w.t.Context(), "bot", "c")
	if err != nil || state.Lease == nil {
		w.t.Fatalf("nothing runs: %+v, %v", state, err)
	}
	if err := w.nodes[0].Seal(w.t.Context(), "bot", "c", state.Lease.Token); err != nil {
		w.t.Error(err)
	}
}

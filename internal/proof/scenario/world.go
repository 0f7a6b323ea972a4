package scenario

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/onereply/onereply/server/config"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
)

// world is all that one story is played with.
type world struct {
	scenario Scenario
	stage    Stage
	settings config.Config
	open     Opener      // for each life; nil: all share one store
	shared   store.Store // of all nodes, or a way to what they share; nil: there is only one node's
	began    time.Time   // the story's instant 0

	network    *network
	rules      *rulebook
	hooks      *hooks
	model      *model
	receiver   *receiver
	people     *http.Client
	fakes      []*http.Server
	background sync.WaitGroup
	poison     map[string]bool // ids of messages that kill whoever reads them

	mu       sync.Mutex
	nodes    map[string]*node // those that are up
	called   map[string]string
	answers  []Answer
	frozen   []Frozen
	stream   []string
	measured []int
	problems []string
	trace    []string
	over     bool
}

func newWorld(s Scenario, stage Stage, settings config.Config, open Opener) *world {
	w := &world{
		scenario: s, stage: stage, settings: settings, open: open, began: time.Now().Add(s.prelude()),
		network: newNetwork(), rules: newRulebook(s.Events), hooks: &hooks{},
		poison: map[string]bool{}, nodes: map[string]*node{}, called: map[string]string{},
	}
	w.shared = w.look()
	w.model = &model{world: w, tools: map[string]int{}}
	w.receiver = &receiver{world: w}
	if s.Config.AmbiguousSend == "" {
		w.receiver.known = map[string]bool{}
	}
	for _, e := range s.Events {
		if e.CrashesWorker {
			w.poison[e.ID] = true
		}
	}
	w.people = w.network.client("", nil)
	w.fake(modelHost, w.model.handler())
	w.fake(receiverHost, w.receiver.handler())
	return w
}

// look opens what the nodes share, to look into it while none is up. Where a
// store takes one process there is nothing to open.
func (w *world) look() store.Store {
	switch {
	case w.open == nil:
		return memory.New()
	case w.stage.Store == "sqlite":
		return nil
	}
	shared, err := w.open()
	if err != nil {
		w.problem("open the store: %v", err)
		return nil
	}
	return shared
}

// prelude is how much happens before the story's instant 0.
func (s Scenario) prelude() time.Duration {
	if s.has("seed_overdue") {
		return milliseconds(s.Config.DebounceMS + 100)
	}
	return time.Duration(s.Config.Workers) * between
}

// between is how long after each other workers start. Nobody starts two in the
// same instant, and if they did they would look for work in the same instants
// ever after.
const between = 37 * time.Millisecond

// fake serves a host that is no node.
func (w *world) fake(host string, handler http.Handler) {
	server := &http.Server{Handler: handler, ConnContext: connContext, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	l := w.network.listen(host, nil)
	w.fakes = append(w.fakes, server)
	w.background.Go(func() { _ = server.Serve(l) })
}

// now is the story's time.
func (w *world) now() time.Duration { return time.Since(w.began) }

// kept is a store to look into, nil where no node is up.
func (w *world) kept() store.Store {
	if w.shared != nil {
		return w.shared
	}
	if n := w.up(firstWorker); n != nil {
		return n.store
	}
	return nil
}

func (w *world) ending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// end closes everything and waits for it.
func (w *world) end() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	for _, name := range w.names() {
		if n := w.up(name); n != nil {
			n.gate.thaw()
			w.stop(n, 0)
		}
	}
	w.people.CloseIdleConnections()
	for _, fake := range w.fakes {
		_ = fake.Close()
	}
	w.background.Wait()
	if w.shared != nil {
		_ = w.shared.Close()
	}
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// maxTrace bounds what is kept to explain a failure.
const maxTrace = 3000

func (w *world) tracef(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.trace) < maxTrace {
		w.trace = append(w.trace, fmt.Sprintf("%7d ms  ", w.now().Milliseconds())+fmt.Sprintf(format, args...))
	}
}

// logger writes a node's log into the trace.
func (w *world) logger(node string) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	if w.scenario.has("seed_conversations") {
		options.Level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(traceWriter{w, node}, options))
}

type traceWriter struct {
	world *world
	node  string
}

func (t traceWriter) Write(line []byte) (int, error) {
	t.world.tracef("%s: %s", t.node, strings.TrimSpace(string(line)))
	return len(line), nil
}

// name remembers how the story calls a message.
func (w *world) name(conversation, id, label string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called[conversation+"\x00"+id] = label
}

// label is how the story calls a message: by its id where it says nothing
// else.
func (w *world) label(conversation, id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if label, ok := w.called[conversation+"\x00"+id]; ok {
		return label
	}
	return id
}

func (w *world) labels(conversation string, ids []string) []string {
	labels := make([]string, len(ids))
	for i, id := range ids {
		labels[i] = w.label(conversation, id)
	}
	return labels
}

// reach is called at a moment of a turn, by whoever is there, and plays the
// event that waits for it.
func (w *world) reach(moment string, n *node) {
	e, ok := w.hooks.take(moment, n.name, w.now())
	if !ok {
		return
	}
	w.tracef("%s of %s: %s", moment, n.name, e.Type)
	switch e.Type {
	case "crash_worker":
		w.crash(n)
	case "drain_worker":
		w.background.Go(func() { w.stop(n, milliseconds(e.GraceMS)) })
	case "message":
		w.slip(e, n)
	default:
		w.problem("an event of type %q can't wait for a moment", e.Type)
	}
}

// slip has a message arrive while a node is between two steps. Through another
// node it is stored before the step goes on; through the same one, which can't
// store it yet, it waits there.
func (w *world) slip(e Event, n *node) {
	stored := make(chan struct{})
	w.background.Go(func() {
		defer close(stored)
		w.receive(e.Message, w.inbound(n.name), e)
	})
	select {
	case <-stored:
	case <-time.After(time.Millisecond):
	}
}

package scenario

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// handler plays an event.
type handler func(*world, Event)

// handlers is how the events are played that happen at a time.
func handlers() map[string]handler {
	return map[string]handler{
		"message":       func(w *world, e Event) { w.receive(e.Message, w.target(e), e) },
		"redelivery":    (*world).redeliver,
		"webhook_batch": (*world).batch,
		"edit":          (*world).edit,
		"delete":        (*world).retract,
		mediaReady:      (*world).mediaReady,

		"status":        (*world).noEffect,
		"reaction":      (*world).noEffect,
		"command":       (*world).noEffect,
		"unknown_event": (*world).noEffect,
		"raw_http":      (*world).rawHTTP,

		"typing":   control("/typing", func(e Event) any { return map[string]string{"for": duration(e.TTLMS)} }),
		"handoff":  control("/pause", func(Event) any { return map[string]string{"reason": "a human took over"} }),
		"handback": control("/resume", func(e Event) any { return map[string]bool{"answer_pending": e.Reengage} }),
		"call":     (*world).call,

		"human_reply": control("/replies", func(e Event) any { return map[string]string{"text": *e.Text} }),

		"tool_call": func(w *world, e Event) { w.model.use(e) },

		"start_worker":  func(w *world, e Event) { w.start(e.Worker) },
		"crash_worker":  onWorker((*world).crash),
		"drain_worker":  (*world).drain,
		"pause_worker":  onWorker((*world).freeze),
		"resume_worker": onWorker((*world).thaw),

		"store_seed":         (*world).seedStore,
		"seed_conversations": (*world).seedConversations,
		"seed_overdue":       nil, // see prelude
		"measure":            (*world).measure,
	}
}

// mediaReady is the event that a message with media brings with it.
const mediaReady = "media_ready"

// timeline is what happens at a time, in order. Events that wait for a moment
// go to the hooks, and rules need no time.
func (w *world) timeline() []Event {
	var events []Event
	known := handlers()
	for _, e := range w.scenario.Events {
		_, plays := known[e.Type]
		switch {
		case e.Hook != "":
			if !knownMoments[e.Hook] {
				w.problem("unknown hook %q", e.Hook)
			}
			w.hooks.waiting = append(w.hooks.waiting, e)
		case plays:
			events = append(events, e)
		case !isRule[e.Type]:
			w.problem("unknown event type %q", e.Type)
		}
		if e.MediaReadyAtMS > 0 {
			ready := Event{AtMS: e.MediaReadyAtMS, Type: mediaReady, Message: e.Message, Worker: e.Worker}
			events = append(events, ready)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.AtMS - b.AtMS })
	return events
}

// play plays the timeline. Each event has had all its effects that need no
// time before the next one begins, unless the next one belongs to another
// worker in the same instant: those two race.
func (w *world) play(events []Event) {
	known := handlers()
	for i, e := range events {
		time.Sleep(milliseconds(e.AtMS) - w.now())
		if play := known[e.Type]; play != nil {
			w.background.Go(func() { play(w, e) })
		}
		if i+1 < len(events) && races(e, events[i+1]) {
			continue
		}
		synctest.Wait()
	}
}

func races(a, b Event) bool {
	return a.AtMS == b.AtMS && a.Worker != "" && b.Worker != "" && a.Worker != b.Worker
}

// message finds a message of the story by its label.
func (w *world) message(label string) Message {
	for _, e := range w.scenario.Events {
		if e.Type == "message" && e.label() == label {
			return e.Message
		}
		for _, m := range e.Messages {
			if m.label() == label {
				return m
			}
		}
	}
	return Message{ID: label}
}

func (w *world) redeliver(e Event) { w.receive(w.message(e.Of), w.target(e), e) }

func (w *world) batch(e Event) {
	for _, m := range e.Messages {
		w.receive(m, w.target(e), e)
	}
}

// edit changes a message. One of ours has no text of its own here.
func (w *world) edit(e Event) {
	text := "(unchanged)"
	if e.Text != nil {
		text = w.marked(e.ID, *e.Text)
	}
	w.tell(e, http.MethodPatch, w.message(e.ID).conversation(), "/messages/"+url.PathEscape(e.ID), map[string]string{"text": text})
}

func (w *world) retract(e Event) {
	w.tell(e, http.MethodDelete, w.message(e.ID).conversation(), "/messages/"+url.PathEscape(e.ID), nil)
}

func (w *world) mediaReady(e Event) {
	body := map[string]string{"text": w.marked(e.label(), e.Transcript)}
	w.tell(e, http.MethodPatch, e.conversation(), "/messages/"+url.PathEscape(e.ID), body)
}

// noEffect posts what is no message.
func (w *world) noEffect(e Event) {
	body := map[string]any{"kind": e.Type, "on": e.On, "emoji": e.Emoji, "name": e.Name, "state": e.Kind}
	w.tell(e, http.MethodPost, e.conversation(), "/messages", body)
}

// call makes any call of the API. Where it frees an alias, what came under that name
// before stays with the conversation to which it led.
func (w *world) call(e Event) {
	var body any
	if e.Body != nil {
		body = e.Body
	}
	var led struct{ Alias, Conversation string }
	if e.Method == http.MethodDelete && strings.HasPrefix(e.Path, aliases) {
		w.ask(http.MethodGet, address(w.target(e), "", e.Path), nil, &led)
	}
	w.tell(e, e.Method, e.conversation(), e.Path, body)
	if led.Alias != "" {
		w.keepWith(led.Alias, led.Conversation)
	}
}

// aliases is the path below which aliases are set and freed.
const aliases = "/v1/bots/" + botName + "/aliases/"

// keepWith gives a conversation all that came under another name so far.
func (w *world) keepWith(alias, conversation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.answers {
		if a := &w.answers[i]; a.Conversation == alias {
			a.Conversation = conversation
		}
	}
}

func control(rest string, body func(Event) any) handler {
	return func(w *world, e Event) { w.tell(e, http.MethodPost, e.conversation(), rest, body(e)) }
}

// onWorker plays an event of a worker that must be up.
func onWorker(play func(*world, *node)) handler {
	return func(w *world, e Event) {
		n := w.up(e.Worker)
		if n == nil {
			w.problem("at %d ms, %s: %s is down", e.AtMS, e.Type, e.Worker)
			return
		}
		play(w, n)
	}
}

func (w *world) drain(e Event) {
	onWorker(func(w *world, n *node) { w.stop(n, milliseconds(e.GraceMS)) })(w, e)
}

// Frozen is when a worker was stopped, as by SIGSTOP.
type Frozen struct {
	Node        string
	From, Until time.Duration // Until is 0 while it is
}

func (w *world) freeze(n *node) {
	n.gate.freeze()
	w.tracef("%s freezes", n.name)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = append(w.frozen, Frozen{Node: n.name, From: w.now()})
}

func (w *world) thaw(n *node) {
	w.tracef("%s wakes", n.name)
	w.mu.Lock()
	for i := range w.frozen {
		if f := &w.frozen[i]; f.Node == n.name && f.Until == 0 {
			f.Until = w.now()
		}
	}
	w.mu.Unlock()
	n.gate.thaw()
}

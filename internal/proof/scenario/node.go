package scenario

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/server"
	"github.com/onereply/onereply/store"
)

// node is one life of a worker: a process with its engine, its API and its
// way to the store.
type node struct {
	name     string
	gate     *gate
	store    store.Store // as it is, behind the gate and the faults
	app      *onereply.App
	api      *http.Server
	client   *http.Client
	up       chan struct{} // closed once it is one of the world's nodes
	serving  chan struct{}
	draining bool
}

// start begins a worker's life.
func (w *world) start(name string) {
	n := &node{name: name, gate: &gate{}, up: make(chan struct{}), serving: make(chan struct{})}
	var err error
	if n.store, err = w.openStore(); err != nil {
		w.problem("start %s: %v", name, err)
		return
	}
	n.client = w.network.client(name, n.gate)
	bots, err := build(w.settings, n.client, name)
	if err == nil {
		options := onereply.Options{Node: name, MaxGenerations: w.settings.MaxGenerations, Retention: w.settings.Retention, Limits: w.settings.Limits, Logger: w.logger(name)}
		n.app, err = onereply.Open(context.Background(), &faultStore{Store: n.store, world: w, node: n}, options, bots...)
	}
	if err != nil {
		w.problem("start %s: %v", name, err)
		return
	}
	w.serve(n)
	w.mu.Lock()
	w.nodes[name] = n
	w.mu.Unlock()
	w.tracef("%s is up", name)
	close(n.up)
	if w.scenario.Config.Delivery == "sse" {
		w.attend(n)
	}
}

func (w *world) openStore() (store.Store, error) {
	if w.open == nil {
		return w.shared, nil
	}
	return w.open()
}

func (w *world) serve(n *node) {
	keys := make([]server.Key, len(w.settings.APIKeys))
	for i, k := range w.settings.APIKeys {
		keys[i].Key = k.Key
	}
	api := server.New(n.app, server.Options{Keys: server.NewKeys(keys...), Logger: w.logger(n.name)})
	n.api = &http.Server{Handler: api, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(w.logger(n.name).Handler(), slog.LevelDebug)}
	n.api.RegisterOnShutdown(api.EndStreams)
	l := w.network.listen(n.name, n.gate)
	go func() {
		defer close(n.serving)
		if err := n.api.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, errDead) {
			w.tracef("%s: serve: %v", n.name, err)
		}
	}()
}

// crash ends a worker's life as kill -9 does: from this instant on nothing of
// it reaches anybody. A worker that takes up what was under way before it can
// meet its end while it starts.
func (w *world) crash(n *node) {
	<-n.up
	if !w.remove(n) {
		return
	}
	w.tracef("%s crashes", n.name)
	n.gate.kill()
	_ = w.network.host(n.name).Close()
	if w.open != nil {
		_ = n.store.Close()
	}
	w.background.Go(func() {
		_ = n.api.Close()
		_ = n.app.Close()
		n.client.CloseIdleConnections()
		<-n.serving
	})
	if after := w.scenario.Config.AutoRestartMS; after > 0 {
		w.background.Go(func() {
			time.Sleep(milliseconds(after))
			if !w.ending() {
				w.start(n.name)
			}
		})
	}
}

// remove takes a node out of the world, once.
func (w *world) remove(n *node) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[n.name] != n {
		return false
	}
	delete(w.nodes, n.name)
	return true
}

// stop ends a worker's life in order: what runs may end within the grace, and
// messages are taken until the listener closes.
func (w *world) stop(n *node, grace time.Duration) {
	w.mu.Lock()
	n.draining = true
	w.mu.Unlock()
	w.tracef("%s drains", n.name)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	if err := n.app.Drain(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		w.problem("drain %s: %v", n.name, err)
	}
	cancel()
	w.remove(n)
	ctx, cancel = context.WithTimeout(context.Background(), 5*time.Second)
	if err := n.api.Shutdown(ctx); err != nil {
		_ = n.api.Close()
	}
	cancel()
	if err := n.app.Close(); err != nil {
		w.problem("close %s: %v", n.name, err)
	}
	if w.open != nil {
		if err := n.store.Close(); err != nil {
			w.problem("close the store of %s: %v", n.name, err)
		}
	}
	n.client.CloseIdleConnections()
	<-n.serving
	w.tracef("%s is gone", n.name)
}

// up gives a worker by name, nil where it is down.
func (w *world) up(name string) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[name]
}

// takes reports whether a worker takes messages.
func (w *world) takes(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.nodes[name]
	return n != nil && !n.draining
}

// names are the workers of the stage, first to last.
func (w *world) names() []string {
	names := make([]string, w.stage.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("w%d", i+1)
	}
	return names
}

// inbound is the worker that gets what is sent to nobody in particular: the
// first that takes messages, other than the one to avoid where there is one.
func (w *world) inbound(avoid string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := ""
	for _, name := range w.names() {
		n := w.nodes[name]
		switch {
		case n == nil || n.draining:
		case name != avoid:
			return name
		default:
			found = name
		}
	}
	if found == "" {
		return firstWorker
	}
	return found
}

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/internal/gomaxprocs"
	"github.com/onereply/onereply/server"
	"github.com/onereply/onereply/server/config"
	"github.com/onereply/onereply/store"
)

// Bounds of the HTTP server. Package server bounds how long a body and an answer may take.
// They guard a node against clients that hold connections and send nothing.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
	shutdownTimeout   = 5 * time.Second // for requests that run when the listener closes
)

// runNode runs a node until ctx ends, and then stops it in order: the parts close in the
// opposite order of their start, so none uses one that is gone. announce is called with
// the node's URL once it listens.
//
// The start:
//
//  1. The certificate, if there is one, and the listener, so that an address in use is told
//     before a store is touched.
//  2. The store, whose guarantees go to the log.
//  3. The engine, which goes on with conversations that an earlier process left unfinished.
//  4. The API and the pages. The listener has queued connections so far; now they are
//     answered.
//
// With a source, from, the configuration is read again when that changes: see [reloading].
//
// An error in one of these steps closes the parts before it, and is returned.
//
// The end, when ctx ends: serve drains the turns and ends the requests. Then the engine
// closes, then the store. It takes at most the drain time, 5 seconds for the requests, and
// the time of the closing.
func runNode(ctx context.Context, c config.Config, from *source, front frontend, log *slog.Logger, announce func(url string)) (err error) {
	defer func() { // after all others: everything is closed
		if err == nil {
			log.Info("stopped")
		}
	}()
	encrypted, err := newCertificate(c.TLS, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w (is another program using it? --listen takes another address)", c.Listen, err)
	}
	defer listener.Close()
	kept, err := openStore(ctx, c.Store, false, log)
	if err != nil {
		return err
	}
	defer closing(log, "store", kept.Close)
	if kept.Guarantees().Exclusive { // it is on a disk of this machine
		defer gomaxprocs.OneMore()()
	}
	keys, url := server.NewKeys(apiKeys(c.APIKeys)...), reachable(listener.Addr(), encrypted != nil)
	chats, err := buildChannels(c.Bots)
	if err != nil {
		return err
	}
	app, err := openApp(ctx, kept, c, front, url, keys, chats, log)
	if err != nil {
		return err
	}
	defer closing(log, "engine", app.Close)
	channels := channel.NewHost(app, chats.accounts, channel.Options{Logger: log, PublicURL: c.PublicURL})
	defer channels.Close()
	context.AfterFunc(ctx, channels.Close) // another node polls while this one drains
	connections := connectionsFor(openFiles())
	api := newAPI(app, c, keys, channels, front, connections/2, log)
	if from != nil {
		again := reloading{from: from, now: c, log: log, apply: func(ctx context.Context, c config.Config) error {
			bots, err := buildBots(c, url, keys, chats)
			if err != nil {
				return err
			}
			if err := app.Reconfigure(ctx, bots...); err != nil {
				return err
			}
			keys.Replace(apiKeys(c.APIKeys)...)
			api.Configure(serverSettings(c))
			return nil
		}}
		defer again.start(ctx)()
	}
	channels.Start()
	announce(url)
	log.Info("listening", "url", url, "store", kept.Guarantees().Name, "bots", len(c.Bots))
	s := httpServer(api, encrypted, log)
	return serve(ctx, limitConnections(listener, connections, s), s, app, c.Drain, log)
}

// openApp starts the node's engine. The engine outlives ctx, whose end only starts the
// drain. url is the listener's. The keys make the grants that responders get.
func openApp(ctx context.Context, kept store.Store, c config.Config, front frontend, url string, keys *server.Keys, chats chats, log *slog.Logger) (*onereply.App, error) {
	bots, err := buildBots(c, url, keys, chats)
	if err != nil {
		return nil, err
	}
	front.useDemo(bots)
	app, err := onereply.Open(context.WithoutCancel(ctx), kept, options(c, log), bots...)
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	return app, nil
}

// httpServer bounds the requests. Event streams must be ended on shutdown: it would wait
// for them for ever. There is no time-out for writing here, because a stream writes for
// as long as its client stays.
func httpServer(api *server.Server, encrypted *tls.Config, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           api,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		TLSConfig:         encrypted,
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2: a connection there has many requests, and the bounds count connections
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),        // mostly clients that leave
	}
	s.RegisterOnShutdown(api.EndStreams)
	return s
}

// serve answers requests until ctx ends. Then it stops taking turns, accepts
// messages until the running ones have ended, and closes the listener.
//
// Messages are accepted during the drain because they are only stored then, and another
// node, or the next start, answers them. So a deployment loses none, and senders see no
// errors until the listener closes. serve returns an error only if the server fails by
// itself; a stop that was asked for is a success.
func serve(ctx context.Context, listener net.Listener, s *http.Server, app drainer, drain time.Duration, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			ended <- s.ServeTLS(listener, "", "")
			return
		}
		ended <- s.Serve(listener)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping: no new turns; running ones may end within drain", "drain", drain.String())
	drainTurns(ctx, app, drain, log)
	shutdown(ctx, s, log)
	<-ended
	return nil
}

// drainer is the part of the engine that serve uses; tests put another one in its place.
type drainer interface {
	Drain(ctx context.Context) error
}

// drainTurns stops taking turns, and waits for the running ones, for the drain time at
// most. Their leases are given back after it, so that another node goes on at once. It
// must work although ctx has ended: that is its cause. A failure is logged only, and the
// stop goes on: leases that are not given back expire.
func drainTurns(ctx context.Context, app drainer, drain time.Duration, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	switch err := app.Drain(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		log.Info("some turns did not end within drain; their leases are given back, and another node starts them again")
	case err != nil:
		log.Warn("can't stop taking turns in order", "err", err)
	}
}

// shutdown closes the listener, and waits a moment for running requests. Those that take
// longer are cut off. Their clients do not know whether their message was stored; they
// send it again with the same id, which is taken once.
func shutdown(ctx context.Context, s *http.Server, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		log.Warn("some requests did not end in time and were cut off", "err", err)
		_ = s.Close() // nothing is left to do with connections that do not close
	}
}

// closing closes a part, for defer. A failure is logged, and the exit goes on: the parts
// behind it must be closed too, and the exit code tells how the node ran.
func closing(log *slog.Logger, what string, closePart func() error) {
	if err := closePart(); err != nil {
		log.Error("can't close the "+what, "err", err)
	}
}

// reachable is the URL under which this machine reaches a listener. An address that
// stands for all interfaces can't be called, so the loopback takes its place. The port
// is the real one, also where 0 was asked for.
func reachable(address net.Addr, encrypted bool) string {
	scheme := "http://"
	if encrypted {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return scheme + address.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port)
}

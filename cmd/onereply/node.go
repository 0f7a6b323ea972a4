package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/processors"
	"github.com/onereply/onereply/server"
	"github.com/onereply/onereply/server/config"
	"github.com/onereply/onereply/store"
)

// Bounds of the HTTP server. How long a body and an answer may take is bounded
// by package server.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
	shutdownTimeout   = 5 * time.Second // for requests that run when the listener closes
)

// runNode runs a node until ctx ends, and then stops it in order. announce is
// called with the node's URL once it listens.
func runNode(ctx context.Context, c config.Config, outfit outfit, log *slog.Logger, announce func(url string)) (err error) {
	defer func() { // when all is closed
		if err == nil {
			log.Info("stopped")
		}
	}()
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
		defer processors.OneMore()()
	}
	url := reachable(listener.Addr())
	app, err := openApp(ctx, kept, c, outfit, url, log)
	if err != nil {
		return err
	}
	defer closing(log, "engine", app.Close)
	api := newAPI(app, c, outfit, log)
	announce(url)
	log.Info("listening", "url", url, "store", kept.Guarantees().Name, "bots", len(c.Bots))
	return serve(ctx, listener, httpServer(api, log), app, c.Drain, log)
}

// openApp starts the engine. It outlives ctx, which only says when to stop.
func openApp(ctx context.Context, kept store.Store, c config.Config, outfit outfit, url string, log *slog.Logger) (*onereply.App, error) {
	if c.PublicURL != "" {
		url = c.PublicURL
	}
	bots, err := buildBots(c.Bots, url)
	if err != nil {
		return nil, err
	}
	outfit.fit(bots)
	app, err := onereply.Open(context.WithoutCancel(ctx), kept, options(c, log), bots...)
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	return app, nil
}

func httpServer(api *server.Server, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           api,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // mostly clients that leave
	}
	s.RegisterOnShutdown(api.EndStreams)
	return s
}

// serve answers requests until ctx ends. Then it stops taking turns, accepts
// messages until the running ones have ended, and closes the listener.
func serve(ctx context.Context, listener net.Listener, s *http.Server, app drainer, drain time.Duration, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping; running turns may end", "drain", drain.String())
	drainTurns(ctx, app, drain, log)
	shutdown(ctx, s, log)
	<-ended
	return nil
}

// drainer is what serve needs of the engine.
type drainer interface {
	Drain(ctx context.Context) error
}

func drainTurns(ctx context.Context, app drainer, drain time.Duration, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	switch err := app.Drain(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		log.Info("some turns did not end in time and were cut off")
	case err != nil:
		log.Warn("stop taking turns", "err", err)
	}
}

func shutdown(ctx context.Context, s *http.Server, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		log.Warn("requests that did not end were cut off", "err", err)
		_ = s.Close() // nothing is left to do with connections that do not close
	}
}

// closing is for defer: what can't be closed is told, the exit goes on.
func closing(log *slog.Logger, what string, close func() error) {
	if err := close(); err != nil {
		log.Error("close the "+what, "err", err)
	}
}

// reachable is the URL at which this machine reaches a listener.
func reachable(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return "http://" + address.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

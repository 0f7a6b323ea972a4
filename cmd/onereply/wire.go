package main

// What the command is made of: the one place that knows concrete stores,
// responders and channels.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/onereply/onereply"
	delivery "github.com/onereply/onereply/channel/webhook"
	"github.com/onereply/onereply/console"
	"github.com/onereply/onereply/responder/anthropic"
	"github.com/onereply/onereply/responder/echo"
	"github.com/onereply/onereply/responder/openai"
	"github.com/onereply/onereply/responder/webhook"
	"github.com/onereply/onereply/server"
	"github.com/onereply/onereply/server/config"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/store/postgres"
	"github.com/onereply/onereply/store/redis"
	"github.com/onereply/onereply/store/sqlite"
)

// storeSupported refuses stores that this program can't open.
func storeSupported(url string) error {
	scheme, _, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite", "memory", "postgres", "postgresql", "redis", "rediss", "valkey", "valkeys":
		return nil
	}
	return fmt.Errorf("store: %s is not in this build yet; use sqlite:PATH, such as sqlite:./onereply.db, postgres://… or redis://…", scheme)
}

// openStore opens the store that a URL names, and says what it guarantees. Who only
// reads makes and migrates nothing, and needs no right to write where the store has users.
func openStore(ctx context.Context, url string, readOnly bool, log *slog.Logger) (store.Store, error) {
	if err := storeSupported(url); err != nil {
		return nil, err
	}
	kept, err := openSupported(ctx, url, readOnly)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	promise := kept.Guarantees()
	level := slog.LevelInfo
	if !promise.Durable {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "store", "name", promise.Name, "durable", promise.Durable, "one_process", promise.Exclusive, "note", promise.Note)
	return kept, nil
}

func openSupported(ctx context.Context, url string, readOnly bool) (store.Store, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return sqlite.Open(rest, sqlite.Options{ReadOnly: readOnly})
	case "postgres", "postgresql":
		return postgres.Open(ctx, url, postgres.Options{ReadOnly: readOnly})
	case "redis", "rediss", "valkey", "valkeys":
		return redis.Open(ctx, url, redis.Options{ReadOnly: readOnly})
	}
	return memory.New(), nil
}

// outfit is what a node has beside what its configuration says.
type outfit struct {
	pages http.Handler
	demo  *demo // nil: it is none
}

// fit gives the demo's bot a responder that can be changed.
func (o outfit) fit(bots []onereply.Bot) {
	for i := range bots {
		if slow, ok := bots[i].Responder.(echo.Responder); ok && o.demo != nil && bots[i].Name == demoBot {
			o.demo.delay.Store(int64(max(slow.Delay, 0)))
			bots[i].Responder = o.demo
		}
	}
}

// newAPI is the HTTP API with the pages.
func newAPI(app *onereply.App, c config.Config, outfit outfit, log *slog.Logger) *server.Server {
	options := server.Options{
		APIKeys:      c.APIKeys,
		LoopbackOnly: len(c.APIKeys) == 0,
		Logger:       log,
		Version:      version(),
		Page:         outfit.pages,
	}
	if outfit.demo != nil {
		outfit.demo.app = app
		options.Demo = outfit.demo
	}
	return server.New(app, options)
}

// servePages are those of serve: the console, to which the root leads.
func servePages() http.Handler {
	pages := console.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, console.Prefix, http.StatusFound)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// demoPages are those of demo: the playground, and the console beside it.
func demoPages() http.Handler {
	playground, pages := console.Playground(), console.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path+"/", console.Prefix) {
			pages.ServeHTTP(w, r)
			return
		}
		playground.ServeHTTP(w, r)
	})
}

// options are the settings of the engine.
func options(c config.Config, log *slog.Logger) onereply.Options {
	return onereply.Options{Node: c.Node, MaxGenerations: c.MaxGenerations, Retention: c.Retention, Logger: log}
}

// buildBots gives each bot its responder and its sender. Responders reach this
// node at url.
func buildBots(bots []config.Bot, url string) ([]onereply.Bot, error) {
	built := make([]onereply.Bot, 0, len(bots))
	for _, b := range bots {
		bot := b.Settings
		var responderErr, senderErr error
		bot.Responder, responderErr = newResponder(b.Responder, url)
		bot.Sender, senderErr = newSender(b.Delivery)
		if err := errors.Join(responderErr, senderErr); err != nil {
			return nil, fmt.Errorf("bot %q: %w", bot.Name, err)
		}
		built = append(built, bot)
	}
	return built, nil
}

func newResponder(c config.Responder, url string) (onereply.Responder, error) {
	switch c.Kind {
	case config.OpenAI:
		return openai.New(openai.Config{
			BaseURL: c.BaseURL, APIKey: c.APIKey, Model: c.Model, System: c.System,
			IdleTimeout: c.IdleTimeout, MaxTokens: c.MaxTokens, Headers: c.Headers,
		})
	case config.Anthropic:
		return anthropic.New(anthropic.Config{
			BaseURL: c.BaseURL, APIKey: c.APIKey, Model: c.Model, System: c.System,
			IdleTimeout: c.IdleTimeout, MaxTokens: c.MaxTokens, Headers: c.Headers,
		})
	case config.Webhook:
		return webhook.New(webhook.Config{
			URL: c.URL, Secret: c.Secret, SealBase: url,
			IdleTimeout: c.IdleTimeout, Headers: c.Headers,
		})
	case config.Echo:
		delay := c.Delay
		if delay == 0 {
			delay = onereply.Zero
		}
		return echo.Responder{Delay: delay}, nil
	}
	return nil, fmt.Errorf("there is no responder of kind %q", c.Kind)
}

// newSender gives nil for kind none: replies go to the transcript only.
func newSender(c config.Delivery) (onereply.Sender, error) {
	switch c.Kind {
	case config.None:
		return nil, nil
	case config.Webhook:
		return delivery.New(delivery.Config{
			URL: c.URL, Secret: c.Secret, Headers: c.Headers, Limit: c.Limit, Separate: c.Separate,
		})
	}
	return nil, fmt.Errorf("there is no delivery of kind %q", c.Kind)
}

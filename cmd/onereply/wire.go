package main

// The one place that knows concrete stores, responders and channels: it builds what a
// configuration names, and hands it to the library and to the server.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/channel/slack"
	"github.com/onereply/onereply/channel/telegram"
	delivery "github.com/onereply/onereply/channel/webhook"
	"github.com/onereply/onereply/channel/whatsapp"
	"github.com/onereply/onereply/console"
	"github.com/onereply/onereply/internal/buildinfo"
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

// storeSupported refuses stores that this program can't open. It is separate from
// opening, so that flags can be checked before anything is touched.
func storeSupported(url string) error {
	scheme, _, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite", "memory", "postgres", "postgresql", "redis", "rediss", "valkey", "valkeys":
		return nil
	}
	return fmt.Errorf("there is no store %q; use sqlite:PATH, such as sqlite:./onereply.db, postgres://… or redis://…", scheme)
}

// openStore opens the store that a URL names, and logs what it guarantees. With readOnly
// nothing is created, and a server's user needs no right to write. A store that can
// lose acknowledged messages is a warning: somebody may have chosen it unknowingly.
func openStore(ctx context.Context, url string, readOnly bool, log *slog.Logger) (store.Store, error) {
	if err := storeSupported(url); err != nil {
		return nil, err
	}
	opened, err := openSupported(ctx, url, readOnly)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	promise := opened.Guarantees()
	level := slog.LevelInfo
	if !promise.Durable {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "store", "name", promise.Name, "durable", promise.Durable, "one_process", promise.Exclusive, "note", promise.Note)
	return opened, nil
}

// openSupported opens a store whose URL was checked by storeSupported. Servers get the
// whole URL; sqlite gets the path behind the scheme.
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

// frontend is served by a node besides its API: pages, and the demo's settings. Besides
// the configuration it is the only difference between a node of serve and one of demo.
type frontend struct {
	pages http.Handler
	demo  *demo // nil: it is none
}

// useDemo gives the demo's bot the responder whose delay can be changed. It starts with
// the delay of the responder that it replaces. Without a demo nothing changes.
func (f frontend) useDemo(bots []onereply.Bot) {
	for i := range bots {
		if slow, ok := bots[i].Responder.(echo.Responder); ok && f.demo != nil && bots[i].Name == demoBot {
			f.demo.delay.Store(int64(max(slow.Delay, 0)))
			bots[i].Responder = f.demo
		}
	}
}

// maxStreams bounds the event streams of a node, where there are connections for them.
const maxStreams = 1000

// newAPI is the HTTP API with the pages. Without API keys it answers only requests that
// name this machine as their host: a page from elsewhere, open in a browser here,
// could use the API otherwise. The demo gets the engine here, before the first request.
// Event streams get at most so many of the connections, since each keeps one for long.
func newAPI(app *onereply.App, c config.Config, keys *server.Keys, channels *channel.Host, front frontend, streams int, log *slog.Logger) *server.Server {
	options := server.Options{
		Keys:         keys,
		LoopbackOnly: true,
		Settings:     serverSettings(c),
		Logger:       log,
		Version:      buildinfo.Version(),
		Page:         front.pages,
		MaxStreams:   min(maxStreams, streams),
		Channels:     channels,
	}
	if front.demo != nil {
		front.demo.app = app
		options.Demo = front.demo
	}
	return server.New(app, options)
}

// apiKeys are the keys of the configuration, as the server takes them.
func apiKeys(all []config.Key) []server.Key {
	keys := make([]server.Key, len(all))
	for i, k := range all {
		keys[i] = apiKey(k)
	}
	return keys
}

// apiKey hands on the settings of a key. The same test compares its fields, but for the
// rights, whose words are those of the server.
func apiKey(k config.Key) server.Key {
	key := server.Key{Name: k.Name, Key: k.Key, Bots: k.Bots, Expires: k.Expires, Rate: server.Rate(k.Rate)}
	for _, right := range k.Can {
		key.Can = append(key.Can, server.Right(right))
	}
	return key
}

// serverSettings are the settings of the API that a reload can change.
func serverSettings(c config.Config) server.Settings {
	rates := map[string]server.BotRates{}
	for _, b := range c.Bots {
		rates[b.Settings.Name] = server.BotRates{Bot: server.Rate(b.Rate), Conversation: server.Rate(b.ConversationRate)}
	}
	return server.Settings{Rates: rates, TrustedProxies: c.TrustedProxies}
}

// servePages are the pages of serve: the console, and a redirect to it from the root, so
// that the address that serve prints leads somewhere.
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

// demoPages are the pages of demo: the playground at the root, and the console. The slash
// is added so that /console, without one, leads to the console too.
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

// options are the settings of the engine. The configuration has filled in the defaults.
func options(c config.Config, log *slog.Logger) onereply.Options {
	return onereply.Options{Node: c.Node, MaxGenerations: c.MaxGenerations, Retention: c.Retention, Limits: c.Limits, Logger: log}
}

// buildBots gives each bot its responder, its sender and its channels. Responders reach
// this node at the configuration's public URL or, where there is none, at the listener's
// url, which another machine may not be able to reach. The configuration was checked
// before, so an error here is one that only the responder or the sender itself can find;
// both are reported together.
func buildBots(c config.Config, url string, keys *server.Keys, chats chats) ([]onereply.Bot, error) {
	url = cmp.Or(c.PublicURL, url)
	built := make([]onereply.Bot, 0, len(c.Bots))
	for _, b := range c.Bots {
		bot := b.Settings
		var responderErr, senderErr error
		bot.Responder, responderErr = newResponder(b.Responder, url, keys)
		bot.Sender, senderErr = newSender(b.Delivery)
		bot.Channels = chats.of[bot.Name]
		if err := errors.Join(responderErr, senderErr); err != nil {
			return nil, fmt.Errorf("bot %q: %w", bot.Name, err)
		}
		built = append(built, bot)
	}
	return built, nil
}

// chats are the channels of all bots. They are built once, and outlast a change of the
// configuration.
type chats struct {
	accounts []*channel.Account
	of       map[string][]onereply.Channel // by bot
}

// orZero is a duration for a field in which 0 stands for the default.
func orZero(d time.Duration) time.Duration {
	if d == 0 {
		return onereply.Zero
	}
	return d
}

// buildChannels builds the channels of all bots.
func buildChannels(bots []config.Bot) (chats, error) {
	built := chats{of: map[string][]onereply.Channel{}}
	for _, b := range bots {
		name := b.Settings.Name
		for _, c := range b.Channels {
			adapter, err := newChannel(c)
			if err != nil {
				return chats{}, fmt.Errorf("bot %q: channel %q: %w", name, c.Account(), err)
			}
			account := channel.NewAccount(adapter, channel.Settings{Bot: name, Name: c.Account(), TakeoverFor: c.TakeoverFor})
			built.accounts = append(built.accounts, account)
			built.of[name] = append(built.of[name], onereply.Channel{
				Name: c.Account(), Sender: account, Debounce: orZero(c.Debounce), MaxWait: orZero(c.MaxWait),
			})
		}
	}
	return built, nil
}

// newChannel builds the adapter of a channel.
func newChannel(c config.Channel) (channel.Channel, error) {
	switch c.Kind {
	case config.Telegram:
		return telegram.New(telegramConfig(c))
	case config.WhatsApp:
		return whatsapp.New(whatsappConfig(c))
	case config.Slack:
		return slack.New(slackConfig(c))
	}
	return nil, fmt.Errorf("there is no channel of kind %q", c.Kind)
}

// telegramConfig hands on the settings of kind telegram. The same test compares its
// fields.
func telegramConfig(c config.Channel) telegram.Config {
	return telegram.Config{Token: c.Token, Secret: c.Secret, APIBase: c.APIBase}
}

// slackConfig hands on the settings of kind slack, likewise.
func slackConfig(c config.Channel) slack.Config {
	return slack.Config{BotToken: c.BotToken, SigningSecret: c.SigningSecret, APIBase: c.APIBase}
}

// whatsappConfig hands on the settings of kind whatsapp, likewise.
func whatsappConfig(c config.Channel) whatsapp.Config {
	return whatsapp.Config{PhoneNumberID: c.PhoneNumberID, Token: c.Token, AppSecret: c.AppSecret, VerifyToken: c.VerifyToken, APIBase: c.APIBase}
}

// newResponder builds the bot's responder. url is where a responder reaches this node.
func newResponder(c config.Responder, url string, keys *server.Keys) (onereply.Responder, error) {
	switch c.Kind {
	case config.OpenAI:
		return openai.New(openaiConfig(c))
	case config.Anthropic:
		return anthropic.New(anthropicConfig(c))
	case config.Webhook:
		return webhook.New(webhookConfig(c, url, keys))
	case config.Echo:
		return echo.Responder{Delay: orZero(c.Delay)}, nil
	}
	return nil, fmt.Errorf("there is no responder of kind %q", c.Kind)
}

// openaiConfig hands on the settings of kind openai. A test compares each field by name,
// here and below, so a new key of the configuration can't be forgotten.
func openaiConfig(c config.Responder) openai.Config {
	return openai.Config{
		BaseURL: c.BaseURL, APIKey: c.APIKey, Model: c.Model, System: c.System,
		IdleTimeout: c.IdleTimeout, MaxTokens: c.MaxTokens, Headers: c.Headers,
	}
}

// anthropicConfig hands on the settings of kind anthropic.
func anthropicConfig(c config.Responder) anthropic.Config {
	return anthropic.Config{
		BaseURL: c.BaseURL, APIKey: c.APIKey, Model: c.Model, System: c.System,
		IdleTimeout: c.IdleTimeout, MaxTokens: c.MaxTokens, Headers: c.Headers,
	}
}

// webhookConfig hands on the settings of kind webhook. url is where the webhook can seal
// an attempt: it asks this node to keep the attempt before it does something that can't
// be undone. The keys make the grant that it does so with.
func webhookConfig(c config.Responder, url string, keys *server.Keys) webhook.Config {
	return webhook.Config{URL: c.URL, Secret: c.Secret, SealBase: url, SealGrant: keys.SealGrant, Early: c.Early, IdleTimeout: c.IdleTimeout, Headers: c.Headers}
}

// newSender builds the program that brings replies to people. Kind none has no sender:
// replies go to the transcript and the event stream only. The result is nil then, and
// the engine takes nil for that.
func newSender(c config.Delivery) (onereply.Sender, error) {
	switch c.Kind {
	case config.None:
		return nil, nil
	case config.Webhook:
		return delivery.New(deliveryConfig(c))
	}
	return nil, fmt.Errorf("there is no delivery of kind %q", c.Kind)
}

// deliveryConfig hands on the settings of the delivery webhook. The same test compares its
// fields.
func deliveryConfig(c config.Delivery) delivery.Config {
	return delivery.Config{URL: c.URL, Secret: c.Secret, Headers: c.Headers, Limit: c.Limit, Separate: c.Separate}
}

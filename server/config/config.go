// Package config reads the YAML configuration of a node, and reports every mistake in it
// at once, each with its line.
//
// It reads no file, no environment and no clock: the bytes and a lookup function come
// from the caller. It must never import a store, a responder, a channel, the server or
// the command; they are built from its [Config].
//
// The way of a key: [Parse] in parse.go turns the file into a tree of YAML nodes. A
// section (section.go) is one mapping of it. bot.go, responder.go, delivery.go, channel.go,
// apikeys.go and network.go ask a section for each key that they know, by the kind of
// value: a text, a list, a duration, a number, one of some words (scalar.go). rules.go has the checks of single values,
// expand.go puts in the environment. A key that nobody asked for is a mistake, and
// nearest.go finds the one that was meant. changes.go says which keys a reload can change.
// problem.go is the mistakes.
//
// Checks stand at two places on purpose. Here a mistake has a line and the words of the
// file; the library checks its own fields again, for programs that use it without a file.
// A configuration that is accepted here must not be refused there.
package config

import (
	"net/netip"
	"time"

	"github.com/onereply/onereply"
)

// MaxBytes bounds the size of a configuration. It is 1 MiB. The caller may read one byte
// more, so that a longer file is seen to be longer.
const MaxBytes = 1 << 20

// MinKeyBytes is the least length of an API key. With fewer, a key could be found by
// trying, although who sends wrong ones is slowed down.
const MinKeyBytes = 16

// Config is a valid configuration, with the defaults filled in. It is plain data: nothing
// was opened, resolved or called to make it.
type Config struct {
	Listen         string          // host:port of the API; default 127.0.0.1:8080
	Node           string          // "": host name and a random suffix
	Store          string          // URL; default sqlite:./onereply.db
	APIKeys        []Key           // bearer keys; none: only on loopback
	TrustedProxies []netip.Prefix  // proxies that may name the client
	TLS            TLS             // none: plain HTTP
	PublicURL      string          // where responders reach this node; "": http:// and Listen
	Drain          time.Duration   // how long running turns may take to end; default 25s
	MaxGenerations int             // model calls at once; default 64
	Limits         onereply.Limits // budgets in bytes, with their defaults
	Retention      time.Duration   // how long transcripts are kept; default 720h
	Bots           []Bot           // at least one, in the order of the file
}

// Key is an API key, and what it opens.
type Key struct {
	Name    string    // in logs and audits; "": the beginning of the key's hash
	Key     string    // the secret, of at least MinKeyBytes
	Bots    []string  // the only bots for which it is good; nil: all
	Can     []string  // some of [Rights]; nil: all
	Expires time.Time // zero: never
	Rate    Rate      // of the messages that come with it
}

// Rate bounds how many messages come in. Zero: there is no bound.
type Rate struct {
	PerSecond float64
	Burst     int // at once; 0: PerSecond, rounded up
}

// TLS names the files of a certificate, in PEM.
type TLS struct {
	Cert string // with the chain
	Key  string
}

// Bot is one bot, and the settings from which its responder and its sender are built. The
// command makes a [onereply.Bot] of it, since only the command knows the packages of
// responders and channels.
type Bot struct {
	// Settings has all but Responder, Sender and Channels. Explicit zeros are
	// [onereply.Zero].
	Settings  onereply.Bot
	Responder Responder
	Delivery  Delivery
	Channels  []Channel // in the order of the file

	Rate             Rate // of the messages of all its conversations together
	ConversationRate Rate // of each one
}

// Kinds of responders and of delivery. The kind webhook exists for both.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Webhook   = "webhook"
	Echo      = "echo"
	None      = "none"
)

// Responder is the settings of the bot's responder. Kind decides which fields are set. It
// is one type for all kinds and not one for each: the command turns it into the
// configuration of the kind's own package.
type Responder struct {
	Kind        string            // OpenAI, Anthropic, Webhook or Echo
	BaseURL     string            // OpenAI, Anthropic: where the API starts, without a slash at the end
	APIKey      string            // OpenAI, Anthropic; "" for an endpoint that needs none
	Model       string            // OpenAI, Anthropic
	System      string            // OpenAI, Anthropic: the system prompt; "": none
	MaxTokens   int               // OpenAI, Anthropic: bound on the answer; 0: the responder's default
	Headers     map[string]string // OpenAI, Anthropic, Webhook: more headers of each call
	URL         string            // Webhook
	Secret      string            // Webhook: signing secrets, whsec_…, with spaces between; "": unsigned
	Delay       time.Duration     // Echo: how long it writes; default 2s
	Early       bool              // Webhook: it may be started early
	IdleTimeout time.Duration     // OpenAI, Anthropic, Webhook: longest silence after the first byte; default 20s
}

// Delivery is the settings of the program that brings replies to people. Kind decides
// which fields are set. The bot's Settings have the rest: how long one send may take, and
// how long it is tried again.
type Delivery struct {
	Kind     string            // Webhook or None
	URL      string            // Webhook
	Secret   string            // Webhook: signing secrets, whsec_…, with spaces between; "": unsigned
	Headers  map[string]string // Webhook: more headers of each call
	Limit    int               // Webhook: characters of one part; a longer text is cut; 0: none
	Separate bool              // Webhook: one call for each part, instead of one for all
}

// Channel is a chat platform on which the bot answers. Kind decides which of the other
// fields are set.
type Channel struct {
	Kind        string        // Telegram, WhatsApp or Slack
	Name        string        // tells two of a kind apart; "": there is one
	APIBase     string        // where the platform's API is; "": the public one
	Debounce    time.Duration // of its conversations; default: the kind's
	MaxWait     time.Duration // likewise; default 15s
	TakeoverFor time.Duration // how long the bot is silent after a person answered in its place; default 1h
	Token       string        // Telegram, WhatsApp: of the bot, or of its account
	Secret      string        // Telegram: of the webhook; "": the bot is polled

	PhoneNumberID string // WhatsApp: Meta's id of the number
	AppSecret     string // WhatsApp: of the Meta app
	VerifyToken   string // WhatsApp: what Meta repeats when it verifies the webhook's address

	BotToken      string // Slack: of the app's bot
	SigningSecret string // Slack: of the app
}

// Account is the name of the channel within its bot, with which the names of its
// conversations begin: the kind, or kind/name.
func (c Channel) Account() string {
	if c.Name == "" {
		return c.Kind
	}
	return c.Kind + "/" + c.Name
}

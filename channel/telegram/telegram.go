// Package telegram is the channel of Telegram's Bot API.
//
// It speaks with a bot's token, by webhook or by long polling. Its one job is the
// protocol: package channel says what an adapter does and what it leaves to others. It
// must never import a store, a responder, the engine or another channel.
//
// # Receiving
//
// An address has the number of the chat, then that of the topic, if there is one, then the
// business connection, if the bot answers for somebody else's account. The messages of an
// album share a group. A group that becomes a supergroup moves to another address. In a
// group a message is for the bot if it mentions the bot, answers one of its messages, or
// is a command. Commands end the quiet time.
//
// # Sending
//
// Texts are plain, without markup: nothing that a model writes is taken for it. A part has
// at most 4096 code units of UTF-16. The Bot API can't recognise a repeat: a send whose
// answer was lost is unknown.
package telegram

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/internal/upstream"
)

// Kind is the name of the platform in configurations and conversations.
const Kind = "telegram"

// APIBase is the address of the public Bot API.
const APIBase = "https://api.telegram.org"

// textLimit is the longest text of a message, in code units of UTF-16.
const textLimit = 4096

// Config is a bot of Telegram.
type Config struct {
	// Token is what BotFather gives: the bot's number, a colon and a secret. Required.
	Token string

	// Secret is what Telegram sends with each webhook: 1 to 256 letters, digits, "_" and
	// "-". "": the bot is polled, and takes no webhooks.
	Secret string

	// APIBase is where the Bot API is. "": [APIBase].
	APIBase string

	HTTPClient *http.Client // nil: one of its own; redirects are never followed
}

var (
	tokenForm  = regexp.MustCompile(`^[0-9]{1,18}:[A-Za-z0-9_-]{1,200}$`)
	secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// Validate reports all mistakes at once. Its error shows neither token nor secret.
func (c Config) Validate() error {
	p := upstream.Problems{Of: "telegram"}
	p.RejectIf(!tokenForm.MatchString(c.Token), "Token must be a bot's token such as 123456:ABC…, as BotFather gives it")
	p.RejectIf(c.Secret != "" && !secretForm.MatchString(c.Secret), "Secret must have 1 to 256 characters of A-Z, a-z, 0-9, _ and -; make one with: openssl rand -hex 32")
	p.URL("APIBase", cmp.Or(c.APIBase, APIBase))
	return p.Err()
}

// Channel is a bot of Telegram. It is a [channel.Channel], a [channel.Typist], a
// [channel.Opener] and a [channel.Connector].
type Channel struct {
	id       int64                  // of the bot
	username atomic.Pointer[string] // as Telegram tells it; nil: it has not yet
	secret   string
	api      map[string]*upstream.Endpoint // by method
}

// Polling is a bot of Telegram that is polled: it is a [channel.Poller] besides.
type Polling struct{ *Channel }

// The methods of the Bot API that are called.
const (
	sendMessage    = "sendMessage"
	sendChatAction = "sendChatAction"
	getMe          = "getMe"
	getUpdates     = "getUpdates"
	setWebhook     = "setWebhook"
	deleteWebhook  = "deleteWebhook"
	getWebhookInfo = "getWebhookInfo"
)

// New makes the channel: a [Polling] one where there is no secret.
func New(c Config) (channel.Channel, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	number, _, _ := strings.Cut(c.Token, ":")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("telegram: the number in the token: %w", err)
	}
	t := &Channel{id: id, secret: c.Secret, api: map[string]*upstream.Endpoint{}}
	base := strings.TrimRight(cmp.Or(c.APIBase, APIBase), "/") + "/bot" + c.Token + "/"
	for _, method := range []string{sendMessage, sendChatAction, getMe, getUpdates, setWebhook, deleteWebhook, getWebhookInfo} {
		t.api[method], err = upstream.New(upstream.Options{URL: base + method, Client: c.HTTPClient})
		if err != nil {
			return nil, fmt.Errorf("telegram: %w", err)
		}
	}
	if c.Secret == "" {
		return Polling{t}, nil
	}
	return t, nil
}

// Capabilities says how long a message may be.
func (t *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Limit: textLimit, Unit: channel.UTF16}
}

// Check compares the secret that Telegram was given with the webhook. A bot that is polled
// takes no requests.
func (t *Channel) Check(_ context.Context, r *channel.Request) error {
	given := r.Header.Get("X-Telegram-Bot-Api-Secret-Token")
	switch {
	case t.secret == "":
		return fmt.Errorf("%w: this bot is polled; set mode: webhook and a secret", channel.ErrForged)
	case r.Method != http.MethodPost:
		return fmt.Errorf("%w: Telegram posts its updates", channel.ErrForged)
	case given == "":
		return fmt.Errorf("%w: the header X-Telegram-Bot-Api-Secret-Token is missing; was the webhook set without secret_token?", channel.ErrForged)
	case subtle.ConstantTimeCompare([]byte(given), []byte(t.secret)) != 1:
		return channel.ErrForged
	}
	return nil
}

// Open learns the bot's name, by which groups mention it.
func (t *Channel) Open(ctx context.Context) error {
	var me user
	if err := t.call(ctx, getMe, nil, &me); err != nil {
		return err
	}
	t.username.Store(&me.Username)
	return nil
}

// APIError is an answer of the Bot API that is no success.
type APIError struct {
	Code        int
	Description string
	RetryAfter  int   // seconds
	MigrateTo   int64 // the chat's new number
}

func (e *APIError) Error() string {
	return fmt.Sprintf("Telegram answered %d: %s", e.Code, e.Description)
}

// call makes one call. Its error is an [*APIError] where the API has answered, an
// [*upstream.Lost] where nothing has, and any other where the answer can't be read.
func (t *Channel) call(ctx context.Context, method string, parameters, result any) error {
	body := []byte("{}")
	if parameters != nil {
		var err error
		if body, err = json.Marshal(parameters); err != nil {
			return err
		}
	}
	got, err := t.api[method].Post(ctx, nil, body)
	if err != nil {
		return err
	}
	defer got.Close()
	raw, err := got.All()
	if err != nil {
		return fmt.Errorf("the answer of Telegram can't be read: %w", err)
	}
	var said answer
	if err := json.Unmarshal(raw, &said); err != nil {
		if got.OK() {
			return fmt.Errorf("the answer of Telegram is no JSON: %s", got.Excerpt(string(raw)))
		}
		return &APIError{Code: got.Status, Description: got.Excerpt(string(raw))}
	}
	if !said.OK {
		return &APIError{
			Code: cmp.Or(said.Code, got.Status), Description: got.Excerpt(said.Description),
			RetryAfter: said.Parameters.RetryAfter, MigrateTo: said.Parameters.MigrateTo,
		}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(said.Result, result); err != nil {
		return fmt.Errorf("the answer of Telegram can't be read: %w", err)
	}
	return nil
}

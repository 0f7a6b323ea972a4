// Package slack is the channel of Slack, by its Events API over HTTP and chat.postMessage.
//
// It speaks for one app in one workspace. Its one job is the protocol: package channel
// says what an adapter does and what it leaves to others. It must never import a store, a
// responder, the engine or another channel.
//
// # Receiving
//
// An address has the workspace, the channel, and the thread. A message in a channel that
// is in no thread begins one, so its address has its own time stamp. A direct message that
// is in no thread has an address of two parts. A message is known by its time stamp: Slack
// tells of a mention twice, as a message and as a mention.
//
// # Sending
//
// Texts are Slack's own markup with all of its signs escaped, so that nothing a model
// writes calls anybody. Slack can't recognise a repeat: a send whose answer was lost is
// unknown. In plain channels nothing shows that a bot is writing.
package slack

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/internal/upstream"
)

// Kind is the name of the platform in configurations and conversations.
const Kind = "slack"

// APIBase is the address of the public API.
const APIBase = "https://slack.com/api"

// textLimit is the longest part, in characters. Slack cuts much longer texts without a
// word, and shows those that are a little longer behind a link.
const textLimit = 3500

// maxSkew is how old a signature may be, and how far in the future.
const maxSkew = 5 * time.Minute

// Config is a Slack app, as it is installed in a workspace.
type Config struct {
	// BotToken is the token of the app's bot: xoxb-…. Required.
	BotToken string

	// SigningSecret is that of the app, with which Slack signs what it posts. Required.
	SigningSecret string

	// APIBase is where the API is. "": [APIBase].
	APIBase string

	HTTPClient *http.Client // nil: one of its own; redirects are never followed
}

// Validate reports all mistakes at once. Its error shows no secret.
func (c Config) Validate() error {
	p := upstream.Problems{Of: "slack"}
	p.RejectIf(c.BotToken == "" || strings.ContainsFunc(c.BotToken, isBlank), "BotToken must be a bot's token, xoxb-…, as Slack gives it under OAuth & Permissions")
	p.RejectIf(c.SigningSecret == "", "SigningSecret must be the app's, as Slack shows it under Basic Information")
	p.URL("APIBase", cmp.Or(c.APIBase, APIBase))
	return p.Err()
}

func isBlank(r rune) bool { return r <= ' ' || r == 0x7F }

// Channel is a Slack app in a workspace. It is a [channel.Channel] and a [channel.Opener].
type Channel struct {
	signingSecret []byte
	self          atomic.Pointer[identity] // as Slack tells it; nil: it has not yet
	postMessage   *upstream.Endpoint
	authTest      *upstream.Endpoint
}

// identity is the bot's own.
type identity struct {
	User string `json:"user_id"`
	Bot  string `json:"bot_id"`
}

// New makes the channel.
func New(c Config) (*Channel, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	ch := &Channel{signingSecret: []byte(c.SigningSecret)}
	base := strings.TrimRight(cmp.Or(c.APIBase, APIBase), "/")
	for method, to := range map[string]**upstream.Endpoint{"chat.postMessage": &ch.postMessage, "auth.test": &ch.authTest} {
		endpoint, err := upstream.New(upstream.Options{URL: base + "/" + method, Client: c.HTTPClient, Headers: map[string]string{
			"Authorization": "Bearer " + c.BotToken, "Content-Type": "application/json; charset=utf-8",
		}})
		if err != nil {
			return nil, fmt.Errorf("slack: %w", err)
		}
		*to = endpoint
	}
	return ch, nil
}

// Capabilities says how long a message may be.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Limit: textLimit, Unit: channel.Characters}
}

// Check verifies the signature over the time and the raw body, and that it was made just
// now: an old request may be one that somebody has recorded.
func (c *Channel) Check(_ context.Context, r *channel.Request) error {
	stamp := r.Header.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: the header X-Slack-Request-Timestamp is missing", channel.ErrForged)
	}
	signature, err := hex.DecodeString(strings.TrimPrefix(r.Header.Get("X-Slack-Signature"), "v0="))
	if err != nil || len(signature) == 0 {
		return fmt.Errorf("%w: the header X-Slack-Signature is missing", channel.ErrForged)
	}
	mac := hmac.New(sha256.New, c.signingSecret)
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(r.Body)
	if !hmac.Equal(signature, mac.Sum(nil)) {
		return fmt.Errorf("%w: is signing_secret that of the app that posts here?", channel.ErrForged)
	}
	if skew := r.At.Sub(time.Unix(seconds, 0)); skew > maxSkew || skew < -maxSkew {
		return fmt.Errorf("%w: it was made more than 5 minutes ago, or the clock of this machine is wrong", channel.ErrForged)
	}
	return nil
}

// Open learns who the bot is. Slack tells it with each event too, but not in all of them.
func (c *Channel) Open(ctx context.Context) error {
	var said struct {
		identity
		answer
	}
	if err := call(ctx, c.authTest, struct{}{}, &said, &said.answer); err != nil {
		return err
	}
	if said.User == "" {
		return errors.New("auth.test names no user")
	}
	c.self.Store(&said.identity)
	return nil
}

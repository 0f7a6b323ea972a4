// Package whatsapp is the channel of WhatsApp's Cloud API.
//
// It speaks for one business number. Its one job is the protocol: package channel says
// what an adapter does and what it leaves to others. It must never import a store, a
// responder, the engine or another channel.
//
// # Receiving
//
// An address has the id of the business number and that of the person; for a group it has
// the number's id, the word group and the group's id. A person has an id of their own for
// each business, such as US.13491208655302741918, and may hide the phone number. The id is
// the address wherever WhatsApp tells it, and the phone number another name of the same
// chat: a number may change hands, an id never does. What staff write in WhatsApp's own app
// on the same number is a take-over.
//
// # Sending
//
// Texts are plain. A part has at most 4096 code units of UTF-16: WhatsApp speaks of
// characters and does not say which, and this fits either way. The API can't recognise a
// repeat: a send whose answer was lost is unknown. Each message carries the part's id, which
// comes back with the reports about it.
package whatsapp

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/internal/upstream"
)

// Kind is the name of the platform in configurations and conversations.
const Kind = "whatsapp"

// APIBase is the address of the public API, and version is the one that is spoken unless
// the address ends with another one.
const (
	APIBase = "https://graph.facebook.com"
	version = "v26.0"
)

const (
	textLimit = 4096             // of a message
	typingFor = 25 * time.Second // how long people see the mark
)

// Config is a business number.
type Config struct {
	// PhoneNumberID is Meta's id of the number, not the number itself. Required.
	PhoneNumberID string

	// Token is the access token by which messages are sent. Required.
	Token string

	// AppSecret is the secret of the Meta app, with which Meta signs what it posts.
	// Required.
	AppSecret string

	// VerifyToken is a text of your own, which Meta repeats when it verifies the address of
	// the webhook. Required.
	VerifyToken string

	// APIBase is where the API is. "": [APIBase]. It may end with a version, such as /v26.0.
	APIBase string

	HTTPClient *http.Client // nil: one of its own; redirects are never followed
}

var (
	phoneNumberIDForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	versionForm       = regexp.MustCompile(`/v[0-9]{1,3}\.[0-9]{1,3}$`)
)

// Validate reports all mistakes at once. Its error shows no secret.
func (c Config) Validate() error {
	p := upstream.Problems{Of: "whatsapp"}
	p.RejectIf(!phoneNumberIDForm.MatchString(c.PhoneNumberID), "PhoneNumberID must be the id that Meta shows beside the number, such as 106540352242922")
	p.RejectIf(c.Token == "" || strings.ContainsFunc(c.Token, isBlank), "Token must be an access token, as Meta gives it")
	p.RejectIf(c.AppSecret == "", "AppSecret must be the secret of the Meta app")
	p.RejectIf(c.VerifyToken == "", "VerifyToken must be a text; make one with: openssl rand -hex 32")
	p.URL("APIBase", cmp.Or(c.APIBase, APIBase))
	return p.Err()
}

func isBlank(r rune) bool { return r <= ' ' || r == 0x7F }

// Channel is a business number. It is a [channel.Channel] and a [channel.Typist].
type Channel struct {
	phone       string
	appSecret   []byte
	verifyToken string
	messages    *upstream.Endpoint
}

// New makes the channel.
func New(c Config) (*Channel, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	base := strings.TrimRight(cmp.Or(c.APIBase, APIBase), "/")
	if !versionForm.MatchString(base) {
		base += "/" + version
	}
	messages, err := upstream.New(upstream.Options{
		URL: base + "/" + c.PhoneNumberID + "/messages", Client: c.HTTPClient,
		Headers: map[string]string{"Authorization": "Bearer " + c.Token},
	})
	if err != nil {
		return nil, fmt.Errorf("whatsapp: %w", err)
	}
	return &Channel{phone: c.PhoneNumberID, appSecret: []byte(c.AppSecret), verifyToken: c.VerifyToken, messages: messages}, nil
}

// Capabilities says how long a message may be, and how long typing is shown.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Limit: textLimit, Unit: channel.UTF16, TypingFor: typingFor}
}

// Check verifies the signature over the raw body. Meta reads the address once with GET, to
// see that it is ours: it then repeats the token that it was told.
func (c *Channel) Check(_ context.Context, r *channel.Request) error {
	if r.Method == http.MethodGet {
		return c.checkToken(r)
	}
	given, ok := strings.CutPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok {
		return fmt.Errorf("%w: the header X-Hub-Signature-256 is missing", channel.ErrForged)
	}
	signature, err := hex.DecodeString(given)
	if err != nil {
		return fmt.Errorf("%w: the header X-Hub-Signature-256 is not hexadecimal", channel.ErrForged)
	}
	mac := hmac.New(sha256.New, c.appSecret)
	mac.Write(r.Body)
	if !hmac.Equal(signature, mac.Sum(nil)) {
		return fmt.Errorf("%w: is app_secret that of the app that posts here?", channel.ErrForged)
	}
	return nil
}

func (c *Channel) checkToken(r *channel.Request) error {
	query := r.URL.Query()
	if query.Get("hub.mode") != "subscribe" || subtle.ConstantTimeCompare([]byte(query.Get("hub.verify_token")), []byte(c.verifyToken)) != 1 {
		return fmt.Errorf("%w: the verify token in Meta's form is not verify_token", channel.ErrForged)
	}
	return nil
}

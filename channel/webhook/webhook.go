// Package webhook delivers replies to another program, as requests that are signed by
// the Standard Webhooks specification.
//
// Its one job is to post a committed reply once, and to report the outcome: delivered,
// certainly not delivered, refused for good, or unknown. It never retries: the engine
// checks before each try whether the reply is still current, and this package can't. It
// must never import a store, a responder, the engine or another channel.
//
// A receiver recognises a repeat by the webhook-id header: it is the same for every try
// to deliver the same thing. [Verify] checks a request's signature.
package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/split"
	"github.com/onereply/onereply/internal/standardwebhooks"
	"github.com/onereply/onereply/internal/upstream"
)

// Sender is a [onereply.Sender] and a [onereply.CapableSender]. It may be used by
// many goroutines at once.
type Sender struct {
	config   Config
	secrets  standardwebhooks.Secrets
	endpoint *upstream.Endpoint
}

// New makes a sender, or reports all mistakes of the configuration.
func New(c Config) (*Sender, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	secrets, err := standardwebhooks.ParseSecrets(c.Secret)
	if err != nil {
		return nil, err
	}
	// The bot's SendTimeout bounds the whole of a send, so silence needs no time-out of its own.
	endpoint, err := upstream.New(upstream.Options{URL: c.URL, Headers: c.Headers, IdleTimeout: onereply.Zero, Client: c.HTTPClient})
	if err != nil {
		return nil, err
	}
	return &Sender{config: c, secrets: secrets, endpoint: endpoint}, nil
}

// Capabilities says that receivers recognise repeats, and how replies are cut. With the
// first, a bot whose UnknownSend is auto sends again after an unknown outcome.
func (s *Sender) Capabilities() onereply.Capabilities {
	can := onereply.Capabilities{RecognisesRepeats: true, AllParts: !s.config.Separate}
	if s.config.Limit > 0 {
		can.Split = func(text string) []string { return split.Text(text, s.config.Limit) }
	}
	return can
}

// Send posts one part, or a whole reply, once. The signature is made anew for each try,
// because it covers the time; the id and the body stay the same.
func (s *Sender) Send(ctx context.Context, d *onereply.Delivery) error {
	body, err := json.Marshal(payloadOf(d))
	if err != nil {
		return onereply.RefusedError(err)
	}
	header := http.Header{}
	s.secrets.Sign(header, idOf(d), time.Now(), body)
	answer, err := s.endpoint.Post(ctx, header, body)
	if err != nil {
		return outcomeOfLoss(err)
	}
	defer answer.Close()
	return outcomeOf(answer)
}

// Signal posts a signal once. Its webhook-id is of its own, so no receiver takes it for a
// repeat.
func (s *Sender) Signal(ctx context.Context, signal onereply.Signal) error {
	now := time.Now()
	body, err := json.Marshal(signalPayload{
		Type: string(signal.Kind), Timestamp: now.UTC().Format(millisecondsUTC),
		Data: signalData{Bot: signal.Bot, Conversation: signal.Conversation, Address: cmp.Or(signal.Address, signal.Conversation), Turn: signal.Turn, Kind: string(signal.Notice), Text: signal.Text},
	})
	if err != nil {
		return err
	}
	header := http.Header{}
	id := fmt.Sprintf("%s/%d/%s/%d", signal.Conversation, signal.Turn, signal.Kind, now.UnixMilli())
	s.secrets.Sign(header, encodeID(id), now, body)
	answer, err := s.endpoint.Post(ctx, header, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	if !answer.OK() {
		return refusal(answer)
	}
	return nil
}

// signalPayload is the body of a signal. docs/webhooks.md describes its fields.
type signalPayload struct {
	Type      string     `json:"type"`
	Timestamp string     `json:"timestamp"`
	Data      signalData `json:"data"`
}

type signalData struct {
	Bot          string `json:"bot"`
	Conversation string `json:"conversation"`
	Address      string `json:"address"`
	Turn         int64  `json:"turn"`
	Kind         string `json:"kind,omitempty"` // of a notice: delay or outage
	Text         string `json:"text,omitempty"` // of a notice
}

// idOf is the webhook-id, which is the same for each try.
func idOf(d *onereply.Delivery) string {
	id := cmp.Or(d.SendID, d.ID)
	if d.Part >= 0 {
		id += "/" + strconv.Itoa(d.Part+1)
	}
	return encodeID(id)
}

// encodeID percent-encodes the characters that a header can't carry, and dots: the
// signature covers id, time and body with dots between them, and an id must not look like
// two of these.
func encodeID(id string) string {
	return strings.ReplaceAll(standardwebhooks.EncodeID(id), ".", "%2E")
}

// payload is the body of a request.
type payload struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      data   `json:"data"`
}

// data is the reply. docs/webhooks.md describes its fields.
type data struct {
	ID           string   `json:"id"`
	Bot          string   `json:"bot"`
	Conversation string   `json:"conversation"`
	Address      string   `json:"address"`
	Turn         int64    `json:"turn"`
	Text         string   `json:"text"`
	Parts        []string `json:"parts"`
	Covers       []string `json:"covers"`
	Version      int64    `json:"version"`
	LateInput    bool     `json:"late_input"`
	Human        bool     `json:"human,omitempty"`
	Part         int      `json:"part,omitempty"` // from 1, where parts go separately
	Of           int      `json:"of,omitempty"`
}

const millisecondsUTC = "2006-01-02T15:04:05.000Z07:00"

// payloadOf is the body. It is the same for each try, to the byte: the time is that of
// the commit.
func payloadOf(d *onereply.Delivery) payload {
	data := data{
		ID: d.ID, Bot: d.Bot, Conversation: d.Conversation, Address: cmp.Or(d.Address, d.Conversation), Turn: d.Turn,
		Text: d.Text, Parts: d.Parts, Covers: d.Covers, Version: d.Version,
		LateInput: d.LateInput, Human: d.Human,
	}
	if d.Part >= 0 {
		data.Part, data.Of = d.Part+1, max(len(d.Parts), 1)
		data.Parts = []string{d.Text} // a receiver that shows all parts shows each part once
	}
	if len(data.Parts) == 0 {
		data.Parts = []string{d.Text}
	}
	if data.Covers == nil {
		data.Covers = []string{}
	}
	return payload{Type: "reply", Timestamp: d.CommittedAt.UTC().Format(millisecondsUTC), Data: data}
}

// Verify checks, for a receiver, that a request was signed with one of the
// secrets (whsec_ and base64, separated by spaces), and that it is at most
// tolerance old or early; 0 means the usual 5 minutes. Signatures are compared
// in constant time. The body must be the bytes that were received.
func Verify(secret string, header http.Header, body []byte, tolerance time.Duration) error {
	secrets, err := standardwebhooks.ParseSecrets(secret)
	if err != nil {
		return err
	}
	if tolerance == 0 {
		tolerance = standardwebhooks.Tolerance
	}
	if err := secrets.Verify(header, body, time.Now(), tolerance); err != nil {
		return fmt.Errorf("verify webhook: %w", err)
	}
	return nil
}

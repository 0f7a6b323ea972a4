// Package webhook answers with another program, which gets each turn by HTTP and answers
// with a document or a stream of events.
//
// Its one job is to turn a [onereply.Turn] into one signed request, and the answer into
// a reply or a [onereply.ResponderError]. It never retries: the engine checks between
// attempts whether the turn is still current, and this package can't. The request is
// closed as soon as the attempt is superseded. It must never import a store, a channel,
// the engine or another responder.
//
// The files: config.go has the settings, read.go reads the answer. Sending, time-outs and
// the kinds of errors are those of internal/upstream; docs/webhooks.md describes the request
// and the answer for the people who write the other program.
package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/standardwebhooks"
	"github.com/onereply/onereply/internal/upstream"
)

// Responder is a [onereply.Responder]. It may be used by many goroutines at once. All of
// it is fixed by New.
type Responder struct {
	config   Config
	secrets  standardwebhooks.Secrets
	endpoint *upstream.Endpoint
}

// New makes a responder, or reports all mistakes of the configuration. Nothing is called:
// whether the program can be reached shows with the first turn.
func New(c Config) (*Responder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	secrets, err := standardwebhooks.ParseSecrets(c.Secret)
	if err != nil {
		return nil, err
	}
	endpoint, err := upstream.New(upstream.Options{
		URL:         c.URL,
		Headers:     c.Headers,
		IdleTimeout: c.IdleTimeout,
		Client:      c.HTTPClient,
	})
	if err != nil {
		return nil, err
	}
	return &Responder{config: c, secrets: secrets, endpoint: endpoint}, nil
}

// MayStartEarly implements [onereply.EarlyResponder].
func (r *Responder) MayStartEarly() bool { return r.config.Early }

// Respond asks the webhook once. The turn is also the listener: it gets the pieces of a
// streamed reply.
func (r *Responder) Respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	return r.respond(ctx, t, t)
}

// respond takes the listener by itself, so that a test can see the pieces without an
// engine. The signature covers the id of the attempt, the time and the body, so it is
// made last.
func (r *Responder) respond(ctx context.Context, t *onereply.Turn, listener upstream.Listener) (onereply.Reply, error) {
	body, err := json.Marshal(r.request(t, endOf(ctx)))
	if err != nil {
		return onereply.Reply{}, &onereply.ResponderError{Kind: onereply.ResponderBadRequest, Err: err}
	}
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	r.secrets.Sign(header, upstream.AttemptID(t), time.Now(), body)
	answer, err := r.endpoint.Ask(ctx, header, body)
	if err != nil {
		return onereply.Reply{}, err
	}
	defer answer.Close()
	return read(answer, listener)
}

// endOf is when an attempt must have ended: its context says so, but for one that a program
// made by itself.
func endOf(ctx context.Context) time.Time {
	if end, ok := ctx.Deadline(); ok {
		return end
	}
	return time.Now().Add(time.Hour)
}

// request is the body of a request. Turn and Attempt name the attempt, and Token is the
// proof for a seal.
type request struct {
	Bot          string  `json:"bot"`
	Conversation string  `json:"conversation"`
	Turn         int64   `json:"turn"`
	Attempt      int     `json:"attempt"`
	Early        bool    `json:"early,omitempty"`
	Token        int64   `json:"token"`
	Messages     []entry `json:"messages"`
	History      []entry `json:"history"`
	SealURL      string  `json:"seal_url,omitempty"`
}

// entry is a message or a reply, in the words of the API.
type entry struct {
	ID          string                `json:"id"`
	Role        onereply.Role         `json:"role"`
	Author      onereply.Author       `json:"author"`
	Sender      *onereply.Person      `json:"sender,omitempty"`
	Text        string                `json:"text"`
	At          string                `json:"at,omitempty"`
	Edited      bool                  `json:"edited,omitempty"`
	ReplyTo     *onereply.Quote       `json:"reply_to,omitempty"`
	Forwarded   *onereply.Person      `json:"forwarded_from,omitempty"`
	Attachments []onereply.Attachment `json:"attachments,omitempty"`
	Metadata    json.RawMessage       `json:"metadata,omitempty"`
	Context     bool                  `json:"context,omitempty"`
}

// request is the turn as JSON. The token goes with it, so that the webhook can seal the
// attempt.
func (r *Responder) request(t *onereply.Turn, until time.Time) request {
	return request{
		Bot: t.Bot, Conversation: t.Conversation, Turn: t.Number, Attempt: t.Attempt, Early: t.Early, Token: t.Token,
		Messages: entries(t.Messages),
		History:  entries(t.History),
		SealURL:  r.config.sealURL(t, until),
	}
}

func entries(all []onereply.PromptEntry) []entry {
	out := make([]entry, len(all))
	for i, e := range all {
		out[i] = outside(e)
	}
	return out
}

const millisecondsUTC = "2006-01-02T15:04:05.000Z07:00"

// outside is an entry in the words of the API. Optional fields that are not set are left
// out. Times are in UTC with milliseconds, as in the whole API.
func outside(e onereply.PromptEntry) entry {
	out := entry{
		ID: e.ID, Role: e.Role, Author: e.Author, Text: e.Text, Edited: e.Edited, ReplyTo: e.ReplyTo,
		Attachments: e.Attachments, Metadata: e.Metadata, Context: e.Context,
	}
	if e.Sender != (onereply.Person{}) {
		out.Sender = &e.Sender
	}
	if e.ForwardedFrom != (onereply.Person{}) {
		out.Forwarded = &e.ForwardedFrom
	}
	if !e.At.IsZero() {
		out.At = e.At.UTC().Format(millisecondsUTC)
	}
	return out
}

// Package anthropic answers with a model behind Anthropic's Messages API.
//
// Its one job is to turn a [onereply.Turn] into one streamed request, and the answer
// into a reply or a [onereply.ResponderError]. It never retries: the engine checks
// between attempts whether the turn is still current, and this package can't. It must
// never import a store, a channel, the engine or another responder.
//
// read.go reads the answers. Sending, time-outs and the kinds of errors are those of
// internal/upstream; what all chat models share is internal/chatmodel.
package anthropic

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/chatmodel"
	"github.com/onereply/onereply/internal/upstream"
)

// version is the version of the API that this package speaks. The API demands it with
// each request.
const version = "2023-06-01"

// Responder is a [onereply.Responder]. It may be used by many goroutines at once. All of
// it is fixed by New.
type Responder struct {
	config   Config
	endpoint *upstream.Endpoint
}

// New makes a responder, or reports all mistakes of the configuration. Both forms of the
// base URL work: with /v1 at its end and without.
func New(c Config) (*Responder, error) {
	endpoint, err := c.shared().Endpoint(func(base *url.URL) *url.URL {
		base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1") // people write it both ways
		return base.JoinPath("v1/messages")
	})
	if err != nil {
		return nil, err
	}
	return &Responder{config: c, endpoint: endpoint}, nil
}

// Respond asks the model once. The turn is also the listener: it gets the pieces of the
// reply and the used tokens while the answer is read.
func (r *Responder) Respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	return r.respond(ctx, t, t)
}

// respond takes the listener by itself, so that a test can see the pieces without an
// engine.
func (r *Responder) respond(ctx context.Context, t *onereply.Turn, listener upstream.Listener) (onereply.Reply, error) {
	body, err := r.body(t)
	if err != nil {
		return onereply.Reply{}, &onereply.ResponderError{Kind: onereply.ResponderBadRequest, Err: err}
	}
	header := upstream.Idempotent(t)
	header.Set("Anthropic-Version", version)
	answer, err := r.endpoint.Ask(ctx, header, body)
	if err != nil {
		return onereply.Reply{}, err
	}
	defer answer.Close()
	if !answer.OK() {
		return onereply.Reply{}, chatmodel.Refusal(answer)
	}
	return chatmodel.Read(answer, listener, format)
}

// request is the body of a request. Optional fields are left out where they are not set,
// so that the API's defaults hold.
type request struct {
	Model       string              `json:"model"`
	MaxTokens   int                 `json:"max_tokens"`
	System      string              `json:"system,omitempty"`
	Temperature *float64            `json:"temperature,omitempty"`
	Stream      bool                `json:"stream"`
	Messages    []chatmodel.Message `json:"messages"`
}

// body is the request as JSON. It always asks for a stream: the reply can be shown while
// it is made, and a stall is noticed early.
func (r *Responder) body(t *onereply.Turn) ([]byte, error) {
	return chatmodel.Marshal(request{
		Model:       r.config.Model,
		MaxTokens:   cmp.Or(r.config.MaxTokens, DefaultMaxTokens),
		System:      r.config.System,
		Temperature: r.config.Temperature,
		Stream:      true,
		Messages:    messages(t),
	})
}

// messages are the history, and one message of the user with all waiting messages. The
// API refuses a list that begins with one of the assistant; one can, because the history
// is cut to its last entries. One message for all that waits is the point of the product:
// the model answers once.
func messages(t *onereply.Turn) []chatmodel.Message {
	var messages []chatmodel.Message
	for _, m := range t.Chat() {
		if len(messages) == 0 && m.Role == onereply.RoleAssistant {
			continue
		}
		messages = append(messages, chatmodel.Message{Role: string(m.Role), Content: m.Text})
	}
	return messages
}

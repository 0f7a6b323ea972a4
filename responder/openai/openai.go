// Package openai answers with a model behind an OpenAI-compatible chat
// completions endpoint.
//
// Its one job is to turn a [onereply.Turn] into one request, and what comes
// back into a reply or a [onereply.ResponderError]. It never retries: whether the turn
// is still current is checked between attempts, which it can't do. It must
// never import a store, a channel, the engine or another responder.
//
// Answers are streamed where the endpoint allows. Where it refuses that with a
// status of 400 or 422 that names the parameter, the same attempt asks again
// without, and the endpoint is not asked for it any more: see
// [Responder.Protocol].
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/upstream"
)

// Responder is a [onereply.Responder]. It may be used by many goroutines at
// once.
type Responder struct {
	config   Config
	endpoint *upstream.Endpoint
	limitKey string
	protocol protocol
}

// New makes a responder, or reports all mistakes of the configuration.
func New(c Config) (*Responder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	base, err := upstream.ParseURL(c.baseURL())
	if err != nil {
		return nil, err
	}
	endpoint, err := upstream.New(upstream.Options{
		URL:         base.JoinPath("chat/completions").String(),
		Headers:     c.headers(),
		IdleTimeout: c.idleTimeout(),
		Client:      c.HTTPClient,
	})
	if err != nil {
		return nil, err
	}
	return &Responder{config: c, endpoint: endpoint, limitKey: limitKey(base.Hostname())}, nil
}

// Respond asks the model once.
func (r *Responder) Respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	return r.respond(ctx, t, t)
}

func (r *Responder) respond(ctx context.Context, t *onereply.Turn, listener upstream.Listener) (onereply.Reply, error) {
	answer, err := r.ask(ctx, upstream.Idempotent(t), r.messages(t))
	if err != nil {
		return onereply.Reply{}, err
	}
	defer answer.Close()
	return read(answer, listener)
}

// ask sends the request. Only a refusal of streaming, or of counting tokens
// while streaming, makes it send another, so it sends three at most.
func (r *Responder) ask(ctx context.Context, header http.Header, messages []message) (*upstream.Answer, error) {
	level, reason := r.protocol.now()
	for {
		answer, err := r.post(ctx, header, messages, level)
		if err != nil {
			return nil, err
		}
		if answer.OK() {
			r.protocol.learn(level, reason)
			return answer, nil
		}
		detail, err := answer.Detail()
		answer.Close()
		if err != nil {
			return nil, err
		}
		lower, ok := level.without(answer.Status, detail)
		if !ok {
			return nil, answer.RefusedFor(detail)
		}
		level, reason = lower, answer.Excerpt(detail.Message)
	}
}

func (r *Responder) post(ctx context.Context, header http.Header, messages []message, l level) (*upstream.Answer, error) {
	body, err := r.body(messages, l)
	if err != nil {
		return nil, &onereply.ResponderError{Kind: onereply.ResponderBadRequest, Err: err}
	}
	return r.endpoint.Ask(ctx, header, body)
}

func (r *Responder) body(messages []message, l level) ([]byte, error) {
	fields := map[string]any{"model": r.config.Model, "messages": messages}
	if l != plain {
		fields["stream"] = true
	}
	if l == counted {
		fields["stream_options"] = map[string]bool{"include_usage": true}
	}
	if r.config.MaxTokens != nil {
		fields[r.limitKey] = *r.config.MaxTokens
	}
	if r.config.Temperature != nil {
		fields["temperature"] = *r.config.Temperature
	}
	return marshal(fields)
}

// marshal leaves <, > and & as people wrote them: a model sees the text that
// the JSON stands for, but logs are read by people.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

// message is one message of a request.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// messages are the system message, what came before, and one message of the
// user with all that waits.
func (r *Responder) messages(t *onereply.Turn) []message {
	messages := make([]message, 0, len(t.History)+2)
	if r.config.System != "" {
		messages = append(messages, message{Role: "system", Content: r.config.System})
	}
	for _, line := range t.History {
		messages = append(messages, message{Role: string(line.Role), Content: line.Text})
	}
	return append(messages, message{Role: "user", Content: t.Text()})
}

// limitKey is how the endpoint calls the bound on a reply's tokens: OpenAI's
// newer models refuse the name that all others know.
func limitKey(host string) string {
	if host == "api.openai.com" {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

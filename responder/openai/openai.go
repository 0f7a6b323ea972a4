// Package openai answers with a model behind an OpenAI-compatible chat completions
// endpoint.
//
// Its one job is to turn a [onereply.Turn] into one request, and the answer into a reply
// or a [onereply.ResponderError]. It never retries: the engine checks between attempts
// whether the turn is still current, and this package can't. It must never import a
// store, a channel, the engine or another responder.
//
// Answers are streamed where the endpoint allows. If it refuses that with a status of
// 400 or 422 that names the parameter, the same attempt asks again without it, and later
// attempts do not ask for it any more: see [Responder.Protocol].
//
// The files: config.go has the settings, protocol.go remembers how much of the protocol
// the endpoint takes, read.go reads the answers. Sending, time-outs and the kinds of
// errors are those of internal/upstream.
package openai

import (
	"context"
	"net/http"
	"net/url"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/chatmodel"
	"github.com/onereply/onereply/internal/upstream"
)

// Responder is a [onereply.Responder]. It may be used by many goroutines at once. All of
// it is fixed by New but the protocol, which is learnt from answers and guards itself.
type Responder struct {
	config   Config
	endpoint *upstream.Endpoint
	limitKey string
	protocol protocol
}

// New makes a responder, or reports all mistakes of the configuration. The name of the
// token limit depends on the host, so it is found where the URL is made.
func New(c Config) (*Responder, error) {
	r := &Responder{config: c}
	endpoint, err := c.shared().Endpoint(func(base *url.URL) *url.URL {
		r.limitKey = limitKey(base.Hostname())
		return base.JoinPath("chat/completions")
	})
	if err != nil {
		return nil, err
	}
	r.endpoint = endpoint
	return r, nil
}

// Respond asks the model once. The turn is also the listener: it gets the pieces of the
// reply and the used tokens while the answer is read.
func (r *Responder) Respond(ctx context.Context, t *onereply.Turn) (onereply.Reply, error) {
	return r.respond(ctx, t, t)
}

// respond takes the listener by itself, so that a test can see the pieces without an
// engine.
func (r *Responder) respond(ctx context.Context, t *onereply.Turn, listener upstream.Listener) (onereply.Reply, error) {
	answer, err := r.ask(ctx, upstream.Idempotent(t), r.messages(t))
	if err != nil {
		return onereply.Reply{}, err
	}
	defer answer.Close()
	return chatmodel.Read(answer, listener, format)
}

// ask sends the request. Only a refusal of streaming, or of counting tokens while
// streaming, makes it send another, so it sends three at most. Each level is less than
// the one before, so the loop ends. The level is learnt from the first answer of success,
// and not from the refusal.
func (r *Responder) ask(ctx context.Context, header http.Header, messages []chatmodel.Message) (*upstream.Answer, error) {
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
			return nil, chatmodel.RefusedFor(answer, detail)
		}
		level, reason = lower, answer.Excerpt(detail.Message)
	}
}

// post sends one request on a level of the protocol.
func (r *Responder) post(ctx context.Context, header http.Header, messages []chatmodel.Message, l level) (*upstream.Answer, error) {
	body, err := r.body(messages, l)
	if err != nil {
		return nil, &onereply.ResponderError{Kind: onereply.ResponderBadRequest, Err: err}
	}
	return r.endpoint.Ask(ctx, header, body)
}

// body is the request as JSON. It is a map and no struct because the endpoint decides
// the name of one field, and fields that are not set must be absent: some endpoints
// refuse those that they do not know.
func (r *Responder) body(messages []chatmodel.Message, l level) ([]byte, error) {
	fields := map[string]any{"model": r.config.Model, "messages": messages}
	if l != plain {
		fields["stream"] = true
	}
	if l == counted {
		fields["stream_options"] = map[string]bool{"include_usage": true}
	}
	if r.config.MaxTokens != 0 {
		fields[r.limitKey] = r.config.MaxTokens
	}
	if r.config.Temperature != nil {
		fields["temperature"] = *r.config.Temperature
	}
	return chatmodel.Marshal(fields)
}

// messages are the system message, the history, and one message of the user with all
// waiting messages. One message for all that waits is the point of the product: the model
// answers once.
func (r *Responder) messages(t *onereply.Turn) []chatmodel.Message {
	var messages []chatmodel.Message
	if r.config.System != "" {
		messages = append(messages, chatmodel.Message{Role: "system", Content: r.config.System})
	}
	for _, m := range t.Chat() {
		messages = append(messages, chatmodel.Message{Role: string(m.Role), Content: m.Text})
	}
	return messages
}

// limitKey is how the endpoint calls the bound on a reply's tokens: OpenAI's
// newer models refuse the name that all others know.
func limitKey(host string) string {
	if host == "api.openai.com" {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

package config

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"
)

// responder reads the settings of the responder. Without a known kind, the keys that
// belong to one kind can't be judged, so they are not looked at. The keys timeout,
// attempts, fallback and refusal_text belong to the bot's settings and to every kind, so they are read
// first. idle_timeout and delay have defaults here, 20s and 2s.
func (r *reader) responder(bot *section, b *Bot) {
	v, ok := bot.take("responder")
	if !ok {
		bot.missing("responder", "say who answers, such as kind: echo")
		return
	}
	s, ok := r.section(v)
	if !ok {
		return
	}
	answer := &b.Responder
	answer.IdleTimeout, answer.Delay = 20*time.Second, 2*time.Second
	s.duration("timeout", &b.Settings.Timeout, time.Millisecond)
	s.count("attempts", &b.Settings.Attempts, 1, math.MaxInt32)
	s.checked("fallback", &b.Settings.Fallback, fallbackText)
	s.checked("refusal_text", &b.Settings.RefusalText, fallbackText)
	strip := true
	s.boolean("strip_thinking", &strip)
	b.Settings.KeepThinking = !strip
	s.checked("silence", &b.Settings.Silence, silenceText)
	if !s.oneOf("kind", &answer.Kind, OpenAI, Anthropic, Webhook, Echo) {
		s.missing("kind", "it must be %s", alternatives([]string{OpenAI, Anthropic, Webhook, Echo}))
		return
	}
	r.responderKeys(s, answer)
	s.close()
}

// Whether an agent behind a webhook may be started early. Its runs may have effects of
// their own, so somebody has to say that they have none.
const (
	earlyAllowed = "allowed"
	earlyNever   = "never"
)

// responderKeys reads the keys of the responder's kind. A key of another kind is a
// mistake of its own: it names the kind that has the key. So somebody who changes the
// kind learns which keys to remove.
func (r *reader) responderKeys(s *section, answer *Responder) {
	models, calls := []string{OpenAI, Anthropic}, []string{OpenAI, Anthropic, Webhook}
	if slices.Contains(models, answer.Kind) {
		r.model(s, answer)
	} else {
		s.foreign(answer.Kind, models, "base_url", "api_key", "model", "system", "max_tokens")
	}
	if answer.Kind == Webhook {
		s.target(&answer.URL, &answer.Secret)
		early := earlyNever
		s.oneOf("early", &early, earlyAllowed, earlyNever)
		answer.Early = early == earlyAllowed
	} else {
		s.foreign(answer.Kind, []string{Webhook}, "url", "secret", "early")
	}
	if slices.Contains(calls, answer.Kind) {
		s.headers("headers", &answer.Headers)
		s.duration("idle_timeout", &answer.IdleTimeout, time.Millisecond)
	} else {
		s.foreign(answer.Kind, calls, "headers", "idle_timeout")
	}
	if answer.Kind == Echo {
		s.duration("delay", &answer.Delay, 0)
	} else {
		s.foreign(answer.Kind, []string{Echo}, "delay")
	}
}

// model reads the keys of a model behind an HTTP API. The base URL is required even for
// the vendor's own API: a key must not go to an address that nobody has written down.
func (r *reader) model(s *section, answer *Responder) {
	s.checked("base_url", &answer.BaseURL, webURL)
	answer.BaseURL = strings.TrimRight(answer.BaseURL, "/")
	s.checked("api_key", &answer.APIKey, bearer)
	s.checked("model", &answer.Model, modelName)
	s.text("system", &answer.System)
	s.count("max_tokens", &answer.MaxTokens, 1, math.MaxInt32)
	example := "https://api.openai.com/v1"
	if answer.Kind == Anthropic {
		example = "https://api.anthropic.com"
	}
	s.missing("base_url", "say where the API is, such as %s", example)
	s.missing("model", "say which model answers")
}

// modelName refuses a name that no model has. Whether the model exists shows with the
// first call: no list of models is kept here.
func modelName(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is empty; say which model answers")
	}
	return nil
}

// target reads the address of a webhook, and the secret that signs the requests to it.
// The URL may have a query, which some receivers use to tell callers apart. The responder
// and the delivery of a bot both use it, so that they take the same texts.
func (s *section) target(url, secret *string) {
	s.checked("url", url, webURL)
	s.missing("url", "say where to post to, such as https://example.com/hook")
	s.checked("secret", secret, signingSecrets)
}

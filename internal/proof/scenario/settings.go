package scenario

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/onereply/onereply"
	delivery "github.com/onereply/onereply/channel/webhook"
	"github.com/onereply/onereply/responder/openai"
	responder "github.com/onereply/onereply/responder/webhook"
	"github.com/onereply/onereply/server/config"
)

// Names and secrets of the world.
const (
	botName       = "bot"
	modelHost     = "model.test"
	receiverHost  = "receiver.test"
	apiKey        = "0123456789abcdef0123456789abcdef"
	signingSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	splitAt       = 4096 // the limit of the client that cuts long texts
)

// settings is the configuration file of the story's nodes; JSON is YAML. What
// it asks for goes the way of all configurations, so a bad one is refused.
func (s Scenario) settings() (config.Config, error) {
	root := map[string]any{
		"api_keys": []string{apiKey},
		"bots":     map[string]any{botName: s.bot()},
	}
	if n := s.Config.MaxModelConcurrency; n > 0 {
		root["max_generations"] = n
	}
	if s.Config.Limits != nil {
		root["limits"] = s.Config.Limits
	}
	file, err := json.Marshal(root)
	if err != nil {
		return config.Config{}, err
	}
	none := func(string) (string, bool) { return "", false }
	return config.Parse("onereply.yaml", file, none, config.Overrides{})
}

func (s Scenario) bot() map[string]any {
	c := s.Config
	bot := map[string]any{
		"debounce":     duration(c.DebounceMS),
		"max_wait":     duration(c.MaxWaitMS),
		"max_discards": c.MaxDiscards,
		"on_new_input": "interrupt",
		"responder":    s.responder(),
		"delivery":     s.delivery(),
	}
	optional := func(key string, ms *int) {
		if ms != nil {
			bot[key] = duration(*ms)
		}
	}
	if c.LeaseTTLMS > 0 {
		bot["lease"] = duration(c.LeaseTTLMS)
	}
	optional("group_wait", c.GroupWaitMS)
	optional("media_wait", c.MediaWaitMS)
	optional("split_wait", c.ContinuationWaitMS)
	if c.ContinuationWaitMS != nil {
		bot["split_at"] = splitAt
	}
	if c.AmbiguousSend != "" {
		bot["unknown_send"] = c.AmbiguousSend
	}
	if c.MaxTurnsPerMinute > 0 {
		bot["turns_per_minute"] = c.MaxTurnsPerMinute
	}
	if len(c.StopWords) > 0 {
		bot["stop_words"] = c.StopWords
	}
	if len(c.OptOutWords) > 0 {
		bot["opt_out_words"] = c.OptOutWords
	}
	overlay(bot, c.Bot)
	return bot
}

// overlay sets keys over those of a configuration, in nested ones too.
func overlay(under, over map[string]any) {
	for key, value := range over {
		inner, nested := value.(map[string]any)
		if below, there := under[key].(map[string]any); nested && there {
			overlay(below, inner)
			continue
		}
		under[key] = value
	}
}

func duration(ms int) string { return fmt.Sprintf("%dms", ms) }

// standsIn reports whether a reply is a text of the configuration that stands in for one.
func (s Scenario) standsIn(r Reply) bool {
	responder, _ := s.Config.Bot["responder"].(map[string]any)
	for _, key := range []string{"fallback", "refusal_text"} {
		if text, ok := responder[key].(string); ok && len(r.Covers) == 0 && slices.Equal(r.Texts, []string{text}) {
			return true
		}
	}
	return false
}

// responder is the model, or an agent, as where a tool has an effect: an agent seals.
func (s Scenario) responder() map[string]any {
	r := map[string]any{"kind": config.OpenAI, "base_url": "http://" + modelHost + "/v1", "model": "fake", "system": "Be brief."}
	if s.has("tool_call") || s.Config.Responder == "agent" {
		r = map[string]any{"kind": config.Webhook, "url": "http://" + modelHost + "/agent", "secret": signingSecret}
	}
	r["timeout"] = duration(60_000 + 2*s.slowest())
	attempts := max(s.Config.MaxModelAttempts, s.Config.MaxTurnAttempts)
	if attempts > 0 {
		r["attempts"] = attempts
	}
	return r
}

// slowest is the longest latency of the model in the story, in milliseconds.
func (s Scenario) slowest() int {
	slowest := 0
	for _, e := range s.Events {
		if e.Type == "model_latency" {
			slowest = max(slowest, e.MS)
		}
	}
	return slowest
}

func (s Scenario) delivery() map[string]any {
	if s.Config.Delivery == "sse" {
		return map[string]any{"kind": config.None}
	}
	d := map[string]any{
		"kind": config.Webhook, "url": "http://" + receiverHost + "/replies",
		"secret": signingSecret, "parts": "separate",
	}
	if s.Config.ChannelLimit != nil {
		d["limit"] = *s.Config.ChannelLimit
	}
	return d
}

// build makes the bots of one node, whose calls go out through client.
func build(c config.Config, client *http.Client, node string) ([]onereply.Bot, error) {
	var bots []onereply.Bot
	for _, b := range c.Bots {
		bot := b.Settings
		var err error
		if bot.Responder, err = buildResponder(b.Responder, client, node); err != nil {
			return nil, err
		}
		if b.Delivery.Kind == config.Webhook {
			d := b.Delivery
			bot.Sender, err = delivery.New(delivery.Config{
				URL: d.URL, Secret: d.Secret, Limit: d.Limit, Separate: d.Separate, HTTPClient: client,
			})
		}
		if err != nil {
			return nil, err
		}
		bots = append(bots, bot)
	}
	return bots, nil
}

func buildResponder(c config.Responder, client *http.Client, node string) (onereply.Responder, error) {
	if c.Kind == config.Webhook {
		return responder.New(responder.Config{
			URL: c.URL, Secret: c.Secret, SealBase: "http://" + node, Early: c.Early, IdleTimeout: c.IdleTimeout, HTTPClient: client,
		})
	}
	return openai.New(openai.Config{
		BaseURL: c.BaseURL, Model: c.Model, System: c.System, IdleTimeout: c.IdleTimeout, HTTPClient: client,
	})
}

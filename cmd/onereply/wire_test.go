package main

import (
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/server"
	"github.com/onereply/onereply/server/config"
)

// TestEachSettingIsHandedOn gives each setting a value of its own: a field of a
// responder, of the delivery or of the node must get the value of the setting of the same
// name. Every other field of them must be named here.
func TestEachSettingIsHandedOn(t *testing.T) {
	var (
		node      = distinct[config.Config](t)
		responder = distinct[config.Responder](t)
		delivery  = distinct[config.Delivery](t)
		key       = distinct[config.Key](t)
		keys      = server.NewKeys(server.Key{Key: "0123456789abcdef"})
		chat      = distinct[config.Channel](t)
		log       = slog.New(slog.DiscardHandler)
	)
	for _, test := range []struct {
		name     string
		from, to any
		others   []string // fields of to that no setting fills
	}{
		{"openai", responder, openaiConfig(responder), []string{"Temperature", "HTTPClient"}},
		{"anthropic", responder, anthropicConfig(responder), []string{"Temperature", "HTTPClient"}},
		{"webhook", responder, webhookConfig(responder, "here", keys), []string{"SealBase", "SealGrant", "HTTPClient"}},
		{"delivery", delivery, deliveryConfig(delivery), []string{"HTTPClient"}},
		{"key", key, apiKey(key), []string{"Can", "Rate"}},
		{"telegram", chat, telegramConfig(chat), []string{"HTTPClient"}},
		{"slack", chat, slackConfig(chat), []string{"HTTPClient"}},
		{"whatsapp", chat, whatsappConfig(chat), []string{"HTTPClient"}},
		{"node", node, options(node, log), []string{"Logger"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			from, to := reflect.ValueOf(test.from), reflect.ValueOf(test.to)
			for i := range to.NumField() {
				name := to.Type().Field(i).Name
				if slices.Contains(test.others, name) {
					continue
				}
				setting := from.FieldByName(name)
				if !setting.IsValid() {
					t.Errorf("no setting is named %s: hand one on, or say here that none fills it", name)
				} else if got := to.Field(i).Interface(); !reflect.DeepEqual(got, setting.Interface()) {
					t.Errorf("%s is %v, its setting is %v", name, got, setting.Interface())
				}
			}
		})
	}
	if got := apiKey(key).Rate; got != server.Rate(key.Rate) {
		t.Errorf("Rate is %+v", got)
	}
	node.Bots = []config.Bot{{Rate: config.Rate{PerSecond: 1}, ConversationRate: config.Rate{PerSecond: 2}}}
	node.Bots[0].Settings.Name = "bot"
	if got := serverSettings(node); got.Rates["bot"] != (server.BotRates{Bot: server.Rate{PerSecond: 1}, Conversation: server.Rate{PerSecond: 2}}) || !slices.Equal(got.TrustedProxies, node.TrustedProxies) {
		t.Errorf("the settings of the API are %+v", got)
	}
	if got := apiKey(key).Can; len(got) != 1 || string(got[0]) != key.Can[0] {
		t.Errorf("Can is %q", got)
	}
	words := make([]string, len(server.Rights()))
	for i, right := range server.Rights() {
		words[i] = string(right)
	}
	if !slices.Equal(words, config.Rights()) {
		t.Errorf("the server knows the rights %q, the configuration %q", words, config.Rights())
	}
	if got := webhookConfig(responder, "here", keys); got.SealBase != "here" || got.SealGrant("bot", "c", 1, time.Now()) == "" {
		t.Errorf("SealBase is %q, and it has no grant", got.SealBase)
	}
}

// distinct fills each field with a value that no other field has.
func distinct[T any](t *testing.T) T {
	t.Helper()
	var out T
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		text := fmt.Sprintf("value %d", i)
		switch into := v.Field(i).Addr().Interface().(type) {
		case *string:
			*into = text
		case *int:
			*into = 100 + i
		case *time.Duration:
			*into = time.Duration(i+1) * time.Hour
		case *bool:
			*into = true
		case *[]string:
			*into = []string{text}
		case *map[string]string:
			*into = map[string]string{"name": text}
		case *config.Rate:
			*into = config.Rate{PerSecond: float64(i + 1), Burst: 100 + i}
		case *onereply.Limits:
			*into = onereply.Limits{WaitingBytes: 1000 + i}
		case *config.TLS:
			*into = config.TLS{Cert: text, Key: text}
		case *[]netip.Prefix:
			*into = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		case *time.Time:
			*into = time.Unix(int64(1000+i), 0)
		case *[]config.Key, *[]config.Bot: // TestEachSettingIsHandedOn looks into their parts
		default:
			t.Fatalf("%s: this test does not know how to fill a %s", v.Type().Field(i).Name, v.Field(i).Type())
		}
	}
	return out
}

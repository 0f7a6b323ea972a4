package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onereply/onereply"
)

// full is the configuration that the documentation shows, and the keys beyond.
const full = `
listen: 127.0.0.1:8080
node: ""
store: sqlite:./onereply.db
api_keys: ["${KEY}"]
public_url: https://bots.example.com/
drain: 25s
max_generations: 64
retention: 720h
bots:
  support:
    debounce: 1.5s
    max_wait: 10s
    start: early
    early_attempts: 2
    on_new_input: discard
    max_discards: 2
    lease: 30s
    history: 40
    media_wait: 15s
    unknown_send: hold
    group_wait: 2s
    split_at: 4000
    split_wait: 3s
    turns_per_minute: 6
    stop_words: [stop]
    opt_out_words: [unsubscribe, "no"]
    responder:
      kind: openai
      base_url: https://api.openai.com/v1/
      api_key: ${KEY}
      model: gpt-5-mini
      system: |
        You are ${NAME:-nobody}.
        Write $${NAME} and $5.
      timeout: 50s
      idle_timeout: 10s
      attempts: 4
      max_tokens: ${NUMBER}
      headers: {X-Team: support}
      fallback: Sorry.
    delivery:
      kind: webhook
      url: https://example.com/replies
      secret: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz
      retry_for: 2h
      timeout: 15s
      limit: 4096
      parts: separate
      headers: {Authorization: "Bearer ${KEY}"}
  zero:
    debounce: 0
    max_wait: 0s
    max_discards: 0
    history: 0
    media_wait: 0s
    group_wait: 0s
    split_wait: 0s
    responder: {kind: echo, delay: 0s}
    delivery: {kind: webhook, url: "http://localhost:1/", retry_for: 0}
  plain:
    lease: 10s
    responder: {kind: webhook, url: "http://localhost:1/"}
`

func TestFull(t *testing.T) {
	got, err := Parse("onereply.yaml", []byte(full), environment, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Listen: "127.0.0.1:8080", Store: "sqlite:./onereply.db", APIKeys: []Key{{Key: "0123456789abcdef"}},
		PublicURL: "https://bots.example.com/", Drain: 25 * time.Second, MaxGenerations: 64, Limits: onereply.Limits{WaitingBytes: 4 << 20, PromptBytes: 1 << 20, MetadataBytes: 64 << 10, RingBytes: 64 << 20}, Retention: 720 * time.Hour,
		Bots: []Bot{{
			Settings: onereply.Bot{
				Name: "support", Debounce: 1500 * time.Millisecond, MaxWait: 10 * time.Second, Start: onereply.StartEarly, EarlyAttempts: 2, OnNewInput: onereply.ModeDiscard,
				MaxDiscards: 2, Lease: 30 * time.Second, History: 40, MediaWait: 15 * time.Second, UnknownSend: onereply.UnknownHold, Names: onereply.NamesAuto, MaxBotTurns: 5,
				Timeout: 50 * time.Second, Attempts: 4, Fallback: "Sorry.", RetryFor: 2 * time.Hour, SendTimeout: 15 * time.Second,
				GroupWait: 2 * time.Second, SplitAt: 4000, SplitWait: 3 * time.Second, TurnsPerMinute: 6,
				StopWords: []string{"stop"}, OptOutWords: []string{"unsubscribe", "no"},
			},
			Responder: Responder{
				Kind: OpenAI, BaseURL: "https://api.openai.com/v1", APIKey: "0123456789abcdef", Model: "gpt-5-mini",
				System: "You are nobody.\nWrite ${NAME} and $5.\n", MaxTokens: 7, Headers: map[string]string{"X-Team": "support"},
				IdleTimeout: 10 * time.Second, Delay: 2 * time.Second,
			},
			Delivery: Delivery{
				Kind: Webhook, URL: "https://example.com/replies", Secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
				Headers: map[string]string{"Authorization": "Bearer 0123456789abcdef"}, Limit: 4096, Separate: true,
			},
		}, {
			Settings: onereply.Bot{
				Name: "zero", Debounce: onereply.Zero, MaxWait: onereply.Zero, Start: onereply.StartAfterQuiet, EarlyAttempts: 3, OnNewInput: onereply.ModeInterrupt,
				MaxDiscards: onereply.Zero, Lease: 10 * time.Second, History: onereply.Zero, MediaWait: onereply.Zero,
				UnknownSend: onereply.UnknownAuto, Names: onereply.NamesAuto, MaxBotTurns: 5, Timeout: 60 * time.Second, Attempts: 3, RetryFor: onereply.Zero,
				SendTimeout: 15 * time.Second, GroupWait: onereply.Zero, SplitWait: onereply.Zero,
			},
			Responder: Responder{Kind: Echo, IdleTimeout: 20 * time.Second},
			Delivery:  Delivery{Kind: Webhook, URL: "http://localhost:1/"},
		}, {
			Settings: onereply.Bot{
				Name: "plain", Debounce: 1500 * time.Millisecond, MaxWait: 10 * time.Second, Start: onereply.StartAfterQuiet, EarlyAttempts: 3, OnNewInput: onereply.ModeInterrupt,
				MaxDiscards: 2, Lease: 10 * time.Second, History: 40, MediaWait: 15 * time.Second, UnknownSend: onereply.UnknownAuto, Names: onereply.NamesAuto, MaxBotTurns: 5,
				Timeout: 60 * time.Second, Attempts: 3, RetryFor: time.Hour, SendTimeout: 15 * time.Second,
				GroupWait: time.Second, SplitWait: 1500 * time.Millisecond,
			},
			Responder: Responder{Kind: Webhook, URL: "http://localhost:1/", IdleTimeout: 20 * time.Second, Delay: 2 * time.Second},
			Delivery:  Delivery{Kind: None},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

const minimal = "bots: {a: {responder: {kind: echo}}}\n"

func TestDefaults(t *testing.T) {
	got, err := Parse("x", []byte(minimal), environment, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	got.Bots = nil
	want := Config{
		Listen: "127.0.0.1:8080", Store: "sqlite:./onereply.db",
		Drain: 25 * time.Second, MaxGenerations: 64, Limits: onereply.Limits{WaitingBytes: 4 << 20, PromptBytes: 1 << 20, MetadataBytes: 64 << 10, RingBytes: 64 << 20}, Retention: 720 * time.Hour,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestOverrides(t *testing.T) {
	open := "listen: :8080\n" + minimal
	tests := []struct {
		name, file string
		overrides  Overrides
		want       string // the error; "" for none
	}{
		{"all", minimal, Overrides{Listen: "127.0.0.1:0", Store: "memory:", Node: "n"}, ""},
		{"a loopback address makes an open one good", open, Overrides{Listen: "[::1]:9"}, ""},
		{"an open address without keys", minimal, Overrides{Listen: ":9"}, "--listen: :9 can be reached from other machines, and there are no api_keys; add one, or listen on 127.0.0.1"},
		{"no address", minimal, Overrides{Listen: "9"}, `--listen: must be host:port, such as 127.0.0.1:8080`},
		{"no store", minimal, Overrides{Store: "onereply.db"}, "--store: must be a store's URL: sqlite:PATH, postgres://…, redis://… or memory:"},
		{"a host for a path", minimal, Overrides{Store: "sqlite://onereply.db"}, "--store: sqlite:// would name a host; write sqlite:PATH, such as sqlite:./onereply.db or sqlite:/var/lib/onereply.db"},
		{"no node", minimal, Overrides{Node: strings.Repeat("n", 513)}, "--node: a node's name must have at most 512 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse("x", []byte(test.file), environment, test.overrides)
			if message := messageOf(err); message != test.want {
				t.Fatalf("got error %q, want %q", message, test.want)
			}
			if err == nil && got.Listen != test.overrides.Listen {
				t.Errorf("listens on %s, want %s", got.Listen, test.overrides.Listen)
			}
		})
	}
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestKeysOpenTheAddress(t *testing.T) {
	file := "listen: 0.0.0.0:80\napi_keys: [0123456789abcdef]\n" + minimal
	if _, err := Parse("x", []byte(file), environment, Overrides{}); err != nil {
		t.Error(err)
	}
}

func TestBounds(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"too large", strings.Repeat("#\n", MaxBytes/2) + "#", "x:1:1: the file has more than 1048576 bytes"},
		{"not UTF-8", "bots: \xff", "x:1:1: the file is not valid UTF-8"},
		{"too deep", "a:\n  " + strings.Repeat("[", 2000), "x:2:1003: brackets are nested more than 1000 deep"},
		{"long name", "bots: {" + strings.Repeat("n", 513) + ": {responder: {kind: echo}}}", "x:1:8: bots: a bot's name must have 1 to 512 bytes, it has 513"},
		{"long fallback", "bots: {a: {responder: {kind: echo, fallback: " + strings.Repeat("f", onereply.MaxTextBytes+1) + "}}}",
			"x:1:46: bots.a.responder.fallback: must have at most 65536 bytes, it has 65537"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("x", []byte(test.file), environment, Overrides{})
			if message := messageOf(err); message != test.want {
				t.Errorf("got %q, want %q", message, test.want)
			}
		})
	}
}

// TestVariablesAreValues: YAML in a variable stays a text.
func TestVariablesAreValues(t *testing.T) {
	got, err := Parse("x", []byte("node: ${INJECT}\n"+minimal), environment, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := environment("INJECT")
	if got.Node != want || len(got.Bots) != 1 || got.Bots[0].Settings.Name != "a" {
		t.Errorf("got node %q and bots %v", got.Node, got.Bots)
	}
}

// TestSecretsAreNotShown: what a variable holds, and what is written where a
// secret belongs, is in no problem.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "hunter2hunter2" // too short to be a key
	lookup := func(string) (string, bool) { return secret, true }
	file := `
listen: ${S}
store: postgres${S}://user:${S}@host
api_keys: ["${S}"]
public_url: "http://user:${S}@ host"
drain: ${S}
max_generations: ${S}
bots:
  a:
    on_new_input: ${S}
    responder: {kind: webhook, url: "${S}", secret: "whsec_${S}"}
    delivery: {kind: webhook, url: "http://user:${S}@%zz", secret: hunter2hunter2}
`
	_, err := Parse("x", []byte(file), lookup, Overrides{})
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v, want problems", err)
	}
	for _, p := range problems {
		if strings.Contains(p.Message, secret) {
			t.Errorf("%s shows the secret", p)
		}
	}
}

// TestSlipsShowNoSecret: a key that was written where a variable or a text in quotes was
// meant is in no problem, and neither is a part of it.
func TestSlipsShowNoSecret(t *testing.T) {
	for _, slip := range []string{
		`"${sk-proj-hunter2}"`, `"${sk_live_hunter2}"`, `"${hunter2:-}x${sk-hunter2}"`, `"${hunter2hunter2hunter2}"`, `"$${}${ hunter2}"`, `"${HUNTER2:-hunter2}${-hunter2"`,
		`8675309867530986753`, `0x8675309f8675309f`, `8675309.8675309`,
	} {
		for _, file := range []string{"api_keys: [%s]", "store: %s", "public_url: %s", "bots: {a: {responder: {kind: openai, base_url: http://x, model: m, api_key: %s}}}",
			"bots: {a: {responder: {kind: webhook, url: http://x, secret: %[1]s, headers: {x: %[1]s}}}}"} {
			_, err := Parse("x", fmt.Appendf(nil, file, slip), func(string) (string, bool) { return "", false }, Overrides{})
			var problems Problems
			errors.As(err, &problems)
			for _, p := range problems {
				if strings.Contains(p.Message, "unter2") || strings.Contains(p.Message, "867530") {
					t.Errorf("%s: %s", fmt.Sprintf(file, slip), p)
				}
			}
		}
	}
}

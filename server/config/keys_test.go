package config

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
)

// key is a key of the file, and the field of [Config] in which it must arrive.
type key struct {
	section string // "": the file itself, "bot", or a kind of responder or delivery: "openai", "delivery"
	name    string
	value   string // in YAML, different from the default
	field   string
	want    any
	zero    any // the field's value where the file says 0; nil: 0 is refused, or is no value of this key
}

const (
	settings  = "Bots[0].Settings."
	responder = "Bots[0].Responder."
	delivery  = "Bots[0].Delivery."
	channels  = "Bots[0].Channels[0]."
)

// noTime and none are how a field says 0 where its zero value stands for the default.
const (
	noTime = time.Duration(onereply.Zero)
	none   = onereply.Zero
)

// keys are all keys that fill a field. TestEachFieldHasAKey fails where one is missing.
var keys = []key{
	{"", "listen", "127.0.0.1:7001", "Listen", "127.0.0.1:7001", nil},
	{"", "node", "n7002", "Node", "n7002", nil},
	{"", "store", "sqlite:./7003.db", "Store", "sqlite:./7003.db", nil},
	{"", "api_keys", "[key-7004-key-7004]", "APIKeys", []Key{{Key: "key-7004-key-7004"}}, nil},
	{"", "trusted_proxies", "[10.1.2.3/8, 192.0.2.7, \"::1\"]", "TrustedProxies", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("::1/128")}, nil},
	{"", "tls", "{cert: c7009, key: k}", "TLS.Cert", "c7009", nil},
	{"", "tls", "{cert: c, key: k7010}", "TLS.Key", "k7010", nil},
	{"", "public_url", "http://public.test:7005", "PublicURL", "http://public.test:7005", nil},
	{"", "drain", "7006s", "Drain", 7006 * time.Second, time.Duration(0)},
	{"", "max_generations", "7007", "MaxGenerations", 7007, nil},
	{"", "limits", "{waiting_bytes: 7MiB}", "Limits.WaitingBytes", 7 << 20, nil},
	{"", "limits", "{prompt_bytes: 2MiB}", "Limits.PromptBytes", 2 << 20, nil},
	{"", "limits", "{metadata_bytes: 7KiB}", "Limits.MetadataBytes", 7 << 10, nil},
	{"", "limits", "{ring_bytes: 8MiB}", "Limits.RingBytes", 8 << 20, nil},
	{"", "retention", "7008h", "Retention", 7008 * time.Hour, nil},

	{"bot", "debounce", "5001ms", settings + "Debounce", 5001 * time.Millisecond, noTime},
	{"bot", "max_wait", "5002s", settings + "MaxWait", 5002 * time.Second, noTime},
	{"bot", "start", "early", settings + "Start", onereply.StartEarly, nil},
	{"bot", "early_attempts", "5003", settings + "EarlyAttempts", 5003, nil},
	{"bot", "on_new_input", "finish", settings + "OnNewInput", onereply.ModeFinish, nil},
	{"bot", "max_discards", "5004", settings + "MaxDiscards", 5004, none},
	{"bot", "lease", "5005s", settings + "Lease", 5005 * time.Second, nil},
	{"bot", "history", "406", settings + "History", 406, none},
	{"bot", "names", "always", settings + "Names", onereply.NamesAlways, nil},
	{"bot", "times", "true", settings + "Times", true, nil},
	{"bot", "observe", "407", settings + "Observe", 407, 0},
	{"bot", "max_age", "5008s", settings + "MaxAge", 5008 * time.Second, time.Duration(0)},
	{"bot", "answer_bots", "true", settings + "AnswerBots", true, nil},
	{"bot", "max_bot_turns", "5015", settings + "MaxBotTurns", 5015, nil},
	{"bot", "media_wait", "5007s", settings + "MediaWait", 5007 * time.Second, noTime},
	{"bot", "unknown_send", "hold", settings + "UnknownSend", onereply.UnknownHold, nil},
	{"bot", "group_wait", "5009s", settings + "GroupWait", 5009 * time.Second, noTime},
	{"bot", "split_at", "5010", settings + "SplitAt", 5010, 0},
	{"bot", "split_wait", "5011s", settings + "SplitWait", 5011 * time.Second, noTime},
	{"bot", "turns_per_minute", "5012", settings + "TurnsPerMinute", 5012, 0},
	{"bot", "budget", "{model_calls_per_day: 5024}", settings + "Budget.ModelCalls", 5024, nil},
	{"bot", "budget", "{tokens_per_day: 5025}", settings + "Budget.Tokens", 5025, nil},
	{"bot", "stop_words", "[stop-5013]", settings + "StopWords", []string{"stop-5013"}, nil},
	{"bot", "opt_in_words", "[in-5015]", settings + "OptInWords", []string{"in-5015"}, nil},
	{"bot", "opt_out_words", "[out-5014]", settings + "OptOutWords", []string{"out-5014"}, nil},
	{"bot", "reset_words", "[new-5015]", settings + "ResetWords", []string{"new-5015"}, nil},
	{"bot", "notice", "{after: 5017s, text: Wait.}", settings + "Notice.After", 5017 * time.Second, nil},
	{"bot", "notice", "{text: text 5018}", settings + "Notice.Text", "text 5018", nil},
	{"bot", "outage_notice", "{after: 5019s, text: Wait.}", settings + "OutageNotice.After", 5019 * time.Second, nil},
	{"bot", "outage_notice", "{text: text 5020}", settings + "OutageNotice.Text", "text 5020", nil},
	{"bot", "session_idle", "5016s", settings + "SessionIdle", 5016 * time.Second, time.Duration(0)},

	{"bot", "rate", "{messages_per_second: 0.25}", "Bots[0].Rate.PerSecond", 0.25, nil},
	{"bot", "rate", "{messages_per_second: 1, burst: 5021}", "Bots[0].Rate.Burst", 5021, nil},
	{"bot", "conversation_rate", "{messages_per_second: 5022}", "Bots[0].ConversationRate.PerSecond", 5022.0, nil},
	{"bot", "conversation_rate", "{messages_per_second: 1, burst: 5023}", "Bots[0].ConversationRate.Burst", 5023, nil},

	{"echo", "kind", "echo", responder + "Kind", "echo", nil},
	{"echo", "timeout", "6001s", settings + "Timeout", 6001 * time.Second, nil},
	{"echo", "attempts", "6002", settings + "Attempts", 6002, nil},
	{"echo", "fallback", "text 6003", settings + "Fallback", "text 6003", nil},
	{"echo", "strip_thinking", "false", settings + "KeepThinking", true, nil},
	{"echo", "silence", "NO_6005", settings + "Silence", "NO_6005", nil},
	{"echo", "refusal_text", "text 6004", settings + "RefusalText", "text 6004", nil},
	{"echo", "delay", "6004s", responder + "Delay", 6004 * time.Second, time.Duration(0)},
	{"openai", "base_url", "http://base.test:6005", responder + "BaseURL", "http://base.test:6005", nil},
	{"openai", "api_key", "key-6006", responder + "APIKey", "key-6006", nil},
	{"openai", "model", "model-6007", responder + "Model", "model-6007", nil},
	{"openai", "system", "system 6008", responder + "System", "system 6008", nil},
	{"openai", "max_tokens", "6009", responder + "MaxTokens", 6009, nil},
	{"openai", "headers", "{X-6010: v}", responder + "Headers", map[string]string{"X-6010": "v"}, nil},
	{"openai", "idle_timeout", "6011s", responder + "IdleTimeout", 6011 * time.Second, nil},
	{"webhook", "url", "http://hook.test:6012", responder + "URL", "http://hook.test:6012", nil},
	{"webhook", "secret", secret6, responder + "Secret", secret6, nil},
	{"webhook", "headers", "{X-6014: v}", responder + "Headers", map[string]string{"X-6014": "v"}, nil},
	{"webhook", "early", "allowed", responder + "Early", true, nil},
	{"webhook", "idle_timeout", "6015s", responder + "IdleTimeout", 6015 * time.Second, nil},

	{"channel", "name", "name-9001", channels + "Name", "name-9001", nil},
	{"channel", "api_base", "http://base.test:9002", channels + "APIBase", "http://base.test:9002", nil},
	{"channel", "debounce", "9003ms", channels + "Debounce", 9003 * time.Millisecond, time.Duration(0)},
	{"channel", "max_wait", "9004s", channels + "MaxWait", 9004 * time.Second, nil},
	{"channel", "takeover_for", "9005s", channels + "TakeoverFor", 9005 * time.Second, time.Duration(0)},
	{"channel", "token", "9006:token", channels + "Token", "9006:token", nil},
	{"channel", "secret", "secret-9007", channels + "Secret", "secret-9007", nil},
	{"whatsapp", "phone_number_id", "9008", channels + "PhoneNumberID", "9008", nil},
	{"whatsapp", "app_secret", "secret-9009", channels + "AppSecret", "secret-9009", nil},
	{"whatsapp", "verify_token", "verify-9010", channels + "VerifyToken", "verify-9010", nil},
	{"whatsapp", "token", "token-9011", channels + "Token", "token-9011", nil},
	{"slack", "bot_token", "token-9012", channels + "BotToken", "token-9012", nil},
	{"slack", "signing_secret", "secret-9013", channels + "SigningSecret", "secret-9013", nil},

	{"delivery", "kind", "webhook", delivery + "Kind", "webhook", nil},
	{"delivery", "url", "http://delivery.test:8001", delivery + "URL", "http://delivery.test:8001", nil},
	{"delivery", "secret", secret8, delivery + "Secret", secret8, nil},
	{"delivery", "headers", "{X-8003: v}", delivery + "Headers", map[string]string{"X-8003": "v"}, nil},
	{"delivery", "limit", "8004", delivery + "Limit", 8004, nil},
	{"delivery", "typing", "true", settings + "Typing", true, nil},
	{"delivery", "parts", "separate", delivery + "Separate", true, nil},
	{"delivery", "retry_for", "8006h", settings + "RetryFor", 8006 * time.Hour, noTime},
	{"delivery", "timeout", "8007s", settings + "SendTimeout", 8007 * time.Second, nil},
	{"delivery", "pace", "{per_character: 41ms}", settings + "Pace.PerCharacter", 41 * time.Millisecond, nil},
	{"delivery", "pace", "{least: 42ms}", settings + "Pace.Least", 42 * time.Millisecond, nil},
	{"delivery", "pace", "{most: 43s}", settings + "Pace.Most", 43 * time.Second, nil},
}

const (
	secret6 = "whsec_NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY="
	secret8 = "whsec_ODg4ODg4ODg4ODg4ODg4ODg4ODg4ODg4ODg4ODg4ODg="
)

// withoutKey are fields that no single key fills.
var withoutKey = []string{
	settings + "Name",      // the name of the bot's section
	settings + "Responder", // built from Bots[0].Responder
	settings + "Sender",    // built from Bots[0].Delivery
	settings + "Channels",  // built from Bots[0].Channels
	channels + "Kind",      // without it there is no channel
}

// TestEachKeyFillsItsField sets each key alone: its field must get the value, and no
// other field may change.
func TestEachKeyFillsItsField(t *testing.T) {
	for _, k := range keys {
		t.Run(k.section+"."+k.name, func(t *testing.T) {
			k.check(t, k.value, k.want)
			if k.zero != nil {
				k.check(t, "0", k.zero)
			}
		})
	}
}

func TestEachFieldHasAKey(t *testing.T) {
	known := map[string]bool{}
	for _, field := range withoutKey {
		known[field] = true
	}
	for _, k := range keys {
		known[k.field] = true
	}
	for field := range flat(Config{Bots: []Bot{{Channels: make([]Channel, 1)}}}) {
		if !known[field] {
			t.Errorf("%s is filled by no key in this test: add the key, or say why there is none", field)
		}
	}
}

// check compares two files that differ in the key alone.
func (k key) check(t *testing.T, value string, want any) {
	t.Helper()
	before, after := k.parse(t, k.file("")), k.parse(t, k.file(value))
	if !reflect.DeepEqual(after[k.field], want) {
		t.Errorf("%s: %s must give %s = %#v, it is %#v", k.name, value, k.field, want, after[k.field])
	}
	for _, field := range slices.Sorted(maps.Keys(after)) {
		if field != k.field && !reflect.DeepEqual(before[field], after[field]) {
			t.Errorf("%s: %s must leave %s alone, it changes it from %#v to %#v", k.name, value, field, before[field], after[field])
		}
	}
	if k.name != "kind" && value == k.value && reflect.DeepEqual(before[k.field], after[k.field]) {
		t.Errorf("%s: %s is the default: choose another value for this test", k.name, value)
	}
}

// file is a configuration with the least that it needs, and with the key where value is
// given. The quiet time is 0 beside a hard cap of 0, which must not be less.
func (k key) file(value string) string {
	least := map[string]map[string]string{
		"":         {},
		"bot":      {},
		"delivery": {"kind": "webhook", "url": "http://a.test"},
		"echo":     {"kind": "echo"},
		"openai":   {"kind": "openai", "base_url": "http://a.test", "model": "m"},
		"webhook":  {"kind": "webhook", "url": "http://a.test"},
		"channel":  {"kind": "telegram", "token": "1:token"},
		"whatsapp": {"kind": "whatsapp", "phone_number_id": "1", "token": "t", "app_secret": "s", "verify_token": "v"},
		"slack":    {"kind": "slack", "bot_token": "t", "signing_secret": "s"},
	}
	if k.name == "secret" && k.section == "channel" {
		least["channel"]["mode"], least["channel"]["secret"] = "webhook", "other"
	}
	if k.name == "pace" {
		least["delivery"]["parts"] = "separate"
	}
	if value == "" && strings.HasSuffix(k.name, "notice") {
		least["bot"][k.name] = "{text: Wait.}" // an after needs one
	}
	if value == "" && strings.HasSuffix(k.name, "rate") {
		least["bot"][k.name] = "{messages_per_second: 1}" // a burst needs it
	}
	if value == "" && k.name == "tls" {
		least[""][k.name] = "{cert: c, key: k}"
	}
	if k.name == "max_wait" {
		least["bot"]["debounce"] = "0s"
	}
	kind := "echo"
	if k.section == "openai" || k.section == "webhook" {
		kind = k.section
	}
	if value != "" {
		if value == "0" && reflect.TypeOf(k.want) == reflect.TypeFor[time.Duration]() {
			value = "0s"
		}
		least[k.section][k.name] = value
	}
	var b strings.Builder
	write := func(indent string, lines map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(lines)) {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, name, lines[name])
		}
	}
	write("", least[""])
	b.WriteString("bots:\n  support:\n")
	write("    ", least["bot"])
	b.WriteString("    responder:\n")
	write("      ", least[kind])
	b.WriteString("    delivery:\n")
	write("      ", least["delivery"])
	b.WriteString("    channels:\n    -\n")
	platform := "channel"
	if k.section == "whatsapp" || k.section == "slack" {
		platform = k.section
	}
	write("      ", least[platform])
	return b.String()
}

func (k key) parse(t *testing.T, file string) map[string]any {
	t.Helper()
	c, err := Parse("keys", []byte(file), func(string) (string, bool) { return "", false }, Overrides{})
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return flat(c)
}

// flat is the fields of a configuration by their path. Structs are taken apart, and so
// are the lists of bots and channels.
func flat(c Config) map[string]any {
	fields := map[string]any{}
	var add func(path string, v reflect.Value)
	add = func(path string, v reflect.Value) {
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				add(strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i))
			}
		case v.Type() == reflect.TypeFor[[]Bot](), v.Type() == reflect.TypeFor[[]Channel]():
			for i := range v.Len() {
				add(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
			}
		default:
			fields[path] = v.Interface()
		}
	}
	add("", reflect.ValueOf(c))
	return fields
}

package onereply_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/internal/node"
	"github.com/onereply/onereply/internal/words"
	"github.com/onereply/onereply/server/config"
	"github.com/onereply/onereply/turn"
)

// configured is the settings that the runtime is given, by the path of each field, for
// a bot with these lines in its YAML.
func configured(t *testing.T, lines ...string) map[string]any {
	t.Helper()
	sections := map[string][]string{"": nil, "limits": nil, "responder": {"kind: echo"}, "delivery": {"kind: webhook", "url: http://localhost/"}}
	for _, line := range lines {
		section, rest, ok := strings.Cut(line, ".")
		if _, known := sections[section]; !ok || !known {
			section, rest = "", line
		}
		sections[section] = append(sections[section], rest)
	}
	yaml := "limits: {" + strings.Join(sections["limits"], ", ") + "}\nbots:\n  b:\n    " + strings.Join(append(sections[""],
		"responder: {"+strings.Join(sections["responder"], ", ")+"}", "delivery: {"+strings.Join(sections["delivery"], ", ")+"}"), "\n    ")
	parsed, err := config.Parse("test.yaml", []byte(yaml), func(string) (string, bool) { return "", false }, config.Overrides{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, yaml)
	}
	bot := parsed.Bots[0].Settings
	bot.Responder = saying("x")
	bot.Sender = onereply.SenderFunc(func(context.Context, *onereply.Delivery) error { return nil })
	given, err := onereply.NodeBot(bot, parsed.Limits)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	flatten(fields, "", reflect.ValueOf(given))
	return fields
}

// flatten lists the fields of a struct, and of those in it.
func flatten(fields map[string]any, path string, v reflect.Value) {
	for i := range v.NumField() {
		name := path + v.Type().Field(i).Name
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			flatten(fields, strings.TrimPrefix(name, "Bot")+".", f)
		case reflect.Func:
			fields[strings.TrimPrefix(name, ".")] = !f.IsNil()
		default:
			fields[strings.TrimPrefix(name, ".")] = f.Interface()
		}
	}
}

// Each key of a bot's configuration reaches its own field of the runtime with the
// value that it has in the file, and no other field. A field that no key reaches is a
// field that somebody forgot, here or on its way.
func TestEachKeyReachesTheRuntime(t *testing.T) {
	tests := []struct {
		line   string
		fields map[string]any
	}{
		{"debounce: 1.1s", map[string]any{"Policy.Debounce": 1100 * time.Millisecond}},
		{"debounce: 0s", map[string]any{"Policy.Debounce": time.Duration(0)}},
		{"max_wait: 22s", map[string]any{"Policy.MaxWait": 22 * time.Second}},
		{"start: early", map[string]any{"Policy.EarlyAttempts": 3}},
		{"on_new_input: finish", map[string]any{"Policy.OnNewInput": turn.Finish}},
		{"on_new_input: discard", map[string]any{"Policy.OnNewInput": turn.Discard}},
		{"max_discards: 33", map[string]any{"Policy.MaxDiscards": 33}},
		{"max_discards: 0", map[string]any{"Policy.MaxDiscards": 0}},
		{"lease: 44s", map[string]any{"Policy.Lease": 44 * time.Second}},
		{"limits.prompt_bytes: 2MiB", map[string]any{"Policy.PromptBytes": 2 << 20}},
		{"limits.waiting_bytes: 1MiB", map[string]any{"Policy.WaitingBytes": 1 << 20}},
		{"history: 55", map[string]any{"History": 55}},
		{"history: 0", map[string]any{"History": 0}},
		{"observe: 56", map[string]any{"Observe": 56, "Policy.Observe": true}},
		{"max_age: 57s", map[string]any{"Policy.MaxAge": 57 * time.Second}},
		{"answer_bots: true", map[string]any{"Policy.MaxBotTurns": 5}},
		{"answer_bots: true\n    max_bot_turns: 7", map[string]any{"Policy.MaxBotTurns": 7}},
		{"max_bot_turns: 7", nil}, // of a bot that answers no others
		{"media_wait: 66s", map[string]any{"Policy.MediaWait": 66 * time.Second}},
		{"unknown_send: resend", map[string]any{"Policy.ResendUnknown": true}},
		{"unknown_send: hold", nil}, // as auto, of a sender that does not recognise repeats
		{"turns_per_minute: 77", map[string]any{"Policy.TurnsPerMinute": 77}},
		{"budget: {model_calls_per_day: 78, tokens_per_day: 79}", map[string]any{"Policy.Daily.Calls": int64(78), "Policy.Daily.Tokens": int64(79)}},
		{"group_wait: 88s", map[string]any{"GroupWait": 88 * time.Second}},
		{"split_at: 99", map[string]any{"SplitAt": 99}},
		{"split_wait: 111s", map[string]any{"SplitWait": 111 * time.Second}},
		{"stop_words: [stop, halt]", map[string]any{"StopWords": words.NewList([]string{"stop", "halt"})}},
		{"opt_in_words: [start]", map[string]any{"OptInWords": words.NewList([]string{"start"})}},
		{"opt_out_words: [leave]", map[string]any{"OptOutWords": words.NewList([]string{"leave"})}},
		{"reset_words: [again]", map[string]any{"ResetWords": words.NewList([]string{"again"})}},
		{"session_idle: 112s", map[string]any{"Policy.SessionIdle": 112 * time.Second}},
		{"responder.timeout: 122s", map[string]any{"Timeout": 122 * time.Second}},
		{"responder.attempts: 133", map[string]any{"Policy.MaxAttempts": 133}},
		{"responder.fallback: Sorry.", map[string]any{"Fallback": "Sorry.", "Policy.Fallback": true}},
		{"responder.refusal_text: Not that.", map[string]any{"Refusal": "Not that.", "Policy.Refusal": true}},
		{"delivery.retry_for: 144s", map[string]any{"Policy.RetryFor": 144 * time.Second}},
		{"delivery.retry_for: 0s", map[string]any{"Policy.RetryFor": time.Duration(0)}},
		{"notice: {after: 16s, text: Soon.}", map[string]any{"Policy.DelayAfter": 16 * time.Second, "DelayText": "Soon."}},
		{"outage_notice: {after: 17s, text: Out.}", map[string]any{"Policy.OutageAfter": 17 * time.Second, "OutageText": "Out."}},
		{"delivery.typing: true", map[string]any{"Typing": true}},
		{"delivery.timeout: 155s", map[string]any{"SendTimeout": 155 * time.Second}},
		{"delivery.pace: {per_character: 16ms}", map[string]any{"Pace.PerCharacter": 16 * time.Millisecond}},
		{"delivery.pace: {least: 17s}", map[string]any{"Pace.Least": 17 * time.Second}},
		{"delivery.pace: {most: 18s}", map[string]any{"Pace.Most": 18 * time.Second}},
	}
	defaults := configured(t)
	reached := map[string]bool{}
	for _, test := range tests {
		want := maps.Clone(defaults)
		for field, value := range test.fields {
			if _, known := want[field]; !known || reflect.DeepEqual(want[field], value) {
				t.Errorf("%s: %s is no field, or has this value by default", test.line, field)
			}
			want[field], reached[field] = value, true
		}
		for field, value := range configured(t, test.line) {
			if !reflect.DeepEqual(value, want[field]) {
				t.Errorf("%s: %s is %v, want %v", test.line, field, value, want[field])
			}
		}
	}
	// The program's, not the configuration's: functions, and what the engine learns.
	others := []string{"Channels", "Split", "Whole", "Respond", "Send", "Signal", "Policy.NoSendUntil"}
	for field := range defaults {
		if !reached[field] && !slices.Contains(others, field) {
			t.Errorf("no key of the configuration reaches %s", field)
		}
	}
}

// careful is a responder that says whether it may be started early.
type careful struct {
	onereply.Responder
	may bool
}

func (c careful) MayStartEarly() bool { return c.may }

// Attempts are started early where the bot and its responder allow it.
func TestEarlyStartsReachTheRuntime(t *testing.T) {
	for _, test := range []struct {
		bot  onereply.Bot
		want int
	}{
		{onereply.Bot{EarlyAttempts: 5}, 0},
		{onereply.Bot{EarlyAttempts: 5, Start: onereply.StartAfterQuiet}, 0},
		{onereply.Bot{EarlyAttempts: 5, Start: onereply.StartEarly}, 5},
		{onereply.Bot{Start: onereply.StartEarly, Responder: careful{saying("x"), true}}, 3},
		{onereply.Bot{Start: onereply.StartEarly, Responder: careful{saying("x"), false}}, 0},
	} {
		test.bot.Name = "b"
		if test.bot.Responder == nil {
			test.bot.Responder = saying("x")
		}
		bot, err := onereply.NodeBot(test.bot, onereply.Limits{})
		if err != nil || bot.Policy.EarlyAttempts != test.want {
			t.Errorf("%+v: %d early attempts (%v), want %d", test.bot, bot.Policy.EarlyAttempts, err, test.want)
		}
	}
}

// able is a sender that can do more than send.
type able struct{ can onereply.Capabilities }

func (a able) Send(context.Context, *onereply.Delivery) error { return nil }
func (a able) Capabilities() onereply.Capabilities            { return a.can }

// A bot's code reaches the runtime too: what a sender can do, and that there is one.
func TestASendersCapabilitiesReachTheRuntime(t *testing.T) {
	given := func(unknown onereply.UnknownSend, s onereply.Sender) node.Bot {
		bot, err := onereply.NodeBot(onereply.Bot{Name: "b", Responder: saying("x"), Sender: s, UnknownSend: unknown}, onereply.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return bot
	}
	plain := onereply.SenderFunc(func(context.Context, *onereply.Delivery) error { return nil })
	recognises := able{onereply.Capabilities{RecognisesRepeats: true}}
	for _, test := range []struct {
		unknown onereply.UnknownSend
		sender  onereply.Sender
		resends bool
	}{
		{onereply.UnknownAuto, plain, false}, {onereply.UnknownAuto, recognises, true}, {onereply.UnknownAuto, nil, true},
		{onereply.UnknownResend, plain, true}, {onereply.UnknownResend, recognises, true}, {onereply.UnknownResend, nil, true},
		{onereply.UnknownHold, plain, false}, {onereply.UnknownHold, recognises, false}, {onereply.UnknownHold, nil, false},
	} {
		if got := given(test.unknown, test.sender); got.Policy.ResendUnknown != test.resends || (got.Send != nil) != (test.sender != nil) {
			t.Errorf("%s, %T: resends %v, sends %v", test.unknown, test.sender, got.Policy.ResendUnknown, got.Send != nil)
		}
	}
	if got := given("", plain); got.Whole || got.Split != nil || got.Respond == nil {
		t.Errorf("a plain sender: %+v", got)
	}
	if got := given("", able{onereply.Capabilities{AllParts: true}}); !got.Whole || got.Split != nil {
		t.Errorf("a sender of all parts: %+v", got)
	}
	split := given("", able{onereply.Capabilities{Split: func(text string) []string { return []string{text, "more"} }}})
	if split.Whole || split.Split == nil || fmt.Sprint(split.Split("a")) != "[a more]" {
		t.Errorf("a sender that splits: %+v", split)
	}
}

package docs_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onereply/onereply/server/config"
)

// stranger is a key that is near to no other: the parser answers it with the
// names of all keys that it knows there.
const stranger = "zzzzzzzzzzzzzzzzzzzzzzzz"

// known asks the parser which keys it knows where the stranger stands.
func known(t *testing.T, yaml string) []string {
	t.Helper()
	_, err := config.Parse("known.yaml", []byte(yaml), environment, config.Overrides{})
	var problems config.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("the stranger was taken: %v", err)
	}
	for _, p := range problems {
		if _, keys, ok := strings.Cut(p.Message, "the keys here are "); ok {
			return strings.Split(keys, ", ")
		}
	}
	t.Fatalf("the parser does not say which keys it knows: %v", err)
	return nil
}

// environment has every variable, with a value that does where it stands.
func environment(name string) (string, bool) {
	switch {
	case strings.HasSuffix(name, "SECRET"):
		return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true
	case strings.HasSuffix(name, "TOKEN"):
		return "123456:ABC-DEF", true
	case strings.HasSuffix(name, "URL"):
		return "https://example.com/", true
	case name == "STORE":
		return "", false
	}
	return "0123456789abcdef" + name, true // no two keys are the same
}

func TestConfigurationHasEveryKey(t *testing.T) {
	page := read(t, "configuration.md")
	tests := []struct{ heading, yaml string }{
		{"The file", stranger + ": 1\nbots: {b: {responder: {kind: echo}}}"},
		{"API keys", "api_keys: [{key: 0123456789abcdef, " + stranger + ": 1}]\nbots: {b: {responder: {kind: echo}}}"},
		{"A bot", "bots: {b: {" + stranger + ": 1, responder: {kind: echo}}}"},
		{"delivery", "bots: {b: {responder: {kind: echo}, delivery: {kind: webhook, " + stranger + ": 1}}}"},
	}
	for _, test := range tests {
		documented := slices.Collect(maps.Keys(rows(section(t, page, test.heading))))
		if test.heading == "API keys" { // a table of the rights follows that of the keys
			documented = slices.DeleteFunc(documented, func(key string) bool { return slices.Contains(config.Rights(), key) })
		}
		wantSame(t, test.heading, documented, known(t, test.yaml))
	}
}

// TestConfigurationHasEveryKeyOfAChannel checks also which kinds have it.
func TestConfigurationHasEveryKeyOfAChannel(t *testing.T) {
	known := channelKeys(t)
	documented := rows(section(t, read(t, "configuration.md"), "channels"))
	wantSame(t, "channels", slices.Collect(maps.Keys(documented)), slices.Collect(maps.Keys(known)))
	for key, kinds := range known {
		want := strings.Join(kinds, ", ")
		if len(kinds) == len(channels) {
			want = "all"
		}
		if cells := documented[key]; key != "kind" && len(cells) > 1 && cells[0] != want {
			t.Errorf("channels: %s: the page says kinds %q, the parser knows it for %q", key, cells[0], want)
		}
	}
}

// channels has the least that each kind of channel needs.
var channels = []struct{ kind, keys string }{
	{"telegram", "token: '1:a'"},
	{"whatsapp", "phone_number_id: 1, token: t, app_secret: s, verify_token: v"},
	{"slack", "bot_token: t, signing_secret: s"},
}

// channelKeys are all keys of channels, each with the kinds that have it.
func channelKeys(t *testing.T) map[string][]string {
	t.Helper()
	kinds := map[string][]string{}
	for _, c := range channels {
		for _, key := range known(t, "bots: {b: {responder: {kind: echo}, channels: [{kind: "+c.kind+", "+c.keys+", "+stranger+": 1}]}}") {
			kinds[key] = append(kinds[key], c.kind)
		}
	}
	return kinds
}

// TestConfigurationHasEveryKeyOfAResponder checks also which kinds have it.
func TestConfigurationHasEveryKeyOfAResponder(t *testing.T) {
	table := rows(section(t, read(t, "configuration.md"), "responder"))
	for _, kind := range []string{config.OpenAI, config.Anthropic, config.Webhook, config.Echo} {
		var documented []string
		for key, cells := range table {
			kinds := strings.Split(cells[0], ", ")
			if key == "kind" || cells[0] == "all" || slices.Contains(kinds, kind) {
				documented = append(documented, key)
			}
		}
		yaml := fmt.Sprintf("bots: {b: {responder: {kind: %s, %s: 1}}}", kind, stranger)
		wantSame(t, "responder "+kind, documented, known(t, yaml))
	}
}

// TestConfigurationsAreValid reads every configuration that the pages and the
// examples show.
func TestConfigurationsAreValid(t *testing.T) {
	shown := map[string]string{}
	for _, page := range pages(t) {
		for i, b := range blocks(read(t, page)) {
			if b.is("yaml") && strings.Contains(b.text, "bots:") {
				shown[fmt.Sprintf("%s, block %d", page, i)] = b.text
			}
		}
	}
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		shown[file] = read(t, file)
	}
	for where, yaml := range shown {
		if _, err := config.Parse(where, []byte(yaml), environment, config.Overrides{}); err != nil {
			t.Error(err)
		}
	}
}

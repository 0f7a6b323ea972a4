package words_test

import (
	"strings"
	"testing"

	"github.com/onereply/onereply/internal/words"
)

func TestHas(t *testing.T) {
	list := words.NewList([]string{"stop", "Never mind", "Schluß", "arrêter", "🛑", "/cancel"})
	for text, want := range map[string]bool{
		"stop":                       true,
		"Stop.":                      true,
		"  STOP!!! ":                 true,
		"“stop”":                     true,
		"«Stop»":                     true,
		"`stop`":                     true,
		"´stop´":                     true,
		"*stop*":                     true,
		"¡Stop!":                     true,
		"stop…":                      true,
		"s\u200bto\u200dp\ufeff":     true,
		"\u200estop\u2069":           true,
		"st\u00adop":                 true,
		"stop\ufe0f":                 true,
		"stop\u3164":                 true,
		"ｓｔｏｐ":                       true,
		"ＳＴＯＰ！":                      true,
		"𝐬𝐭𝐨𝐩":                       true,
		"@bot stop":                  true,
		"＠bot　stop":                  true,
		"@bot, @other_bot: Stop!":    true,
		"<@U12345> stop":             true,
		"\u2068@bot\u2069 stop":      true,
		"never  mind":                true,
		"Never\nmind.":               true,
		"never\u00a0mind":            true,
		"SCHLUSS":                    true,
		"schluß!":                    true,
		"ARRE\u0302TER":              true,
		"🛑":                          true,
		"🛑\ufe0f":                    true,
		"cancel":                     true,
		"/cancel":                    true,
		"":                           false,
		"...":                        false,
		"@stop":                      false,
		"@bot":                       false,
		"don't stop":                 false,
		"stop it":                    false,
		"stopp":                      false,
		"st op":                      false,
		"stop\xff":                   false,
		"nevermind":                  false,
		"stop@bot":                   false,
		"stop 🛑":                     false,
		strings.Repeat(".", 600):     false,
		"stop" + long("."):           true,
		"stop" + long(".") + ".":     false,
		"s\u0335t\u0335o\u0335p":     false,
		"\u0441\u0442\u043e\u043f":   false, // another word, in another script
		"stop\u0000":                 true,
		"stop\u2028":                 true,
		strings.Repeat("@a ", 600):   false,
		strings.Repeat("\ufdfa", 99): false,
	} {
		if got := list.Has(text); got != want {
			t.Errorf("%q: %v, not %v; its key is %q", text, got, want, words.Key(text))
		}
	}
}

// long pads "stop" to the greatest length that is compared.
func long(with string) string { return strings.Repeat(with, words.MaxBytes-len("stop")) }

func TestNoWords(t *testing.T) {
	for _, list := range []words.List{nil, words.NewList(nil), words.NewList([]string{"...", "@bot", " "})} {
		if list.Has("") || list.Has("...") || list.Has("stop") {
			t.Errorf("%v has words", list)
		}
	}
}

// FuzzKey: a key is its own key, so what differs in nothing that counts is one word.
func FuzzKey(f *testing.F) {
	for _, text := range []string{"Stop.", "@bot stop", "ｓｔｏｐ", "´a`", "\u1e9e", "a\u0345\u0301", "İ", "ﷺ", "@ @a b", "., @b c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key := words.Key(text)
		if again := words.Key(key); len(key) <= words.MaxBytes && again != key {
			t.Errorf("%q: the key %q has the key %q", text, key, again)
		}
	})
}

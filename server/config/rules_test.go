package config

import (
	"strings"
	"testing"
)

func TestLoopback(t *testing.T) {
	tests := map[string]bool{
		"127.0.0.1:80":          true,
		"127.8.9.1:0":           true,
		"[::1]:80":              true,
		"[::1%lo]:80":           true,
		"[::ffff:127.0.0.1]:80": true,
		"localhost:80":          true,
		"LOCALHOST:80":          true,
		":80":                   false,
		"0.0.0.0:80":            false,
		"[::]:80":               false,
		"10.0.0.1:80":           false,
		"example.com:80":        false,
		"localhost.example:80":  false,
		"127.0.0.1":             false,
		"":                      false,
	}
	for address, want := range tests {
		if got := Loopback(address); got != want {
			t.Errorf("Loopback(%q) = %v, want %v", address, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"$5 $ $$ }", "$5 $ $$ }"},
		{"${KEY}", "0123456789abcdef"},
		{"a${NUMBER}b${NUMBER}", "a7b7"},
		{"${EMPTY}", ""},
		{"${EMPTY:-x}", "x"},
		{"${NONE:-}", ""},
		{"${NONE:-a:-b}", "a:-b"},
		{"$${KEY}", "${KEY}"},
		{"$$${KEY}", "$${KEY}"},
		{"${NESTED}", "${KEY}"},
	}
	for _, test := range tests {
		if got, err := expand(test.in, environment); err != nil || got != test.want {
			t.Errorf("expand(%q) = %q, %v; want %q", test.in, got, err, test.want)
		}
	}
	for _, in := range []string{"${NONE}", "${", "${KEY", "${}", "${1A}", "${A-B}", "${:-x}"} {
		if got, err := expand(in, environment); err == nil {
			t.Errorf("expand(%q) = %q, want an error", in, got)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"debounce", "max_wait", "lease", "kind"}
	tests := map[string]string{
		"debounc": "debounce", "debouncee": "debounce", "maxwait": "max_wait", "max_wiat": "max_wait",
		"leese": "lease", "knd": "kind", "colour": "", "": "", "x": "", strings.Repeat("x", 1000): "",
	}
	for word, want := range tests {
		if got, _ := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2},
	}
	for _, test := range tests {
		if got := distance(test.a, test.b, 10); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

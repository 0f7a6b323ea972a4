package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/onereply/onereply"
)

// FuzzParse: any input gives a configuration that keeps the rules, or problems.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(full))
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("x", data, environment, Overrides{})
		if err == nil {
			checkRules(t, c)
			return
		}
		var problems Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("got %v, want problems", err)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("%+v does not say where, or what", p)
			}
		}
	})
}

func checkRules(t *testing.T, c Config) {
	t.Helper()
	reject := func(bad bool, what string) {
		if bad {
			t.Errorf("%s: %+v", what, c)
		}
	}
	reject(len(c.Bots) == 0, "no bots")
	reject(len(c.APIKeys) == 0 && !Loopback(c.Listen), "open to all")
	for _, k := range c.APIKeys {
		reject(len(k.Key) < MinKeyBytes, "key")
		reject(k.Bots != nil && len(k.Bots) == 0 || k.Can != nil && len(k.Can) == 0, "a key that opens nothing, or everything")
	}
	for _, b := range c.Bots {
		s := b.Settings
		reject(s.Name == "" || len(s.Name) > onereply.MaxNameBytes, "name")
		reject(s.MaxWait < s.Debounce, "max_wait")
		reject(s.SendTimeout <= 0, "send timeout")
		reject(min(s.Pace.PerCharacter, s.Pace.Least, s.Pace.Most) < 0 || max(s.Pace.PerCharacter, s.Pace.Least, s.Pace.Most) > onereply.MaxPause, "pace")
		reject(s.Pace.Most != 0 && s.Pace.Most < s.Pace.Least, "pace bounds")
		reject(s.Debounce == 0 || s.MaxDiscards == 0 || s.History == 0, "a zero that would mean the default")
		reject(b.Responder.Kind == "" || b.Delivery.Kind == "", "kind")
	}
}

package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
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
	f.Add([]byte(guarded))
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
		reject(badRate(k.Rate), "rate of a key")
	}
	for _, p := range c.TrustedProxies {
		reject(!p.IsValid() || p.Bits() == 0, "everybody is a proxy")
	}
	l := c.Limits
	reject(l.WaitingBytes < 512<<10 || l.PromptBytes < 1 || l.MetadataBytes < 1 || l.RingBytes < 1<<20, "limits")
	for _, b := range c.Bots {
		s := b.Settings
		reject(s.Name == "" || len(s.Name) > onereply.MaxNameBytes, "name")
		reject(s.MaxWait < s.Debounce, "max_wait")
		reject(s.SendTimeout <= 0, "send timeout")
		reject(min(s.Pace.PerCharacter, s.Pace.Least, s.Pace.Most) < 0 || max(s.Pace.PerCharacter, s.Pace.Least, s.Pace.Most) > onereply.MaxPause, "pace")
		reject(s.Pace.Most != 0 && s.Pace.Most < s.Pace.Least, "pace bounds")
		reject(s.Debounce == 0 || s.MaxDiscards == 0 || s.History == 0, "a zero that would mean the default")
		reject(badRate(b.Rate) || badRate(b.ConversationRate), "rates")
		reject(s.Budget.ModelCalls < 0 || s.Budget.Tokens < 0, "budget")
		reject(b.Responder.Kind == "" || b.Delivery.Kind == "", "kind")
	}
}

// badRate reports whether a bound on messages lets none in, or is no number.
func badRate(r Rate) bool {
	return r != (Rate{}) && !(r.PerSecond > 0 && r.PerSecond <= maxPerSecond) || r.Burst < 0
}

// guarded has the keys by which a node is guarded.
const guarded = `
listen: 127.0.0.1:8080
trusted_proxies: [10.0.0.0/8, "::1"]
tls: {cert: cert.pem, key: key.pem}
limits: {waiting_bytes: 4MiB, prompt_bytes: 64KiB, metadata_bytes: 1KiB, ring_bytes: 1048576}
api_keys:
  - 0123456789abcdef0
  - {name: agent, key: 0123456789abcdef1, bots: [a], can: [seal, read], expires: 2030-01-31, rate: {messages_per_second: 0.5}}
bots:
  a:
    rate: {messages_per_second: 1e3, burst: 5}
    conversation_rate: {messages_per_second: 0.0001}
    budget: {model_calls_per_day: 5, tokens_per_day: 0}
    max_age: 1h1m1.5s
    responder: {kind: echo}
`

// FuzzReload reads a file again: all that comes into force is there at once, what needs a restart
// stays, and reading the same file once more changes nothing else.
func FuzzReload(f *testing.F) {
	for _, next := range []string{full, minimal, guarded} {
		f.Add([]byte(guarded), []byte(next))
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		running, err := Parse("x", before, environment, Overrides{})
		if err != nil {
			return
		}
		if _, changes := running.Reload(running); len(changes) > 0 {
			t.Errorf("the same file changes %v", changes)
		}
		next, err := Parse("x", after, environment, Overrides{})
		if err != nil {
			return
		}
		inForce, _ := running.Reload(next)
		if inForce.Listen != running.Listen || inForce.Store != running.Store || inForce.Limits != running.Limits || len(inForce.Bots) != len(running.Bots) {
			t.Errorf("a restart is needed for this: %+v became %+v", running, inForce)
		}
		if !reflect.DeepEqual(inForce.APIKeys, next.APIKeys) {
			t.Errorf("the keys %v are in force, and not %v", inForce.APIKeys, next.APIKeys)
		}
		again, changes := inForce.Reload(next)
		for _, change := range changes {
			if !change.Restart {
				t.Errorf("%v comes into force only when the file is read a second time", change)
			}
		}
		if !reflect.DeepEqual(again, inForce) {
			t.Errorf("read a second time, %+v became %+v", inForce, again)
		}
	})
}

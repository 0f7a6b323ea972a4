package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// Rights are what a key may be allowed to do. The server gives them their meaning.
func Rights() []string { return []string{"read", "write", "operate", "seal", "admin"} }

// maxKeyNameBytes bounds the name of a key, which stands in each audit entry.
const maxKeyNameBytes = 64

// apiKeys reads the keys: each is a text, which opens everything, or a mapping that says
// what it opens.
func (r *reader) apiKeys(root *section, c *Config) {
	for _, v := range root.list("api_keys", "a list, such as [${KEY}]") {
		key := r.entry(v)
		r.onlyOnce(v.place, key, c.APIKeys)
		c.APIKeys = append(c.APIKeys, key)
	}
}

// entry reads one key. If it can't be read it is empty, and still has its place in the list:
// the numbers in problems are those of the file.
func (r *reader) entry(v value) (k Key) {
	switch v.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		if s, ok := r.section(v); ok {
			k = r.limitedKey(s)
		}
	default:
		if text, ok := r.plainText(v); ok {
			if err := apiKey(text); err != nil {
				r.report(v.place, "%s", err)
			}
			k.Key = text
		}
	}
	return k
}

// onlyOnce reports a key if one before it is the same, or has its name. Nobody could tell
// which of the two is meant.
func (r *reader) onlyOnce(at place, key Key, before []Key) {
	for i, other := range before {
		switch {
		case key.Key == other.Key && key.Key != "" && (key.limits() || other.limits()):
			r.report(at, "is the same key as api_keys[%d], which opens something else", i)
		case key.Name == other.Name && key.Name != "":
			r.report(at, "has the name of api_keys[%d]; audits could not tell them apart", i)
		}
	}
}

// limits reports whether the entry says more than that it is a key.
func (k Key) limits() bool {
	return k.Name != "" || k.Bots != nil || k.Can != nil || !k.Expires.IsZero()
}

// limitedKey reads a key that says what it opens. What it does not name is not limited.
func (r *reader) limitedKey(s *section) Key {
	var k Key
	s.checked("name", &k.Name, keyName)
	s.checked("key", &k.Key, apiKey)
	s.missing("key", "make one with: openssl rand -hex 32")
	s.texts("bots", &k.Bots, func(at place, text string) {
		r.mentioned = append(r.mentioned, mention{at, text})
	})
	s.texts("can", &k.Can, func(at place, text string) {
		if !slices.Contains(Rights(), text) {
			r.report(at, "must be %s%s", alternatives(Rights()), didYouMean(text, Rights()))
		}
	})
	for _, key := range []string{"bots", "can"} {
		if list, ok := s.values[key].node.(*ast.SequenceNode); ok && len(list.Values) == 0 {
			r.report(s.at(key), "is empty, so the key would open nothing; name some, or remove %s for all", key)
		}
	}
	s.instant("expires", &k.Expires)
	r.rate(s, "rate", &k.Rate)
	s.close()
	return k
}

// knownBots refuses keys for a bot that does not exist: they would silently open nothing. It
// is called after the bots were read. A bot with mistakes of its own counts as known.
func (r *reader) knownBots(bots []string) {
	for _, m := range r.mentioned {
		if !slices.Contains(bots, m.name) {
			r.report(m.place, "there is no such bot%s", didYouMean(m.name, bots))
		}
	}
}

// mention is the name of a bot outside the section of the bots.
type mention struct {
	place
	name string
}

// keyName refuses a name that could not be read in an audit, or stands for something else.
func keyName(text string) error {
	switch {
	case text == "" || len(text) > maxKeyNameBytes:
		return fmt.Errorf("a key's name must have 1 to %d bytes, it has %d", maxKeyNameBytes, len(text))
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }):
		return errors.New("a key's name must have visible characters and spaces only")
	case slices.Contains([]string{"anonymous", "unknown", "turn"}, text):
		return fmt.Errorf("%q stands for callers without a key; take another name", text)
	}
	return nil
}

// instant reads a key as a moment, with its date, time and zone.
func (s *section) instant(key string, into *time.Time) {
	v, ok := s.take(key)
	if !ok {
		return
	}
	found, ok := s.scalar(v, "a time such as 2027-01-31T12:00:00Z")
	if !ok {
		return
	}
	at, err := time.Parse(time.RFC3339, found.text)
	if err != nil {
		s.report(v.place, "must be a time with its zone, such as 2027-01-31T12:00:00Z, it is %q", found.source)
		return
	}
	*into = at
}

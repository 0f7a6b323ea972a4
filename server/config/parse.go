package config

import (
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/onereply/onereply"
)

// Overrides are flags of the command line. They take the place of the file's keys; ""
// leaves the key. They are checked by the same rules, and their problems name the flag
// instead of a line.
type Overrides struct {
	Listen string
	Node   string
	Store  string
}

// Parse reads a configuration. file names it in problems, and lookup finds variables of
// the environment. The error is of type [Problems] and has every mistake; the [Config] is
// meaningless then. The steps: the file as a whole is checked (size, UTF-8, nesting,
// YAML), and the first mistake of these ends the reading, since nothing after it can be
// judged. Then each key is read, and all mistakes are collected. Then the flags take
// their place, and last comes the one rule that needs both, in guard. [Parse] keeps
// nothing between calls, and may be called by many goroutines at once.
func Parse(file string, data []byte, lookup Lookup, overrides Overrides) (Config, error) {
	r := &reader{file: file, lookup: lookup}
	c := Config{
		Listen:         "127.0.0.1:8080",
		Store:          "sqlite:./onereply.db",
		Drain:          25 * time.Second,
		MaxGenerations: 64,
		Limits:         onereply.Limits{WaitingBytes: 4 << 20, PromptBytes: 1 << 20, MetadataBytes: 64 << 10, RingBytes: 64 << 20},
		Retention:      720 * time.Hour,
	}
	if root, ok := r.root(data); ok {
		r.config(root, &c, overrides)
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return Config{}, r.problems
	}
	return c, nil
}

// root finds the mapping that the whole file is. The order protects the parser: it gets
// no text that could exhaust memory or stack.
func (r *reader) root(data []byte) (value, bool) {
	start := place{token: &token.Token{Position: &token.Position{Line: 1, Column: 1}}}
	if len(data) > MaxBytes {
		r.report(start, "the file has more than %d bytes", MaxBytes)
		return value{}, false
	}
	if !utf8.Valid(data) {
		r.report(start, "the file is not valid UTF-8")
		return value{}, false
	}
	if at, deep := tooDeep(data); deep {
		r.report(place{token: &token.Token{Position: &at}}, "brackets are nested more than %d deep", maxDepth)
		return value{}, false
	}
	// Keys that are there twice are reported by section, all of them.
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.report(syntax(err, start), "%s", message(err))
		return value{}, false
	}
	return r.document(tree, start)
}

// document finds the one YAML document of the file. Empty ones are ignored. To read only
// the first of several would ignore the others without a word.
func (r *reader) document(tree *ast.File, start place) (value, bool) {
	var bodies []ast.Node
	for _, document := range tree.Docs {
		if document.Body != nil {
			bodies = append(bodies, document.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.report(start, "the file is empty; it needs at least bots")
		return value{}, false
	case 1:
		return value{place{token: tokenOf(bodies[0], start.token)}, bodies[0]}, true
	}
	r.report(place{token: tokenOf(bodies[1], start.token)}, "the file has several YAML documents; one is read, so remove the --- between them")
	return value{}, false
}

// syntax is the place of a mistake in the YAML itself. Some errors of the parser have no
// place; the first line has to do for these.
func syntax(err error, otherwise place) place {
	var broken yaml.Error
	if errors.As(err, &broken) && broken.GetToken() != nil {
		return place{token: broken.GetToken()}
	}
	return otherwise
}

// message is the parser's own words, without the excerpt of the file that it adds: the
// file may hold secrets. For tabs, the usual mistake, it also says the remedy.
func message(err error) string {
	text := err.Error()
	var broken yaml.Error
	if errors.As(err, &broken) {
		text = broken.GetMessage()
	}
	if strings.Contains(text, "'\t'") {
		text += "; indent with spaces, not with tabs"
	}
	return "this is not YAML: " + text
}

// config reads the keys of the file itself. It goes on after each mistake, to find the
// others. The order is that of docs/configuration.md. The keys must all be read before
// close, which takes every other key for a misspelt one.
func (r *reader) config(root value, c *Config, overrides Overrides) {
	s, ok := r.section(root)
	if !ok {
		return
	}
	s.checked("listen", &c.Listen, address)
	s.checked("node", &c.Node, nodeName)
	s.checked("store", &c.Store, storeURL)
	r.apiKeys(s, c)
	r.proxies(s, &c.TrustedProxies)
	r.tls(s, &c.TLS)
	s.checked("public_url", &c.PublicURL, baseURL)
	s.duration("drain", &c.Drain, 0)
	s.count("max_generations", &c.MaxGenerations, 1, math.MaxInt32)
	s.duration("retention", &c.Retention, time.Millisecond)
	r.limits(s, c)
	r.bots(s, c)
	s.close()
	r.override(c, overrides)
	r.guard(s, c, overrides)
}

// limits reads the budgets in bytes.
func (r *reader) limits(s *section, c *Config) {
	v, ok := s.take("limits")
	if !ok {
		return
	}
	if l, ok := r.section(v); ok {
		const most = 1 << 30
		l.bytes("waiting_bytes", &c.Limits.WaitingBytes, onereply.MinWaitingBytes, most)
		l.bytes("prompt_bytes", &c.Limits.PromptBytes, onereply.MinPromptBytes, most)
		l.bytes("metadata_bytes", &c.Limits.MetadataBytes, 1, onereply.MaxMetadataBytes)
		l.bytes("ring_bytes", &c.Limits.RingBytes, onereply.MinRingBytes, most)
		l.close()
	}
}

// override puts in the flags of the command line. The file's own value was checked
// before: a mistake in it is told even where a flag replaces it, since the next start may
// be without the flag.
func (r *reader) override(c *Config, overrides Overrides) {
	r.problems = append(r.problems, overrides.problems()...)
	put := func(text string, into *string, rule func(string) error) {
		if text != "" && rule(text) == nil {
			*into = text
		}
	}
	put(overrides.Listen, &c.Listen, address)
	put(overrides.Store, &c.Store, storeURL)
	put(overrides.Node, &c.Node, nodeName)
}

// Validate reports what is wrong with the flags themselves, whatever the file says.
func (o Overrides) Validate() error {
	if found := o.problems(); len(found) > 0 {
		return found
	}
	return nil
}

func (o Overrides) problems() (found Problems) {
	check := func(flag, text string, rule func(string) error) {
		if text == "" {
			return
		}
		if err := rule(text); err != nil {
			found = append(found, Problem{Path: flag, Message: err.Error()})
		}
	}
	check("--listen", o.Listen, address)
	check("--store", o.Store, storeURL)
	check("--node", o.Node, nodeName)
	return found
}

// guard refuses an API that other machines can reach and anybody may use. It is a mistake
// and no warning: a warning is read after somebody else has used the API.
func (r *reader) guard(s *section, c *Config, overrides Overrides) {
	if len(c.APIKeys) > 0 || Loopback(c.Listen) { // keys that can't be read count: they are mistakes of their own
		return
	}
	at := s.at("listen")
	if overrides.Listen != "" {
		at = place{path: "--listen"}
	}
	r.report(at, "%s can be reached from other machines, and there are no api_keys; add one, or listen on 127.0.0.1", c.Listen)
}

// nodeName refuses a name that is too long for logs and records. An empty name is
// allowed: the library makes one of the host's name and a random suffix.
func nodeName(text string) error {
	if len(text) > onereply.MaxNameBytes {
		return errors.New("a node's name must have at most 512 bytes")
	}
	return nil
}

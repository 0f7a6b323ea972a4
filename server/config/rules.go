package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/onereply/onereply"
)

// This file has the checks of single values. Each gets the text as it is after the
// environment was put in, and returns an error whose text continues the path of the key,
// such as "store: must be a store's URL", and says what to write instead. A check looks
// at the text only: it opens no file, asks no name server, and calls nobody. So a
// configuration can be checked on any machine with the same environment, also without a
// network.

// address refuses texts that are no host:port. An empty host means all addresses of the
// machine. The port 0 lets the system choose one.
func address(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("must be host:port, such as 127.0.0.1:8080")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("the port must be a number from 0 to 65535")
	}
	return nil
}

// Loopback reports whether an address can be reached from this machine only. Names other
// than localhost are not looked up, and count as reachable. So an address that is not
// known for certain needs keys.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// webURL refuses texts that are no http or https URL. Its errors never show the text,
// which may hold a password. Whether somebody answers there shows with the first call.
func webURL(text string) error {
	if text == "" {
		return errors.New("is empty; give a URL such as https://example.com/path")
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("must be a URL that starts with http:// or https://")
	case parsed.Hostname() == "":
		return errors.New("the URL has no host")
	case parsed.Fragment != "":
		return errors.New("the URL must have no #fragment")
	}
	return nil
}

// baseURL refuses a URL that no path can be added to.
func baseURL(text string) error {
	if strings.Contains(text, "?") {
		return errors.New("the URL must have no ?query")
	}
	return webURL(text)
}

// storeURL refuses texts that name no store, and those that would not keep messages where
// the operator thinks. Whether the store is there shows when it is opened. The names are
// those that the command opens. The last two cases are mistakes that would lose messages
// without a word: a host that SQLite does not have, and a database that ends with the
// process.
func storeURL(text string) error {
	scheme, rest, found := strings.Cut(text, ":")
	known := []string{"sqlite", "memory", "postgres", "postgresql", "redis", "rediss", "valkey", "valkeys"}
	switch {
	case !found || !slices.Contains(known, scheme):
		return errors.New("must be a store's URL: sqlite:PATH, postgres://…, redis://… or memory:")
	case scheme == "sqlite" && rest == "":
		return errors.New("sqlite: needs the path of its file, such as sqlite:./onereply.db")
	case scheme == "sqlite" && strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "///"):
		return errors.New("sqlite:// would name a host; write sqlite:PATH, such as sqlite:./onereply.db or sqlite:/var/lib/onereply.db")
	case scheme == "sqlite" && strings.HasPrefix(rest, ":memory:"):
		return errors.New("sqlite::memory: would forget acknowledged messages; give the path of a file")
	}
	return nil
}

// The length of a signing secret, by the Standard Webhooks specification. It is in bytes,
// and counts after the base64 is decoded.
const (
	minSecretBytes = 24
	maxSecretBytes = 64
)

// signingSecrets refuses texts that are no Standard Webhooks secrets. Several may stand
// there with a space between: all of them sign, while one replaces another. Its errors
// never show them. An empty text is refused, since a variable that is set to nothing
// would switch signing off.
func signingSecrets(text string) error {
	secrets := strings.Fields(text)
	if len(secrets) == 0 {
		return errors.New("is empty; give the secret, or remove the key and send unsigned")
	}
	for _, secret := range secrets {
		if err := signingSecret(secret); err != nil {
			return err
		}
	}
	return nil
}

// signingSecret refuses a secret that is no whsec_ and base64, or whose length the
// specification does not allow. Each error has the command that makes a good one.
func signingSecret(text string) error {
	encoded, ok := strings.CutPrefix(text, "whsec_")
	if !ok {
		return errors.New("must be whsec_ followed by base64; make one with: echo whsec_$(openssl rand -base64 32)")
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return errors.New("what follows whsec_ must be base64, with its padding; make one with: echo whsec_$(openssl rand -base64 32)")
	}
	if len(raw) < minSecretBytes || len(raw) > maxSecretBytes {
		return fmt.Errorf("must hold %d to %d bytes, it holds %d; make one with: echo whsec_$(openssl rand -base64 32)", minSecretBytes, maxSecretBytes, len(raw))
	}
	return nil
}

// apiKey refuses a key that is easy to guess, or can't be sent in a header. A space would
// end the key within the header.
func apiKey(text string) error {
	if len(text) < MinKeyBytes {
		return fmt.Errorf("must have at least %d bytes, it has %d; make one with: openssl rand -hex 32", MinKeyBytes, len(text))
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("must have visible ASCII characters only, and no space")
	}
	return nil
}

// fileName refuses the name of no file.
func fileName(text string) error {
	if text == "" {
		return errors.New("is empty; name a file")
	}
	return nil
}

// botName refuses a name that is too long, empty, or no text. The name is part of every
// path of the API, and the library has the same limits.
func botName(text string) error {
	switch {
	case text == "" || len(text) > onereply.MaxNameBytes:
		return fmt.Errorf("a bot's name must have 1 to %d bytes, it has %d", onereply.MaxNameBytes, len(text))
	case !utf8.ValidString(text):
		return errors.New("a bot's name must be valid UTF-8")
	case strings.ContainsRune(text, 0):
		return errors.New("a bot's name must not contain NUL")
	}
	return nil
}

// header refuses names and values that HTTP can't carry. A line break in a value would
// add a header of its own.
func header(name, text string) error {
	const symbols = "!#$%&'*+-.^_`|~"
	letter := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(symbols, c)
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !letter(c) }) {
		return errors.New("is not the name of an HTTP header")
	}
	if strings.ContainsFunc(text, func(c rune) bool { return isControl(c) && c != '\t' }) {
		return errors.New("a header must have no line break or control character")
	}
	return nil
}

// bearer refuses a key that no header can carry. Space at the ends is allowed and dropped
// later: keys are often read from files.
func bearer(text string) error {
	if strings.ContainsFunc(strings.TrimSpace(text), isControl) {
		return errors.New("must have no line break or control character")
	}
	return nil
}

// isControl takes in the line breaks.
func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// headers reads a key as a mapping of HTTP headers. Names are data, so any key is a
// header. A value may hold a key, so a refusal does not show it.
func (s *section) headers(key string, into *map[string]string) {
	v, ok := s.take(key)
	if !ok {
		return
	}
	found, ok := s.section(v)
	if !ok {
		return
	}
	*into = make(map[string]string, len(found.order))
	for _, name := range found.order {
		var text string
		if !found.text(name, &text) {
			continue
		}
		if err := header(name, text); err != nil {
			s.report(found.keys[name], "%s", err)
		}
		(*into)[name] = text
	}
}

// checked reads a key as a text that check may refuse. The text is checked as it is after
// the variables were put in.
func (s *section) checked(key string, into *string, check func(string) error) bool {
	var text string
	if !s.text(key, &text) {
		return false
	}
	if err := check(text); err != nil {
		s.report(s.at(key), "%s", err)
		return false
	}
	*into = text
	return true
}

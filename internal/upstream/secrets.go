package upstream

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// The least lengths of secrets. Shorter texts are none, and occur anywhere.
const (
	minSecretBytes   = 8
	minPasswordBytes = 4  // a password is one, however short; but an error must stay readable
	minSegmentBytes  = 20 // of a path: tokens of webhooks are longer, and names of APIs are not
)

// hide keeps texts out of errors, as far as they have least bytes.
func (e *Endpoint) hide(least int, texts ...string) {
	for _, text := range texts {
		if len(text) >= least {
			e.secrets = append(e.secrets, text)
		}
	}
}

// hideAddress keeps the secrets of an address out of errors: the password, or the user
// where that stands alone, the values of the query, and long parts of the path. Each is
// hidden in the forms in which the other program may write it.
func (e *Endpoint) hideAddress(address *url.URL) {
	user := address.User.Username()
	if password, ok := address.User.Password(); ok {
		e.hide(minPasswordBytes, written(password)...)
		e.hide(minPasswordBytes, base64.StdEncoding.EncodeToString([]byte(user+":"+password))) // as the header has it
	} else if user != "" {
		e.hide(minSecretBytes, written(user)...)
		e.hide(minSecretBytes, base64.StdEncoding.EncodeToString([]byte(user+":")))
	}
	for _, values := range address.Query() {
		for _, value := range values {
			e.hide(minSecretBytes, written(value)...)
		}
	}
	for part := range strings.SplitSeq(address.RawQuery, "&") {
		_, value, _ := strings.Cut(part, "=")
		e.hide(minSecretBytes, value)
	}
	for segment := range strings.SplitSeq(address.EscapedPath(), "/") {
		e.hide(minSegmentBytes, segment)
		if plain, err := url.PathUnescape(segment); err == nil {
			e.hide(minSegmentBytes, written(plain)...)
		}
	}
}

// written is a text in the forms that it has in a URL.
func written(text string) []string {
	return []string{text, url.QueryEscape(text), url.PathEscape(text), strings.TrimPrefix(url.UserPassword("", text).String(), ":")}
}

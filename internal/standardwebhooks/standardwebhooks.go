// Package standardwebhooks signs and verifies requests as the Standard Webhooks
// specification demands. Its one job is the three headers; it must never import anything
// else of this module.
//
// The signature covers the id, the time and the body. So a receiver knows that the body
// is genuine, that the request is not an old one that somebody recorded, and, by the id,
// whether it has seen it before.
package standardwebhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers. Their values are plain ASCII.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is how far a request's time may be from the receiver's, as the
// specification's own libraries have it.
const Tolerance = 5 * time.Minute

const (
	secretPrefix    = "whsec_"
	signatureScheme = "v1,"
	maxSignatures   = 16 // in one header; the rest is not looked at
)

// Errors of [Secrets.Verify].
var (
	ErrHeaders   = errors.New("the request lacks a usable webhook-id, webhook-timestamp or webhook-signature header")
	ErrTimestamp = errors.New("the request is too old or too new: check the clocks")
	ErrSignature = errors.New("no signature of the request fits the secret")
)

// Secrets are signing secrets. All of them sign, so that a receiver may expect
// any of them while one replaces another. The zero value signs nothing.
type Secrets struct{ keys [][]byte }

// ParseSecrets reads secrets of the form whsec_ and base64, separated by
// spaces. An empty text gives no secrets. Errors never contain a secret.
func ParseSecrets(text string) (Secrets, error) {
	var secrets Secrets
	for i, field := range strings.Fields(text) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(field, secretPrefix))
		if err != nil || len(key) == 0 {
			return Secrets{}, fmt.Errorf("signing secret %d must be %q followed by base64, such as from: openssl rand -base64 32", i+1, secretPrefix)
		}
		secrets.keys = append(secrets.keys, key)
	}
	return secrets, nil
}

// Empty reports whether there are no secrets.
func (s Secrets) Empty() bool { return len(s.keys) == 0 }

// Sign sets the headers of one try to deliver a body. The id is the same for
// each try, the time is that of this one. Without secrets there is no
// signature. An id that a header may not be able to carry must have gone
// through [EncodeID] before.
func (s Secrets) Sign(header http.Header, id string, at time.Time, body []byte) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	if s.Empty() {
		return
	}
	signatures := make([]string, len(s.keys))
	for i, key := range s.keys {
		signatures[i] = signatureScheme + base64.StdEncoding.EncodeToString(sum(key, id, timestamp, body))
	}
	header.Set(HeaderSignature, strings.Join(signatures, " "))
}

// Verify checks that the body was signed with one of the secrets, at most
// tolerance before or after now. It takes the same time for any wrong
// signature.
func (s Secrets) Verify(header http.Header, body []byte, now time.Time, tolerance time.Duration) error {
	id, timestamp := header.Get(HeaderID), header.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	signatures := strings.Fields(header.Get(HeaderSignature))
	if err != nil || id == "" || len(signatures) == 0 {
		return ErrHeaders
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return ErrTimestamp
	}
	for _, signature := range signatures[:min(len(signatures), maxSignatures)] {
		if s.fits(signature, id, timestamp, body) {
			return nil
		}
	}
	return ErrSignature
}

// fits reports whether one of the secrets made the signature. Signatures of other
// schemes are ignored: the specification may add some.
func (s Secrets) fits(signature, id, timestamp string, body []byte) bool {
	encoded, ok := strings.CutPrefix(signature, signatureScheme)
	if !ok {
		return false
	}
	given, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	for _, key := range s.keys {
		if hmac.Equal(given, sum(key, id, timestamp, body)) {
			return true
		}
	}
	return false
}

// sum is the signature of the specification: HMAC-SHA256 over id, timestamp and body,
// with dots between.
func sum(key []byte, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// EncodeID percent-encodes the characters that a header can't carry: control characters,
// all beyond ASCII, and spaces at either end. The percent sign is encoded too, so that
// no two ids become one. Other ids stay as they are.
func EncodeID(id string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		atEnd := i == 0 || i == len(id)-1
		if c < ' ' || c > '~' || c == '%' || c == ' ' && atEnd {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

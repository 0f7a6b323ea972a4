package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A grant opens one attempt of one turn to the program that answers it. That program needs
// no API key: with the grant it may seal that attempt, and do nothing else. It stands in the seal_url. It is a
// signature of the bot, the conversation, the token of the lease, which no other attempt
// has, and the time until which it is good. No node keeps the grant. Its secret is derived
// from the first API key that may seal the bot's attempts, so every node with that key can
// check the grant, and the grant ends with that key. Where no key may, the secret is derived from all keys
// together.

// A grant is base64url of: until when it is good (seconds since 1970, 8 bytes), and the
// signature.
const (
	untilBytes = 8
	grantBytes = untilBytes + sha256.Size
)

var grantText = base64.RawURLEncoding.Strict() // one text for each grant

// grantField is where the query of a call has the grant.
const grantField = "grant"

// granted is the name, in logs and audits, of a caller with a grant.
const granted = "turn"

// SealGrant is the grant for an attempt. It is "" as long as there are no keys: no call needs
// one then.
func (k *Keys) SealGrant(bot, conversation string, token int64, until time.Time) string {
	now := k.ring()
	if len(now.held) == 0 {
		return ""
	}
	content := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	signature := now.sealers(bot, time.Now())[0].sign("attempt", attempt(content, bot, conversation, token))
	return grantText.EncodeToString(append(content, signature...))
}

// opens reports until when a grant is good for an attempt.
func (k *Keys) opens(grant, bot, conversation string, token int64) (until time.Time, ok bool) {
	if len(grant) != grantText.EncodedLen(grantBytes) {
		return time.Time{}, false
	}
	decoded, err := grantText.DecodeString(grant)
	if err != nil {
		return time.Time{}, false
	}
	content, signature := decoded[:untilBytes], decoded[untilBytes:]
	good := false
	for _, s := range k.ring().sealers(bot, time.Now()) {
		good = hmac.Equal(signature, s.sign("attempt", attempt(content, bot, conversation, token))) || good
	}
	return time.Unix(int64(binary.BigEndian.Uint64(content)), 0), good
}

// attempt is what a grant signs. The length before the bot's name keeps a part of it from
// being taken for a part of the conversation's.
func attempt(until []byte, bot, conversation string, token int64) []byte {
	out := binary.BigEndian.AppendUint64(slices.Clone(until), uint64(token))
	out = binary.BigEndian.AppendUint32(out, uint32(len(bot)))
	return append(append(out, bot...), conversation...)
}

// sealers sign and check the grants of a bot; there is at least one.
func (r *ring) sealers(bot string, now time.Time) []signer {
	var found []signer
	for _, h := range r.held {
		if h.signer.secret != nil && h.may(Seal) && h.sees(bot) && !h.expired(now) {
			found = append(found, h.signer)
		}
	}
	if found == nil {
		return []signer{r.together}
	}
	return found
}

// together is the signer of all keys, whatever their order. One of several keys is not
// enough to sign with it.
func together(keys []Key) signer {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = key.Key
	}
	slices.Sort(all)
	return derive(strings.Join(slices.Compact(all), "\n"), "onereply attempts 1")
}

// checkGrant is checkCaller for a call that came with a grant instead of a key. The names are
// those of the path.
func (g guard) checkGrant(r *http.Request, grant string) (caller, error) {
	token, err := strconv.ParseInt(r.PathValue("token"), 10, 64)
	until, ok := g.keys.opens(grant, r.PathValue("bot"), r.PathValue("conversation"), token)
	switch {
	case err != nil || !ok:
		return caller{}, g.wrong.refuse(r, "a call with a grant", "The grant is for another attempt, or the API key is gone with which it was made. Do nothing that can't be undone.")
	case !time.Now().Before(until):
		return caller{}, newProblem(kindUnauthorized, "The grant has expired, and with it the attempt. Do nothing that can't be undone.")
	}
	return caller{by: granted, from: addressOf(r)}, nil
}

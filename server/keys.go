package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Right is a kind of call that a key may make. No right includes another.
type Right string

// The rights. Each line of routes.go names the one that it needs.
const (
	Read    Right = "read"    // every GET, but for the audit
	Write   Right = "write"   // messages, typing, and what a channel reports of a reply
	Operate Right = "operate" // pause, resume, replies, requeue, resend, reset, flush, names
	Seal    Right = "seal"    // seal an attempt
	Admin   Right = "admin"   // delete, read the audit, list and end sessions
)

// anyRight is needed by a call that every key may make.
const anyRight Right = "any"

// Rights returns all of them, in the order of the documentation.
func Rights() []Right { return []Right{Read, Write, Operate, Seal, Admin} }

// Key is an API key and the calls that it opens.
type Key struct {
	// Name stands for the key in logs and audits. "": the first 6 hexadecimal digits of its
	// SHA-256, from which nobody can find the key.
	Name string

	Key     string    // the secret itself
	Bots    []string  // the only bots for which it is good; nil: all
	Can     []Right   // nil: everything
	Expires time.Time // from then on it opens nothing; zero: never
	Rate    Rate      // of the messages that come with it
}

// label is the name of the key in logs and audits.
func (k Key) label() string {
	sum := sha256.Sum256([]byte(k.Key))
	return cmp.Or(k.Name, hex.EncodeToString(sum[:3]))
}

// same reports whether both open the same, under the same name. It does not compare the
// secrets.
func (k Key) same(other Key) bool {
	return k.Name == other.Name && k.Expires.Equal(other.Expires) && k.Rate == other.Rate && sameSet(k.Bots, other.Bots) && sameSet(k.Can, other.Can)
}

func sameSet[T cmp.Ordered](a, b []T) bool {
	return (a == nil) == (b == nil) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Keys are the API keys of a node. They can be replaced while it runs. Without any, the API
// is open to everybody who reaches it. A Keys may be used by many goroutines at once.
type Keys struct {
	now atomic.Pointer[ring]

	replacing sync.Mutex
}

// ring is the keys of one moment. It is never changed, only replaced.
type ring struct {
	held     []*heldKey
	together signer // for what no single key may sign
}

// heldKey is a key of a node. Of the secret it keeps a hash, and what was derived from it.
type heldKey struct {
	Key    // without the secret
	hash   [sha256.Size]byte
	signer signer        // of its sessions, and of the attempts that it may seal
	gone   chan struct{} // closed once the key is no longer good, or opens other things
}

// NewKeys makes Keys of these.
func NewKeys(keys ...Key) *Keys {
	k := &Keys{}
	k.Replace(keys...)
	return k
}

// Replace has these keys take the place of all others, at once. A key that is gone, or opens
// other things now, ends what it opened: its event streams end, and the next request of its
// sessions is refused. Nothing changes for a key that stays the same.
func (k *Keys) Replace(keys ...Key) {
	k.replacing.Lock()
	defer k.replacing.Unlock()
	before := k.held()
	after := make([]*heldKey, len(keys))
	for i, key := range keys {
		secret, hash := key.Key, sha256.Sum256([]byte(key.Key))
		key.Name, key.Key = key.label(), ""
		if at := slices.IndexFunc(before, func(h *heldKey) bool { return h.hash == hash && h.same(key) }); at >= 0 {
			after[i] = before[at]
			continue
		}
		after[i] = &heldKey{Key: key, hash: hash, signer: newSigner(secret), gone: make(chan struct{})}
	}
	k.now.Store(&ring{held: after, together: together(keys)})
	for _, h := range before {
		if !slices.Contains(after, h) {
			close(h.gone)
		}
	}
}

// ring is the keys of this moment. A nil Keys has none.
func (k *Keys) ring() *ring {
	if k != nil {
		if now := k.now.Load(); now != nil {
			return now
		}
	}
	return &ring{}
}

// held are the keys of this moment. Nobody may change the list.
func (k *Keys) held() []*heldKey { return k.ring().held }

// find returns the key that token is, also one that has expired. It compares with every
// key, and takes the same time whichever matches and however much of it does: hashing hides
// the lengths.
func (k *Keys) find(token string) (*heldKey, bool) {
	presented := sha256.Sum256([]byte(token))
	held, number := k.held(), -1
	for i, h := range held {
		number = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(presented[:], h.hash[:]), i, number)
	}
	if number < 0 {
		return nil, false
	}
	return held[number], true
}

// expired reports whether the key opens nothing any more.
func (h *heldKey) expired(now time.Time) bool { return !h.Expires.IsZero() && !now.Before(h.Expires) }

// may reports whether the key has the right. A route that names none is closed to all.
func (h *heldKey) may(right Right) bool {
	switch {
	case right == "":
		return false
	case right == anyRight || h.Can == nil:
		return true
	}
	return slices.Contains(h.Can, right)
}

// sees reports whether the key is good for a bot.
func (h *heldKey) sees(bot string) bool { return h.Bots == nil || slices.Contains(h.Bots, bot) }

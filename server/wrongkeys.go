package server

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onereply/onereply/internal/loglimit"
)

// wrongKey is the detail of a refusal.
const wrongKey = "The key is none of the configured api_keys."

// Limits of wrong keys.
const (
	wrongBurst     = 10              // at once, from one address
	wrongEvery     = 6 * time.Second // one more in each such time
	wrongAddresses = 1024            // addresses with a bucket of their own
	wrongPause     = time.Second     // before each further one is answered
)

// wrongKeys bounds how fast keys can be guessed. Each address has a leaky bucket: a wrong
// key adds to it, and it empties by itself. Once ten have come at once, or more than one
// in six seconds, each further one waits for a second before it is answered. A right key
// never waits: behind a proxy all clients have one address, and nobody there may lock out
// the others. A client that waits holds a connection, and the command bounds those. The
// memory is bounded: once wrongAddresses have a bucket, all other addresses share one. It
// may be used by many goroutines at once.
type wrongKeys struct {
	log   *slog.Logger
	lines loglimit.Limit
	count atomic.Uint64

	mu      sync.Mutex
	buckets map[netip.Prefix]bucket
}

// bucket is the part of a burst that was used up at a certain time. It is filled and
// emptied only when it is looked at, so no goroutine and no timer is needed.
type bucket struct {
	used float64
	at   time.Time
}

// sharedBucket is the bucket of all addresses that have none of their own.
var sharedBucket = netip.Prefix{}

// refuse counts a wrong key, logs it, at most one line a second, slows its sender down,
// and is the answer, with this detail. what is the request that it came with.
func (l *wrongKeys) refuse(r *http.Request, what, detail string) error {
	l.count.Add(1)
	now := time.Now()
	if n := l.lines.Add(now, 1); n > 0 {
		l.log.LogAttrs(r.Context(), slog.LevelWarn, what+" was refused: the key is wrong", slog.String("from", addressOf(r)), slog.Uint64("wrong_keys", n))
	}
	if l.exceeds(addressOf(r), now) {
		pause := time.NewTimer(wrongPause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-r.Context().Done():
		}
	}
	return newProblem(kindUnauthorized, "%s", detail)
}

// exceeds takes one wrong key in, and reports whether the address has sent too many.
func (l *wrongKeys) exceeds(address string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	network := l.bucketOf(networkOf(address), now)
	b := l.buckets[network].leak(now)
	if b.used > wrongBurst-1 {
		return true
	}
	b.used++
	l.buckets[network] = b
	return false
}

// bucketOf finds the key of a network's bucket: its own, or sharedBucket where too many
// networks have one. Empty buckets make room. It looks at all buckets only when there are
// too many, at most 1024 of them.
func (l *wrongKeys) bucketOf(network netip.Prefix, now time.Time) netip.Prefix {
	if l.buckets == nil {
		l.buckets = map[netip.Prefix]bucket{}
	}
	if _, known := l.buckets[network]; known || len(l.buckets) < wrongAddresses {
		return network
	}
	for other, b := range l.buckets {
		if b.leak(now).used == 0 {
			delete(l.buckets, other)
		}
	}
	if len(l.buckets) < wrongAddresses {
		return network
	}
	return sharedBucket
}

// leak is the bucket at a later time.
func (b bucket) leak(now time.Time) bucket {
	filled := float64(max(0, now.Sub(b.at))) / float64(wrongEvery)
	return bucket{used: max(0, b.used-filled), at: now}
}

// networkOf is the network that shares a bucket: one IPv4 address, or a /64 of IPv6,
// which is the least that a household or a machine has. Somebody with a whole /64 could
// otherwise guess from as many addresses as needed. An address that can't be read shares
// the common bucket.
func networkOf(address string) netip.Prefix {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return sharedBucket
	}
	parsed = parsed.Unmap().WithZone("")
	bits := parsed.BitLen()
	if parsed.Is6() {
		bits = 64
	}
	network, err := parsed.Prefix(bits)
	if err != nil {
		return sharedBucket
	}
	return network
}

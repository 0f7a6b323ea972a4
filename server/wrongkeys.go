package server

import (
	"math"
	"net/netip"
	"sync"
	"time"
)

// Limits of logins with a wrong key.
const (
	loginBurst     = 10              // at once, from one address
	loginEvery     = 6 * time.Second // one more in each such time
	loginAddresses = 1024            // addresses with a bucket of their own
)

// loginLimiter bounds how fast keys can be guessed. Each address has a leaky bucket: a
// login with a wrong key adds to it, and it empties by itself. Its memory is bounded:
// once loginAddresses have a bucket, all other addresses share one. So ten wrong keys may
// come at once, and then one in six seconds. An attempt with a right key is given back.
// While the bucket is full, a right key is refused too. The zero value is ready to use,
// by many goroutines at once.
type loginLimiter struct {
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

// take uses up one attempt, or returns how long to wait for one.
func (l *loginLimiter) take(address string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	network := l.bucketOf(networkOf(address), now)
	b := l.buckets[network].leak(now)
	if b.used > loginBurst-1 {
		return time.Duration((b.used - (loginBurst - 1)) * float64(loginEvery))
	}
	b.used++
	l.buckets[network] = b
	return 0
}

// giveBack undoes a take: the login succeeded. It never goes below empty: a bucket may
// have leaked since the take.
func (l *loginLimiter) giveBack(address string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	network := l.bucketOf(networkOf(address), now)
	b := l.buckets[network].leak(now)
	b.used = max(0, b.used-1)
	l.buckets[network] = b
}

// bucketOf finds the key of a network's bucket: its own, or sharedBucket where too many
// networks have one. Empty buckets make room. It looks at all buckets only when there are
// too many, at most 1024 of them.
func (l *loginLimiter) bucketOf(network netip.Prefix, now time.Time) netip.Prefix {
	if l.buckets == nil {
		l.buckets = map[netip.Prefix]bucket{}
	}
	if _, known := l.buckets[network]; known || len(l.buckets) < loginAddresses {
		return network
	}
	for other, b := range l.buckets {
		if b.leak(now).used == 0 {
			delete(l.buckets, other)
		}
	}
	if len(l.buckets) < loginAddresses {
		return network
	}
	return sharedBucket
}

// leak is the bucket at a later time.
func (b bucket) leak(now time.Time) bucket {
	filled := float64(max(0, now.Sub(b.at))) / float64(loginEvery)
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

// tooManyLogins tells the client how long to wait.
func tooManyLogins(wait time.Duration) error {
	p := newProblem(kindTooMany, "Too many logins with a wrong key came from this address.")
	p.retryAfter = int(math.Ceil(wait.Seconds()))
	return p
}

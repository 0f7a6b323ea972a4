package server

import (
	"math"
	"net/netip"
	"sync"
	"time"
)

// Limits of logins with a wrong key.
const (
	loginBurst     = 10              // at once from one address
	loginEvery     = 6 * time.Second // and then one in this time
	loginAddresses = 1024            // that are told apart
)

// attempts bounds how fast keys can be guessed. Each address has a bucket of
// attempts that fills up again by itself; a login that succeeds uses up none.
// Its memory is bounded: once too many addresses have used up something, all
// others share one bucket.
type attempts struct {
	mu      sync.Mutex
	buckets map[netip.Prefix]bucket
}

// bucket is how much of a burst was used up, and when that was so.
type bucket struct {
	used float64
	at   time.Time
}

// crowd is the bucket of those who find no place of their own.
var crowd = netip.Prefix{}

// take uses up one attempt, or tells how long to wait for one.
func (a *attempts) take(address string, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	place := a.place(networkOf(address), now)
	b := a.buckets[place].leak(now)
	if b.used > loginBurst-1 {
		return time.Duration((b.used - (loginBurst - 1)) * float64(loginEvery))
	}
	b.used++
	a.buckets[place] = b
	return 0
}

// giveBack undoes a take.
func (a *attempts) giveBack(address string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	place := a.place(networkOf(address), now)
	b := a.buckets[place].leak(now)
	b.used = max(0, b.used-1)
	a.buckets[place] = b
}

// place finds the bucket of a network, and makes room for it where that is
// possible.
func (a *attempts) place(network netip.Prefix, now time.Time) netip.Prefix {
	if a.buckets == nil {
		a.buckets = map[netip.Prefix]bucket{}
	}
	if _, known := a.buckets[network]; known || len(a.buckets) < loginAddresses {
		return network
	}
	for other, b := range a.buckets {
		if b.leak(now).used == 0 {
			delete(a.buckets, other)
		}
	}
	if len(a.buckets) < loginAddresses {
		return network
	}
	return crowd
}

// leak is the bucket as it is now.
func (b bucket) leak(now time.Time) bucket {
	filled := float64(max(0, now.Sub(b.at))) / float64(loginEvery)
	return bucket{used: max(0, b.used-filled), at: now}
}

// networkOf is whom an address counts for: of IPv6, a household or a machine
// has a whole /64.
func networkOf(address string) netip.Prefix {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return crowd
	}
	parsed = parsed.Unmap().WithZone("")
	bits := parsed.BitLen()
	if parsed.Is6() {
		bits = 64
	}
	network, err := parsed.Prefix(bits)
	if err != nil {
		return crowd
	}
	return network
}

func tooManyLogins(wait time.Duration) error {
	p := newProblem(kindTooMany, "Too many logins with a wrong key came from this address.")
	p.retryAfter = int(math.Ceil(wait.Seconds()))
	return p
}

package server

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"
)

// Rate bounds how many messages come in: PerSecond in the long run, and Burst at once. The
// zero value is no bound.
type Rate struct {
	PerSecond float64
	Burst     int // at least 1; 0: PerSecond, rounded up
}

// BotRates are the bounds of a bot.
type BotRates struct {
	Bot          Rate // of all its conversations together
	Conversation Rate // of each one
}

// maxBuckets bounds the buckets of keys, bots and conversations that are in use at once. Names
// that come later share one bucket, so that nobody can fill the memory.
const maxBuckets = 100_000

// rates counts messages against the bounds of their key, their bot and their conversation, and
// wrong keys against that of their address.
// Each has a bucket, which a message takes from and time fills up again; one that is full is
// dropped. A node counts by itself. It may be used by many goroutines at once.
type rates struct {
	most int // buckets at once; 0: maxBuckets

	mu      sync.Mutex
	buckets map[bucketName]time.Time // when each is full again
	sweepAt int                      // number of buckets at which the full ones are dropped
}

// bucketName names a bucket; fields that do not apply are zero. The zero name is that of the
// bucket that names share.
type bucketName struct {
	key, bot, conversation string
	address                netip.Prefix
}

// demand is one bucket that a message takes from.
type demand struct {
	name  bucketName
	rate  Rate
	whose string // for people
}

// limit is how many buckets are in use at once; names that come later share one.
func (r *rates) limit() int { return cmp.Or(r.most, maxBuckets) }

// take lets a message in, or says how long to wait. A message that any bound refuses takes
// from no bucket.
func (r *rates) take(now time.Time, all []demand) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range all {
		if wait := r.full(d, now).Sub(now) + d.each() - d.burst(); wait > 0 {
			p := newProblem(kindTooMany, "%s takes %g messages a second, and %d at once. Nothing was stored: send it again after Retry-After.", d.whose, d.rate.PerSecond, d.most())
			p.retryAfter = int(math.Ceil(wait.Seconds()))
			return p
		}
	}
	for _, d := range all {
		r.buckets[r.place(d.name, now)] = r.full(d, now).Add(d.each())
	}
	return nil
}

// full is when the bucket is full again, now at the earliest.
func (r *rates) full(d demand, now time.Time) time.Time {
	at, ok := r.buckets[d.name]
	if !ok && len(r.buckets) >= r.limit() {
		at = r.buckets[bucketName{}]
	}
	if at.Before(now) {
		return now
	}
	return at
}

// place is where the bucket of a name is, or goes: its own place, or the shared one where
// there are too many. It makes room first, once for many.
func (r *rates) place(name bucketName, now time.Time) bucketName {
	if r.buckets == nil {
		r.buckets = map[bucketName]time.Time{}
	}
	if _, ok := r.buckets[name]; ok {
		return name
	}
	if len(r.buckets) >= max(r.sweepAt, 1024) {
		for other, at := range r.buckets {
			if !at.After(now) {
				delete(r.buckets, other)
			}
		}
		r.sweepAt = min(2*len(r.buckets), r.limit())
	}
	if len(r.buckets) >= r.limit() {
		return bucketName{}
	}
	return name
}

// each is how long one message takes to be filled up again.
func (d demand) each() time.Duration {
	return time.Duration(float64(time.Second) / d.rate.PerSecond)
}

// burst is how long an empty bucket takes to fill up, at most the longest time.Duration.
func (d demand) burst() time.Duration {
	if each := d.each(); each > 0 && time.Duration(d.most()) > math.MaxInt64/each {
		return math.MaxInt64
	}
	return time.Duration(d.most()) * d.each()
}

// most is how many messages may come at once.
func (d demand) most() int {
	if d.rate.Burst > 0 {
		return d.rate.Burst
	}
	return int(max(1, math.Ceil(d.rate.PerSecond)))
}

// checkRate counts a message against the bounds that it falls under.
func (s *Server) checkRate(who caller, bot, conversation string) error {
	var all []demand
	add := func(rate Rate, name bucketName, format string, args ...any) {
		if rate.PerSecond > 0 {
			all = append(all, demand{name, rate, fmt.Sprintf(format, args...)})
		}
	}
	if who.key != nil {
		add(who.key.Rate, bucketName{key: who.key.Name}, "The key %s", who.key.Name)
	}
	of := s.settings.Load().Rates[bot]
	add(of.Bot, bucketName{bot: bot}, "This bot")
	add(of.Conversation, bucketName{bot: bot, conversation: conversation}, "This conversation")
	if all == nil {
		return nil
	}
	return s.rates.take(time.Now(), all)
}

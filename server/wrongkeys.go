package server

import (
	"log/slog"
	"net/http"
	"net/netip"
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

// wrongKeys bounds how fast keys can be guessed, for each address. Once ten have come at
// once, or more than one in six seconds, each further one waits for a second before it is
// answered. A right key never waits: behind a proxy all clients have one address, and nobody there may lock out
// the others. A client that waits holds a connection, and the command bounds those. The
// memory is bounded: once wrongAddresses have a bucket, all other addresses share one. It
// may be used by many goroutines at once.
type wrongKeys struct {
	log   *slog.Logger
	lines loglimit.Limit
	count atomic.Uint64

	rates rates // each address has a bucket, of which a wrong key takes
}

func newWrongKeys(log *slog.Logger) *wrongKeys {
	return &wrongKeys{log: log, rates: rates{most: wrongAddresses}}
}

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
	return l.rates.take(now, []demand{{name: bucketName{address: networkOf(address)}, rate: Rate{PerSecond: 1 / wrongEvery.Seconds(), Burst: wrongBurst}}}) != nil
}

// networkOf is the network that shares a bucket: one IPv4 address, or a /64 of IPv6,
// which is the least that a household or a machine has. Somebody with a whole /64 could
// otherwise guess from as many addresses as needed. An address that can't be read shares
// the common bucket.
func networkOf(address string) netip.Prefix {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	parsed = parsed.Unmap().WithZone("")
	bits := parsed.BitLen()
	if parsed.Is6() {
		bits = 64
	}
	network, err := parsed.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

package fleet

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/onereply/onereply/turn"
)

// Bounds of revocations. On this node a program can revoke only what it gave out, but
// anybody who reaches the store's server can send a broadcast.
const (
	maxRevoked      = 10_000 // ids that a node keeps
	maxRevokedTold  = 500    // of them, that are good the longest, in each report
	maxRevokedBytes = 64     // of an id
	maxRevokedHours = 7 * 24 // until an id is forgotten, at the latest
)

// revocations are the ids of tokens that were revoked, each until its token would have ended
// anyway. Each node sends those that are good the longest with each of its reports. So a
// lost broadcast does no harm, and a node that starts learns of them from any other. They
// are in memory only: they end with the last node. It may be used by many goroutines at once.
type revocations struct {
	mu    sync.Mutex
	until map[string]turn.Time
}

// add keeps an id, within the bounds. At maxRevoked it makes room: by those that have ended
// anyway, else by those that end first.
func (r *revocations) add(now turn.Time, id string, until turn.Time) (isNew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.until[id]; known || len(id) > maxRevokedBytes || until <= now {
		return false
	}
	if r.until == nil {
		r.until = map[string]turn.Time{}
	}
	if len(r.until) >= maxRevoked {
		r.makeRoom(now)
	}
	r.until[id] = min(until, now+maxRevokedHours*3_600_000)
	return true
}

// makeRoom is called once for many ids, since it looks at all. The caller holds the lock.
func (r *revocations) makeRoom(now turn.Time) {
	maps.DeleteFunc(r.until, func(_ string, until turn.Time) bool { return until <= now })
	r.until = r.last(maxRevoked - maxRevoked/10)
}

// last are the ids that are kept the longest. The caller holds the lock.
func (r *revocations) last(most int) map[string]turn.Time {
	if len(r.until) <= most {
		return maps.Clone(r.until)
	}
	ids := slices.SortedFunc(maps.Keys(r.until), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.until[b], r.until[a]), cmp.Compare(a, b))
	})
	last := make(map[string]turn.Time, most)
	for _, id := range ids[:most] {
		last[id] = r.until[id]
	}
	return last
}

// told are the ids of a report; nil where there are none.
func (r *revocations) told(now turn.Time) map[string]turn.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.until, func(_ string, until turn.Time) bool { return until <= now })
	if len(r.until) == 0 {
		return nil
	}
	return r.last(maxRevokedTold)
}

// Revoke makes an id known, here at once and on other nodes as soon as they hear of it, as
// revoked until a time at which it would end anyway.
func (f *Fleet) Revoke(id string, until turn.Time) {
	if f.revoked.add(f.options.Now(), id, until) {
		signal(f.tellNow)
	}
}

// Revoked reports whether this node knows an id as revoked, still.
func (f *Fleet) Revoked(id string) bool {
	f.revoked.mu.Lock()
	defer f.revoked.mu.Unlock()
	return f.revoked.until[id] > f.options.Now()
}

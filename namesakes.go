package onereply

import (
	"maps"
	"time"
)

// namesakes are other nodes that run under this node's name.
type namesakes map[string]*namesake // by life

type namesake struct {
	since time.Time // first heard
	heard time.Time // last
	told  bool
}

// overlapAllowed is how long a node and the one that replaces it may run side by side.
const overlapAllowed = 2 * reportEvery

// meets takes in what a node tells of itself, and reports whether that is one that
// somebody should give another name.
func (n namesakes) meets(now time.Time, r report) bool {
	if r.State != nodeReady {
		delete(n, r.Life) // it leaves, as one that is replaced does
		return false
	}
	known := n[r.Life]
	if known == nil {
		if len(n) >= maxNamesakes {
			maps.DeleteFunc(n, func(_ string, other *namesake) bool { return now.Sub(other.heard) > silentAfter })
		}
		if len(n) >= maxNamesakes {
			return false
		}
		known = &namesake{since: now}
		n[r.Life] = known
	}
	known.heard = now
	if known.told || now.Sub(known.since) < overlapAllowed {
		return false
	}
	known.told = true
	return true
}

// maxNamesakes bounds what is remembered of them.
const maxNamesakes = 64

// meet warns, once, of another node with this node's name.
func (p *peers) meet(r report) {
	if r.Node != p.app.options.Node || !p.namesakes.meets(time.Now(), r) {
		return
	}
	p.app.log.Warn("another node runs under this node's name: leases, logs and the overview can't tell them apart. "+
		"Give each node a name of its own (node: in the configuration, --node), or none, for the host's name and a random suffix",
		"node", r.Node, "life", p.life, "other_life", r.Life, "other_started", r.Started.Go())
}

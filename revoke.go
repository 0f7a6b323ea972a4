package onereply

import (
	"time"

	"github.com/onereply/onereply/turn"
)

// Revoke makes an id known as revoked, to this node at once, and within moments to all nodes
// that share the store and can hear each other through it (PostgreSQL with hints, Redis). It
// is for programs that give out tokens which no node keeps, such as the sessions of the
// console: the id names one, in at most 64 bytes, and until is when it would end anyway,
// within seven days. A node keeps 10,000 ids in memory, and tells the 500 that end last to
// others, also to those that start later. They are gone once no node is left.
func (a *App) Revoke(id string, until time.Time) { a.fleet.Revoke(id, turn.Time(until.UnixMilli())) }

// Revoked reports whether this node knows an id as revoked.
func (a *App) Revoked(id string) bool { return a.fleet.Revoked(id) }

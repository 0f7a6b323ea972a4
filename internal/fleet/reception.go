package fleet

import (
	"context"
	"time"

	"github.com/onereply/onereply/store"
)

// reception is whether this node's own broadcasts come back to it, where the store can
// tell. If they do, receiving works. If they do not, this node does not hear the others
// either, although the store answers and everything else seems well: an operator must be
// told, because nothing else shows it.
type reception struct {
	since time.Time // the first broadcast since one last came back; zero: none is under way
	deaf  bool      // it was logged
}

// deafAfter is how long a broadcast may take to come back: 15 s, which is three reports.
// checkReception runs with each report, so the log tells it up to 5 s later.
const deafAfter = silentAfter

// said notes a broadcast that the store took. While an earlier one is still awaited it
// changes nothing: the oldest one decides how long this node has heard nothing.
func (h *reception) said(now time.Time) {
	if h.since.IsZero() {
		h.since = now
	}
}

// changed takes when a broadcast last came back, and reports whether the node has
// become deaf, or hears again.
func (h *reception) changed(now, echoed time.Time) bool {
	if !h.since.IsZero() && !echoed.Before(h.since) {
		h.since = time.Time{}
		if h.deaf {
			h.deaf = false
			return true
		}
	}
	if h.deaf || h.since.IsZero() || now.Sub(h.since) <= deafAfter {
		return false
	}
	h.deaf = true
	return true
}

// storeLimit is how long the store may take to answer before it counts as away.
const storeLimit = time.Second

// checkReception logs, once, that this node does not hear itself, and once that it does
// again. While the store is away that is no news, and what was said then never comes
// back.
func (f *Fleet) checkReception(ctx context.Context) {
	echoer, ok := f.out.(store.Echoer)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	if _, err := f.store.Now(ctx); err != nil {
		f.reception.since = time.Time{}
		return
	}
	if !f.reception.changed(time.Now(), echoer.Echoed()) {
		return
	}
	if f.reception.deaf {
		f.log.Warn("this node does not hear what nodes tell each other through the store: it learns of newer messages and pauses late, "+
			"when it renews its lease, and event streams show nothing of other nodes. A transaction-pooling proxy between here and PostgreSQL "+
			"does that (connect past it, or put hints=off into the URL), a Redis user without a right to the channels, or a network that forgets idle connections",
			"not_heard_for", deafAfter)
		return
	}
	f.log.Info("this node hears what nodes tell each other again")
}

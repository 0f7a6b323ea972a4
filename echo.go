package onereply

import (
	"context"
	"time"

	"github.com/onereply/onereply/store"
)

// echo is whether this node hears what it says itself, where the store can tell: who
// does not can't hear the others either.
type echo struct {
	said time.Time // the first time since something last came back; zero: nothing is under way
	deaf bool      // it was told
}

// deafAfter is how long something that was said may take to come back.
const deafAfter = silentAfter

// spoke notes that something was said.
func (e *echo) spoke(now time.Time) {
	if e.said.IsZero() {
		e.said = now
	}
}

// changed reports whether the node has become deaf, or hears again.
func (e *echo) changed(now, heard time.Time) bool {
	if !e.said.IsZero() && !heard.Before(e.said) {
		e.said = time.Time{}
		if e.deaf {
			e.deaf = false
			return true
		}
	}
	if e.deaf || e.said.IsZero() || now.Sub(e.said) <= deafAfter {
		return false
	}
	e.deaf = true
	return true
}

// listens tells, once, when this node stops to hear itself, and when it does again. While
// the store is out of reach that is no news, and what was said then never comes back:
// a store may have taken note of it all the same.
func (p *peers) listens(ctx context.Context) {
	echoer, ok := p.out.(store.Echoer)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	if _, err := p.app.store.Now(ctx); err != nil {
		p.echo.said = time.Time{}
		return
	}
	if !p.echo.changed(time.Now(), echoer.Echoed()) {
		return
	}
	if p.echo.deaf {
		p.app.log.Warn("this node does not hear what nodes tell each other through the store: it learns of newer messages and pauses late, "+
			"when it renews its lease, and event streams show nothing of other nodes. A transaction-pooling proxy between here and PostgreSQL "+
			"does that (connect past it, or put hints=off into the URL), a Redis user without a right to the channels, or a network that forgets idle connections",
			"not_heard_for", deafAfter)
		return
	}
	p.app.log.Info("this node hears what nodes tell each other again")
}

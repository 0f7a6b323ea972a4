package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"time"
)

// caller is the sender of a request. Audited calls record by and from, so that an operator
// can find the key and the machine.
type caller struct {
	by   string   // the name of the key
	from string   // the client's address
	key  *heldKey // nil: the call needs none, or there are none

	session string // the id of the session, "": there is none
}

// anonymousLabel stands for the name of a key in calls that need none.
const anonymousLabel = "anonymous"

// anonymous is the caller of a route that asks for no key. Where there are no keys,
// audits name this label and the address.
func anonymous(r *http.Request) caller { return caller{by: anonymousLabel, from: addressOf(r)} }

// addressOf is the client's address: that of the other end of the connection or, behind a
// trusted proxy, the one that [clientOf] found and that ServeHTTP put in its place.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// check refuses a caller who lacks the right of the route, or whose key is for some bots
// only where the route is about all of them.
func (c caller) check(t *route) error {
	switch {
	case c.key == nil:
		return nil
	case !c.key.may(t.needs):
		return errNoRight(c, t.needs)
	case t.allBots && c.key.Bots != nil:
		return errNotForAll(c)
	}
	return nil
}

// checkBot refuses a bot for which the key is not good, whether or not there is such a bot.
func (c caller) checkBot(bot string) error {
	if c.key != nil && !c.key.sees(bot) {
		return errOtherBot(c, bot)
	}
	return nil
}

// sees reports whether the caller may see events of a bot. Everybody may see those that
// belong to no bot.
func (c caller) sees(bot string) bool { return bot == "" || c.key == nil || c.key.sees(bot) }

// bots selects the bots of a list over several of them: the one that was asked for, or those
// that the caller may see. Both are empty where all are meant.
func (c caller) bots(asked string) (one string, some []string) {
	switch {
	case asked != "" || c.key == nil || c.key.Bots == nil:
		return asked, nil
	case len(c.key.Bots) == 1:
		return c.key.Bots[0], nil
	}
	return "", slices.Clone(c.key.Bots)
}

// ending returns when an event stream of the caller has to end: gone is closed, or the
// timer fires. The caller of ending stops it. A nil channel never ends anything.
func (c caller) ending(now time.Time) (gone <-chan struct{}, expired <-chan time.Time, stop func()) {
	if c.key == nil {
		return nil, nil, func() {}
	}
	if c.key.Expires.IsZero() {
		return c.key.gone, nil, func() {}
	}
	timer := time.NewTimer(c.key.Expires.Sub(now))
	return c.key.gone, timer.C, func() { timer.Stop() }
}

type callerKey struct{}

// withCaller hands the caller to a handler that needs to know it.
func withCaller(r *http.Request, c caller) *http.Request {
	if c.key == nil {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// callerOf is the caller of a request that passed the guard. Without a key it may do
// everything that reaches a handler.
func callerOf(r *http.Request) caller {
	if c, ok := r.Context().Value(callerKey{}).(caller); ok {
		return c
	}
	return anonymous(r)
}

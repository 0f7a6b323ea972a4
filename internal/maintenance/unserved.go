package maintenance

import (
	"maps"
	"slices"
	"time"
)

// unservedAfter is how long a timer may be due before it counts as one that no node
// takes: each node looks several times a second, and a claim moves it ahead of now.
const unservedAfter = 2 * time.Minute

// Unserved is the conversations of a bot that wait for a node, and that none takes. It
// is a hint, and no finding: nothing is wrong with what is stored.
type Unserved struct {
	Bot           string    `json:"bot"`
	Conversations int       `json:"unserved"`
	Since         time.Time `json:"since"` // the earliest that is due
	Unknown       bool      `json:"-"`     // the configuration does not have the bot; else nobody took them for two minutes
}

// unserved counts them by bot.
type unserved map[string]*Unserved

// see takes in a conversation that was read. Without the names of the bots only a
// store that nodes can have open meanwhile says something.
func (u unserved) see(d *Doctor, p *patient) {
	if p.unreadable || p.Timer == 0 {
		return
	}
	unknown := d.Bots != nil && !slices.Contains(d.Bots, p.Key.Bot)
	waits := d.Bots == nil && !d.Store.Guarantees().Exclusive && p.state.now.Sub(p.Timer) > unservedAfter
	if !unknown && !waits {
		return
	}
	at := p.Timer.Go()
	found := u[p.Key.Bot]
	if found == nil {
		found = &Unserved{Bot: p.Key.Bot, Since: at, Unknown: unknown}
		u[p.Key.Bot] = found
	}
	found.Conversations++
	if at.Before(found.Since) {
		found.Since = at
	}
}

// tell tells of each bot, by name.
func (u unserved) tell(f func(Unserved)) {
	if f == nil {
		return
	}
	for _, bot := range slices.Sorted(maps.Keys(u)) {
		f(*u[bot])
	}
}

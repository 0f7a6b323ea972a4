package maintenance

import (
	"maps"
	"slices"
	"time"
)

// unservedAfter is how long a timer may be due before it counts as one that no node
// takes: each node looks several times a second, and a claim moves it ahead of now.
const unservedAfter = 2 * time.Minute

// Unserved counts the conversations of a bot that wait for a node while no node takes
// them: the configuration lacks the bot, or no node runs. It is a hint and no finding,
// since nothing is wrong with what is stored.
type Unserved struct {
	Bot           string    `json:"bot"`
	Conversations int       `json:"unserved"`
	Since         time.Time `json:"since"` // the earliest that is due
	Unknown       bool      `json:"-"`     // the configuration does not have the bot; else nobody took them for two minutes
}

// unserved counts them by bot, while the doctor sweeps.
type unserved map[string]*Unserved

// count takes in a conversation that was read. If the names of the bots are known, each
// timer of another bot counts at once, since no node will take it. If they are not, only
// a timer that was due for long tells that nobody serves the bot, and that only in a
// store that nodes can have open meanwhile: in any other no node runs, and every timer
// becomes overdue.
func (u unserved) count(d *Doctor, p *patient) {
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

// report calls f for each bot, in the order of their names.
func (u unserved) report(f func(Unserved)) {
	if f == nil {
		return
	}
	for _, bot := range slices.Sorted(maps.Keys(u)) {
		f(*u[bot])
	}
}

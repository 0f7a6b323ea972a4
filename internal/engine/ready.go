package engine

import "slices"

// ready is who waits for a generation, and how many run. Bots take turns, and
// within a bot whoever was due first goes first. Each bot has a share that no
// other can use up, so a slow model holds up nobody else: with a limit of L and
// B bots every bot is sure of max(1, L/2B), and the rest is for all.
type ready struct {
	limit int
	share int
	used  int
	names []string // in the order in which they are served
	next  int
	bots  map[string]*share
}

type share struct {
	used    int
	waiting []*conversation
}

func newReady(names []string, limit int) ready {
	slices.Sort(names)
	r := ready{limit: max(limit, 1), names: names, bots: map[string]*share{}}
	for _, name := range names {
		r.bots[name] = &share{}
	}
	r.share = max(1, r.limit/(2*max(1, len(names))))
	return r
}

func (r *ready) push(c *conversation) {
	b := r.bots[c.key.Bot]
	b.waiting = append(b.waiting, c)
}

// pop gives the next conversation that may generate, and counts it as running.
func (r *ready) pop() *conversation {
	for range r.names {
		b := r.bots[r.names[r.next]]
		r.next = (r.next + 1) % len(r.names)
		if len(b.waiting) > 0 && r.allows(b) {
			c := b.waiting[0]
			b.waiting[0] = nil
			b.waiting = b.waiting[1:]
			b.used++
			r.used++
			return c
		}
	}
	return nil
}

// allows reports whether a bot may run one more: within its share always, and
// beyond it where that leaves every other bot its own.
func (r *ready) allows(b *share) bool {
	if r.used >= r.limit {
		return false
	}
	if b.used < r.share {
		return true
	}
	reserved := 0
	for _, other := range r.bots {
		if other != b {
			reserved += max(0, r.share-other.used)
		}
	}
	return r.used+reserved < r.limit
}

func (r *ready) release(bot string) {
	r.bots[bot].used--
	r.used--
}

// free is how many more could run.
func (r *ready) free() int { return r.limit - r.used - r.waiting() }

func (r *ready) waiting() int {
	count := 0
	for _, b := range r.bots {
		count += len(b.waiting)
	}
	return count
}

package engine

import (
	"container/heap"
	"slices"

	"github.com/onereply/onereply/turn"
)

// ready holds the conversations that wait for a slot, and counts the slots in use.
// Bots take turns; within a bot the conversation that was due first goes first. Each bot has a share that no
// other can use up, so a slow model holds up nobody else: with a limit of L and
// B bots every bot is sure of max(1, L/2B), and the rest is for all.
type ready struct {
	limit int // generations at once, of all bots
	share int // of them that each bot is sure of
	used  int
	bots  map[string]*share

	names []string // in the order in which they are served
	next  int      // whose turn it is
	count uint64   // of those that ever waited
}

// share is what one bot uses, and which of its conversations wait.
type share struct {
	used    int
	waiting queue
}

// queue is a heap of waiting conversations, by due time, then by order of arrival.
type queue []waiter

type waiter struct {
	due   turn.Time
	order uint64
	*conversation
}

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].due != q[j].due {
		return q[i].due < q[j].due
	}
	return q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(waiter)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = waiter{}
	*q = old[:len(old)-1]
	return last
}

// newReady shares slots out among bots. The order of the names does not depend on that
// of a map.
func newReady(names []string, limit int) ready {
	slices.Sort(names)
	r := ready{limit: max(limit, 1), names: names, bots: map[string]*share{}}
	for _, name := range names {
		r.bots[name] = &share{}
	}
	r.share = max(1, r.limit/(2*max(1, len(names))))
	return r
}

// push has a conversation wait. Those that were due at the same time keep their order.
func (r *ready) push(c *conversation, due turn.Time) {
	r.count++
	heap.Push(&r.bots[c.key.Bot].waiting, waiter{due: due, order: r.count, conversation: c})
}

// pop gives the next conversation that may generate, and counts it as running.
func (r *ready) pop() *conversation {
	for range r.names {
		b := r.bots[r.names[r.next]]
		r.next = (r.next + 1) % len(r.names)
		if len(b.waiting) > 0 && r.allows(b) {
			c := heap.Pop(&b.waiting).(waiter).conversation
			r.take(c.key.Bot)
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

// take counts one more of a bot as running.
func (r *ready) take(bot string) {
	r.bots[bot].used++
	r.used++
}

// release gives a slot of a bot back.
func (r *ready) release(bot string) {
	r.bots[bot].used--
	r.used--
}

// free is how many more could run.
func (r *ready) free() int { return r.limit - r.used - r.waiting() }

// room returns the bots that could use more slots than their conversations here use and
// wait for. count is how many conversations may be claimed, whichever of these bots they
// belong to.
func (r *ready) room() (bots []string, count int) {
	free := r.free()
	pool := r.limit // what no bot has reserved or asks for
	for _, b := range r.bots {
		pool -= max(r.share, b.used+len(b.waiting))
	}
	for _, name := range r.names {
		b := r.bots[name]
		more := min(free, max(0, r.share-b.used-len(b.waiting))+max(0, pool))
		if more <= 0 {
			continue
		}
		if bots = append(bots, name); len(bots) == 1 || more < count {
			count = more
		}
	}
	return bots, count
}

// waiting is how many wait, of all bots.
func (r *ready) waiting() int {
	count := 0
	for _, b := range r.bots {
		count += len(b.waiting)
	}
	return count
}

package simulate

import (
	"container/heap"
	"time"

	"github.com/onereply/onereply/turn"
)

// timeline is virtual time, and what will happen in it.
type timeline struct {
	now    turn.Time
	queue  events
	serial uint64
}

// step lets the next thing happen.
func (l *timeline) step() {
	next := heap.Pop(&l.queue).(*happening)
	l.now = next.at
	next.do()
}

// happening is something that will happen.
type happening struct {
	at     turn.Time
	serial uint64
	do     func()
}

// at has f done at a time, after what was planned for that time before.
func (l *timeline) at(t turn.Time, f func()) {
	l.serial++
	heap.Push(&l.queue, &happening{at: max(t, l.now), serial: l.serial, do: f})
}

func (l *timeline) after(d time.Duration, f func()) { l.at(l.now.Add(d), f) }

// events is the queue, by time and then by the order of planning.
type events []*happening

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*happening)) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].serial < e[j].serial
}
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*e = old[:len(old)-1]
	return last
}

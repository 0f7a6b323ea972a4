package memory

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Claim implements [store.Store]. It takes the timers out of the heap and arms each
// again, hold after now. If the node that claimed one dies, the timer is due again
// then. Records of a newer schema are left alone: a node that knows that schema
// can act on them.
func (s *Store) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("memory: claim timers: %w", err)
	}
	defer s.mu.Unlock()
	due := s.timers.take(now, limit, func(key store.Key) bool {
		return (len(bots) == 0 || slices.Contains(bots, key.Bot)) && s.conversations[key].record.Schema <= turn.Schema
	})
	for _, timer := range due {
		s.timers.set(timer.Key, now.Add(hold))
	}
	return due, nil
}

// Due implements [store.Store]. A heap is in order at its top only, so the timers are
// taken out and armed again for the same time. Nothing is seen of that from outside,
// because the lock is held.
func (s *Store) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("memory: due timers: %w", err)
	}
	defer s.mu.Unlock()
	due := s.timers.take(until, limit, func(key store.Key) bool {
		return len(bots) == 0 || slices.Contains(bots, key.Bot)
	})
	for _, timer := range due {
		s.timers.set(timer.Key, timer.At)
	}
	return due, nil
}

// timers is the timer namespace: at most one for each conversation, found by
// key and, through a heap, by time. Both hold the same pointers, and set and clear
// are the only functions that change either, so both always hold the same timers.
type timers struct {
	byKey  map[store.Key]*armed
	byTime timerHeap
}

// armed is one timer and its place in the heap. Without the place, clearing a timer
// would have to search the whole heap, and most commits clear one.
type armed struct {
	store.Timer
	place int
}

func newTimers() timers { return timers{byKey: make(map[store.Key]*armed)} }

// at returns when the timer of a conversation is due, 0 if it has none.
func (t *timers) at(key store.Key) turn.Time {
	if timer := t.byKey[key]; timer != nil {
		return timer.At
	}
	return 0
}

// set arms the timer of a conversation, anew or for the first time; a zero
// time clears it.
func (t *timers) set(key store.Key, at turn.Time) {
	t.clear(key)
	if at == 0 {
		return
	}
	timer := &armed{Timer: store.Timer{Key: key, At: at}}
	t.byKey[key] = timer
	heap.Push(&t.byTime, timer)
}

// clear removes the timer of a conversation. Without one it does nothing.
func (t *timers) clear(key store.Key) {
	if timer := t.byKey[key]; timer != nil {
		heap.Remove(&t.byTime, timer.place)
		delete(t.byKey, key)
	}
}

// take removes and returns the timers that are due and wanted, earliest first, at most
// limit. The others that it met on the way are put back at the end: they must neither
// count towards the limit nor hide those behind them. The caller arms those again that it
// wants to keep.
func (t *timers) take(until turn.Time, limit int, wanted func(store.Key) bool) []store.Timer {
	var due, others []store.Timer
	for len(due) < limit && len(t.byTime) > 0 && t.byTime[0].At <= until {
		timer := t.byTime[0].Timer
		t.clear(timer.Key)
		if wanted(timer.Key) {
			due = append(due, timer)
		} else {
			others = append(others, timer)
		}
	}
	for _, timer := range others {
		t.set(timer.Key, timer.At)
	}
	return due
}

// timerHeap orders timers by time, then key, for container/heap.
type timerHeap []*armed

// Len implements [heap.Interface].
func (h timerHeap) Len() int { return len(h) }

// Less orders by key where times are equal: so claims have one right answer, with which
// other stores can be compared.
func (h timerHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].At, h[j].At), h[i].Key.Compare(h[j].Key)) < 0
}

// Swap keeps each timer's place true; heap.Remove is called with it.
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push appends; heap.Push then moves the timer up to its place.
func (h *timerHeap) Push(x any) {
	timer := x.(*armed)
	timer.place = len(*h)
	*h = append(*h, timer)
}

// Pop removes the last one, to which heap.Pop and heap.Remove have moved the timer.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	timer := (*h)[last]
	(*h)[last] = nil // for the garbage collector
	*h = (*h)[:last]
	return timer
}

package node

import (
	"sync"

	"github.com/onereply/onereply/internal/engine"
)

// maxReads is how many records are read at once.
const maxReads = 64

// reads are those that wait, in the order in which they were asked for: after a
// restart whoever was due first is read first, and so answered first.
type reads struct {
	mu      sync.Mutex
	waiting []engine.Load
	running int
}

// add queues a read, and reports whether one more goroutine is to work on them.
func (r *reads) add(o engine.Load) (start bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, o)
	if r.running == maxReads {
		return false
	}
	r.running++
	return true
}

// next takes the first, or ends the goroutine that asks.
func (r *reads) next() (o engine.Load, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.waiting = nil // its memory: there may have been thousands
		r.running--
		return engine.Load{}, false
	}
	o = r.waiting[0]
	r.waiting[0] = engine.Load{}
	r.waiting = r.waiting[1:]
	return o, true
}

// queueLoad has a record read.
func (n *Node) queueLoad(o engine.Load) {
	if !n.reads.add(o) {
		return
	}
	n.goroutines.Go(func() {
		for o, ok := n.reads.next(); ok; o, ok = n.reads.next() {
			n.load(o)
		}
	})
}

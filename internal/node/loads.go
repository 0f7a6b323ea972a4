package node

import (
	"sync"

	"github.com/onereply/onereply/internal/engine"
)

// maxLoads is how many conversations are read at once. After a restart there may be
// thousands to read: the store gets no more at a time than it can serve well.
const maxLoads = 64

// loads holds the conversations that wait to be read, first come first served. The engine
// asks in the order of their due times, so the conversation that has waited longest is
// read, and answered, first.
type loads struct {
	mu      sync.Mutex
	waiting []engine.Load
	readers int // goroutines that take from waiting
}

// add queues a read, and reports whether the caller must start a reader for it. There
// are never more than maxLoads.
func (l *loads) add(o engine.Load) (start bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, o)
	if l.readers == maxLoads {
		return false
	}
	l.readers++
	return true
}

// next takes the first. Where nothing waits, the reader that asks must end.
func (l *loads) next() (o engine.Load, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.waiting = nil // its memory: there may have been thousands
		l.readers--
		return engine.Load{}, false
	}
	o = l.waiting[0]
	l.waiting[0] = engine.Load{} // its memory
	l.waiting = l.waiting[1:]
	return o, true
}

// queueLoad has a conversation read.
func (n *Node) queueLoad(o engine.Load) {
	if !n.loads.add(o) {
		return
	}
	n.goroutines.Go(func() {
		for o, ok := n.loads.next(); ok; o, ok = n.loads.next() {
			n.load(o)
		}
	})
}

package simulate

import (
	"context"
	"errors"
	"iter"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// operation is one thing that a function of the runtime waits for. It resumes the
// function when it has ended; where the process is gone by then, it never does.
type operation func(resume func(now turn.Time))

// errProcessGone is what a function learns whose process is gone, when the run ends.
var errProcessGone = errors.New("the process is gone")

// play runs a function of the runtime that makes several calls, one after the other,
// and decides between them: reading a prompt page by page, delivering a part. The
// runtime lets it wait in a goroutine of its own. Here it is a coroutine: it yields
// each operation, virtual time goes on, and it is resumed once that has ended. So the
// simulation runs the shipped function, and not a copy of it. end follows its return.
func (n *node) play(f func(remote), end func(now turn.Time)) {
	next, stop := iter.Pull(func(yield func(operation) bool) { f(remote{node: n, yield: yield}) })
	n.stops = append(n.stops, stop)
	life := n.life
	var resume func(now turn.Time)
	resume = func(now turn.Time) {
		if wait, ok := next(); ok {
			wait(resume)
		} else {
			end(now)
		}
	}
	n.after(0, func() { n.tell(life, resume) }) // as a goroutine begins, after what made it
}

// remote is the store as a node reaches it, for a function that reads: each call
// takes its time, and may fail. The other methods of a store are not for it.
type remote struct {
	store.Store
	node  *node
	yield func(operation) bool
}

// wait returns when an operation has ended.
func (r remote) wait(o operation) error {
	if !r.yield(o) {
		return errProcessGone
	}
	return nil
}

// read makes a call of the store that changes nothing.
func (r remote) read(name string, key store.Key, visit func()) (err error) {
	gone := r.wait(func(resume func(now turn.Time)) {
		r.node.read(name, key.Conversation, visit, func(now turn.Time, failed error) {
			err = failed
			resume(now)
		})
	})
	return errors.Join(gone, err)
}

// Load implements [store.Store].
func (r remote) Load(_ context.Context, key store.Key) (s store.Snapshot, err error) {
	err = r.read("load", key, func() { s = r.node.snapshot(key) })
	if err == nil && r.node.snapshot(key).Op != s.Op {
		r.node.count(staleRead)
	}
	return s, err
}

// Entries implements [store.Store].
func (r remote) Entries(_ context.Context, key store.Key, query store.EntryQuery) (found []store.Entry, more bool, err error) {
	err = r.read("entries", key, func() { found, more = r.node.page(key, query) })
	return found, more, err
}

package sqlite

import (
	"context"

	"github.com/onereply/onereply/store"
)

// Commit implements [store.Store]. A write that breaks the rules of
// [store.Write] is refused with [store.ErrNotApplied].
//
// It ends early when ctx does. Then it wraps [store.ErrNotApplied] if the write
// was still waiting, and [store.ErrUnknown] if it was on its way to the disk.
func (s *Store) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	own := cloned(write)
	w, err := encode(&own)
	if err != nil {
		return store.Result{}, s.failed(notApplied(err), "commit %v", write.Key)
	}
	if err := s.writer.queue.write(ctx, w.apply); err != nil {
		return store.Result{}, s.failed(err, "commit %v", write.Key)
	}
	return w.result, w.refused
}

// CommitLater is Commit for callers that do not wait: it returns at once, and
// calls done, once, when the write is durable or has failed. Until then what the
// write refers to must not be changed.
//
// A node that takes many messages uses it: it saves a goroutine, a context and two
// switches for each write. done runs on the goroutine that writes, or before
// CommitLater returns. It holds up all other writes, so it must not block, and must
// not call the store.
func (s *Store) CommitLater(write *store.Write, done func(store.Result, error)) {
	t, err := s.later(write, done)
	if err == nil {
		err = s.writer.queue.add(t)
	}
	if err != nil {
		done(store.Result{}, s.failed(notApplied(err), "commit %v", write.Key))
	}
}

// later is the task that CommitLater queues.
func (s *Store) later(write *store.Write, done func(store.Result, error)) (*task, error) {
	w, err := encode(write)
	if err != nil {
		return nil, err
	}
	return &task{apply: w.apply, done: func(err error) {
		if err != nil {
			done(store.Result{}, s.failed(err, "commit %v", w.Key))
			return
		}
		done(w.result, w.refused)
	}}, nil
}

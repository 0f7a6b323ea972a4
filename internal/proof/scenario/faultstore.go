package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// faultStore is a node's way to its store: it can be frozen, cut, made to
// fail, and it knows which moment of a turn each write is.
type faultStore struct {
	store.Store
	world *world
	node  *node
}

// begin is what every call meets first.
func (f *faultStore) begin(ctx context.Context) error {
	if err := f.node.gate.enter(); err != nil {
		return err
	}
	if until, cut := f.world.rules.partitioned(f.node.name, f.world.now()); cut {
		select {
		case <-ctx.Done():
		case <-time.After(until - f.world.now()):
		}
		return fmt.Errorf("partitioned: %w", store.ErrUnknown)
	}
	if _, down := f.world.rules.strike("store_error", f.world.now(), func(e Event) bool { return e.Op == "all" }); down {
		return fmt.Errorf("the store is down: %w", store.ErrNotApplied)
	}
	return nil
}

// end is what every call meets last: a process that froze meanwhile hears of
// its result when it wakes, and one that died never does.
func (f *faultStore) end(err error) error {
	if dead := f.node.gate.enter(); dead != nil {
		return dead
	}
	return err
}

// Commit passes a write on, through whatever waits for its moment.
func (f *faultStore) Commit(ctx context.Context, write store.Write) (store.Result, error) {
	if err := f.begin(ctx); err != nil {
		return store.Result{}, err
	}
	kind := kindOf(write)
	if err := f.refuse(kind); err != nil {
		return store.Result{}, err
	}
	switch kind {
	case writesReply:
		f.world.reach(beforeCommit, f.node)
	case endsTurn:
		f.world.reach(insideSave, f.node)
	}
	if err := f.node.gate.enter(); err != nil {
		return store.Result{}, err
	}
	result, err := f.Store.Commit(ctx, write)
	if err == nil && result.Status == store.OK {
		f.done(kind)
	}
	return result, f.end(err)
}

func (f *faultStore) done(kind writeKind) {
	switch kind {
	case writesMessage:
		f.world.reach(afterAppend, f.node)
	case writesReply:
		f.world.reach(afterCommit, f.node)
		f.world.reach(beforeSend, f.node)
	}
}

// refuse fails the writes that a rule speaks of.
func (f *faultStore) refuse(kind writeKind) error {
	_, hit := f.world.rules.strike("store_error", f.world.now(), func(e Event) bool {
		return e.Op == "append" && kind == writesMessage || e.Op == "release_lease" && kind == endsTurn
	})
	if hit {
		return fmt.Errorf("the store refused it: %w", store.ErrNotApplied)
	}
	return nil
}

// writeKind is which step of a turn a write is.
type writeKind int

const (
	writesOther writeKind = iota
	writesMessage
	writesReply
	endsTurn
)

func kindOf(w store.Write) writeKind {
	appends := func(kind store.Kind) bool {
		return slices.ContainsFunc(w.Append, func(e store.Entry) bool { return e.Kind == kind })
	}
	switch {
	case appends(store.Reply):
		return writesReply
	case len(w.Mark) > 0:
		return endsTurn
	case appends(store.Message):
		return writesMessage
	}
	return writesOther
}

// Load implements [store.Store].
func (f *faultStore) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if err := f.begin(ctx); err != nil {
		return store.Snapshot{}, err
	}
	snapshot, err := f.Store.Load(ctx, key)
	return snapshot, f.end(err)
}

// Entries reads a transcript. A message that kills whoever reads it to answer
// it strikes here.
func (f *faultStore) Entries(ctx context.Context, key store.Key, query store.EntryQuery) ([]store.Entry, bool, error) {
	if err := f.begin(ctx); err != nil {
		return nil, false, err
	}
	entries, more, err := f.Store.Entries(ctx, key, query)
	if query.Status == turn.InputPending && slices.ContainsFunc(entries, func(e store.Entry) bool { return f.world.poison[e.ID] }) {
		f.world.crash(f.node)
	}
	return entries, more, f.end(err)
}

// Claim implements [store.Store].
func (f *faultStore) Claim(ctx context.Context, now turn.Time, limit int, hold time.Duration, bots ...string) ([]store.Timer, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	claimed, err := f.Store.Claim(ctx, now, limit, hold, bots...)
	return claimed, f.end(err)
}

// Due implements [store.Store].
func (f *faultStore) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	due, err := f.Store.Due(ctx, until, limit, bots...)
	return due, f.end(err)
}

// List implements [store.Store].
func (f *faultStore) List(ctx context.Context, query store.ListQuery) (store.Page, error) {
	if err := f.begin(ctx); err != nil {
		return store.Page{}, err
	}
	page, err := f.Store.List(ctx, query)
	return page, f.end(err)
}

// Delete implements [store.Store].
func (f *faultStore) Delete(ctx context.Context, key store.Key) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.end(f.Store.Delete(ctx, key))
}

// Expire implements [store.Store].
func (f *faultStore) Expire(ctx context.Context, entriesBefore, idsBefore turn.Time, limit int) (int, error) {
	if err := f.begin(ctx); err != nil {
		return 0, err
	}
	removed, err := f.Store.Expire(ctx, entriesBefore, idsBefore, limit)
	return removed, f.end(err)
}

// Now is the store's clock, which may jump.
func (f *faultStore) Now(ctx context.Context) (turn.Time, error) {
	if err := f.begin(ctx); err != nil {
		return 0, err
	}
	now, err := f.Store.Now(ctx)
	return now.Add(f.world.rules.jumped(f.world.now())), f.end(err)
}

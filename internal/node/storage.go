package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Load reads what an [engine.Load] asks for, in the order that it promises: the
// record first.
func Load(ctx context.Context, s store.Store, o engine.Load) engine.LoadResult {
	result := engine.LoadResult{Key: o.Key}
	result.Snapshot, result.Err = s.Load(ctx, o.Key)
	for _, id := range o.IDs {
		if result.Err != nil {
			return result
		}
		var found []store.Entry
		found, result.Err = s.Entries(ctx, o.Key, store.EntryQuery{ID: id, Limit: 1})
		result.Messages = append(result.Messages, found...)
	}
	if o.Pending && result.Err == nil {
		result.Pending, result.Err = readWaiting(ctx, s, o.Key, result.Snapshot.Record.AfterSeq)
	}
	return result
}

// readWaiting reads all messages that wait after a sequence, page by page.
func readWaiting(ctx context.Context, s store.Store, key store.Key, after int64) ([]store.Entry, error) {
	var all []store.Entry
	for {
		page, err := s.Entries(ctx, key, store.EntryQuery{After: after, Status: turn.InputPending, Limit: store.MaxEntries})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < store.MaxEntries {
			return all, nil
		}
		after = page[len(page)-1].Seq
	}
}

// ReadPrompt reads what an [engine.ReadPrompt] asks for: the messages that wait, and
// the last entries of the transcript, oldest first.
func ReadPrompt(ctx context.Context, s store.Store, o engine.ReadPrompt) (waiting, tail []store.Entry, err error) {
	waiting, err = readWaiting(ctx, s, o.Key, o.AfterSeq)
	if err == nil && o.History > 0 {
		// Twice as many, for those that do not count: what waits, what was withdrawn.
		limit := min(2*o.History+len(waiting), store.MaxEntries)
		tail, err = s.Entries(ctx, o.Key, store.EntryQuery{Limit: limit, Backward: true})
	}
	slices.Reverse(tail)
	return waiting, tail, err
}

// readEntry reads the entry with a sequence.
func readEntry(ctx context.Context, s store.Store, key store.Key, seq int64) (*store.Entry, error) {
	found, err := s.Entries(ctx, key, store.EntryQuery{After: seq - 1, Before: seq + 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no entry %d", seq)
	}
	return &found[0], nil
}

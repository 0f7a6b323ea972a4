package node

// The reads that the engine asks for, as plain functions of a store. They page where one
// call is not enough, and stop at the first error.

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Load carries out an [engine.Load], in the order that it promises: the record first.
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
	if result.Err == nil {
		result.Quoting, result.Err = readQuoting(ctx, s, o, result.Messages)
	}
	for _, number := range o.Turns {
		if result.Err != nil {
			return result
		}
		var found *store.Entry
		if found, result.Err = readReply(ctx, s, o.Key, number); found != nil {
			result.Replies = append(result.Replies, *found)
		}
	}
	if o.Pending && result.Err == nil {
		result.Pending, result.Err = readWaiting(ctx, s, o.Key, result.Snapshot.Record.AfterSeq)
	}
	if r := result.Snapshot.Record; result.Err == nil && engine.NeedsEntry(r) {
		result.Reply, result.Err = readEntry(ctx, s, o.Key, r.Reply.Seq)
	}
	if early := result.Snapshot.Record.Early; o.Early && len(early) > 0 && result.Err == nil {
		// One query reads all: the first kept one lies before the others.
		result.Early, result.Err = s.Entries(ctx, o.Key, store.EntryQuery{After: early[0].Seq - 1, Status: turn.InputEarly})
	}
	return result
}

// readQuoting reads the messages that quote those with the ids of o.Quoting, which are
// among the given ones. They came later, so it begins behind the first of these. A message
// that more than [store.MaxEntries] others quote is nothing that people write: the rest
// is left.
func readQuoting(ctx context.Context, s store.Store, o engine.Load, messages []store.Entry) ([]store.Entry, error) {
	query := store.EntryQuery{After: math.MaxInt64, Limit: store.MaxEntries}
	for _, m := range messages {
		if slices.Contains(o.Quoting, m.ID) {
			query.After = min(query.After, m.Seq)
		}
	}
	var quoting []store.Entry
	for query.After < math.MaxInt64 && len(quoting) < store.MaxEntries {
		page, err := s.Entries(ctx, o.Key, query)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.ReplyTo != nil && slices.Contains(o.Quoting, e.ReplyTo.ID) {
				quoting = append(quoting, e)
			}
		}
		if len(page) < query.Limit {
			break
		}
		query.After = page[len(page)-1].Seq
	}
	return quoting, nil
}

// readReply reads the reply of a turn, nil where there is none. Channels report soon, so it
// reads backwards from the end of the transcript.
func readReply(ctx context.Context, s store.Store, key store.Key, number int64) (*store.Entry, error) {
	query := store.EntryQuery{Backward: true, Limit: 20}
	for {
		page, err := s.Entries(ctx, key, query)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].Kind == store.Reply && page[i].Turn == number {
				return &page[i], nil
			}
		}
		if len(page) < query.Limit {
			return nil, nil
		}
		query.Before, query.Limit = page[len(page)-1].Seq, store.MaxEntries
	}
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

// ReadPrompt carries out an [engine.ReadPrompt]: it reads the waiting messages, and a
// tail of the transcript, oldest first, that holds the history.
func ReadPrompt(ctx context.Context, s store.Store, o engine.ReadPrompt) (waiting, tail []store.Entry, err error) {
	waiting, err = readWaiting(ctx, s, o.Key, o.AfterSeq)
	if err == nil && o.History+o.Observe > 0 {
		tail, err = readTail(ctx, s, o, len(waiting))
	}
	return waiting, tail, err
}

// maxTail bounds how many entries are read for a history. It is more than may wait in
// a conversation and were answered before that.
const maxTail = 20 * store.MaxEntries

// readTail reads backwards from the end of the transcript, until it has the whole
// history, or meets the last reset. Entries that wait are not part of that. The first page has room for them
// and for twice the history, because some entries do not count: withdrawn messages,
// and replies that never arrived. So nearly always there is only one.
func readTail(ctx context.Context, s store.Store, o engine.ReadPrompt, waiting int) ([]store.Entry, error) {
	var tail []store.Entry
	query := store.EntryQuery{After: o.FreshAfter, Backward: true, Limit: min(2*(o.History+o.Observe)+waiting, store.MaxEntries)}
	for read := 0; read < maxTail; {
		page, err := s.Entries(ctx, o.Key, query)
		if err != nil {
			return nil, err
		}
		read += len(page)
		end := len(page) < query.Limit
		if !end {
			query.Before, query.Limit = page[len(page)-1].Seq, store.MaxEntries
		}
		page = slices.DeleteFunc(page, func(e store.Entry) bool { return e.Status == turn.InputPending })
		slices.Reverse(page)
		tail = append(page, tail...)
		if end || engine.HistoryComplete(tail, o.History, o.Observe) {
			break
		}
	}
	return tail, nil
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

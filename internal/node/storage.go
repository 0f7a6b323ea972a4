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
		found, _, result.Err = s.Entries(ctx, o.Key, store.EntryQuery{ID: id, Limit: 1})
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
		result.Pending, result.Err = readPending(ctx, s, o.Key, result.Snapshot.Record.AfterSeq)
	}
	if r := result.Snapshot.Record; result.Err == nil && engine.NeedsEntry(r) {
		result.Reply, result.Err = readEntry(ctx, s, o.Key, r.Reply.Seq)
	}
	if early := result.Snapshot.Record.Early; o.Early && len(early) > 0 && result.Err == nil {
		result.Early, result.Err = readEarly(ctx, s, o.Key, early[0].Seq)
	}
	return result
}

// The most of what quotes a message that is read with it, and written without the quotes.
// A message that more others quote is nothing that people write: the rest is left.
const (
	maxQuoting      = store.MaxEntries
	maxQuotingBytes = 8 << 20
)

// readQuoting reads the messages that quote those with the ids of o.Quoting, which are
// among the given ones. They came later, so it begins behind the first of these.
func readQuoting(ctx context.Context, s store.Store, o engine.Load, messages []store.Entry) ([]store.Entry, error) {
	first := int64(math.MaxInt64)
	for _, m := range messages {
		if slices.Contains(o.Quoting, m.ID) {
			first = min(first, m.Seq)
		}
	}
	if first == math.MaxInt64 {
		return nil, nil
	}
	var quoting []store.Entry
	size := 0
	for page, err := range store.Pages(ctx, s, o.Key, store.EntryQuery{After: first}) {
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.ReplyTo != nil && slices.Contains(o.Quoting, e.ReplyTo.ID) {
				quoting = append(quoting, e)
				size += e.Bytes()
			}
		}
		if len(quoting) >= maxQuoting || size >= maxQuotingBytes {
			break
		}
	}
	return quoting, nil
}

// readReply reads the reply of a turn, nil where there is none. Channels report soon, so it
// reads backwards from the end of the transcript.
func readReply(ctx context.Context, s store.Store, key store.Key, number int64) (*store.Entry, error) {
	query := store.EntryQuery{Backward: true, Limit: 20}
	for more := true; more; {
		var page []store.Entry
		var err error
		if page, more, err = s.Entries(ctx, key, query); err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].Kind == store.Reply && page[i].Turn == number {
				return &page[i], nil
			}
		}
		if more {
			query = query.Next(page)
			query.Limit = store.MaxEntries
		}
	}
	return nil, nil
}

// readPending reads all messages that wait after a sequence. It keeps no texts: there may
// be as many of them as the limit of a conversation allows.
func readPending(ctx context.Context, s store.Store, key store.Key, after int64) ([]store.Entry, error) {
	var all []store.Entry
	for page, err := range store.Pages(ctx, s, key, store.EntryQuery{After: after, Status: turn.InputPending}) {
		if err != nil {
			return nil, err
		}
		for i := range page {
			all = append(all, engine.WithoutTexts(page[i]))
		}
	}
	return all, nil
}

// readEarly reads the edits that are kept for messages which have not come. The first one
// lies before the others.
func readEarly(ctx context.Context, s store.Store, key store.Key, first int64) ([]store.Entry, error) {
	var all []store.Entry
	for page, err := range store.Pages(ctx, s, key, store.EntryQuery{After: first - 1, Status: turn.InputEarly}) {
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}

// ReadPrompt carries out an [engine.ReadPrompt]: it reads the waiting messages, and a
// tail of the transcript, oldest first, that holds the history.
func ReadPrompt(ctx context.Context, s store.Store, o engine.ReadPrompt) (waiting, tail []store.Entry, err error) {
	waiting, err = readWaiting(ctx, s, o)
	if err == nil && o.History+o.Observe > 0 {
		tail, err = readTail(ctx, s, o, len(waiting))
	}
	return waiting, tail, err
}

// readWaiting reads the messages that wait, as many of them as the prompt is made of.
func readWaiting(ctx context.Context, s store.Store, o engine.ReadPrompt) (waiting []store.Entry, err error) {
	var read []store.Entry
	for page, err := range store.Pages(ctx, s, o.Key, store.EntryQuery{After: o.AfterSeq, Status: turn.InputPending}) {
		if err != nil {
			return nil, err
		}
		read = append(read, page...)
		if first, enough := o.First(read); enough {
			return first, nil
		}
	}
	return read, nil
}

// maxTail bounds how many entries are read for a history. It is more than may wait in
// a conversation and were answered before that. A page that is full of long texts counts as
// leastOfPage of them, so that no more than 200 pages are read.
const (
	maxTail     = 20 * store.MaxEntries
	leastOfPage = maxTail / 200
)

// readTail reads backwards from the end of the transcript, until it has the whole
// history, or meets the last reset. Entries that wait are not part of that. The first page has room for them
// and for twice the history, because some entries do not count: withdrawn messages,
// and replies that never arrived. So nearly always there is only one. It keeps no texts but
// those that the history may show.
func readTail(ctx context.Context, s store.Store, o engine.ReadPrompt, waiting int) ([]store.Entry, error) {
	var tail []store.Entry
	query := store.EntryQuery{After: o.FreshAfter, Backward: true, Limit: min(2*(o.History+o.Observe)+waiting, store.MaxEntries)}
	read := 0
	for more := true; more && read < maxTail; {
		var page []store.Entry
		var err error
		if page, more, err = s.Entries(ctx, o.Key, query); err != nil {
			return nil, err
		}
		read += max(len(page), leastOfPage)
		if more {
			query = query.Next(page)
			query.Limit = store.MaxEntries
		}
		page = slices.DeleteFunc(page, func(e store.Entry) bool { return e.Status == turn.InputPending })
		slices.Reverse(page)
		tail = append(page, tail...)
		if !more || engine.HistoryComplete(tail, o.History, o.Observe) {
			break
		}
		o.DropTexts(tail)
	}
	return tail, nil
}

// readEntry reads the entry with a sequence.
func readEntry(ctx context.Context, s store.Store, key store.Key, seq int64) (*store.Entry, error) {
	found, _, err := s.Entries(ctx, key, store.EntryQuery{After: seq - 1, Before: seq + 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no entry %d", seq)
	}
	return &found[0], nil
}

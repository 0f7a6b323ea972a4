package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/internal/storejson"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// headFields is how many strings the head of a stored entry has.
const headFields = 8

// encodeEntry writes an entry as scripts/conversation.lua reads it: a head, which scripts
// look at and change, and a body. The head is strings, which pass through Lua unharmed;
// numbers do not.
func encodeEntry(e store.Entry) (head, body string, err error) {
	fields, err := json.Marshal([headFields]string{
		decimal(e.Seq), string(e.Kind), string(e.Status), decimal(e.Version),
		decimal(e.ReplySeq), decimal(int64(e.At)), e.ID, e.Reason,
	})
	if err != nil {
		return "", "", fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	text, err := storejson.Encode(&e.Body)
	if err != nil {
		return "", "", fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	return string(fields), string(text), nil
}

// decodeEntry is the inverse of encodeEntry. Any text that encodeEntry can't have written
// is [store.ErrCorrupt]: it was damaged, or written by hand.
func decodeEntry(head, body string) (store.Entry, error) {
	var fields []string
	if err := json.Unmarshal([]byte(head), &fields); err != nil {
		return store.Entry{}, fmt.Errorf("an entry: %w: %w", store.ErrCorrupt, err)
	}
	if len(fields) != headFields {
		return store.Entry{}, fmt.Errorf("an entry: %w: it has %d fields", store.ErrCorrupt, len(fields))
	}
	e := store.Entry{Kind: store.Kind(fields[1]), Status: turn.Status(fields[2]), ID: fields[6], Reason: fields[7]}
	for i, field := range map[int]*int64{0: &e.Seq, 3: &e.Version, 4: &e.ReplySeq, 5: (*int64)(&e.At)} {
		value, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return store.Entry{}, fmt.Errorf("an entry: %w: %w", store.ErrCorrupt, err)
		}
		*field = value
	}
	if err := json.Unmarshal([]byte(body), &e.Body); err != nil {
		return store.Entry{}, fmt.Errorf("the body of entry %d: %w: %w", e.Seq, store.ErrCorrupt, err)
	}
	return e, nil
}

// decodePage takes whether there is more, and heads and bodies in turn. It fails if one
// entry can't be read: a transcript with a gap would mislead whoever builds a prompt of it.
func decodePage(texts []string) (entries []store.Entry, more bool, err error) {
	if len(texts)%2 == 0 {
		return nil, false, fmt.Errorf("the script answered with %d strings, which are not one and pairs", len(texts))
	}
	for pair := range slices.Chunk(texts[1:], 2) {
		e, err := decodeEntry(pair[0], pair[1])
		if err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
	}
	return entries, texts[0] == "1", nil
}

// Entries implements [store.Store]. By sequence, by id, and by the statuses
// pending and failed it reads what it returns and little more. By any other
// status it reads the transcript page by page until it has enough, so a write
// meanwhile may be seen in part.
func (s *Store) Entries(ctx context.Context, key store.Key, query store.EntryQuery) ([]store.Entry, bool, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, false, s.failed(err, "entries of %v", key)
	}
	defer end()
	entries, more, err := s.entriesBy(query)(ctx, nameOf(key), query)
	if err != nil {
		return nil, false, s.failed(err, "entries of %v", key)
	}
	return entries, more, nil
}

// reader is a way to find a page of entries.
type reader func(context.Context, string, store.EntryQuery) ([]store.Entry, bool, error)

// entriesBy chooses the shortest way. An id is found through its claim. Open entries,
// pending or failed, have an index of their own: a node needs those that are pending for
// each turn, and they are few. Any other status costs a walk through the transcript.
func (s *Store) entriesBy(query store.EntryQuery) reader {
	switch {
	case query.ID != "":
		return s.entryByID
	case query.Status == "":
		return s.entriesInOrder
	case query.Status == turn.InputPending || query.Status == turn.InputFailed:
		return func(ctx context.Context, name string, query store.EntryQuery) ([]store.Entry, bool, error) {
			return s.found(ctx, name, "status", string(query.Status), query)
		}
	}
	return s.entriesWithStatus
}

// entryByID finds a message through its claim. A claim outlives its entry, so there may
// be none. The script ignores the other conditions of the query, so they are
// checked here.
func (s *Store) entryByID(ctx context.Context, name string, query store.EntryQuery) ([]store.Entry, bool, error) {
	entries, _, err := s.found(ctx, name, "id", query.ID, query)
	if err != nil || len(entries) == 0 {
		return nil, false, err
	}
	e := entries[0]
	matches := e.Kind == store.Message && e.ID == query.ID && e.Seq > query.After &&
		(query.Before == 0 || e.Seq < query.Before) && (query.Status == "" || e.Status == query.Status)
	if !matches {
		return nil, false, nil
	}
	return entries, false, nil
}

// found runs found.lua, which reads the index and the entries at one moment. by is
// "order", "id" or "status", and value nothing, the id or the status.
func (s *Store) found(ctx context.Context, name, by, value string, query store.EntryQuery) ([]store.Entry, bool, error) {
	low, high := bounds(query)
	backward := "0"
	if query.Backward {
		backward = "1"
	}
	room := paging.RoomOf(query)
	texts, err := s.scripts.found.run(ctx, s.client, s.shards.of(name),
		name, by, value, low, high, strconv.Itoa(room.Entries), strconv.Itoa(room.Bytes), backward).AsStrSlice()
	if err != nil {
		return nil, false, err
	}
	return decodePage(texts)
}

// entriesInOrder reads a part of the transcript.
func (s *Store) entriesInOrder(ctx context.Context, name string, query store.EntryQuery) ([]store.Entry, bool, error) {
	return s.found(ctx, name, "order", "", query)
}

// entriesWithStatus reads pages of the transcript, each as large as one may be, and drops
// the entries of another status. The call's time-out bounds the walk as a whole.
func (s *Store) entriesWithStatus(ctx context.Context, name string, query store.EntryQuery) ([]store.Entry, bool, error) {
	var found []store.Entry
	room, page := paging.RoomOf(query), query
	page.Limit, page.Bytes = 0, 0
	for {
		entries, more, err := s.entriesInOrder(ctx, name, page)
		if err != nil {
			return nil, false, err
		}
		for _, e := range entries {
			if e.Status != query.Status {
				continue
			}
			body, err := storejson.Encode(&e.Body)
			if err != nil {
				return nil, false, err
			}
			if !room.Take(len(body)) {
				return found, true, nil
			}
			found = append(found, e)
		}
		if !more {
			return found, false, nil
		}
		page = page.Next(entries)
	}
}

// bounds are the sequences of a query as sorted sets write them; a parenthesis leaves the
// bound itself out.
func bounds(query store.EntryQuery) (low, high string) {
	low, high = "("+decimal(query.After), "+inf"
	if query.Before != 0 {
		high = "(" + decimal(query.Before)
	}
	return low, high
}

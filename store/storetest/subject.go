package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// subject is the store under test, with the words in which the tests speak.
type subject struct {
	*testing.T
	options  Options
	store    store.Store
	ops      atomic.Uint64
	outcomes *outcomes // of the whole suite
}

func newSubject(t *testing.T, options Options, met *outcomes) *subject {
	return &subject{T: t, options: options, store: options.Open(t), outcomes: met}
}

// start is the time of most writes: some moment in 2025.
const start turn.Time = 1_750_000_000_000

// key is the conversation of tests that need only one.
var key = store.Key{Bot: "support", Conversation: "c1"}

// keyOf is another conversation of the same bot.
func keyOf(conversation string) store.Key {
	return store.Key{Bot: key.Bot, Conversation: conversation}
}

// none is what a first write expects.
var none store.Op

// nextOp returns an Op that no other write has.
func (s *subject) nextOp() store.Op { return opOf(s.ops.Add(1)) }

func opOf(number uint64) store.Op {
	var op store.Op
	binary.BigEndian.PutUint64(op[8:], number)
	return op
}

// write starts a write: an idle record at the time start, with the entries.
func (s *subject) write(key store.Key, expect store.Op, entries ...store.Entry) store.Write {
	write := store.Write{
		Key: key, Expect: expect, Op: s.nextOp(), At: start,
		Record: turn.Record{Schema: turn.Schema, Phase: turn.Idle},
		Append: entries,
	}
	for _, e := range entries {
		write.Record.Seq = e.Seq
		write.Record.Version = max(write.Record.Version, e.Version)
	}
	return write
}

// waking sets the timer of a write, and the record to go with it.
func waking(write store.Write, at turn.Time) store.Write {
	write.Record.Phase, write.Record.Window.Due, write.Timer = turn.Collecting, at, at
	return write
}

// message is a pending message whose sequence is also its version.
func message(seq int64, id string) store.Entry {
	return store.Entry{
		Seq: seq, Kind: store.Message, ID: id, Status: turn.InputPending, At: start, Version: seq,
		Body: store.Body{Text: "text of " + id},
	}
}

// sized is a message whose body has so many bytes in JSON.
func sized(seq int64, id string, bytes int) store.Entry {
	e := message(seq, id)
	e.Text = strings.Repeat("x", bytes-len(`{"text":""}`))
	return e
}

// reply is a committed reply.
func reply(seq int64, id string) store.Entry {
	return store.Entry{
		Seq: seq, Kind: store.Reply, ID: id, Status: turn.ReplyCommitted, At: start, Version: seq,
		Body: store.Body{Text: "text of " + id},
	}
}

// withStatus gives an entry another status.
func withStatus(e store.Entry, status turn.Status) store.Entry {
	e.Status = status
	return e
}

// commit writes, and fails the test if the outcome is an error.
func (s *subject) commit(write store.Write) store.Result {
	s.Helper()
	result, err := s.store.Commit(s.Context(), write)
	if err != nil {
		s.Fatalf("Commit %v: %v", write.Key, err)
	}
	s.outcomes.add(result.Status.String())
	return result
}

// ok writes, expects it to be applied, and returns its Op.
func (s *subject) ok(write store.Write) store.Op {
	s.Helper()
	if result := s.commit(write); result.Status != store.OK {
		s.Fatalf("Commit %v: got %s, want ok", write.Key, show(result))
	}
	return write.Op
}

// conflict writes, and expects a conflict that holds what Load gives, and these ids
// as claimed.
func (s *subject) conflict(write store.Write, claimed ...string) {
	s.Helper()
	want := store.Result{Status: store.Conflict, Current: s.load(write.Key), Duplicates: claimed}
	equal(s, "Commit", s.commit(write), want)
}

// duplicate writes and expects these ids to be reported.
func (s *subject) duplicate(write store.Write, ids ...string) {
	s.Helper()
	equal(s, "Commit", s.commit(write), store.Result{Status: store.Duplicate, Duplicates: ids})
}

func (s *subject) load(key store.Key) store.Snapshot {
	s.Helper()
	snapshot, err := s.store.Load(s.Context(), key)
	if err != nil {
		s.Fatalf("Load %v: %v", key, err)
	}
	return snapshot
}

func (s *subject) entries(key store.Key, query store.EntryQuery) []store.Entry {
	s.Helper()
	entries, _ := s.page(key, query)
	return entries
}

func (s *subject) page(key store.Key, query store.EntryQuery) ([]store.Entry, bool) {
	s.Helper()
	entries, more, err := s.store.Entries(s.Context(), key, query)
	if err != nil {
		s.Fatalf("Entries %v %+v: %v", key, query, err)
	}
	return entries, more
}

func (s *subject) remove(key store.Key) {
	s.Helper()
	if err := s.store.Delete(s.Context(), key); err != nil {
		s.Fatalf("Delete %v: %v", key, err)
	}
}

// listAll pages through a list, limit at a time.
func (s *subject) listAll(query store.ListQuery) []store.Item {
	s.Helper()
	items, err := listAll(s.Context(), s.store, query)
	if err != nil {
		s.Fatalf("List %+v: %v", query, err)
	}
	return items
}

// sweepAll sweeps to the end, limit at a time.
func (s *subject) sweepAll(limit int) []store.Found {
	s.Helper()
	found, err := sweepFrom(s.Context(), s.store, "", limit)
	if err != nil {
		s.Fatalf("Sweep: %v", err)
	}
	return found
}

// maxPages ends a walk whose cursor never does.
const maxPages = 10_000

func listAll(ctx context.Context, from store.Store, query store.ListQuery) ([]store.Item, error) {
	var items []store.Item
	for range maxPages {
		page, err := from.List(ctx, query)
		if err != nil {
			return nil, err
		}
		if query.Limit > 0 && len(page.Items) > query.Limit {
			return nil, fmt.Errorf("a page has %d items, the limit is %d", len(page.Items), query.Limit)
		}
		items = append(items, page.Items...)
		if query.Cursor = page.Next; page.Next == "" {
			return items, nil
		}
	}
	return nil, fmt.Errorf("the list has not ended after %d pages", maxPages)
}

func sweepFrom(ctx context.Context, from store.Store, cursor string, limit int) ([]store.Found, error) {
	var all []store.Found
	for range maxPages {
		found, next, err := from.Sweep(ctx, cursor, limit)
		if err != nil {
			return nil, err
		}
		if len(found) > limit {
			return nil, fmt.Errorf("a page has %d conversations, the limit is %d", len(found), limit)
		}
		all = append(all, found...)
		if cursor = next; next == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the sweep has not ended after %d pages", maxPages)
}

// idsOf returns the ids of entries in their order, for short comparisons.
func idsOf(entries []store.Entry) string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

const now = turn.Time(1_750_000_000_000)

func keyOf(bot string, number int) store.Key {
	return store.Key{Bot: bot, Conversation: fmt.Sprintf("c%04d", number)}
}

// put stores a conversation for the first time.
func put(t *testing.T, s store.Store, w store.Write) {
	t.Helper()
	w.Op = store.Op{15: 1}
	w.Record.Schema = turn.Schema
	if w.Record.Version == 0 {
		w.Record.Version = 1
	}
	if result, err := s.Commit(t.Context(), w); err != nil || result.Status != store.OK {
		t.Fatal(w.Key, result, err)
	}
}

// watched is a store that tells what is asked of it. Calls may run in parallel; a test
// looks at the fields when they have returned.
type watched struct {
	store.Store
	mu      sync.Mutex // guards what the calls write: lists, entries and due
	lists   []store.ListQuery
	entries []store.EntryQuery
	due     []int  // the limits
	broken  error  // of each Load, or of what only names
	only    string // "List", "Entries" or "Due"; "": Load
	hidden  map[store.Key]error
}

func (w *watched) List(ctx context.Context, q store.ListQuery) (store.Page, error) {
	w.mu.Lock()
	w.lists = append(w.lists, q)
	w.mu.Unlock()
	if w.only == "List" {
		return store.Page{}, w.broken
	}
	page, err := w.Store.List(ctx, q)
	for i, item := range page.Items {
		if err := w.hidden[item.Key]; err != nil {
			page.Items[i] = store.Item{Key: item.Key, Active: item.Active, Err: err}
		}
	}
	return page, err
}

func (w *watched) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	w.mu.Lock()
	w.entries = append(w.entries, q)
	w.mu.Unlock()
	if w.only == "Entries" {
		return nil, false, w.broken
	}
	return w.Store.Entries(ctx, key, q)
}

func (w *watched) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	w.mu.Lock()
	w.due = append(w.due, limit)
	w.mu.Unlock()
	if w.only == "Due" {
		return nil, w.broken
	}
	return w.Store.Due(ctx, until, limit, bots...)
}

func (w *watched) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if w.broken != nil && w.only == "" {
		return store.Snapshot{}, w.broken
	}
	if err := w.hidden[key]; err != nil {
		return store.Snapshot{}, err
	}
	return w.Store.Load(ctx, key)
}

func newStore() *watched { return &watched{Store: memory.New(), hidden: map[store.Key]error{}} }

// Whichever call of the store fails, its error is what is returned, and nothing else is.
func TestErrorsOfTheStore(t *testing.T) {
	for only, asks := range map[string][]func(t *testing.T, s store.Store) (int, error){
		"List":    {askAttention, askList, askAudit},
		"Entries": {askList, askTimeline},
		"Due":     {askAttention},
		"":        {askAttention, askTimeline},
	} {
		for i, ask := range asks {
			s := newStore()
			talk(t, s, 2)
			late(t, s, keyOf("late", 1), time.Hour)
			if n, err := ask(t, s); err != nil || n == 0 {
				t.Fatalf("%s %d: %d found, %v", only, i, n, err)
			}
			s.only, s.broken = only, errors.New("away")
			if n, err := ask(t, s); !errors.Is(err, s.broken) || n != 0 {
				t.Errorf("%s %d fails: %d found, %v", only, i, n, err)
			}
		}
	}
}

func askAttention(t *testing.T, s store.Store) (int, error) {
	found, _, err := Attention(t.Context(), s, AttentionQuery{Limit: 9, Now: now})
	return len(found), err
}

func askList(t *testing.T, s store.Store) (int, error) {
	q := limited(9)
	q.Preview = true
	rows, _, err := List(t.Context(), s, q)
	return len(rows), err
}

func askAudit(t *testing.T, s store.Store) (int, error) {
	var remembered Actions
	remembered.Note(keyOf("bot", 1), action(now, "pause"))
	found, err := Audit(t.Context(), s, &remembered, AuditQuery{Limit: 9})
	return len(found), err
}

func askTimeline(t *testing.T, s store.Store) (int, error) {
	found, err := Timeline(t.Context(), s, TimelineQuery{Key: keyOf("bot", 1), Turns: 9})
	return len(found), err
}

package inspect

import (
	"context"
	"fmt"
	"testing"

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

// watched is a store that tells what is asked of it.
type watched struct {
	store.Store
	lists   []store.ListQuery
	entries []store.EntryQuery
	due     []int // the limits
	broken  error // of each Load
	hidden  map[store.Key]error
}

func (w *watched) List(ctx context.Context, q store.ListQuery) (store.Page, error) {
	w.lists = append(w.lists, q)
	page, err := w.Store.List(ctx, q)
	for i, item := range page.Items {
		if err := w.hidden[item.Key]; err != nil {
			page.Items[i] = store.Item{Key: item.Key, Active: item.Active, Err: err}
		}
	}
	return page, err
}

func (w *watched) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, error) {
	w.entries = append(w.entries, q)
	return w.Store.Entries(ctx, key, q)
}

func (w *watched) Due(ctx context.Context, until turn.Time, limit int, bots ...string) ([]store.Timer, error) {
	w.due = append(w.due, limit)
	return w.Store.Due(ctx, until, limit, bots...)
}

func (w *watched) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	if w.broken != nil {
		return store.Snapshot{}, w.broken
	}
	if err := w.hidden[key]; err != nil {
		return store.Snapshot{}, err
	}
	return w.Store.Load(ctx, key)
}

func newStore() *watched { return &watched{Store: memory.New(), hidden: map[store.Key]error{}} }

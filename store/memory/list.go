package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/onereply/onereply/internal/paging"
	"github.com/onereply/onereply/store"
)

// List implements [store.Store]. It sorts all that the query selects at each call. That
// is slow for many conversations, and has no index that could disagree with them.
//
// A record that can't be read is an item with its error, and not a failure of the list:
// one conversation must not hide the others.
func (s *Store) List(ctx context.Context, query store.ListQuery) (store.Page, error) {
	if err := s.enter(ctx); err != nil {
		return store.Page{}, fmt.Errorf("memory: list: %w", err)
	}
	defer s.mu.Unlock()
	after, err := paging.ParsePlace(query.Cursor)
	if err != nil {
		return store.Page{}, fmt.Errorf("memory: list: %w", err)
	}
	places := s.listed(query, after)
	limit := paging.Limit(query.Limit)
	var page store.Page
	if len(places) > limit {
		places = places[:limit]
		page.Next = places[limit-1].Cursor()
	}
	for _, p := range places {
		snapshot, err := s.conversations[p.Key].snapshot(p.Key)
		page.Items = append(page.Items, store.Item{Key: p.Key, Snapshot: snapshot, Active: p.Active, Err: err})
	}
	return page, nil
}

// listed returns the places that the query selects beyond the place where the last page
// ended, in the order of the list. The zero place is before all, so it needs no case of
// its own. The phase is compared as people see it: a paused conversation is found under
// paused only.
func (s *Store) listed(query store.ListQuery, after paging.Place) []paging.Place {
	var places []paging.Place
	for key, c := range s.conversations {
		p := paging.Place{Key: key, Active: c.active}
		wanted := (query.Bot == "" || key.Bot == query.Bot) &&
			(query.Phase == "" || c.record.Shown() == query.Phase) &&
			(!query.Attention || c.record.NeedsAttention())
		if wanted && p.Compare(after) > 0 {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, paging.Place.Compare)
	return places
}

// Sweep implements [store.Store]. It goes by key, so that writes do not move a
// conversation from one page to another while somebody walks. The timer is read in the
// same step as the record: here both always agree.
func (s *Store) Sweep(ctx context.Context, from string, limit int) ([]store.Found, string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, "", fmt.Errorf("memory: sweep: %w", err)
	}
	defer s.mu.Unlock()
	after, err := afterKey(from)
	if err != nil {
		return nil, "", fmt.Errorf("memory: sweep: %w", err)
	}
	keys, next := s.keysAfter(after), ""
	if limit = paging.Limit(limit); len(keys) > limit {
		keys = keys[:limit]
		next = paging.Encode(keys[limit-1])
	}
	var found []store.Found
	for _, key := range keys {
		snapshot, err := s.conversations[key].snapshot(key)
		found = append(found, store.Found{Key: key, Snapshot: snapshot, Timer: s.timers.at(key), Err: err})
	}
	return found, next, nil
}

// keysAfter returns the keys beyond the place where the last page ended, in
// order. The order is kept, since sweeps are long and keys seldom change: adding or
// removing a conversation sets it to nil. The key at which the last page ended
// may be gone by now; the next one after it is where the page begins.
func (s *Store) keysAfter(after *store.Key) []store.Key {
	if s.order == nil {
		s.order = slices.SortedFunc(maps.Keys(s.conversations), store.Key.Compare)
	}
	if after == nil {
		return s.order
	}
	i, found := slices.BinarySearchFunc(s.order, *after, store.Key.Compare)
	if found {
		i++
	}
	return s.order[i:]
}

// afterKey is the key of the cursor of a sweep; "" gives nil, the start.
func afterKey(cursor string) (*store.Key, error) {
	if cursor == "" {
		return nil, nil
	}
	key := new(store.Key)
	return key, paging.Decode(cursor, key)
}

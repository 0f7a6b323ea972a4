package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Bounds of ListQuery.Limit.
const (
	defaultPage = 100
	maxPage     = 1000
)

// place is where a page ended; it is what cursors hold.
type place struct {
	Key    store.Key
	Active turn.Time // of a list only
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, query store.ListQuery) (store.Page, error) {
	if err := s.enter(ctx); err != nil {
		return store.Page{}, fmt.Errorf("memory: list: %w", err)
	}
	defer s.mu.Unlock()
	after, err := parseCursor(query.Cursor)
	if err != nil {
		return store.Page{}, fmt.Errorf("memory: list: %w", err)
	}
	places := s.listed(query, after)
	limit := bounded(query.Limit, defaultPage, maxPage)
	var page store.Page
	if len(places) > limit {
		places = places[:limit]
		page.Next = cursor(places[limit-1])
	}
	for _, p := range places {
		snapshot, err := s.conversations[p.Key].snapshot(p.Key)
		page.Items = append(page.Items, store.Item{Key: p.Key, Snapshot: snapshot, Active: p.Active, Err: err})
	}
	return page, nil
}

// listed returns what the query selects beyond the place where the last page
// ended, in the order of the list.
func (s *Store) listed(query store.ListQuery, after *place) []place {
	var places []place
	for key, c := range s.conversations {
		p := place{Key: key, Active: c.active}
		wanted := (query.Bot == "" || key.Bot == query.Bot) &&
			(query.Phase == "" || c.record.Shown() == query.Phase) &&
			(!query.Attention || c.record.NeedsAttention())
		if wanted && (after == nil || newestFirst(p, *after) > 0) {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, newestFirst)
	return places
}

// newestFirst is the order of a list.
func newestFirst(a, b place) int {
	return cmp.Or(cmp.Compare(b.Active, a.Active), a.Key.Compare(b.Key))
}

// Sweep implements [store.Store]. It goes by key.
func (s *Store) Sweep(ctx context.Context, from string, limit int) ([]store.Found, string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, "", fmt.Errorf("memory: sweep: %w", err)
	}
	defer s.mu.Unlock()
	after, err := parseCursor(from)
	if err != nil {
		return nil, "", fmt.Errorf("memory: sweep: %w", err)
	}
	keys, next := s.keysAfter(after), ""
	if limit = bounded(limit, defaultPage, maxPage); len(keys) > limit {
		keys = keys[:limit]
		next = cursor(place{Key: keys[limit-1]})
	}
	var found []store.Found
	for _, key := range keys {
		snapshot, err := s.conversations[key].snapshot(key)
		found = append(found, store.Found{Key: key, Snapshot: snapshot, Timer: s.timers.at(key), Err: err})
	}
	return found, next, nil
}

// keysAfter returns the keys beyond the place where the last page ended, in
// order. The order is kept, since sweeps are long and keys seldom change.
func (s *Store) keysAfter(after *place) []store.Key {
	if s.order == nil {
		s.order = slices.SortedFunc(maps.Keys(s.conversations), store.Key.Compare)
	}
	if after == nil {
		return s.order
	}
	i, found := slices.BinarySearchFunc(s.order, after.Key, store.Key.Compare)
	if found {
		i++
	}
	return s.order[i:]
}

// cursor encodes a place.
func cursor(p place) string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor is the inverse of cursor; "" gives nil, the start.
func parseCursor(text string) (*place, error) {
	if text == "" {
		return nil, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", store.ErrCursor, text, err)
	}
	var p place
	if err := json.Unmarshal(decoded, &p); err != nil {
		return nil, fmt.Errorf("%w: %q: %w", store.ErrCursor, text, err)
	}
	return &p, nil
}

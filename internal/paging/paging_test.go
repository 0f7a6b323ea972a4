package paging

import (
	"errors"
	"fmt"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

func TestLimits(t *testing.T) {
	for _, test := range []struct{ asked, page, entries int }{
		{-1, 100, 1000}, {0, 100, 1000}, {1, 1, 1}, {99, 99, 99}, {1000, 1000, 1000}, {1001, 1000, 1000},
	} {
		if page, entries := Limit(test.asked), RoomOf(store.EntryQuery{Limit: test.asked}).Entries; page != test.page || entries != test.entries {
			t.Errorf("%d: got %d and %d, want %d and %d", test.asked, page, entries, test.page, test.entries)
		}
	}
	for asked, want := range map[int]int{-1: 1 << 20, 0: 1 << 20, 1: 1, 1 << 20: 1 << 20, 1<<20 + 1: 1 << 20} {
		if got := RoomOf(store.EntryQuery{Bytes: asked}).Bytes; got != want {
			t.Errorf("%d bytes: got %d, want %d", asked, got, want)
		}
	}
}

func TestRoom(t *testing.T) {
	for _, test := range []struct {
		entries, bytes int
		sizes          []int
		want           int // how many of them fit
	}{
		{3, 10, []int{1, 1, 1, 1}, 3},
		{3, 10, []int{4, 6, 1}, 2},
		{3, 10, []int{4, 7}, 1},
		{3, 10, []int{11, 1}, 1}, // the first one always fits
		{3, 10, []int{11, 0}, 1},
		{3, 10, []int{10, 0}, 2},
	} {
		room, got := RoomOf(store.EntryQuery{Limit: test.entries, Bytes: test.bytes}), 0
		for _, size := range test.sizes {
			if !room.Take(size) {
				break
			}
			got++
		}
		if got != test.want {
			t.Errorf("of %v %d fit into %d entries and %d bytes, want %d", test.sizes, got, test.entries, test.bytes, test.want)
		}
	}
}

func TestPlacesAreNewestFirst(t *testing.T) {
	place := func(active turn.Time, bot, conversation string) Place {
		return Place{store.Key{Bot: bot, Conversation: conversation}, active}
	}
	sorted := []Place{place(3, "b", "b"), place(2, "a", "b"), place(2, "b", "a"), place(2, "b", "b"), place(1, "a", "a")}
	first, err := ParsePlace("")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range sorted {
		if first.Compare(p) >= 0 {
			t.Errorf("%v is before all", p)
		}
		for j, q := range sorted {
			if got := p.Compare(q); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%v, %v: got %d", p, q, got)
			}
		}
	}
}

func TestAPageEndsWhereTheNextBegins(t *testing.T) {
	var items []store.Item
	for i := range 4 {
		items = append(items, store.Item{Key: store.Key{Bot: "b", Conversation: fmt.Sprint(i)}, Active: turn.Time(10 - i)})
	}
	for limit, want := range map[int]int{3: 3, 4: 4, 5: 4} {
		page := Page(items, limit)
		if len(page.Items) != want || (page.Next != "") != (limit < 4) {
			t.Errorf("limit %d: got %d items, next %q", limit, len(page.Items), page.Next)
		}
		if page.Next == "" {
			continue
		}
		if place, err := ParsePlace(page.Next); err != nil || place != (Place{items[2].Key, 8}) {
			t.Errorf("the next page begins behind %v, %v", place, err)
		}
	}
}

func TestASweepEndsWhereTheNextBegins(t *testing.T) {
	found := make([]store.Found, 3)
	for limit, want := range map[int]string{1: "7", 2: "8", 3: "", 4: ""} {
		page, next := Sweep(found, []int64{7, 8, 9}, limit)
		if len(page) != min(limit, 3) || next != want {
			t.Errorf("limit %d: got %d, %q; want %q", limit, len(page), next, want)
		}
	}
	for cursor, want := range map[string]int64{"": 0, "7": 7} {
		if got, err := ParseNumber(cursor); err != nil || got != want {
			t.Errorf("%q: got %d, %v", cursor, got, err)
		}
	}
}

func TestOtherTextsAreNoCursors(t *testing.T) {
	type other struct{ Shard int }
	for _, cursor := range []string{"?", "e30x", "bnVsbCBudWxs", Encode(other{1}), Encode(Place{}), Encode("x"), Encode(Place{Key: store.Key{Conversation: "c"}})} {
		if _, err := ParsePlace(cursor); !errors.Is(err, store.ErrCursor) {
			t.Errorf("%q: got error %v, want ErrCursor", cursor, err)
		}
	}
	for _, cursor := range []string{"x", "1.5", Encode(7) + "!"} {
		if _, err := ParseNumber(cursor); !errors.Is(err, store.ErrCursor) {
			t.Errorf("%q: got error %v, want ErrCursor", cursor, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("!")
	f.Add("bm90IGpzb24")
	f.Add(Place{store.Key{Bot: "b", Conversation: "c\x00\"é"}, 1_750_000_000_000}.Cursor())
	f.Fuzz(func(t *testing.T, cursor string) {
		p, err := ParsePlace(cursor)
		if err != nil {
			if !errors.Is(err, store.ErrCursor) {
				t.Errorf("%q: got error %v, want ErrCursor", cursor, err)
			}
			return
		}
		again, err := ParsePlace(p.Cursor())
		if cursor != "" && (err != nil || again.Active != p.Active) {
			t.Errorf("%q: got %+v, then %+v, %v", cursor, p, again, err)
		}
	})
}

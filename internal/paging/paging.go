// Package paging is what the stores share about lists that are read page by page:
// how long a page is, and the cursor that says where one ended.
//
// A cursor is the last thing of a page, not a count: whatever is written between two
// pages, the next one goes on behind that thing. It is a text that callers pass back
// and never look into, so it is made in one place and refused in one place.
//
// It knows the contract of package store and must never import an engine of it.
package paging

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Bounds of a page of conversations.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Limit is how many conversations a page has where so many were asked for.
func Limit(asked int) int {
	if asked <= 0 {
		return DefaultLimit
	}
	return min(asked, MaxLimit)
}

// Room is what still fits into a page of entries.
type Room struct {
	Entries int
	Bytes   int // of their bodies
	begun   bool
}

// RoomOf is the room of an empty page.
func RoomOf(query store.EntryQuery) Room {
	return Room{Entries: bound(query.Limit, store.MaxEntries), Bytes: bound(query.Bytes, store.MaxPageBytes)}
}

// bound is a number that was asked for, of which 0 means the most.
func bound(asked, most int) int {
	if asked <= 0 {
		return most
	}
	return min(asked, most)
}

// Take reports whether one more entry fits, whose body has so many bytes, and takes its
// room. The first one always fits.
func (r *Room) Take(size int) bool {
	if r.Entries == 0 || r.begun && size > r.Bytes {
		return false
	}
	r.begun = true
	r.Entries--
	r.Bytes -= size
	return true
}

// Place is where a conversation stands in a list: newest activity first, then by key.
type Place struct {
	Key    store.Key
	Active turn.Time
}

// Compare is the order of a list.
func (p Place) Compare(o Place) int {
	return cmp.Or(cmp.Compare(o.Active, p.Active), p.Key.Compare(o.Key))
}

// Cursor is the cursor of a page that ended here.
func (p Place) Cursor() string { return Encode(p) }

// ParsePlace is the place of a cursor; "" gives the place before all.
func ParsePlace(cursor string) (Place, error) {
	if cursor == "" {
		return Place{Active: math.MaxInt64}, nil
	}
	var p Place
	if err := Decode(cursor, &p); err != nil {
		return Place{}, err
	}
	if p.Key.Bot == "" {
		return Place{}, refused(cursor)
	}
	return p, nil
}

// Page is a page of at most limit conversations. The store reads one more than that,
// which tells whether the list goes on.
func Page(items []store.Item, limit int) store.Page {
	if len(items) <= limit {
		return store.Page{Items: items}
	}
	last := items[limit-1]
	return store.Page{Items: items[:limit], Next: Place{last.Key, last.Active}.Cursor()}
}

// ParseNumber is the number of a cursor of a sweep that goes by numbers, all of them
// greater than 0; "" gives 0.
func ParseNumber(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil {
		return 0, refused(cursor)
	}
	return number, nil
}

// Sweep is a page of at most limit conversations of a sweep by numbers, and its cursor.
// As with [Page], the store reads one more.
func Sweep(found []store.Found, numbers []int64, limit int) ([]store.Found, string) {
	if len(found) <= limit {
		return found, ""
	}
	return found[:limit], strconv.FormatInt(numbers[limit-1], 10)
}

// Encode makes a cursor of a value that has a JSON form.
func Encode(place any) string {
	text, err := json.Marshal(place)
	if err != nil {
		panic(err) // stores encode strings and numbers only, which always have one
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// Decode reads a cursor into a value of the type that it was made of. Anything else
// is refused with [store.ErrCursor].
func Decode(cursor string, place any) error {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return refused(cursor)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(place); err != nil || decoder.More() {
		return refused(cursor)
	}
	return nil
}

func refused(cursor string) error { return fmt.Errorf("%q: %w", cursor, store.ErrCursor) }

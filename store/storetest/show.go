package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/onereply/onereply/store"
)

// show writes a value so that equal values look equal and a person can see
// where two differ. JSON in a body is compared for what it means, since a store
// may keep it in another form.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case store.Result:
		text := strings.TrimSpace(fmt.Sprintf("%v %s", v.Status, quoted(v.Duplicates)))
		if v.Status == store.Conflict || !reflect.ValueOf(v.Current).IsZero() {
			text += " with " + show(v.Current)
		}
		return text
	case store.Snapshot:
		if v.Op.IsZero() {
			return "no record " + canonical(v.Record)
		}
		return fmt.Sprintf("op %v %s log %s", v.Op, canonical(v.Record), canonical(v.Log))
	case store.Timer:
		return fmt.Sprintf("%v at %d", v.Key, v.At)
	case store.Item:
		return fmt.Sprintf("%v active %d, %s", v.Key, v.Active, show(v.Snapshot))
	case store.Found:
		return fmt.Sprintf("%v timer %d, %s", v.Key, v.Timer, show(v.Snapshot))
	}
	return canonical(v)
}

func quoted(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", ids)
}

// canonical is the JSON form with sorted names and no spaces.
func canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v (%v)", v, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return fmt.Sprintf("%s (%v)", text, err)
	}
	if text, err = json.Marshal(plain); err != nil {
		return fmt.Sprintf("%+v (%v)", plain, err)
	}
	return string(text)
}

// showAll shows each element on a line of its own.
func showAll[T any](list []T) string {
	var lines []string
	for _, v := range list {
		lines = append(lines, "\n  "+show(v))
	}
	if lines == nil {
		return "nothing"
	}
	return strings.Join(lines, "")
}

// failer is what a comparison needs of a test.
type failer interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// equal compares what a call gave with what it should give.
func equal[T any](f failer, call string, got, want T) {
	f.Helper()
	if g, w := show(got), show(want); g != w {
		f.Fatalf("%s:\n got %s\nwant %s", call, g, w)
	}
}

// equalLists compares lists, in which nil and empty are the same.
func equalLists[T any](f failer, call string, got, want []T) {
	f.Helper()
	if g, w := showAll(got), showAll(want); g != w {
		f.Fatalf("%s:\n got %s\nwant %s", call, g, w)
	}
}

// sortedByKey puts a sweep into the order of keys, since every store may choose
// its own.
func sortedByKey(found []store.Found) []store.Found {
	slices.SortFunc(found, func(a, b store.Found) int { return a.Key.Compare(b.Key) })
	return found
}

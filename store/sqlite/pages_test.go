package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// TestPagesOfEachLength reads all conversations by pages of different lengths: each is
// there once and in order, with its timer in a sweep, and 0 stands for the default.
func TestPagesOfEachLength(t *testing.T) {
	const conversations = 103
	s := openNew(t)
	var writes []store.Write
	for i := range conversations {
		w := message(key(fmt.Sprintf("%03d", i)), store.Op{}, opOf(uint64(i+1)), 1)
		w.At = start + turn.Time(i/3) // some at the same time
		writes = append(writes, w)
	}
	mustTogether(t, s, writes...)
	for limit, first := range map[int]int{0: 100, 1: 1, 2: 2, conversations - 1: conversations - 1, conversations: conversations, 5000: conversations} {
		var swept, listed []string
		for cursor := ""; ; {
			found, next, err := s.Sweep(t.Context(), cursor, limit)
			if err != nil {
				t.Fatal(err)
			}
			if cursor == "" && len(found) != first {
				t.Errorf("limit %d: the first page of a sweep has %d", limit, len(found))
			}
			for _, f := range found {
				swept = append(swept, f.Key.Conversation)
				if f.Timer != start+1501 || f.Snapshot.Record.Seq != 1 || f.Err != nil {
					t.Errorf("limit %d: swept %+v", limit, f)
				}
			}
			if cursor = next; next == "" {
				break
			}
		}
		for cursor := ""; ; {
			page, err := s.List(t.Context(), store.ListQuery{Limit: limit, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			if cursor == "" && len(page.Items) != first {
				t.Errorf("limit %d: the first page of a list has %d", limit, len(page.Items))
			}
			for _, item := range page.Items {
				listed = append(listed, fmt.Sprint(item.Active-start, " ", item.Key.Conversation))
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		for i := range conversations {
			if want := fmt.Sprintf("%03d", i); len(swept) != conversations || swept[i] != want {
				t.Fatalf("limit %d: swept %q", limit, swept)
			}
		}
		if len(listed) != conversations || listed[0] != fmt.Sprint(34, " 102") || listed[1] != "33 099" || listed[conversations-1] != "0 002" {
			t.Errorf("limit %d: listed %q", limit, listed)
		}
	}
}

// TestEachBodyGoesToItsEntry: a write appends two entries and changes two others.
func TestEachBodyGoesToItsEntry(t *testing.T) {
	s := openNew(t)
	text := func(seq int64, text string) store.Entry {
		e := message(key("c"), store.Op{}, opOf(1), seq).Append[0]
		e.Text, e.Reason = text, "of "+text
		return e
	}
	first := message(key("c"), store.Op{}, opOf(1), 2)
	first.Append = []store.Entry{text(1, "one"), text(2, "two")}
	mustCommit(t, s, first)
	second := message(key("c"), opOf(1), opOf(2), 4)
	second.Append = []store.Entry{text(3, "three"), text(4, "four")}
	second.Change = []store.Entry{text(1, "ONE"), text(2, "TWO")}
	mustCommit(t, s, second)
	var got []string
	for _, e := range mustEntries(t, s, key("c")) {
		got = append(got, e.Text+" "+e.Reason)
	}
	if want := "ONE of ONE, TWO of TWO, three of three, four of four"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for query, want := range map[store.EntryQuery]string{
		{}:                              "1 2 3 4",
		{After: 1}:                      "2 3 4",
		{Before: 4}:                     "1 2 3",
		{After: 1, Before: 4}:           "2 3",
		{Limit: 3}:                      "1 2 3",
		{Limit: 3, Backward: true}:      "4 3 2",
		{ID: "m3"}:                      "3",
		{ID: "m3", After: 3}:            "",
		{Status: turn.InputPending}:     "1 2 3 4",
		{Status: turn.InputAnswered}:    "",
		{Before: 3, Backward: true}:     "2 1",
		{After: 2, Backward: true}:      "4 3",
		{Limit: store.MaxEntries + 100}: "1 2 3 4",
	} {
		entries, _, err := s.Entries(t.Context(), key("c"), query)
		var seqs []string
		for _, e := range entries {
			seqs = append(seqs, fmt.Sprint(e.Seq))
		}
		if err != nil || strings.Join(seqs, " ") != want {
			t.Errorf("%+v: got %v, %v; want %q", query, seqs, err, want)
		}
	}
}

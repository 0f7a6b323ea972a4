package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// talk stores conversations 0 to count-1, the first one newest. The last input of
// number i is "Text of i.", with a reply behind it.
func talk(t *testing.T, s store.Store, count int) {
	for i := range count {
		at := now - turn.Time(i)
		put(t, s, store.Write{Key: keyOf("bot", i), At: at, Record: turn.Record{Phase: turn.Idle, Seq: 2}, Append: []store.Entry{
			{Seq: 1, Kind: store.Message, ID: "m", Status: turn.InputAnswered, At: at, Version: 1, Body: store.Body{Text: fmt.Sprintf("Text of %d.", i), Trace: trace(step(0, "accepted"))}},
			{Seq: 2, Kind: store.Reply, ID: "r", Status: turn.ReplySent, At: at, Version: 1, Body: store.Body{Text: "A reply.", Turn: 1}},
		}})
	}
}

// walkList asks for all pages.
func walkList(t *testing.T, s store.Store, q ListQuery) (pages [][]string) {
	t.Helper()
	for range 1000 {
		rows, next, err := List(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		page := []string{}
		for _, row := range rows {
			page = append(page, row.Key.Conversation)
		}
		pages = append(pages, page)
		if q.Cursor = next; next == "" {
			return pages
		}
	}
	t.Fatal("the list has no end")
	return nil
}

func limited(limit int) ListQuery { return ListQuery{ListQuery: store.ListQuery{Limit: limit}} }

// Whatever the limit of a page is, each conversation is listed once, newest first, and
// all pages but the last are full.
func TestPagesOfAList(t *testing.T) {
	s := newStore()
	talk(t, s, 6)
	all := []string{"c0000", "c0001", "c0002", "c0003", "c0004", "c0005"}
	for limit := 1; limit <= 7; limit++ {
		for _, search := range []string{"", "TEXT OF"} {
			q := limited(limit)
			q.Search = search
			pages := walkList(t, s, q)
			if got := slices.Concat(pages...); !slices.Equal(got, all) {
				t.Errorf("pages of %d for %q: %v", limit, search, pages)
			}
			for i, page := range pages {
				if len(page) > limit || i < len(pages)-1 && len(page) != limit {
					t.Errorf("pages of %d for %q: the lengths are wrong: %v", limit, search, pages)
				}
			}
		}
	}
}

// A search looks at names and at last inputs, in any case, and at nothing else.
func TestWhatASearchFinds(t *testing.T) {
	s := newStore()
	talk(t, s, 12)
	for search, want := range map[string][]string{
		"text of 3.": {"c0003"},
		"TEXT OF 1":  {"c0001", "c0010", "c0011"},
		"C001":       {"c0010", "c0011"},
		"a reply":    nil,
		"nothing":    nil,
	} {
		for _, preview := range []bool{false, true} {
			q := limited(5)
			q.Search, q.Preview = search, preview
			if got := slices.Concat(walkList(t, s, q)...); !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", search, got, want)
			}
			rows, _, err := List(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if (row.LastInput != nil) != preview {
					t.Errorf("%q, preview %v: last input %+v", search, preview, row.LastInput)
				}
			}
		}
	}
}

// One page of a search reads five pages of the store, of a hundred records at most,
// and no more than there is room for; a list reads its page.
func TestAPageReadsSoMuchAndNoMore(t *testing.T) {
	s := newStore()
	talk(t, s, 700)
	for _, test := range []struct {
		search string
		limit  int
		want   []int
		found  int
	}{
		{"", 50, []int{50}, 50},
		{"", 300, []int{300}, 300},
		{"nothing", 300, []int{100, 100, 100, 100, 100}, 0},
		{"nothing", 50, []int{50, 50, 50, 50, 50}, 0},
		{"c000", 12, []int{12, 2, 2, 2, 2}, 10},
		{"c00", 99, []int{99}, 99},
		{"c00", 100, []int{100}, 100},
		{"text of 105.", 100, []int{100, 100, 99, 99, 99}, 1},
	} {
		s.lists = nil
		q := limited(test.limit)
		q.Search = test.search
		rows, next, err := List(t.Context(), s, q)
		if err != nil || len(rows) != test.found || next == "" {
			t.Errorf("%q: %d rows, next %q, %v", test.search, len(rows), next, err)
		}
		var limits []int
		for _, asked := range s.lists {
			limits = append(limits, asked.Limit)
		}
		if !slices.Equal(limits, test.want) {
			t.Errorf("%q, %d a page: it read pages of %v, want %v", test.search, test.limit, limits, test.want)
		}
	}
}

// The last input is the last message that was not deleted, among the last sixteen
// entries; most are found with the first two.
func TestLastInput(t *testing.T) {
	message := func(seq int64, status turn.Status) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Message, ID: fmt.Sprint("m", seq), Status: status, At: now, Version: 1, Body: store.Body{Text: fmt.Sprint("text ", seq)}}
	}
	reply := func(seq int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.Reply, ID: fmt.Sprint("r", seq), Status: turn.ReplySent, At: now, Version: 1}
	}
	replies := func(from, through int64) (all []store.Entry) {
		for seq := from; seq <= through; seq++ {
			all = append(all, reply(seq))
		}
		return all
	}
	for name, test := range map[string]struct {
		entries []store.Entry
		want    string
		reads   []int
	}{
		"the last":              {[]store.Entry{message(1, turn.InputAnswered), message(2, turn.InputPending)}, "text 2", []int{2}},
		"before its reply":      {[]store.Entry{message(1, turn.InputAnswered), message(2, turn.InputAnswered), reply(3)}, "text 2", []int{2}},
		"before a deleted one":  {[]store.Entry{message(1, turn.InputAnswered), message(2, turn.InputDeleted)}, "text 1", []int{2}},
		"before two replies":    {append([]store.Entry{message(1, turn.InputAnswered)}, replies(2, 3)...), "text 1", []int{2, 16}},
		"the sixteenth":         {append([]store.Entry{message(1, turn.InputAnswered)}, replies(2, 16)...), "text 1", []int{2, 16}},
		"the seventeenth":       {append([]store.Entry{message(1, turn.InputAnswered)}, replies(2, 17)...), "", []int{2, 16}},
		"only a deleted one":    {[]store.Entry{message(1, turn.InputDeleted)}, "", []int{2}},
		"two, both are deleted": {[]store.Entry{message(1, turn.InputDeleted), message(2, turn.InputDeleted)}, "", []int{2}},
	} {
		s := newStore()
		put(t, s, store.Write{Key: keyOf("bot", 1), At: now, Record: turn.Record{Phase: turn.Idle}, Append: test.entries})
		q := limited(1)
		q.Preview = true
		rows, _, err := List(t.Context(), s, q)
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		got := ""
		if rows[0].LastInput != nil {
			got = rows[0].LastInput.Text
		}
		var reads []int
		for _, asked := range s.entries {
			reads = append(reads, asked.Limit)
		}
		if got != test.want || !slices.Equal(reads, test.reads) {
			t.Errorf("%s: %q with reads of %v, want %q with %v", name, got, reads, test.want, test.reads)
		}
	}
	s := newStore()
	q := limited(1)
	q.Preview = true
	result, err := s.Commit(t.Context(), store.Write{Key: keyOf("bot", 1), Op: store.Op{15: 1}, At: now, Record: turn.Record{Schema: turn.Schema, OnHold: true, Phase: turn.Idle}})
	if err != nil || result.Status != store.OK {
		t.Fatal(result, err)
	}
	if _, _, err := List(t.Context(), s, q); err != nil || len(s.entries) != 0 {
		t.Errorf("the transcript of a conversation without input was read: %v, %v", s.entries, err)
	}
}

// What can't be read is left out; the list goes on beside it.
func TestAListLeavesOutWhatItCanNotRead(t *testing.T) {
	s := newStore()
	talk(t, s, 3)
	s.hidden[keyOf("bot", 1)] = store.ErrNewerSchema
	for limit := 1; limit <= 4; limit++ {
		if got := slices.Concat(walkList(t, s, limited(limit))...); !slices.Equal(got, []string{"c0000", "c0002"}) {
			t.Errorf("pages of %d: %v", limit, got)
		}
	}
}

// A list of some bots has these only, whatever the limit of a page is.
func TestListOfSomeBots(t *testing.T) {
	s := newStore()
	talk(t, s, 3)
	for i, bot := range []string{"mine", "other", "mine", "second"} {
		put(t, s, store.Write{Key: keyOf(bot, 10+i), At: now - turn.Time(i), Record: turn.Record{Phase: turn.Failed, Seq: 1}})
	}
	for limit := 1; limit <= 5; limit++ {
		q := limited(limit)
		q.Bots = []string{"mine", "second"}
		if got, want := slices.Concat(walkList(t, s, q)...), []string{"c0010", "c0012", "c0013"}; !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", limit, got, want)
		}
		var found []string
		for cursor, first := "", true; first || cursor != ""; first = false {
			page, next, err := Attention(t.Context(), s, AttentionQuery{Bots: q.Bots, Cursor: cursor, Limit: limit, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range page {
				found = append(found, f.Key.Conversation)
			}
			cursor = next
		}
		if want := []string{"c0010", "c0012", "c0013"}; !slices.Equal(found, want) {
			t.Errorf("attention, pages of %d: %v, want %v", limit, found, want)
		}
	}
}

package inspect

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/turn"
)

// Each state of a record that needs somebody is reported with its turn, its times, its
// reason and what helps, and no other state is.
func TestFindings(t *testing.T) {
	key := store.Key{Bot: "bot", Conversation: "c"}
	const active, waiting = now - 10, now - 900
	lost := func(count int) turn.Lost { return turn.Lost{Count: count, Holder: "node-2", At: now - 50} }
	reply := func(r turn.Reply) *turn.Reply { return &r }
	find := func(f Finding) []Finding { f.Key = key; return []Finding{f} }
	requeue, remedies, none := []string{"requeue"}, []string{"resend", "mark_sent"}, []string{}
	for name, test := range map[string]struct {
		record turn.Record
		want   []Finding
	}{
		"idle":    {turn.Record{Phase: turn.Idle}, nil},
		"waiting": {turn.Record{Phase: turn.Collecting, Pending: 1, Window: turn.Window{WaitingSince: waiting}}, nil},
		"failed": {
			turn.Record{Phase: turn.Failed, Turn: 3, Pending: 1, Window: turn.Window{WaitingSince: waiting}, Tries: turn.Tries{LastError: "no such model"}},
			find(Finding{Kind: FailedTurn, Turn: 3, At: active, Since: waiting, Reason: "no such model", Actions: requeue}),
		},
		"failed, with nothing known of what waits": {
			turn.Record{Phase: turn.Failed, Turn: 3},
			find(Finding{Kind: FailedTurn, Turn: 3, At: active, Since: active, Actions: requeue}),
		},
		"failed after its workers were lost": {
			turn.Record{Phase: turn.Failed, Turn: 3, Tries: turn.Tries{Lost: lost(5)}, SetAside: &turn.SetAside{Turn: 3, Pending: 1, At: now - 60, Since: now - 70}},
			find(Finding{Kind: FailedTurn, Turn: 3, At: active, Since: now - 70, Actions: requeue}),
		},
		"failed, behind messages that were set aside": {
			turn.Record{Phase: turn.Failed, Turn: 4, Pending: 1, Window: turn.Window{WaitingSince: waiting}, SetAside: &turn.SetAside{Turn: 3, Pending: 1, At: now - 60, Since: now - 70}},
			append(find(Finding{Kind: FailedTurn, Turn: 4, At: active, Since: waiting, Actions: requeue}),
				find(Finding{Kind: SetAside, Turn: 3, At: now - 60, Since: now - 70, Reason: "1 message was set aside: each worker that took it was lost", Actions: requeue})...),
		},
		"set aside": {
			turn.Record{Phase: turn.Idle, Turn: 5, SetAside: &turn.SetAside{Turn: 3, Pending: 2, At: now - 60, Since: now - 70}},
			find(Finding{Kind: SetAside, Turn: 3, At: now - 60, Since: now - 70, Reason: "2 messages were set aside: each worker that took them was lost", Actions: requeue}),
		},
		"set aside, while a responder runs": {
			turn.Record{Phase: turn.Generating, Turn: 5, SetAside: &turn.SetAside{Turn: 3, Pending: 1, At: now - 60}},
			find(Finding{Kind: SetAside, Turn: 3, At: now - 60, Since: now - 60, Reason: "1 message was set aside: each worker that took it was lost", Actions: none}),
		},
		"set aside, while a reply is sent": {
			turn.Record{Phase: turn.Sending, Turn: 5, Reply: &turn.Reply{}, SetAside: &turn.SetAside{Turn: 3, Pending: 1}},
			find(Finding{Kind: SetAside, Turn: 3, At: active, Since: active, Reason: "1 message was set aside: each worker that took it was lost", Actions: none}),
		},
		"unknown": {
			turn.Record{Unconfirmed: []turn.Unconfirmed{{Seq: 7, Turn: 2, Status: turn.ReplyUnknown, At: now - 30, Parts: 1}}},
			find(Finding{Kind: UnknownSend, Turn: 2, Seq: 7, At: now - 30, Since: now - 30, Actions: remedies}),
		},
		"undelivered": {
			turn.Record{Unconfirmed: []turn.Unconfirmed{{Seq: 7, Turn: 2, Status: turn.ReplyFailed, At: now - 30, Parts: 2, Reason: "blocked"}}},
			find(Finding{Kind: Undelivered, Turn: 2, Seq: 7, At: now - 30, Since: now - 30, Reason: "blocked; 0 of 2 parts arrived", Actions: remedies}),
		},
		"partial, and one that is sent again": {
			turn.Record{Unconfirmed: []turn.Unconfirmed{
				{Seq: 7, Turn: 2, Status: turn.ReplyPartial, At: now - 30, Parts: 3, Done: 1, Reason: turn.ByChannel}, {Seq: 9, Turn: 3, Status: turn.ReplyPartial, At: now - 20, Parts: 3, Done: 2, Resend: true},
			}},
			append(find(Finding{Kind: Partial, Turn: 2, Seq: 7, At: now - 30, Since: now - 30, Reason: "by_channel; 1 of 3 parts arrived", Actions: remedies}),
				find(Finding{Kind: Partial, Turn: 3, Seq: 9, At: now - 20, Since: now - 20, Reason: "it is about to be sent again", Actions: []string{"mark_sent"}})...),
		},
		"a worker was lost": {
			turn.Record{Phase: turn.Collecting, Turn: 4, Pending: 1, Window: turn.Window{WaitingSince: waiting}, Tries: turn.Tries{Lost: lost(1)}},
			find(Finding{Kind: LeaseLost, Turn: 4, At: now - 50, Since: waiting, Reason: "a worker on node-2 was lost while generating; the turn waits", Actions: none}),
		},
		"two were lost, and another one goes on": {
			turn.Record{Phase: turn.Generating, Turn: 4, Tries: turn.Tries{Lost: lost(2)}, Lease: turn.Lease{Holder: "node-3", Nonce: "n"}},
			find(Finding{Kind: LeaseLost, Turn: 4, At: now - 50, Since: active, Reason: "2 workers were lost while generating, the last one on node-2; node-3 goes on", Actions: none}),
		},
		"a worker was lost while it sent": {
			turn.Record{Phase: turn.Sending, Turn: 5, Tries: turn.Tries{Lost: lost(2)}, Reply: reply(turn.Reply{Turn: 4, Seq: 8, Since: now - 80, Lost: lost(1)})},
			find(Finding{Kind: LeaseLost, Turn: 4, Seq: 8, At: now - 50, Since: now - 80, Reason: "a worker on node-2 was lost while sending; the turn waits", Actions: none}),
		},
	} {
		got := findingsOf(store.Item{Key: key, Active: active, Snapshot: store.Snapshot{Record: test.record}})
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
}

// While a reply is sent that answers none of what waits, the first message that came
// since is the first that waits.
func TestFirstPending(t *testing.T) {
	for _, test := range []struct {
		newer, pending int
		since, want    turn.Time
	}{{2, 2, now - 5, now - 5}, {1, 2, now - 5, now - 9}, {2, 2, 0, now - 9}} {
		r := turn.Record{Pending: test.pending, Attempt: turn.Attempt{Newer: test.newer, NewerSince: test.since}, Window: turn.Window{WaitingSince: now - 9}}
		if got := FirstPending(r); got != test.want {
			t.Errorf("%+v: %d, want %d", test, got, test.want)
		}
	}
}

// walk asks for all pages, and says what stood on each.
func walk(t *testing.T, s store.Store, q AttentionQuery) (pages [][]string) {
	t.Helper()
	for range 100 {
		found, next, err := Attention(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		var page []string
		for _, f := range found {
			page = append(page, fmt.Sprintf("%s %s", f.Kind, f.Key.Conversation))
		}
		pages = append(pages, page)
		if q.Cursor = next; next == "" {
			return pages
		}
	}
	t.Fatal("the list has no end")
	return nil
}

// What is overdue comes first, then the rest, newest first; each once, whatever the
// limit of a page is; and no page holds more conversations than its limit.
func TestPagesOfAttention(t *testing.T) {
	s := newStore()
	for i := range 3 {
		due := now.Add(-time.Hour) + turn.Time(i)
		put(t, s, store.Write{Key: keyOf("bot", i), At: now - 9, Timer: due, Record: turn.Record{Phase: turn.Collecting, Window: turn.Window{Due: due}, Pending: 1}})
	}
	for i := 3; i < 7; i++ {
		put(t, s, store.Write{Key: keyOf("bot", i), At: now - turn.Time(i), Record: turn.Record{Phase: turn.Failed}})
	}
	all := []string{"overdue c0000", "overdue c0001", "overdue c0002", "failed_turn c0003", "failed_turn c0004", "failed_turn c0005", "failed_turn c0006"}
	for limit := 1; limit <= 9; limit++ {
		q := AttentionQuery{Limit: limit, Now: now, Leases: leases("bot", 30)}
		pages := walk(t, s, q)
		want := all
		if limit < 3 { // what is overdue has only the first page
			want = slices.Concat(all[:limit], all[3:])
		}
		if got := slices.Concat(pages...); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", limit, pages, want)
		}
		for i, page := range pages {
			if last := i == len(pages)-1; len(page) > limit || !last && len(page) < limit || last && len(pages) > 1 && len(page) == 0 && limit > 3 {
				t.Errorf("pages of %d: the lengths are wrong: %v", limit, pages)
			}
		}
	}
	for _, cursor := range []string{"x", "x-", "\x00"} {
		if _, _, err := Attention(t.Context(), s, AttentionQuery{Limit: 1, Now: now, Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	if _, _, err := Attention(t.Context(), s, AttentionQuery{Limit: 1, Now: now, Cursor: "-what no store made"}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor of no store: %v", err)
	}
	pages := walk(t, s, AttentionQuery{Bot: "other", Limit: 5, Now: now})
	if len(pages) != 1 || len(pages[0]) != 0 {
		t.Errorf("of another bot: %v", pages)
	}
}

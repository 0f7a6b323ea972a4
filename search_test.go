package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/store/sqlite"
	"github.com/onereply/onereply/turn"
)

// reading counts what is read from a store.
type reading struct {
	store.Store
	records, lookups, entries atomic.Int64
}

func (r *reading) List(ctx context.Context, q store.ListQuery) (store.Page, error) {
	page, err := r.Store.List(ctx, q)
	r.records.Add(int64(len(page.Items)))
	return page, err
}

func (r *reading) Entries(ctx context.Context, key store.Key, q store.EntryQuery) ([]store.Entry, bool, error) {
	entries, more, err := r.Store.Entries(ctx, key, q)
	r.lookups.Add(1)
	r.entries.Add(int64(len(entries)))
	return entries, more, err
}

// filled is a store with conversations "chat-0" and so on, the newest last.
// Each has one answered message, whose text is "text of" and its number.
func filled(t testing.TB, s store.Store, conversations int) store.Store {
	t.Helper()
	var writers sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		writers.Go(func() {
			for i := next.Add(1) - 1; i < int64(conversations); i = next.Add(1) - 1 {
				fill(t, s, i)
			}
		})
	}
	writers.Wait()
	return s
}

func fill(t testing.TB, s store.Store, i int64) {
	at := turn.Time(1_700_000_000_000 + 1000*i)
	id := fmt.Sprintf("m%d", i)
	result, err := s.Commit(context.Background(), store.Write{
		Key: store.Key{Bot: "bot", Conversation: fmt.Sprintf("chat-%d", i)}, Op: store.Op{15: 1}, At: at,
		Record: turn.Record{Schema: turn.Schema, Phase: turn.Idle, Version: 1, Answered: 1, Turn: 1, Seq: 2, AfterSeq: 2},
		Append: []store.Entry{
			{Seq: 1, Kind: store.Message, ID: id, Status: turn.InputAnswered, At: at, Version: 1, ReplySeq: 2, Body: store.Body{Text: fmt.Sprintf("Text of %d.", i)}},
			{Seq: 2, Kind: store.Reply, ID: "r", Status: turn.ReplySent, At: at, Version: 1, Body: store.Body{Text: "text of the reply", Turn: 1}},
		},
	})
	if err != nil || result.Status != store.OK {
		t.Errorf("fill: %v, %v", result, err)
	}
}

// names follows a list to its end, and says how many pages that took.
func names(t *testing.T, app *onereply.App, q onereply.ConversationQuery) (found []string, pages int) {
	t.Helper()
	for {
		list, err := app.Conversations(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if q.Limit > 0 && len(list.Conversations) > q.Limit {
			t.Fatalf("%d conversations, more than %d", len(list.Conversations), q.Limit)
		}
		pages++
		for _, c := range list.Conversations {
			found = append(found, c.Conversation)
		}
		if list.Next == "" {
			return found, pages
		}
		q.Cursor = list.Next
	}
}

func TestSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{store: filled(t, memory.New(), 250)})
		defer w.close()
		for sought, want := range map[string]string{
			"chat-24":           "chat-249 chat-248 chat-247 chat-246 chat-245 chat-244 chat-243 chat-242 chat-241 chat-240 chat-24",
			"CHAT-7":            "chat-79 chat-78 chat-77 chat-76 chat-75 chat-74 chat-73 chat-72 chat-71 chat-70 chat-7",
			"tEXT of 33.":       "chat-33",
			"-111":              "chat-111",
			"11.":               "chat-211 chat-111 chat-11",
			"text of the reply": "",
			"nothing":           "",
		} {
			for _, limit := range []int{1, 3, 100, 1000} {
				got, _ := names(t, w.nodes[0], onereply.ConversationQuery{Search: sought, Limit: limit})
				if strings.Join(got, " ") != want {
					t.Errorf("%q by %d: %v, want %s", sought, limit, got, want)
				}
			}
		}
		if all, _ := names(t, w.nodes[0], onereply.ConversationQuery{Limit: 7}); len(all) != 250 {
			t.Errorf("%d without a search", len(all))
		}
	})
}

// A search reads so much and no more for one page, wherever what is sought
// may be; and a list reads what it shows.
func TestSearchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &reading{Store: filled(t, memory.New(), 5000)}
		w := newWorld(t, settings{store: kept})
		defer w.close()
		for _, test := range []struct {
			name                      string
			q                         onereply.ConversationQuery
			found                     int
			records, lookups, entries int64
		}{
			{"a list", onereply.ConversationQuery{Limit: 50}, 50, 50, 0, 0},
			{"with a preview", onereply.ConversationQuery{Limit: 50, Preview: true}, 50, 50, 50, 100},
			{"a search in vain", onereply.ConversationQuery{Search: "nothing", Limit: 50}, 0, 250, 250, 500},
			{"a large one", onereply.ConversationQuery{Search: "nothing", Limit: 1000}, 0, 500, 500, 1000},
			{"of a name", onereply.ConversationQuery{Search: "chat-4", Limit: 100}, 100, 500, 500, 1000},
			{"of one far away", onereply.ConversationQuery{Search: "text of 17.", Limit: 100, Preview: true}, 0, 500, 500, 1000},
		} {
			kept.records.Store(0)
			kept.lookups.Store(0)
			kept.entries.Store(0)
			list, err := w.nodes[0].Conversations(t.Context(), test.q)
			if err != nil || len(list.Conversations) != test.found || list.Next == "" {
				t.Errorf("%s: %d found, next %q, %v", test.name, len(list.Conversations), list.Next, err)
			}
			if records, lookups, entries := kept.records.Load(), kept.lookups.Load(), kept.entries.Load(); records > test.records || lookups > test.lookups || entries > test.entries {
				t.Errorf("%s: read %d records and %d entries of %d conversations, at most %d, %d and %d are wanted",
					test.name, records, entries, lookups, test.records, test.entries, test.lookups)
			}
		}
		if got, pages := names(t, w.nodes[0], onereply.ConversationQuery{Search: "text of 17.", Limit: 100}); strings.Join(got, " ") != "chat-17" || pages != 10 {
			t.Errorf("far away: %v on %d pages", got, pages)
		}
	})
}

func TestPreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{bot: onereply.Bot{Debounce: onereply.Zero}})
		defer w.close()
		app := w.nodes[0]
		last := func() *onereply.LastInput {
			t.Helper()
			rest(time.Minute)
			list, err := app.Conversations(t.Context(), onereply.ConversationQuery{Preview: true})
			if err != nil || len(list.Conversations) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			return list.Conversations[0].LastInput
		}
		receive := func(m onereply.Message) {
			t.Helper()
			if _, err := app.Receive(t.Context(), "bot", "c", m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := app.Pause(t.Context(), "bot", "c", onereply.Pause{}); err != nil {
			t.Fatal(err)
		}
		if got := last(); got != nil {
			t.Errorf("of a conversation without one: %+v", got)
		}
		receive(onereply.Message{ID: "m1", Text: strings.Repeat("ä", 300), Sender: onereply.Person{ID: "u1", Name: "Ann"}})
		for range 5 { // people's replies
			if _, err := app.Answer(t.Context(), "bot", "c", onereply.HumanReply{Text: "reply"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := last(); got == nil || got.Text != strings.Repeat("ä", 200) || got.Sender == nil || got.Sender.Name != "Ann" || got.At.IsZero() {
			t.Errorf("behind replies: %+v", got)
		}
		receive(onereply.Message{ID: "m2", Text: "second"})
		if got := last(); got == nil || got.Text != "second" || got.Sender != nil {
			t.Errorf("the second: %+v", got)
		}
		if _, err := app.Retract(t.Context(), "bot", "c", "m2"); err != nil {
			t.Fatal(err)
		}
		if got := last(); got == nil || !strings.HasPrefix(got.Text, "ä") {
			t.Errorf("the deleted one is shown: %+v", got)
		}
	})
}

func TestSearchIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		defer w.close()
		for _, sought := range []string{strings.Repeat("x", 513), "\xff", "a\x00"} {
			var got *onereply.Error
			if _, err := w.nodes[0].Conversations(t.Context(), onereply.ConversationQuery{Search: sought}); !errors.As(err, &got) || got.Field != "q" {
				t.Errorf("%.10q: %v", sought, err)
			}
		}
	})
}

// BenchmarkConversations measures lists of 50,000 conversations in SQLite.
func BenchmarkConversations(b *testing.B) {
	kept, err := sqlite.Open(filepath.Join(b.TempDir(), "onereply.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer kept.Close()
	filled(b, kept, 50_000)
	echo := onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
		return onereply.Reply{Silent: true}, nil
	})
	app, err := onereply.Open(b.Context(), kept, onereply.Options{}, onereply.Bot{Name: "bot", Responder: echo})
	if err != nil {
		b.Fatal(err)
	}
	defer app.Close()
	for name, q := range map[string]onereply.ConversationQuery{
		"plain":     {},
		"preview":   {Preview: true},
		"in-vain":   {Search: "nothing", Preview: true},
		"large":     {Search: "nothing", Limit: 1000},
		"by-name":   {Search: "chat-4", Preview: true},
		"no-phase":  {Phase: onereply.PhaseFailed},
		"other-bot": {Bot: "bot", Phase: onereply.PhasePaused, Preview: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := app.Conversations(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

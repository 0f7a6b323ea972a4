package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// One record that a node can't read does not take its lists from it.
func TestListsBesideARecordOfANewerSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		app, err := onereply.Open(t.Context(), s, onereply.Options{Node: "old"},
			onereply.Bot{Name: "bot", Responder: streaming(1), Debounce: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		say(t, app, "c", "m1")
		due := turn.At(time.Now().Add(-time.Hour))
		newer := store.Write{
			Key: store.Key{Bot: "bot", Conversation: "newer"}, Op: store.Op{1}, At: turn.At(time.Now()), Timer: due,
			Record: turn.Record{Schema: turn.Schema + 1, Phase: turn.Failed, Window: turn.Window{Due: due}},
		}
		if result, err := s.Commit(t.Context(), newer); err != nil || result.Status != store.OK {
			t.Fatal(result, err)
		}
		page, err := app.Conversations(t.Context(), onereply.ConversationQuery{Preview: true})
		if err != nil || len(page.Conversations) != 1 || page.Conversations[0].Conversation != "c" {
			t.Errorf("the list is %+v, %v", page, err)
		}
		if attention, err := app.Attention(t.Context(), onereply.AttentionQuery{}); err != nil || len(attention.Items) != 0 {
			t.Errorf("attention: %+v, %v", attention, err)
		}
		if _, err := app.Audit(t.Context(), onereply.AuditQuery{}); err != nil {
			t.Errorf("audit: %v", err)
		}
	})
}

// corruptStore can't read what is stored.
type corruptStore struct{ *memory.Store }

func (s corruptStore) Load(context.Context, store.Key) (store.Snapshot, error) {
	return store.Snapshot{}, fmt.Errorf("the record: %w", store.ErrCorrupt)
}

// Commit meets the record that can't be read: see [store.Store].
func (s corruptStore) Commit(context.Context, store.Write) (store.Result, error) {
	return store.Result{}, fmt.Errorf("the record in the way: %w: %w", store.ErrNotApplied, store.ErrCorrupt)
}

func TestARecordThatIsNotWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, err := onereply.Open(t.Context(), corruptStore{memory.New()}, onereply.Options{}, onereply.Bot{Name: "bot", Responder: streaming(1)})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		_, receive := app.Receive(t.Context(), "bot", "c", onereply.Message{ID: "m", Text: "hello"})
		_, state := app.State(t.Context(), "bot", "c")
		for name, err := range map[string]error{"receive": receive, "state": state} {
			var known *onereply.Error
			if !errors.As(err, &known) || known.Code != onereply.CodeCorrupt {
				t.Errorf("%s: %v, want that it can't be read", name, err)
			}
		}
	})
}

package onereply_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store"
	"github.com/onereply/onereply/store/memory"
	"github.com/onereply/onereply/turn"
)

// newerStore refuses one conversation, as a store does whose record a newer program
// wrote, and counts the writes that reach it.
type newerStore struct {
	*memory.Store
	mu     sync.Mutex
	newer  bool
	writes int
}

func (s *newerStore) Load(ctx context.Context, key store.Key) (store.Snapshot, error) {
	snapshot, err := s.Store.Load(ctx, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newer && err == nil {
		return store.Snapshot{}, store.CheckRecord(key, turn.Record{Schema: turn.Schema + 1})
	}
	return snapshot, err
}

func (s *newerStore) Commit(ctx context.Context, w store.Write) (store.Result, error) {
	s.mu.Lock()
	newer := s.newer
	s.mu.Unlock()
	if newer { // what the newer program wrote has another Op
		w.Expect = store.Op{0xff}
	}
	result, err := s.Store.Commit(ctx, w)
	if result.Status == store.OK && err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.writes++
	}
	return result, err
}

// A node that meets a record of a newer program says so, to callers and in its log, and
// changes nothing. It does not take the store for out of reach.
func TestARecordOfANewerSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &newerStore{Store: memory.New()}
		var log strings.Builder
		var mu sync.Mutex
		app, err := onereply.Open(t.Context(), s, onereply.Options{
			Node: "old", Logger: slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return log.Write(p)
			}), nil)),
		}, onereply.Bot{Name: "bot", Responder: streaming(1), Debounce: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		say(t, app, "c", "m1")
		s.mu.Lock()
		s.newer, s.writes = true, 0
		s.mu.Unlock()
		ctx := t.Context()
		_, receive := app.Receive(ctx, "bot", "c", onereply.Message{ID: "m2", Text: "hello"})
		_, edit := app.Edit(ctx, "bot", "c", "m1", onereply.Edit{Text: new("other")})
		_, state := app.State(ctx, "bot", "c")
		_, flush := app.Flush(ctx, "bot", "c")
		_, answer := app.Answer(ctx, "bot", "c", onereply.HumanReply{Text: "hello"})
		_, ignored := app.Receive(ctx, "bot", "c", onereply.Message{ID: "m3", Text: "hello", FromMe: true})
		for name, err := range map[string]error{
			"receive": receive, "edit": edit, "state": state, "flush": flush, "answer": answer, "ignored": ignored,
		} {
			var known *onereply.Error
			if !errors.As(err, &known) || known.Code != onereply.CodeNewer || !errors.Is(err, store.ErrNewerSchema) {
				t.Errorf("%s: %v, want that a newer program wrote it", name, err)
			}
		}
		rest(time.Minute)
		if err := app.Ready(ctx); err != nil {
			t.Errorf("the node is not ready: %v", err)
		}
		mu.Lock()
		if lines := log.String(); !strings.Contains(lines, "upgrade this node") || strings.Contains(lines, "a read failed") {
			t.Errorf("the log says\n%s", lines)
		}
		mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.writes != 0 {
			t.Errorf("%d writes", s.writes)
		}
		s.newer = false
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

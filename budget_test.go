package onereply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// TestWhatWaitsHasABudget: what exceeds it is refused and not stored, in that conversation
// alone, until what waits is closed.
func TestWhatWaitsHasABudget(t *testing.T) {
	app := opened(t, onereply.Limits{WaitingBytes: 1}) // less than the least
	say := func(conversation, id, text string) error {
		_, err := app.Receive(t.Context(), "b", conversation, onereply.Message{ID: id, Text: text})
		return err
	}
	long := strings.Repeat("x", onereply.MaxTextBytes)
	fit := onereply.MinWaitingBytes / len(long)
	for i := range fit {
		if err := say("c", fmt.Sprint(i), long); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	var refused *onereply.Error
	if err := say("c", "more", "x"); !errors.As(err, &refused) || refused.Code != onereply.CodeTooMany {
		t.Errorf("one more byte: got error %v, want %s", err, onereply.CodeTooMany)
	}
	if err := say("another", "more", "x"); err != nil {
		t.Errorf("another conversation: %v", err)
	}
	if err := say("c", "end", "stop"); err != nil {
		t.Errorf("a word that closes: %v", err)
	}
	if err := say("c", "more", "x"); err != nil {
		t.Errorf("after what waited was closed: %v", err)
	}
}

// TestMetadataHasABudget: more is refused, and not stored.
func TestMetadataHasABudget(t *testing.T) {
	for limit, fits := range map[int]int{0: 64 << 10, 20: 20, 1 << 30: onereply.MaxMetadataBytes} {
		app := opened(t, onereply.Limits{MetadataBytes: limit})
		say := func(id string, bytes int) error {
			metadata := []byte(`"` + strings.Repeat("x", bytes-2) + `"`)
			_, err := app.Receive(t.Context(), "b", "c", onereply.Message{ID: id, Text: "x", Metadata: metadata})
			return err
		}
		if err := say("fits", fits); err != nil {
			t.Errorf("limit %d: %d bytes: %v", limit, fits, err)
		}
		var refused *onereply.Error
		if err := say("more", fits+1); !errors.As(err, &refused) || refused.Code != onereply.CodeInvalid || refused.Field != "metadata" {
			t.Errorf("limit %d: %d bytes: got error %v, want %s of metadata", limit, fits+1, err, onereply.CodeInvalid)
		}
	}
}

// TestTheRingHasABudget: a reader who comes back after more than it holds has lost some.
func TestTheRingHasABudget(t *testing.T) {
	for limit, lost := range map[int]bool{0: false, 1: true} {
		app := opened(t, onereply.Limits{RingBytes: limit})
		s := app.Subscribe(onereply.EventQuery{})
		say := func(id, text string) {
			if _, err := app.Receive(t.Context(), "b", "c", onereply.Message{ID: id, Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		say("first", "x")
		after := (<-s.Events).ID
		s.Close()
		for i := range onereply.MinRingBytes / onereply.MaxTextBytes {
			say(fmt.Sprint(i), strings.Repeat("x", onereply.MaxTextBytes))
		}
		s = app.Subscribe(onereply.EventQuery{After: after})
		if e := <-s.Events; (e.Type == "events.lost") != lost {
			t.Errorf("limit %d: the first event is %s", limit, e.Type)
		}
		s.Close()
	}
}

// opened is a node with these limits, of whose bot b nothing is due.
func opened(t *testing.T, limits onereply.Limits) *onereply.App {
	t.Helper()
	responder := onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
		return onereply.Reply{}, errors.New("nothing is due")
	})
	app, err := onereply.Open(t.Context(), memory.New(), onereply.Options{Limits: limits},
		onereply.Bot{Name: "b", Debounce: time.Hour, MaxWait: time.Hour, StopWords: []string{"stop"}, Responder: responder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	return app
}

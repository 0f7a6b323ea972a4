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
	responder := onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
		return onereply.Reply{}, errors.New("nothing is due")
	})
	app, err := onereply.Open(t.Context(), memory.New(), onereply.Options{Limits: onereply.Limits{WaitingBytes: 1}}, // less than the least
		onereply.Bot{Name: "b", Debounce: time.Hour, MaxWait: time.Hour, StopWords: []string{"stop"}, Responder: responder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
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

package onereply_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

// textAfter answers each turn with a text, after a while.
func textAfter(text string, after time.Duration) onereply.Responder {
	return onereply.ResponderFunc(func(ctx context.Context, _ *onereply.Turn) (onereply.Reply, error) {
		select {
		case <-time.After(after):
			return onereply.Reply{Text: text}, nil
		case <-ctx.Done():
			return onereply.Reply{}, ctx.Err()
		}
	})
}

// TestReconfigure: new settings hold from the next step on; an attempt that runs ends as it
// began.
func TestReconfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app, err := onereply.Open(t.Context(), memory.New(), onereply.Options{Logger: slog.New(slog.DiscardHandler)},
			onereply.Bot{Name: "a", Responder: textAfter("old", 10*time.Second), Debounce: onereply.Zero},
			onereply.Bot{Name: "b", Responder: textAfter("old", 10*time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		say := func(bot, text string) {
			t.Helper()
			if _, err := app.Receive(t.Context(), bot, "c", onereply.Message{Text: text}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		replies := func(bot string) string {
			t.Helper()
			page, err := app.Transcript(t.Context(), bot, "c", 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, e := range page.Entries {
				if e.Kind == "reply" {
					texts = append(texts, e.Text)
				}
			}
			return strings.Join(texts, ", ")
		}
		say("a", "one")
		time.Sleep(time.Second)
		next := []onereply.Bot{
			{Name: "b", Responder: textAfter("new", time.Second), Debounce: time.Hour, MaxWait: time.Hour},
			{Name: "a", Responder: textAfter("new", time.Second), Debounce: onereply.Zero},
		}
		for name, bad := range map[string][]onereply.Bot{
			"another bot": {next[0], {Name: "other", Responder: textAfter("bad", 0)}},
			"one less":    next[:1],
			"one twice":   {next[0], next[0]},
			"a mistake":   {next[0], {Name: "a", Responder: textAfter("bad", 0), Lease: time.Millisecond}},
		} {
			var refused *onereply.Error
			if err := app.Reconfigure(t.Context(), bad...); !errors.As(err, &refused) || refused.Code != onereply.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := app.Reconfigure(t.Context(), next...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		say("a", "two")
		time.Sleep(2 * time.Second)
		if got := replies("a"); got != "old, new" {
			t.Errorf("a replied %s", got)
		}
		say("b", "one")
		time.Sleep(30 * time.Minute)
		if got := replies("b"); got != "" {
			t.Errorf("b replied %s before the end of its new quiet time", got)
		}
		time.Sleep(31 * time.Minute)
		if got := replies("b"); got != "new" {
			t.Errorf("b replied %s", got)
		}
	})
}

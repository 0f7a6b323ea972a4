package channel_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
)

// typist shows typing for 25 seconds.
type typist struct {
	queue
	began time.Time
	mu    sync.Mutex
	shown []string
}

func (t *typist) Capabilities() channel.Capabilities {
	return channel.Capabilities{Limit: 100, TypingFor: 25 * time.Second}
}

func (t *typist) Typing(_ context.Context, to channel.Address, message string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = append(t.shown, to[0]+" "+message+" "+time.Since(t.began).String())
	return nil
}

// People are shown that the bot writes again shortly before they would see it no longer,
// for each newer message, and after each message of the bot's.
func TestTypingIsShownAsOftenAsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := &typist{began: time.Now()}
		account := channel.NewAccount(platform, channel.Settings{Bot: "bot", Name: "queue"})
		signal := func(chat, message string) {
			t.Helper()
			name := "queue:" + chat
			if err := account.Signal(t.Context(), onereply.Signal{Kind: onereply.SignalTyping, Conversation: name, Message: message}); err != nil {
				t.Fatal(err)
			}
		}
		for range 11 { // 0 to 40 s
			signal("a", "m1")
			time.Sleep(4 * time.Second)
		}
		signal("b", "m1")
		signal("a", "m2")
		time.Sleep(4 * time.Second)
		signal("a", "m2")
		if err := account.Send(t.Context(), &onereply.Delivery{Conversation: "queue:a", Text: "re", Parts: []string{"re"}}); err != nil {
			t.Fatal(err)
		}
		signal("a", "m2")
		want := []string{"a m1 0s", "a m1 20s", "a m1 40s", "b m1 44s", "a m2 44s", "a m2 48s"}
		if !slices.Equal(platform.shown, want) {
			t.Errorf("shown %q, want %q", platform.shown, want)
		}
	})
}

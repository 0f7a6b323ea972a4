package slack_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel/channeltest"
	"github.com/onereply/onereply/channel/slack"
	"github.com/onereply/onereply/channel/slack/fakeslack"
)

// talk is a bot on a fake Slack that posts to it, in virtual time.
type talk struct {
	*testing.T
	*channeltest.Program
	fake *fakeslack.Slack
}

func (t *talk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.Host.Receive(w, r, "bot", slack.Kind)
}

// talking runs a talk with a bot that waits a second and writes for two.
func talking(t *testing.T, observe int, run func(*talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		open, closeStore := memoryStore()
		defer closeStore()
		k := &talk{T: t, fake: fakeslack.New(app)}
		ch, err := slack.New(config(channeltest.Client(k.fake)))
		if err != nil {
			t.Fatal(err)
		}
		responder := onereply.ResponderFunc(func(ctx context.Context, turn *onereply.Turn) (onereply.Reply, error) {
			select {
			case <-ctx.Done():
				return onereply.Reply{}, ctx.Err()
			case <-time.After(2 * time.Second):
			}
			return onereply.Reply{Text: "re: " + strings.ReplaceAll(turn.Text(), "\n", " | ")}, nil
		})
		k.Program = channeltest.Start(t, open, "node", ch, slack.Kind, onereply.Bot{Responder: responder, Debounce: time.Second, Observe: observe})
		defer k.Stop()
		ctx, stop := context.WithCancel(t.Context())
		ended, err := k.fake.Subscribe(ctx, channeltest.Client(k), "https://bot.test/channels/bot/slack")
		if err != nil {
			t.Fatal(err)
		}
		defer ended()
		defer stop()
		run(k)
	})
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// sees compares what is shown in a channel, with the thread of each message.
func (t *talk) sees(channel string, want ...string) {
	t.Helper()
	var got []string
	for _, shown := range t.fake.Channel(channel) {
		got = append(got, strings.TrimSpace(shown.Thread+" "+shown.Text))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s shows %q, want %q", channel, got, want)
	}
}

// A mention is told twice, and answered once, in its thread. What the bot posts comes back,
// and opens nothing.
func TestMentionIsAnsweredOnce(t *testing.T) {
	for _, observe := range []int{0, 10} {
		talking(t, observe, func(k *talk) {
			k.fake.Say("C1", "U1", "1.000001", "<@UBOT> hello", nil)
			pass(time.Minute)
			k.fake.Say("C1", "U1", "1.000002", "not for the bot", nil)
			k.fake.Say("C1", "U1", "1.000003", "<@UBOT> and you?", map[string]any{"thread_ts": "1.000001"})
			pass(time.Minute)
			k.sees("C1", "1.000001 re: hello", "1.000001 re: and you?")
			state, err := k.App.State(k.Context(), "bot", "slack:T1:C1:1.000001")
			if err != nil || state.Version < 2 {
				k.Errorf("%+v, %v", state, err)
			}
		})
	}
}

// A direct chat is one conversation, a burst in it one turn; a thread in it is another one.
func TestDirectChat(t *testing.T) {
	talking(t, 0, func(k *talk) {
		k.fake.Say("D1", "U1", "1.000001", "hello", nil)
		k.fake.Say("D1", "U1", "1.000002", "are you there", nil)
		k.fake.Say("D1", "U1", "1.000003", "in a thread", map[string]any{"thread_ts": "1.000001"})
		pass(time.Minute)
		got := k.fake.Channel("D1")
		slices.SortFunc(got, func(a, b fakeslack.Shown) int { return strings.Compare(a.Thread, b.Thread) })
		if len(got) != 2 || got[0].Text != "re: hello | are you there" || got[1].Thread != "1.000001" || got[1].Text != "re: in a thread" {
			k.Errorf("shown %+v", got)
		}
	})
}

// An edit while the model writes is answered as it reads then. The preview of a link is
// none, and changes nothing.
func TestEditsAndPreviews(t *testing.T) {
	talking(t, 0, func(k *talk) {
		change := func(text string, more map[string]any) {
			now := map[string]any{"user": "U1", "text": text, "ts": "1.000001"}
			for name, value := range more {
				now[name] = value
			}
			k.fake.Tell(map[string]any{
				"type": "message", "subtype": "message_changed", "channel": "D1", "channel_type": "im", "message": now,
				"previous_message": map[string]any{"user": "U1", "text": "by monday", "ts": "1.000001"},
			})
		}
		k.fake.Say("D1", "U1", "1.000001", "by monday", nil)
		pass(2 * time.Second)
		change("by monday", map[string]any{"attachments": []any{map[string]any{"title": "Monday"}}})
		pass(500 * time.Millisecond)
		change("by tuesday", map[string]any{"edited": map[string]any{"ts": "1700000000.000000"}})
		pass(time.Minute)
		k.sees("D1", "re: by tuesday")
		change("by friday", map[string]any{"edited": map[string]any{"ts": "1700000001.000000"}})
		pass(time.Minute)
		k.sees("D1", "re: by tuesday")
	})
}

// A model can't call everybody: its text is shown as it is.
func TestNothingIsMarkup(t *testing.T) {
	talking(t, 0, func(k *talk) {
		k.fake.Say("D1", "U1", "1.000001", "say &lt;!channel&gt; &amp; more", nil)
		pass(time.Minute)
		k.sees("D1", "re: say <!channel> & more")
	})
}

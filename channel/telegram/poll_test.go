package telegram_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel/channeltest"
	"github.com/onereply/onereply/channel/telegram"
	"github.com/onereply/onereply/channel/telegram/faketelegram"
)

// ann is somebody who writes.
var ann = faketelegram.User{ID: 42, FirstName: "Ann"}

// startPoller starts a program that polls.
func startPoller(t *testing.T, open channeltest.Open, f http.Handler, node string) *channeltest.Program {
	t.Helper()
	ch, err := telegram.New(telegram.Config{Token: token, APIBase: "https://telegram.test", HTTPClient: channeltest.Client(f)})
	if err != nil {
		t.Fatal(err)
	}
	responder := onereply.ResponderFunc(func(_ context.Context, turn *onereply.Turn) (onereply.Reply, error) {
		return onereply.Reply{Text: "re: " + strings.ReplaceAll(turn.Text(), "\n", " ")}, nil
	})
	return channeltest.Start(t, open, node, ch, telegram.Kind, onereply.Bot{Responder: responder, Debounce: time.Second})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func wantShown(t *testing.T, f *faketelegram.Telegram, want ...string) {
	t.Helper()
	if got := (fake{f}).Shown("42"); !slices.Equal(got, want) {
		t.Errorf("the chat shows %q, want %q", got, want)
	}
}

// Nothing that is written while programs stop, crash and take over from each other is
// lost, and nothing is answered twice.
func TestPollingIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := faketelegram.New(token, name)
		open, closeStore := memoryStore()
		defer closeStore()
		var want []string
		for i := range 4 {
			f.Say(ann, int64(10*i+1), fmt.Sprint("hello ", i))
			p, other := startPoller(t, open, f, "one"), startPoller(t, open, f, "other")
			pass(40 * time.Second)
			want = append(want, fmt.Sprint("re: hello ", i))
			wantShown(t, f, want...)
			f.Say(ann, int64(10*i+2), fmt.Sprint("and ", i)) // it comes, and nobody may answer it in time
			pass(time.Duration(i) * 400 * time.Millisecond)
			p.Stop()
			pass(30 * time.Second)
			want = append(want, fmt.Sprint("re: and ", i))
			wantShown(t, f, want...)
			other.Stop()
		}
		if f.Waiting() > 1 { // the last update is done with the next poll
			t.Errorf("%d updates wait", f.Waiting())
		}
	})
}

// An update that was stored and not confirmed comes again after a crash, and changes
// nothing.
func TestUpdatesComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := faketelegram.New(token, name)
		open, closeStore := memoryStore()
		defer closeStore()
		forgets := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/getUpdates") {
				r.Body = bodyOf(`{"offset":0,"limit":100,"timeout":50}`) // as if no confirmation ever arrived
			}
			f.ServeHTTP(w, r)
		})
		f.Say(ann, 1, "hello")
		p := startPoller(t, open, slowly{forgets}, "one")
		pass(time.Minute)
		wantShown(t, f, "re: hello")
		if s := p.Account.Status(); s.Messages < 2 {
			t.Errorf("the update came %d times", s.Messages)
		}
		p.Stop()
	})
}

// A webhook that is set is taken away, since the configuration says that the bot is
// polled; and another program that polls is named as the trouble.
func TestPollingAndWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := faketelegram.New(token, name)
		open, closeStore := memoryStore()
		defer closeStore()
		call := func(method, parameters string) {
			t.Helper()
			if _, err := channeltest.Client(f).Post("https://telegram.test/bot"+token+"/"+method, "application/json", bodyOf(parameters)); err != nil {
				t.Fatal(err)
			}
		}
		call("setWebhook", `{"url":"https://bot.test/channels/bot/telegram"}`)
		f.Say(ann, 1, "hello")
		p := startPoller(t, open, f, "one")
		pass(30 * time.Second)
		wantShown(t, f, "re: hello")
		if got := p.Account.Status().LastError; !strings.Contains(got, "https://bot.test/") {
			t.Errorf("the last error is %q", got)
		}
		call("getUpdates", `{"timeout":0}`)
		pass(time.Second / 2)
		if got := p.Account.Status().LastError; !strings.Contains(got, "another program polls this bot") {
			t.Errorf("the last error is %q", got)
		}
		p.Stop()
	})
}

// A group that becomes a supergroup keeps its history, whichever of the two learns of it
// first: a message, or a send.
func TestMigration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := faketelegram.New(token, name)
		open, closeStore := memoryStore()
		defer closeStore()
		p := startPoller(t, open, f, "one")
		say := func(chat, id int64, text string) {
			kind := "group"
			if chat == -1007 {
				kind = "supergroup"
			}
			f.Tell(map[string]any{"message": map[string]any{
				"message_id": id, "date": time.Now().Unix(), "text": text, "from": ann, "chat": map[string]any{"id": chat, "type": kind},
				"entities": []map[string]any{{"type": "bot_command", "offset": 0, "length": 2}},
			}})
		}
		say(-7, 1, "/a")
		pass(30 * time.Second)
		f.Migrate(-7, -1007)
		say(-7, 2, "/b") // the send meets the new number
		pass(30 * time.Second)
		say(-1007, 1, "/c") // numbers of messages begin again: it is no repeat
		pass(30 * time.Second)
		f.Tell(map[string]any{"message": map[string]any{"message_id": 3, "date": 1, "chat": map[string]any{"id": -7, "type": "group"}, "migrate_to_chat_id": -1007}})
		say(-1007, 5, "/d")
		pass(30 * time.Second)
		var shown []string
		for _, s := range append(f.Chat(-7), f.Chat(-1007)...) {
			shown = append(shown, s.Text)
		}
		t.Logf("shown: %q", shown)
		if want := []string{"re: /a", "re: /b", "re: /c", "re: /d"}; !slices.Equal(shown, want) {
			t.Errorf("shown %q, want %q", shown, want)
		}
		state, err := p.App.State(t.Context(), "bot", "telegram:-7")
		if err != nil || state.Conversation != "telegram:-1007" || state.Version != 4 {
			t.Errorf("%+v, %v", state, err)
		}
		p.Stop()
	})
}

func bodyOf(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// slowly waits a second before each answer: an API that repeats itself at once would keep
// the program busy for ever.
type slowly struct{ http.Handler }

func (s slowly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(time.Second):
	case <-r.Context().Done():
	}
	s.Handler.ServeHTTP(w, r)
}

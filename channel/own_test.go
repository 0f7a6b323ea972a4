package channel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/store/memory"
)

// phone is a platform that tells all messages which leave the account, whoever wrote them.
type phone struct {
	queue
	events chan channel.Event
	sends  int
	lost   bool // the answer to each send is lost
	during func(p *channel.Part)
}

func (p *phone) Send(_ context.Context, part *channel.Part) (channel.Sent, error) {
	p.sends++
	if p.during != nil {
		p.during(part)
	}
	rest(time.Second)
	if p.lost {
		return channel.Sent{}, errors.New("no answer")
	}
	return channel.Sent{ID: "sent-1"}, nil
}

func (p *phone) Poll(ctx context.Context, deliver func(context.Context, channel.Batch) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-p.events:
			if err := deliver(ctx, channel.Batch{Events: []channel.Event{e}}); err != nil {
				return err
			}
		}
	}
}

// startPhone starts an App on the platform, and has a person write.
func startPhone(t *testing.T, p *phone) *onereply.App {
	t.Helper()
	kept := memory.New()
	account := channel.NewAccount(p, channel.Settings{Bot: "bot", Name: "phone", TakeoverFor: time.Hour})
	app, err := onereply.Open(t.Context(), kept, onereply.Options{}, onereply.Bot{
		Name: "bot", Debounce: time.Second, Channels: []onereply.Channel{{Name: "phone", Sender: account}},
		Responder: onereply.ResponderFunc(func(context.Context, *onereply.Turn) (onereply.Reply, error) {
			return onereply.Reply{Text: "the reply"}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	host := channel.NewHost(app, []*channel.Account{account}, channel.Options{})
	host.Start()
	t.Cleanup(func() { host.Close(); app.Close(); kept.Close() })
	p.events <- channel.Message{Chat: inChat, Message: onereply.Message{ID: "m1", Text: "hello"}}
	return app
}

var inChat = channel.Chat{To: channel.Address{"c"}}

func stateOf(t *testing.T, app *onereply.App) onereply.State {
	t.Helper()
	s, err := app.State(t.Context(), "bot", "phone:c")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A platform that can't tell the bot's messages from those of staff tells of one before the
// send has its answer, and again later. Neither is a take-over. A message of staff is.
func TestEchoIsNoTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &phone{events: make(chan channel.Event, 9)}
		p.during = func(part *channel.Part) { p.events <- channel.TakeOver{Chat: inChat, ID: "sent-1", Text: part.Text} }
		app := startPhone(t, p)
		rest(time.Minute)
		p.events <- channel.TakeOver{Chat: inChat, ID: "sent-1", Text: "the reply"}
		rest(time.Minute)
		if s := stateOf(t, app); s.Phase != onereply.PhaseIdle {
			t.Errorf("the conversation is %s: an echo was taken for a person", s.Phase)
		}
		p.events <- channel.TakeOver{Chat: inChat, ID: "by-hand", Text: "I take this one"}
		rest(time.Minute)
		if s := stateOf(t, app); s.Phase != onereply.PhasePaused {
			t.Errorf("the conversation is %s, and a person has taken over", s.Phase)
		}
	})
}

// The answer to a send is lost, and the platform tells of the message: it has arrived, and a
// later failure of it is somebody's to see.
func TestEchoSettlesUnknownSend(t *testing.T) {
	for name, echo := range map[string]func(*channel.Part) channel.Event{
		"by its text": func(p *channel.Part) channel.Event { return channel.Echo{Chat: inChat, ID: "sent-1", Text: p.Text} },
		"by the id of the part": func(p *channel.Part) channel.Event {
			return channel.Report{Chat: inChat, ID: "sent-1", Part: p.ID, Status: onereply.ReplyRead}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent *channel.Part
				p := &phone{events: make(chan channel.Event, 9), lost: true}
				p.during = func(part *channel.Part) { sent = part }
				app := startPhone(t, p)
				rest(time.Minute)
				wantAttention(t, app, 1)
				p.events <- echo(sent)
				rest(time.Minute)
				wantAttention(t, app, 0)
				if p.sends != 1 {
					t.Errorf("%d sends", p.sends)
				}
			})
		})
	}
}

// A failure that the platform reports later, by its own id, is shown in Attention.
func TestLateFailureNeedsAttention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &phone{events: make(chan channel.Event, 9)}
		app := startPhone(t, p)
		rest(time.Hour)
		wantAttention(t, app, 0)
		p.events <- channel.Report{Chat: inChat, ID: "another", Status: onereply.ReplyFailed, Reason: "unknown"}
		rest(time.Minute)
		wantAttention(t, app, 0)
		p.events <- channel.Report{Chat: inChat, ID: "sent-1", Status: onereply.ReplyFailed, Reason: "the number is gone"}
		rest(time.Minute)
		wantAttention(t, app, 1)
	})
}

func wantAttention(t *testing.T, app *onereply.App, want int) {
	t.Helper()
	page, err := app.Attention(t.Context(), onereply.AttentionQuery{})
	if err != nil || len(page.Items) != want {
		t.Errorf("attention has %d items, want %d: %v", len(page.Items), want, err)
	}
}

// rest lets virtual time pass.
func rest(d time.Duration) { <-time.After(d) }

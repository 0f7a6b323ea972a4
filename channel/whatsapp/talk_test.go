package whatsapp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/channel"
	"github.com/onereply/onereply/channel/channeltest"
	"github.com/onereply/onereply/channel/whatsapp"
	"github.com/onereply/onereply/channel/whatsapp/fakewhatsapp"
)

// The times of the bot in these talks.
const (
	debounce = time.Second
	thinking = 2 * time.Second
)

// talk is a bot on a fake WhatsApp that posts to it, in virtual time.
type talk struct {
	*testing.T
	*channeltest.Program
	fake *fakewhatsapp.WhatsApp

	reply  func(*onereply.Turn) string // nil: what was said, after "re: "
	prompt string                      // of the last attempt: the history, and what is answered
}

func (t *talk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.Host.Receive(w, r, "bot", whatsapp.Kind)
}

// talking runs a talk. change, where there is one, changes the bot before it starts.
func talking(t *testing.T, change func(*onereply.Bot), run func(*talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		open, closeStore := memoryStore()
		defer closeStore()
		k := &talk{T: t, fake: fakewhatsapp.New(account)}
		ch, err := whatsapp.New(config(channeltest.Client(k.fake)))
		if err != nil {
			t.Fatal(err)
		}
		bot := onereply.Bot{Responder: onereply.ResponderFunc(k.respond), Debounce: debounce}
		if change != nil {
			change(&bot)
		}
		k.Program = channeltest.Start(t, open, "node", ch, whatsapp.Kind, bot)
		defer k.Stop()
		ctx, stop := context.WithCancel(t.Context())
		ended, err := k.fake.Subscribe(ctx, channeltest.Client(k), "https://bot.test/channels/bot/whatsapp")
		if err != nil {
			t.Fatal(err)
		}
		defer ended()
		defer stop()
		run(k)
	})
}

func (t *talk) respond(ctx context.Context, turn *onereply.Turn) (onereply.Reply, error) {
	select {
	case <-ctx.Done():
		return onereply.Reply{}, ctx.Err()
	case <-time.After(thinking):
	}
	var lines []string
	for _, e := range turn.History {
		lines = append(lines, e.Text)
	}
	for _, m := range turn.Messages {
		lines = append(lines, m.Text)
	}
	t.prompt = strings.Join(lines, " | ")
	if t.reply != nil {
		return onereply.Reply{Text: t.reply(turn)}, nil
	}
	var texts []string
	for _, m := range turn.Messages {
		texts = append(texts, m.Text)
	}
	return onereply.Reply{Text: "re: " + strings.Join(texts, " | ")}, nil
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// sees compares what somebody sees under a name.
func (t *talk) sees(name string, want ...string) {
	t.Helper()
	var got []string
	for _, shown := range t.fake.Chat(name) {
		got = append(got, shown.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s sees %q, want %q", name, got, want)
	}
}

// state is the conversation of somebody under a name.
func (t *talk) state(name string) onereply.State {
	t.Helper()
	s, err := t.App.State(t.Context(), "bot", channel.Address{"P", name}.Key(whatsapp.Kind))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

func (t *talk) attention() []onereply.AttentionItem {
	t.Helper()
	page, err := t.App.Attention(t.Context(), onereply.AttentionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

var ann = fakewhatsapp.Person{Phone: "15551234567", UserID: "US.1349", Name: "Ann"}

// Somebody is one conversation under their number, their id, and both, and is answered
// under the name by which they wrote.
func TestNumberAndIDAreOneConversation(t *testing.T) {
	onlyPhone, onlyID := fakewhatsapp.Person{Phone: ann.Phone}, fakewhatsapp.Person{UserID: ann.UserID}
	tests := map[string][]fakewhatsapp.Person{
		"the number first":    {onlyPhone, ann, onlyID},
		"the id first":        {onlyID, ann, onlyPhone},
		"both first":          {ann, onlyID, onlyPhone},
		"the number, hidden":  {ann, onlyID, onlyID},
		"the number for once": {onlyID, ann, onlyID},
	}
	for name, people := range tests {
		t.Run(name, func(t *testing.T) {
			talking(t, nil, func(k *talk) {
				var want []string
				var byID, byPhone []string
				for i, p := range people {
					text := []string{"one", "two", "three"}[i]
					k.fake.Say(p, wamid(i), text)
					pass(time.Minute)
					want = append(want, text)
					if p.UserID != "" {
						byID = append(byID, "re: "+text)
					} else {
						byPhone = append(byPhone, "re: "+text)
					}
				}
				k.sees(ann.UserID, byID...)
				k.sees(ann.Phone, byPhone...)
				if got := k.state(ann.UserID); got.Version != 3 {
					k.Errorf("version %d under the id", got.Version)
				}
				for _, text := range want {
					if !strings.Contains(k.prompt, text) {
						k.Errorf("the last prompt lacks %q: %s", text, k.prompt)
					}
				}
			})
		})
	}
}

// A person who changes their number or their id keeps the conversation, and the next owner
// of the number begins one of their own.
func TestNumbersChangeHands(t *testing.T) {
	talking(t, nil, func(k *talk) {
		k.fake.Say(ann, "wamid.1", "my secret is 42")
		pass(time.Minute)
		k.fake.Tell(k.fake.Change("messages", map[string]any{"messages": []any{map[string]any{
			"from": ann.Phone, "from_user_id": ann.UserID, "id": "wamid.2", "timestamp": "1", "type": "system",
			"system": map[string]any{"type": "user_changed_number", "wa_id": "15559999999", "user_id": "US.77"},
		}}}))
		pass(time.Minute)
		k.fake.Say(fakewhatsapp.Person{UserID: "US.77", Phone: "15559999999"}, "wamid.3", "still me")
		pass(time.Minute)
		k.sees("US.77", "re: still me")
		if !strings.Contains(k.prompt, "42") {
			k.Errorf("the history is lost: %s", k.prompt)
		}
		k.fake.Say(fakewhatsapp.Person{UserID: "US.88", Phone: ann.Phone}, "wamid.4", "I am new here")
		pass(time.Minute)
		k.sees("US.88", "re: I am new here")
		if k.prompt != "I am new here" {
			k.Errorf("a stranger's prompt is %q", k.prompt)
		}
		if k.state("US.77").Version != 2 || k.state("US.88").Version != 1 {
			k.Error("they share a conversation")
		}
	})
}

// Staff who answer from WhatsApp's own app take over: the reply under way is thrown away,
// the bot is silent for an hour, and what staff wrote is history. A repeat of the echo
// changes nothing.
func TestStaffTakeOver(t *testing.T) {
	talking(t, nil, func(k *talk) {
		k.fake.Say(ann, "wamid.1", "is anybody there")
		pass(debounce + thinking/2) // the model writes
		echo := func() {
			k.fake.Tell(k.fake.Change("smb_message_echoes", map[string]any{"message_echoes": []any{map[string]any{
				"from": account.Number, "to": ann.Phone, "id": "wamid.S", "timestamp": "1", "type": "text", "text": map[string]any{"body": "yes, I am"},
			}}}))
		}
		echo()
		pass(time.Minute)
		k.fake.Say(ann, "wamid.2", "good")
		echo()
		pass(30 * time.Minute)
		k.sees(ann.UserID)
		k.sees(ann.Phone)
		pass(time.Hour)
		k.sees(ann.UserID, "re: good")
		if want := "is anybody there | yes, I am | good"; k.prompt != want {
			k.Errorf("the prompt is %q, want %q", k.prompt, want)
		}
	})
}

// A webhook that comes again, more than a day later and in another order, changes nothing.
// WhatsApp tries for up to seven days; ids are kept for eight at the least, which the
// configuration sees to.
func TestRedeliveryForDays(t *testing.T) {
	talking(t, nil, func(k *talk) {
		first, second := k.fake.Messages(ann, k.fake.Text(ann, "wamid.1", "hello")), k.fake.Messages(ann, k.fake.Text(ann, "wamid.2", "you"))
		k.fake.Tell(first)
		k.fake.Tell(second)
		for range 5 {
			pass(5 * time.Hour)
			k.fake.Tell(second)
			k.fake.Tell(first)
		}
		pass(time.Hour)
		k.sees(ann.UserID, "re: hello | you")
		if v := k.state(ann.UserID).Version; v != 2 {
			k.Errorf("version %d", v)
		}
	})
}

// While the node can't take an event, WhatsApp keeps it and posts it again.
func TestEventsOutliveAnOutage(t *testing.T) {
	talking(t, nil, func(k *talk) {
		var away atomic.Bool
		away.Store(true)
		host := k.Host
		ctx, stop := context.WithCancel(k.Context())
		ended, err := k.fake.Subscribe(ctx, channeltest.Client(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away.Load() && r.Method == http.MethodPost {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			host.Receive(w, r, "bot", whatsapp.Kind)
		})), "https://bot.test/channels/bot/whatsapp")
		if err != nil {
			k.Fatal(err)
		}
		k.fake.Say(ann, "wamid.1", "hello")
		k.fake.Say(ann, "wamid.2", "anyone")
		pass(time.Hour)
		k.sees(ann.UserID)
		away.Store(false)
		pass(2 * time.Minute)
		k.sees(ann.UserID, "re: hello | anyone")
		stop()
		ended()
	})
}

// Outside the 24 hours nothing can be sent: that is final, people are told what to do, and
// the conversation goes on as soon as the person writes.
func TestOutsideTheWindow(t *testing.T) {
	talking(t, nil, func(k *talk) {
		k.fake.Fail(fakewhatsapp.Fault{Status: 400, Code: 131047, Message: "Re-engagement message"})
		k.fake.Say(ann, "wamid.1", "hello")
		pass(3 * time.Hour)
		k.sees(ann.UserID)
		items := k.attention()
		if len(items) != 1 || !strings.Contains(items[0].Reason, "more than 24 hours ago") {
			k.Errorf("attention: %+v", items)
		}
		k.fake.Say(ann, "wamid.2", "hello again")
		pass(time.Minute)
		k.sees(ann.UserID, "re: hello | hello again") // nobody has seen the first answer
	})
}

// A failure that WhatsApp tells after it took the message is a matter for Attention, with
// what to do.
func TestLateFailure(t *testing.T) {
	talking(t, nil, func(k *talk) {
		k.fake.Fail(fakewhatsapp.Fault{Late: 131047})
		k.fake.Say(ann, "wamid.1", "hello")
		pass(time.Minute)
		k.sees(ann.UserID)
		items := k.attention()
		if len(items) != 1 || items[0].Kind != "undelivered" || !strings.Contains(items[0].Reason, "more than 24 hours ago") {
			k.Errorf("attention: %+v", items)
		}
		k.fake.Say(ann, "wamid.2", "are you there")
		pass(time.Minute)
		k.sees(ann.UserID, "re: are you there")
	})
}

// A send whose answer was lost is settled by what WhatsApp tells of the message.
func TestReportSettlesALostAnswer(t *testing.T) {
	talking(t, nil, func(k *talk) {
		k.fake.Fail(fakewhatsapp.Fault{Lost: true})
		k.fake.Say(ann, "wamid.1", "hello")
		pass(time.Hour)
		k.sees(ann.UserID, "re: hello")
		if items := k.attention(); len(items) > 0 {
			k.Errorf("attention: %+v", items)
		}
	})
}

// The parts of a long reply come in order and once, also if WhatsApp asks for a pause in
// the middle, or knows only later that the first one failed.
func TestPartsKeepTheirOrder(t *testing.T) {
	long := func(*onereply.Turn) string {
		return strings.Repeat("a ", 2000) + strings.Repeat("b ", 2000) + strings.Repeat("c ", 2000)
	}
	talking(t, nil, func(k *talk) {
		k.reply = long
		k.fake.Fail(fakewhatsapp.Fault{})
		k.fake.Fail(fakewhatsapp.Fault{Limited: 20 * time.Second})
		k.fake.Say(ann, "wamid.1", "tell me all")
		pass(10 * time.Second)
		if got := k.fake.Chat(ann.UserID); len(got) != 1 {
			k.Errorf("%d parts are shown during the pause", len(got))
		}
		pass(5 * time.Minute)
		var all strings.Builder
		for _, shown := range k.fake.Chat(ann.UserID) {
			all.WriteString(shown.Text + " ")
		}
		if got, want := strings.Fields(all.String()), strings.Fields(long(nil)); !slices.Equal(got, want) {
			k.Errorf("%d words are shown, want %d in order", len(got), len(want))
		}
	})
}

// A limit of the whole number stops the messages to everybody, not only to the person who
// met it.
func TestANumbersLimitIsEverybodys(t *testing.T) {
	talking(t, nil, func(k *talk) {
		bob := fakewhatsapp.Person{UserID: "US.2", Name: "Bob"}
		k.fake.Fail(fakewhatsapp.Fault{Status: 400, Code: 80007, Message: "Rate limit issues"})
		k.fake.Say(ann, "wamid.1", "hello")
		pass(debounce + thinking + time.Second)
		k.fake.Say(bob, "wamid.2", "hi")
		pass(30 * time.Second)
		k.sees(ann.UserID)
		k.sees(bob.UserID)
		pass(time.Minute)
		k.sees(ann.UserID, "re: hello")
		k.sees(bob.UserID, "re: hi")
	})
}

// While Meta's own agent answers somebody, the bot only listens. What was said is context
// once the bot is asked.
func TestStandby(t *testing.T) {
	talking(t, nil, func(k *talk) {
		value := k.fake.Messages(ann, k.fake.Text(ann, "wamid.1", "what does it cost"))["value"].(map[string]any)
		k.fake.Tell(k.fake.Change("standby", value))
		pass(time.Minute)
		k.sees(ann.UserID)
		k.fake.Say(ann, "wamid.2", "a person, please")
		pass(time.Minute)
		k.sees(ann.UserID, "re: a person, please")
		if !strings.Contains(k.prompt, "what does it cost") {
			k.Errorf("the prompt is %q", k.prompt)
		}
	})
}

// A word by which somebody opts out works from WhatsApp's wire: the bot is silent until
// they opt in.
func TestOptOut(t *testing.T) {
	change := func(b *onereply.Bot) { b.OptOutWords, b.OptInWords = []string{"stop"}, []string{"start"} }
	talking(t, change, func(k *talk) {
		k.fake.Say(ann, "wamid.1", "hello")
		pass(debounce + thinking/2)
		k.fake.Say(ann, "wamid.2", "STOP!")
		pass(time.Minute)
		k.fake.Say(ann, "wamid.3", "and?")
		pass(2 * time.Hour)
		k.sees(ann.UserID)
		k.fake.Say(ann, "wamid.4", "start")
		pass(time.Minute)
		k.fake.Say(ann, "wamid.5", "hello again")
		pass(time.Minute)
		if got := k.fake.Chat(ann.UserID); len(got) == 0 || !strings.Contains(got[len(got)-1].Text, "hello again") {
			k.Errorf("shown %+v", got)
		}
	})
}

// Typing is shown as an answer to the newest message, every 20 seconds while the model
// writes, and the message is marked as read by it.
func TestTypingAnswersTheNewestMessage(t *testing.T) {
	talking(t, nil, func(k *talk) {
		k.reply = func(*onereply.Turn) string {
			time.Sleep(45 * time.Second)
			return "done"
		}
		k.fake.Say(ann, "wamid.1", "take your time")
		pass(2 * time.Minute)
		k.sees(ann.UserID, "done")
		if got := k.fake.TypingShown(ann.UserID); got != 3 {
			k.Errorf("typing was shown %d times within 47 seconds, want 3", got)
		}
	})
}

// A group is one conversation, whoever writes in it.
func TestGroup(t *testing.T) {
	talking(t, nil, func(k *talk) {
		for i, p := range []fakewhatsapp.Person{ann, {UserID: "US.2", Name: "Bob"}} {
			m := k.fake.Text(p, wamid(i), "I am "+p.Name)
			m["group_id"] = "Y2F:1"
			k.fake.Tell(k.fake.Messages(p, m))
		}
		pass(time.Minute)
		k.sees("Y2F:1", "re: I am Ann | I am Bob")
		k.sees(ann.UserID)
	})
}

// The address is verified through the host, and a wrong token is told apart.
func TestVerificationThroughTheHost(t *testing.T) {
	talking(t, nil, func(k *talk) {
		for token, want := range map[string]int{account.VerifyToken: 200, "wrong": 401} {
			got := httptest.NewRecorder()
			k.ServeHTTP(got, httptest.NewRequest("GET", "/channels/bot/whatsapp?hub.mode=subscribe&hub.challenge=77&hub.verify_token="+token, nil))
			if body, _ := io.ReadAll(got.Body); got.Code != want || want == 200 && string(body) != "77" {
				k.Errorf("%s: %d %s", token, got.Code, body)
			}
		}
	})
}

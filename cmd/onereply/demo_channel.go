package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/onereply/onereply/channel/telegram/faketelegram"
)

// channelDemo plays one burst on a fake of a chat platform. It prints each message that the
// person writes or sees, with the seconds since the start.
type channelDemo struct {
	out   io.Writer
	began time.Time
	fake  *faketelegram.Telegram
	front *http.Server
}

// The fake's bot, and the person who writes to it.
const (
	fakeToken = "1:fake-token-of-the-demo"
	fakeName  = "demo_bot"
)

var demoPerson = faketelegram.User{ID: 42, FirstName: "Ann"}

// channelDemoConfig is the demo's bot on the fake platform at an address. Its quiet time is
// short, so that nobody has to wait for the demo.
const channelDemoConfig = `
drain: 0s
bots:
  demo:
    responder: {kind: echo, delay: 2s}
    channels:
      - {kind: telegram, token: %q, api_base: %q, debounce: 1.5s, max_wait: 10s}
`

// startChannelDemo starts the fake platform on this machine. It returns the configuration
// of a node that speaks with it.
func startChannelDemo(out io.Writer) (d *channelDemo, settings string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listen for the fake platform: %w", err)
	}
	d = &channelDemo{out: out, fake: faketelegram.New(fakeToken, fakeName)}
	d.front = &http.Server{Handler: d.fake, ReadHeaderTimeout: readHeaderTimeout}
	go func() { _ = d.front.Serve(listener) }() // it ends with close
	return d, fmt.Sprintf(channelDemoConfig, fakeToken, "http://"+listener.Addr().String()), nil
}

func (d *channelDemo) close() { _ = d.front.Close() }

// burst has the person's messages: the third comes while the model is writing.
var burst = []struct {
	at   time.Duration
	text string
}{
	{0, "hi"},
	{700 * time.Millisecond, "do you have the blue one?"},
	{3200 * time.Millisecond, "the large one, I mean"},
}

// demoEnds bounds the demo.
const demoEnds = 30 * time.Second

// play writes the burst, and prints what happens until it is answered or ctx ends.
func (d *channelDemo) play(ctx context.Context, console string) {
	d.began = time.Now()
	d.say("A fake Telegram and a bot run on this machine. Ann writes three messages; the third comes while the model writes.")
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	next, typed := 0, 0
	for time.Since(d.began) < demoEnds {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if next < len(burst) && time.Since(d.began) >= burst[next].at {
			d.fake.Say(demoPerson, int64(next+1), burst[next].text)
			d.tell("Ann writes: %s", burst[next].text)
			next++
		}
		if now := d.fake.TypingShown(demoPerson.ID); now > typed {
			typed = now
			d.tell("Ann sees that the bot is typing")
		}
		if shown := d.fake.Chat(demoPerson.ID); len(shown) > 0 {
			d.tell("the bot answers: %s", shown[0].Text)
			d.say("%d messages, %d reply. What happened meanwhile, with the attempt that was thrown away: %s (Ctrl+C ends the demo)", len(burst), len(shown), console)
			return
		}
	}
	d.say("Nothing was answered within %v; the log says more.", demoEnds)
}

func (d *channelDemo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *channelDemo) tell(format string, args ...any) {
	d.say("%5.1fs  "+format, append([]any{time.Since(d.began).Seconds()}, args...)...)
}

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/onereply/onereply/console"
	"github.com/onereply/onereply/server/config"
)

// channelDemo plays one burst on a fake of a chat platform. It prints each message that the
// person writes or sees, with the seconds since the start.
type channelDemo struct {
	out      io.Writer
	began    time.Time
	platform fakePlatform
	front    *http.Server
}

// fakePlatform is a fake of a chat platform, with one person in it.
type fakePlatform interface {
	http.Handler

	// entry is the channel's in the configuration, for a platform at this address.
	entry(address string) string

	// connect is told the node's address once it listens. It ends what it began with ctx.
	connect(ctx context.Context, node string) error

	// say has the person write. shown is what they see of the bot, and typing how often they
	// saw it typing.
	say(number int, text string)
	shown() []string
	typing() int
}

// demoPlatforms has a fake for each kind of channel.
var demoPlatforms = map[string]func() fakePlatform{
	config.Telegram: newTelegramDemo,
	config.WhatsApp: newWhatsAppDemo,
	config.Slack:    newSlackDemo,
}

// channelDemoConfig is the demo's bot on the fake platform. Its quiet time is short, so
// that nobody has to wait for the demo.
const channelDemoConfig = `
drain: 0s
bots:
  demo:
    responder: {kind: echo, delay: 2s}
    channels:
      - {%s, debounce: 1.5s, max_wait: 10s}
`

// startChannelDemo starts the fake platform on this machine. It returns the configuration
// of a node that speaks with it.
func startChannelDemo(kind string, out io.Writer) (d *channelDemo, settings string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listen for the fake platform: %w", err)
	}
	d = &channelDemo{out: out, platform: demoPlatforms[kind]()}
	d.front = &http.Server{Handler: d.platform, ReadHeaderTimeout: readHeaderTimeout}
	go func() { _ = d.front.Serve(listener) }() // it ends with close
	return d, fmt.Sprintf(channelDemoConfig, d.platform.entry("http://"+listener.Addr().String())), nil
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
func (d *channelDemo) play(ctx context.Context, node string) {
	if err := d.platform.connect(ctx, node); err != nil {
		d.say("The fake platform and the bot could not be connected: %v", err)
		return
	}
	d.began = time.Now()
	d.say("A fake platform and a bot run on this machine. Ann writes three messages; the third comes while the model writes.")
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
			d.platform.say(next+1, burst[next].text)
			d.tell("Ann writes: %s", burst[next].text)
			next++
		}
		if now := d.platform.typing(); now > typed {
			typed = now
			d.tell("Ann sees that the bot is typing")
		}
		if shown := d.platform.shown(); len(shown) > 0 {
			d.tell("the bot answers: %s", shown[0])
			d.say("%d messages, %d reply. What happened meanwhile, with the attempt that was thrown away: %s (Ctrl+C ends the demo)", len(burst), len(shown), node+console.Prefix)
			return
		}
	}
	d.say("Nothing was answered within %v; the log says more.", demoEnds)
}

func (d *channelDemo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *channelDemo) tell(format string, args ...any) {
	d.say("%5.1fs  "+format, append([]any{time.Since(d.began).Seconds()}, args...)...)
}

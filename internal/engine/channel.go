package engine

import (
	"strings"
	"time"

	"github.com/onereply/onereply/turn"
)

// Channel has the settings that replace those of the bot in the conversations of one chat
// platform.
type Channel struct {
	// Name begins the name of each conversation of the channel. A colon follows, and the
	// platform's name of the chat.
	Name string

	Debounce, MaxWait time.Duration

	ResendUnknown bool // see [turn.Policy]; Split and Whole: see [Bot]
	Split         func(text string) []string
	Whole         bool
}

// Owns reports whether a conversation of this name is one of the channel.
func (ch Channel) Owns(name string) bool {
	rest, ok := strings.CutPrefix(name, ch.Name)
	return ok && strings.HasPrefix(rest, ":")
}

// on is the bot with the settings of one of its channels; nil: with its own.
func (bot Bot) on(ch *Channel) Bot {
	if ch == nil {
		return bot
	}
	bot.Policy.Debounce, bot.Policy.MaxWait, bot.Policy.ResendUnknown = ch.Debounce, ch.MaxWait, ch.ResendUnknown
	bot.Split, bot.Whole = ch.Split, ch.Whole
	return bot
}

// channel is the channel through which the conversation is answered, nil: through none. The
// name under which somebody wrote last decides: the reply goes there.
func (n *Node) channel(c *conversation) *Channel {
	channels := n.options.Bots[c.key.Bot].Channels
	name := addressOf(c.key.Conversation, c.snap.Record)
	for i := range channels {
		if channels[i].Owns(name) {
			return &channels[i]
		}
	}
	return nil
}

// bot is the configuration of the conversation's bot, as it is on its channel.
func (n *Node) bot(c *conversation) Bot { return n.options.Bots[c.key.Bot].on(n.channel(c)) }

// receiver can ask for a pause of all conversations that it serves. It is the bot's own
// sender (channel is ""), or one of its channels.
type receiver struct{ bot, channel string }

func (n *Node) receiver(c *conversation) receiver {
	r := receiver{bot: c.key.Bot}
	if ch := n.channel(c); ch != nil {
		r.channel = ch.Name
	}
	return r
}

// pausedUntil is the end of the pause that the conversation's receiver asked for.
func (n *Node) pausedUntil(c *conversation) turn.Time {
	if len(n.pauses) == 0 {
		return 0
	}
	return n.pauses[n.receiver(c)]
}

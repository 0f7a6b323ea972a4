package engine

import (
	"strings"
	"time"

	"github.com/onereply/onereply/turn"
)

// Channel is what differs from its bot in the conversations of one chat platform: how long
// a burst lasts there, and what its sender can do.
type Channel struct {
	// Name is that of the channel. The name of each of its conversations is this, a colon,
	// and what the platform calls the chat.
	Name string

	Debounce, MaxWait time.Duration

	ResendUnknown bool // of the policy
	Split         func(text string) []string
	Whole         bool
}

// Owns reports whether a conversation of this name is one of the channel.
func (ch Channel) Owns(name string) bool {
	rest, ok := strings.CutPrefix(name, ch.Name)
	return ok && strings.HasPrefix(rest, ":")
}

// on is the bot as it is in the conversations of one of its channels, nil: of none.
func (bot Bot) on(ch *Channel) Bot {
	if ch == nil {
		return bot
	}
	bot.Policy.Debounce, bot.Policy.MaxWait, bot.Policy.ResendUnknown = ch.Debounce, ch.MaxWait, ch.ResendUnknown
	bot.Split, bot.Whole = ch.Split, ch.Whole
	return bot
}

// channelOf is the channel through which a name is answered; nil: through none.
func (bot Bot) channelOf(name string) *Channel {
	for i := range bot.Channels {
		if bot.Channels[i].Owns(name) {
			return &bot.Channels[i]
		}
	}
	return nil
}

// bot is the configuration of the conversation's bot, as it is for the name under which
// somebody wrote last: the reply goes there.
func (n *Node) bot(c *conversation) Bot {
	bot := n.options.Bots[c.key.Bot]
	if len(bot.Channels) == 0 {
		return bot
	}
	return bot.on(bot.channelOf(addressOf(c.key.Conversation, c.snap.Record)))
}

// receiver names what a pause holds for that is asked of a whole bot: its own sender, or
// one of its channels.
type receiver struct{ bot, channel string }

func (n *Node) receiver(c *conversation) receiver {
	r := receiver{bot: c.key.Bot}
	if ch := n.options.Bots[r.bot].channelOf(addressOf(c.key.Conversation, c.snap.Record)); ch != nil {
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

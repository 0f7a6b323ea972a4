package onereply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onereply/onereply/internal/engine"
	"github.com/onereply/onereply/internal/node"
)

// Channel is a chat platform on which a bot answers. Package channel makes one of a
// platform's adapter.
//
// A conversation whose name is the channel's, a colon and more is answered through the
// channel, any other through the bot's Sender, and none through both. The name under which
// somebody wrote last decides: see [Delivery].Address.
type Channel struct {
	// Name tells the channels of a bot apart, such as "telegram", or "telegram/second" where
	// there are two of a kind. It has no colon and at most [MaxNameBytes].
	Name string

	// Sender delivers the replies. It is required.
	Sender Sender

	// Debounce and MaxWait take the place of the bot's in the channel's conversations. Zero
	// value: the bot's; Zero for none.
	Debounce time.Duration
	MaxWait  time.Duration
}

// withDefaults fills in the settings that are the bot's, whose own defaults must be filled
// in already.
func (ch Channel) withDefaults(b Bot) Channel {
	orDefault(&ch.Debounce, b.Debounce)
	orDefault(&ch.MaxWait, b.MaxWait)
	return ch
}

// validate reports the mistakes of a channel whose defaults are filled in.
func (ch Channel) validate() error {
	var problems []error
	reject := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	if err := checkName(ch.Name); err != nil {
		reject(true, "the name: %w", err)
	}
	reject(strings.Contains(ch.Name, ":"), "the name must not have a colon")
	reject(ch.Sender == nil, "it needs a Sender")
	reject(ch.Debounce < 0, "Debounce must not be negative, it is %v", ch.Debounce)
	reject(ch.MaxWait < ch.Debounce, "MaxWait (%v) must not be less than Debounce (%v)", ch.MaxWait, ch.Debounce)
	return errors.Join(problems...)
}

// validateChannels reports the mistakes of all channels of a bot.
func (b Bot) validateChannels() error {
	var problems []error
	names := map[string]bool{}
	for _, ch := range b.Channels {
		if err := ch.validate(); err != nil {
			problems = append(problems, fmt.Errorf("bot %q: channel %q: %w", b.Name, ch.Name, err))
		}
		if names[ch.Name] {
			problems = append(problems, fmt.Errorf("bot %q: there are two channels with the name %q", b.Name, ch.Name))
		}
		names[ch.Name] = true
	}
	return errors.Join(problems...)
}

// engineChannels are the channels as the engine knows them.
func (b Bot) engineChannels() []engine.Channel {
	var channels []engine.Channel
	for _, ch := range b.Channels {
		can := capabilitiesOf(ch.Sender)
		channels = append(channels, engine.Channel{
			Name: ch.Name, Debounce: ch.Debounce, MaxWait: ch.MaxWait,
			ResendUnknown: b.resendsUnknown(ch.Sender), Split: can.Split, Whole: can.AllParts,
		})
	}
	return channels
}

// outlet is where replies go: a sender, made ready to be called by the runtime.
type outlet struct {
	channel engine.Channel // the channel that it serves; the zero value for the bot's Sender
	send    func(context.Context, engine.Send) engine.SendResult
	signal  func(context.Context, node.Signal) error // nil: the sender can't
	typing  bool                                     // people are shown that a turn is being written
}

// outlets are those of a bot. The address of a conversation decides which one is used.
type outlets struct {
	channels []outlet
	own      outlet // the bot's Sender; the zero value: there is none
}

// outlets makes them; nil if the bot has neither a sender nor channels.
func (b Bot) outlets() *outlets {
	if b.Sender == nil && len(b.Channels) == 0 {
		return nil
	}
	o := &outlets{}
	if b.Sender != nil {
		o.own = outlet{send: sendWith(b.Sender), signal: signalWith(b.Sender), typing: b.Typing}
	}
	for i, ch := range b.engineChannels() {
		s := b.Channels[i].Sender
		o.channels = append(o.channels, outlet{channel: ch, send: sendWith(s), signal: signalWith(s), typing: true})
	}
	return o
}

func (o *outlets) of(address string) outlet {
	for _, to := range o.channels {
		if to.channel.Owns(address) {
			return to
		}
	}
	return o.own
}

// send delivers a part. Without an outlet the reply is only in the transcript, and the part
// counts as sent.
func (o *outlets) send(ctx context.Context, s engine.Send) engine.SendResult {
	if to := o.of(s.Address); to.send != nil {
		return to.send(ctx, s)
	}
	return engine.SendResult{}
}

// signal shows people a signal, where that is possible and wanted.
func (o *outlets) signal(ctx context.Context, s node.Signal) error {
	to := o.of(s.Address)
	if to.signal == nil || s.Kind == string(SignalTyping) && !to.typing {
		return nil
	}
	return to.signal(ctx, s)
}

// typing reports whether any outlet shows that a turn is being written.
func (o *outlets) typing() bool { return o.own.typing || len(o.channels) > 0 }

// signals reports whether any outlet can show a signal.
func (o *outlets) signals() bool {
	for _, to := range o.channels {
		if to.signal != nil {
			return true
		}
	}
	return o.own.signal != nil
}

// ChannelStatus counts what happened on an account since the start of this node.
type ChannelStatus struct {
	Bot     string `json:"bot"`
	Channel string `json:"channel"`

	// Address is where the platform posts to this node, if it does: the public URL of the
	// configuration, and the account's path. Without a public URL it is the path alone.
	Address string `json:"address"`

	// Polling: this node fetches the messages now.
	Polling bool `json:"polling"`

	// VerifiedAt is the time of the last request that the platform had signed, or of the
	// last poll that brought something; zero (null): never.
	VerifiedAt Time `json:"verified_at"`

	// Forged are requests whose signature did not match, Unreadable those that could not be
	// read, and Refused are events that were refused for good, such as a message that is too
	// long. SendsFailed are sends that failed, or may have.
	Forged      int64 `json:"forged"`
	Unreadable  int64 `json:"unreadable"`
	Refused     int64 `json:"refused"`
	SendsFailed int64 `json:"sends_failed"`

	// Messages are those that were handed over, duplicates included. Reports are what the
	// platform said of messages that it had taken. Skipped are events that change nothing.
	Messages int64 `json:"messages"`
	Reports  int64 `json:"reports"`
	Skipped  int64 `json:"skipped"`

	// LastError is the last of these failures, or of polling, in words; "": there was none.
	LastError string `json:"last_error"`
}
